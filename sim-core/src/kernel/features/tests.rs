//! Rules that no recording exercises: dependencies, several ports, modes, later and older kernels, packets.

mod masters;
mod packets;
mod releases;
mod words;

use super::*;

/// A NIC with these features, all switchable, and the same promise under a tag.
fn nic(features: Features) -> BaseSpec {
    BaseSpec::nic(features, features, Driver::Other)
}

fn host(release: Release) -> DeviceSet {
    DeviceSet::new(Rules::new(release))
}

/// What a 10 Gb/s NIC has.
fn full() -> Features {
    Features::SG | Features::HW_CSUM | Features::TSO | Features::TSO6 | Features::RXCSUM
}

fn features(host: &DeviceSet, id: DevId) -> Features {
    host.dev(id).words.features
}
