//! Device features: which offloads each device of a host has, and what a packet may use of them.
//!
//! Follows Linux 6.1.192 `net/core/dev.c`, `net/8021q/`, `drivers/net/{macvlan,veth,dummy}.c`, `bonding`, `team`,
//! `vxlan`, `net/bridge/br_{device,if}.c` and `net/ethtool/features.c`, and 3.7.2, 3.19, 6.9.5 and 6.12.117 where
//! they differ ([`Rules`]).
//! Modelled: the feature words of a stack of devices ([`DeviceSet`]) under creation, deletion, `ethtool -K`, ports,
//! MTU and limits, with the events that carry a change upwards; `netif_skb_features` and the software
//! fallbacks it leads to ([`SkbShape`], [`Plan`]).
//! Approximated: the order of notifiers of different subsystems (VLAN, macvlan, master), which no compared word
//! depends on. 6.18 is inferred.
//! Absent: queue counts, addresses, XDP other than its effect on features, tunnels other than vxlan, drivers'
//! `ndo_features_check` (it can be handed in as a mask); under 3.7 every upper device but the VLAN,
//! and NOCACHE_COPY being on by default.
//!
//! Nothing here has a clock or a CPU: it is bookkeeping under RTNL, and arithmetic on words.
//!
//! ```
//! use sim_core::kernel::features::{BaseSpec, DeviceSet, Driver, Features, Release, Rules, VlanSpec};
//!
//! let mut host = DeviceSet::new(Rules::new(Release::V6_1));
//! let nic = Features::SG | Features::IP_CSUM | Features::TSO | Features::RXCSUM;
//! let eth0 = host.add_base("eth0", BaseSpec::nic(nic, nic, Driver::Other))?;
//! let v100 = host.add_vlan("v100", eth0, VlanSpec::new(100))?;
//! host.ethtool_set(eth0, &[("sg", false)])?;
//! assert!(!host.dev(v100).words.features.any(Features::TSO));
//! # Ok::<(), sim_core::kernel::features::Error>(())
//! ```

mod base;
mod bits;
mod bridge;
mod device;
mod ethtool;
mod link;
mod macvlan;
mod master;
mod names;
mod rules;
mod set;
mod shape;
#[cfg(test)]
mod tests;
mod update;
mod vlan;
mod vxlan;
mod xmit;

pub use base::{BaseSpec, Driver};
pub use bits::Features;
pub use device::{DevId, Device, Kind, Words};
pub use master::{BondMode, HashPolicy, Master, MasterKind};
pub use rules::{Intersect, Release, Rules, VlanFeatures};
pub use set::{DeviceSet, Error};
pub use shape::{CsumTarget, EtherType, IpSummed, SkbShape, Tags};
pub use vlan::{HeaderOps, Vlan, VlanSpec};
pub use xmit::{DevFeatures, Plan, SkbRules, can_checksum, needs_gso, needs_linearize};
