//! `xdp_do_redirect`, by version, and the flush at the end of a poll.

use super::XdpFrame;
use super::bulk::{self, Owner};
use crate::config::Redirect;
use crate::kernel::drivers::{has_xdp_xmit, xdp_xmit};
use crate::kernel::{Cost, Cpu, Func};
use crate::trace::Kind;

/// `-EINVAL`: there is no such device.
pub const EINVAL: i32 = -22;
/// `-EOPNOTSUPP`: the device has no `ndo_xdp_xmit`.
pub const EOPNOTSUPP: i32 = -95;
/// `-EMSGSIZE`: the frame is longer than the device takes.
pub const EMSGSIZE: i32 = -90;

/// `xdp_do_redirect` of a frame for which the program said so. The frame belongs to the redirect if it
/// is `Ok`, to the driver that called otherwise.
///
/// # Errors
/// The errno; the frame is to be dropped and was counted as `xdp_redirect_err`.
pub(crate) async fn do_redirect(cpu: Cpu<'_>, frame: XdpFrame) -> Result<(), i32> {
    let _span = cpu.enter(Func::XdpDoRedirect);
    cpu.spend(Cost::XdpDoRedirect);
    let result = redirect(cpu, frame).await;
    if let Err(errno) = result {
        cpu.k.bump(&cpu.k.xdp.redirect_err, 1);
        cpu.record(Kind::XdpRedirectErr, frame.page, errno.unsigned_abs());
    }
    result
}

async fn redirect(cpu: Cpu<'_>, frame: XdpFrame) -> Result<(), i32> {
    let k = cpu.k;
    let info = k.xdp.info[usize::from(cpu.id())].take();
    let version = k.config.redirect;
    let device = match (info.map, info.device) {
        (Some(map), Some(device)) => {
            check(cpu, device, &frame)?;
            cpu.spend(Cost::DevXdpEnqueue);
            write_frame(cpu, &frame).await;
            let owner = match version {
                Redirect::V5_4 | Redirect::V5_5 => Owner::Slot {
                    map,
                    key: info.target,
                },
                Redirect::V5_6 | Redirect::V5_13 => Owner::Device,
            };
            bulk::enqueue(cpu, owner, device, frame).await;
            return Ok(());
        }
        _ => info.target,
    };
    // dev_get_by_index_rcu: only here is seen whether there is such a device.
    cpu.spend(Cost::DevGetByIndex);
    if device >= k.devs.len() {
        return Err(EINVAL);
    }
    check(cpu, device, &frame)?;
    match version {
        Redirect::V5_4 | Redirect::V5_5 => {
            // __bpf_tx_xdp: each frame by itself, with its own doorbell.
            cpu.spend(Cost::BpfTxXdp);
            write_frame(cpu, &frame).await;
            cpu.indirect_call();
            match xdp_xmit(cpu, device, &[frame], true).await {
                // A frame that the driver dropped counts as success here.
                Some(_) => Ok(()),
                None => Err(EOPNOTSUPP),
            }
        }
        Redirect::V5_6 | Redirect::V5_13 => {
            cpu.spend(Cost::DevXdpEnqueue);
            write_frame(cpu, &frame).await;
            bulk::enqueue(cpu, Owner::Device, device, frame).await;
            Ok(())
        }
    }
}

fn check(cpu: Cpu<'_>, device: usize, frame: &XdpFrame) -> Result<(), i32> {
    if !has_xdp_xmit(cpu.k, device) {
        return Err(EOPNOTSUPP);
    }
    if frame.frame.len > MAX_FRAME {
        return Err(EMSGSIZE);
    }
    Ok(())
}

/// MTU 1500, header, and room for a VLAN tag.
const MAX_FRAME: u32 = 1500 + 14 + 4;

/// `convert_to_xdp_frame`.
async fn write_frame(cpu: Cpu<'_>, frame: &XdpFrame) {
    if let Some(pages) = cpu.k.pages(frame.rx_dev) {
        cpu.touch([pages.write_headroom(frame.page)]).await;
    }
}

/// `xdp_do_flush`, which a driver calls at the end of its poll if it redirected anything.
pub(crate) async fn flush(cpu: Cpu<'_>) {
    if !cpu.k.config.xdp_flush {
        // A driver that forgets it.
        return;
    }
    let _span = cpu.enter(Func::XdpDoFlush);
    cpu.spend(Cost::XdpDoFlush);
    bulk::flush(cpu).await;
}
