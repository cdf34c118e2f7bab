//! XDP: what a program says of a frame, and where redirected frames go.
//!
//! Follows `net/core/filter.c` and `kernel/bpf/devmap.c` of Linux 5.4 to 5.13. Absent: AF_XDP, cpumap,
//! broadcast redirects, generic XDP, programs on the devmap's entries.

mod bulk;
mod pages;
mod redirect;

pub use bulk::BulkQueues;
pub use pages::{Pages, XdpFrame};
pub(crate) use redirect::{do_redirect, flush};

use super::{Cost, Cpu};
use std::cell::Cell;

/// `XDP_ABORTED` and its like: what a program says of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// `XDP_ABORTED`: an error of the program; the frame is dropped.
    Aborted,
    /// `XDP_DROP`.
    Drop,
    /// `XDP_PASS`: on to the stack.
    Pass,
    /// `XDP_TX`: back out of the port it came from.
    Tx,
    /// `XDP_REDIRECT`: to where [`RedirectInfo`] says.
    Redirect,
}

/// A program, by what it does with every frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// Always the same verdict.
    Always(Verdict),
    /// `bpf_redirect(ifindex, flags)`.
    Redirect {
        /// Index of the device; the helper does not look whether there is one.
        ifindex: usize,
        /// Must be 0.
        flags: u64,
    },
    /// `bpf_redirect_map(&map, key, flags)`.
    RedirectMap {
        /// Number of the devmap.
        map: usize,
        /// Slot.
        key: usize,
        /// The verdict if the slot is empty, in the lower bits.
        flags: u64,
    },
}

/// `struct bpf_redirect_info` of a CPU: what the helper left for `xdp_do_redirect`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RedirectInfo {
    /// `tgt_index`: device, or slot of the map.
    pub target: usize,
    /// The map, if the helper was `bpf_redirect_map`.
    pub map: Option<usize>,
    /// Device in the map's slot (`tgt_value`).
    pub device: Option<usize>,
}

/// A devmap: the device in each slot.
pub type Devmap = Vec<Option<usize>>;

/// XDP state of a host.
#[derive(Debug)]
pub struct Xdp {
    /// Maps.
    pub maps: Vec<Devmap>,
    /// `bpf_redirect_info` of each CPU.
    pub(crate) info: Vec<Cell<RedirectInfo>>,
    /// Bulk queues of each CPU.
    pub(crate) bulk: Vec<BulkQueues>,
    /// Frames that the tracepoint `xdp_redirect_err` saw.
    pub redirect_err: Cell<u64>,
    /// Frames that a driver dropped at transmit (`xdp_devmap_xmit`, drops).
    pub xmit_drops: Cell<u64>,
}

impl Xdp {
    pub(crate) fn new(cpus: usize, maps: Vec<Devmap>) -> Xdp {
        Xdp {
            maps,
            info: (0..cpus).map(|_| Cell::default()).collect(),
            bulk: (0..cpus).map(|_| BulkQueues::default()).collect(),
            redirect_err: Cell::new(0),
            xmit_drops: Cell::new(0),
        }
    }

    /// Frames that wait in bulk queues.
    pub fn queued(&self) -> usize {
        self.bulk.iter().map(BulkQueues::len).sum()
    }
}

/// `bpf_prog_run_xdp`.
pub(crate) fn run(cpu: Cpu<'_>, program: Program) -> Verdict {
    cpu.spend(Cost::XdpProgram);
    let info = &cpu.k.xdp.info[usize::from(cpu.id())];
    match program {
        Program::Always(verdict) => verdict,
        Program::Redirect { ifindex, flags } => {
            cpu.spend(Cost::BpfXdpRedirect);
            if flags != 0 {
                return Verdict::Aborted;
            }
            info.set(RedirectInfo {
                target: ifindex,
                map: None,
                device: None,
            });
            Verdict::Redirect
        }
        Program::RedirectMap { map, key, flags } => {
            cpu.spend(Cost::BpfXdpRedirectMap);
            // Only actions up to XDP_TX may be asked for.
            if flags > 3 {
                return Verdict::Aborted;
            }
            let slot = cpu.k.xdp.maps.get(map).and_then(|m| m.get(key));
            let Some(device) = slot.copied().flatten() else {
                info.set(RedirectInfo::default());
                return [Verdict::Aborted, Verdict::Drop, Verdict::Pass, Verdict::Tx]
                    [flags as usize];
            };
            info.set(RedirectInfo {
                target: key,
                map: Some(map),
                device: Some(device),
            });
            Verdict::Redirect
        }
    }
}
