//! Drivers, and what all of them do with their hardware: doorbells, interrupts, events.

pub mod dummy;
pub mod ixgbe;
pub mod loopback;
pub mod mlx5;
pub mod myri10ge;
pub mod nic;
pub mod veth;
pub mod vlan;

use super::napi::napi_schedule;
use super::netdev::{Driver, TxQueue, txq_state};
use super::softirq::{TIMER, raise_softirq};
use super::xdp::XdpFrame;
use super::{Cost, Cpu, Func, Kernel};
use crate::engine::time::Instant;
use crate::frame::Frame;
use crate::machine::Machine;
use crate::machine::nic::{Done, Port};
use crate::trace::Kind;

/// A device's events, as offsets from its first engine id.
pub mod event {
    /// A segment has left the wire.
    pub const WIRE: u32 = 0;
    /// A frame arrives over the link.
    pub const ARRIVAL: u32 = 1;
    /// Interrupt vector 0; the others follow.
    pub const VECTOR: u32 = 2;
}

/// Most NAPI instances (vectors) of a host.
pub const MAX_VECTORS: usize = 59;
/// Another CPU's `smp_call_function_single_async`: only RPS'.
pub(crate) const IPI_VECTOR: u32 = 59;
/// A high-resolution timer: only qdiscs' watchdogs.
pub(crate) const HRTIMER_VECTOR: u32 = 60;
/// The timer of a device's transmit watchdog.
const WATCHDOG_VECTOR: u32 = 61;
/// The periodic timer tick of a CPU.
pub(crate) const TICK_VECTOR: u32 = 62;
/// The local timer's interrupt.
pub(crate) const TIMER_VECTOR: u32 = 63;

/// The driver's poll of a NAPI instance; how many packets it took.
pub(crate) async fn poll(cpu: Cpu<'_>, napi: usize, weight: u32) -> u32 {
    let dev = cpu.k.napis[napi].dev;
    match &cpu.k.dev(dev).driver {
        Driver::Nic(nic) => nic::poll(cpu, dev, nic, napi, weight).await,
        Driver::Myri10ge(nic) => myri10ge::poll(cpu, dev, nic, napi, weight).await,
        Driver::Mlx5(nic) => mlx5::poll(cpu, dev, nic, napi, weight).await,
        Driver::Ixgbe(nic) => ixgbe::clean::poll(cpu, dev, nic, napi, weight).await,
        Driver::Veth(veth::Veth { rq: Some(rq), .. }) => veth::poll(cpu, dev, rq, weight).await,
        Driver::Dummy | Driver::Vlan(_) | Driver::Loopback | Driver::Veth(_) => {
            unreachable!("they have no NAPI")
        }
    }
}

/// Whether device `dev` has an `ndo_xdp_xmit`.
pub(crate) fn has_xdp_xmit(k: &Kernel, dev: usize) -> bool {
    k.devs
        .get(dev)
        .is_some_and(|d| matches!(d.driver, Driver::Mlx5(_)))
}

/// `ndo_xdp_xmit`: how many of `frames` the driver took, or `None` if it has no such function. Frames
/// that it did not take are freed.
pub(crate) async fn xdp_xmit(
    cpu: Cpu<'_>,
    dev: usize,
    frames: &[XdpFrame],
    flush: bool,
) -> Option<u32> {
    match &cpu.k.devs.get(dev)?.driver {
        Driver::Mlx5(nic) => Some(mlx5::xdp_xmit(cpu, dev, nic, frames, flush).await),
        _ => None,
    }
}

/// The driver writes the tail of transmit ring `queue`: an uncached write, behind all stores before it.
pub(crate) async fn ring_doorbell(cpu: Cpu<'_>, port: &Port, queue: usize, txq: &TxQueue) {
    cpu.smp_wmb().await;
    cpu.elapse(cpu.machine().costs.mmio);
    posted_doorbell(cpu, port, queue, txq);
}

/// The tail of transmit ring `queue` was written.
pub(crate) fn posted_doorbell(cpu: Cpu<'_>, port: &Port, queue: usize, txq: &TxQueue) {
    let ring = &port.tx[queue];
    cpu.record(
        Kind::Doorbell,
        txq.number,
        (ring.next() % u64::from(ring.size())) as u32,
    );
    ring.doorbell(cpu.k.ktime(cpu.now()) + port.fetch);
    fetch_ahead(
        cpu.k,
        cpu.machine(),
        (txq.dev, queue),
        cpu.now() + port.fetch,
    );
    start_wire(cpu.k, cpu.machine(), txq.dev, cpu.now());
}

/// Completes what the device of `(dev, queue)` has fetched into its own memory by `at`.
fn fetch_ahead(k: &Kernel, m: &Machine, (dev, queue): (usize, usize), at: Instant) {
    let Some(port) = k.port(dev) else { return };
    while let Some(done) = port.tx[queue].fetch() {
        complete(k, m, (dev, queue), done, at);
    }
}

/// The device writes back and notes for the ring's vector what it is done with.
fn complete(k: &Kernel, m: &Machine, (dev, queue): (usize, usize), done: Done, at: Instant) {
    let Some(port) = k.port(dev) else { return };
    if let Some(line) = done.written_back {
        m.dma_write(line);
    }
    if done.reported {
        note(k, m, dev, queue % port.vectors.len(), at);
    }
}

fn start_wire(k: &Kernel, m: &Machine, dev: usize, now: Instant) {
    let Some(port) = k.port(dev) else { return };
    if let Some(at) = port.start(now) {
        push(k, m, at, k.dev(dev).events + event::WIRE);
    }
}

/// Queues a device's event; one that is due already needs no timer.
fn push(k: &Kernel, m: &Machine, at: Instant, id: u32) {
    let now = m.engine.now();
    if at <= now
        && let Some(clock) = &k.clock
    {
        clock.at_once(id);
    }
    m.push_device(at.max(now), id);
}

/// Notes for vector `v` of `dev` that something happened at `at`.
fn note(k: &Kernel, m: &Machine, dev: usize, v: usize, at: Instant) {
    let Some(port) = k.port(dev) else { return };
    if let Some(due) = port.vectors[v].note(k.ktime(m.engine.now()), at) {
        push(k, m, due, k.dev(dev).events + event::VECTOR + v as u32);
    }
}

/// The driver lets vector `v` interrupt again.
pub(crate) async fn unmask(cpu: Cpu<'_>, dev: usize, v: usize) {
    cpu.elapse(cpu.machine().costs.mmio);
    cpu.settle().await;
    let Some(port) = cpu.k.port(dev) else { return };
    let m = cpu.machine();
    if let Some(due) = port.vectors[v].unmask(cpu.k.ktime(cpu.now())) {
        let id = cpu.k.dev(dev).events + event::VECTOR + v as u32;
        push(cpu.k, m, due, id);
    }
    arm_flood(cpu.k, m, dev, v);
}

/// A traffic generator's frames come without events; the vector hears of the next one here.
pub(crate) fn arm_flood(k: &Kernel, m: &Machine, dev: usize, v: usize) {
    let Some(port) = k.port(dev) else { return };
    let next = port
        .rx
        .get(v)
        .and_then(|ring| ring.next_arrival(m.engine.now()));
    if let Some(at) = next
        && !port.vectors[v].is_masked()
    {
        note(k, m, dev, v, at);
    }
}

/// Event `which` of device `dev` fires. Returns what goes over the link.
pub(crate) fn fire(k: &Kernel, m: &Machine, dev: usize, which: u32) -> Option<Frame> {
    let port = k.port(dev)?;
    let now = k.ktime(m.engine.now());
    match which {
        event::WIRE => {
            let sent = port.sent();
            // Rings that are no queues of the stack are shown with the queue of their number.
            let txqs = &k.dev(dev).txqs;
            let txq = k.txq(txqs.start + sent.queue % txqs.len());
            m.record_device(Kind::WireDone, txq.number, sent.frame.len);
            start_wire(k, m, dev, now);
            complete(k, m, (dev, sent.queue), sent.done, now);
            fetch_ahead(k, m, (dev, sent.queue), now);
            Some(sent.frame)
        }
        event::ARRIVAL => {
            let frame = port.landed()?;
            let queue = frame.port as usize % port.rx.len().max(1);
            let ring = port.rx.get(queue)?;
            if ring.arrive(frame, now) {
                note(k, m, dev, queue, now);
            } else if frame.dport != 0 {
                k.bump(&k.udp.missed, 1);
            }
            None
        }
        vector => {
            let v = (vector - event::VECTOR) as usize;
            if v == port.vectors.len() {
                watchdog_timer(k, m, dev);
                return None;
            }
            if port.vectors[v].fire(now) {
                let napi = k.napis.iter().position(|n| n.dev == dev && n.vector == v)?;
                let completed = port.tx.get(v).map_or(0, |t| t.counts().2);
                m.record_device(Kind::NicIrq, napi as u32, completed as u32);
                m.raise_irq(port.vectors[v].cpu, napi as u32);
            }
            None
        }
    }
}

/// The watchdog's timer fires. It is set again unless the run has come to rest: then a queue that is not
/// stopped stays so, and one that is was reported.
fn watchdog_timer(k: &Kernel, m: &Machine, dev: usize) {
    let (device, Some(port)) = (k.dev(dev), k.port(dev)) else {
        return;
    };
    // The end of the run is always pending.
    let rests = m.engine.pending() <= 1;
    device.watchdog_due.set(true);
    m.raise_irq(port.vectors[0].cpu, WATCHDOG_VECTOR);
    let stopped = txq_state::DRV_XOFF | txq_state::STACK_XOFF;
    let waits = k.txqs[device.txqs.clone()]
        .iter()
        .any(|t| m.peek(t.state_word()) & stopped != 0);
    if !rests || waits && device.tx_timeouts.get() == 0 {
        arm_watchdog(k, m, dev);
    }
}

/// Sets the watchdog's timer of `dev`, to a whole jiffy.
pub(crate) fn arm_watchdog(k: &Kernel, m: &Machine, dev: usize) {
    let (Some(port), Some(timeo)) = (k.port(dev), k.config.watchdog) else {
        return;
    };
    let jiffy = 1_000_000_000_000 / u64::from(k.config.hz);
    let at = (m.engine.now().ps() + timeo).next_multiple_of(jiffy);
    let id = k.dev(dev).events + event::VECTOR + port.vectors.len() as u32;
    m.push_device(Instant::from_ps(at), id);
}

/// The timer tick. What it does to lines is its CPU's own; the jiffies follow from the time.
async fn timer_tick(cpu: Cpu<'_>) {
    let _span = cpu.enter(Func::TimerInterrupt);
    cpu.elapse(cpu.machine().costs.irq_entry);
    cpu.spend(Cost::TimerTick);
    cpu.settle().await;
}

/// The driver's interrupt handler of a NAPI instance's vector.
async fn irq(cpu: Cpu<'_>, napi: usize) {
    let dev = cpu.k.napis[napi].dev;
    match &cpu.k.dev(dev).driver {
        Driver::Myri10ge(nic) => myri10ge::intr(cpu, dev, nic, napi).await,
        _ => {
            napi_schedule(cpu, napi).await;
        }
    }
}

/// Body of a CPU's hard interrupt context: each vector schedules its NAPI instance.
pub(crate) async fn hardirq_context(cpu: Cpu<'_>) {
    loop {
        while let Some(napi) = cpu.take_irq() {
            if napi == TICK_VECTOR {
                timer_tick(cpu).await;
                continue;
            }
            let _span = cpu.enter(Func::NicIrq);
            cpu.elapse(cpu.machine().costs.irq_entry);
            match napi {
                IPI_VECTOR => super::backlog::rps_trigger_softirq(cpu).await,
                HRTIMER_VECTOR => super::sched::qdisc_watchdog::expire(cpu).await,
                TIMER_VECTOR | WATCHDOG_VECTOR => {
                    cpu.spend(Cost::HardIrq);
                    raise_softirq(cpu, TIMER);
                }
                napi => {
                    cpu.spend(Cost::HardIrq);
                    irq(cpu, napi as usize).await;
                }
            }
            cpu.settle().await;
        }
        cpu.finish(cpu.k.softnet(cpu.id()).is_pending());
        cpu.started().await;
    }
}
