//! Locks, rings, stores and interrupts, each on a host that does nothing else.

use super::testing::Rig;
use crate::engine::StopReason;
use crate::engine::time::{Instant, Span};
use crate::kernel::Cpu;
use crate::kernel::locking::{QSpinLock, TicketLock};
use crate::kernel::sched::lockless;
use crate::kernel::sched::qdisc::Queueing;
use crate::kernel::skb::{Packet, Skb};
use crate::kernel::softirq::{
    __netif_schedule, NET_TX, local_bh_disable, local_bh_enable, raise_softirq,
};
use crate::machine::cost::Arch;
use crate::machine::memory::Word;
use crate::machine::{Order, Rmw};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const ARCHS: [Arch; 2] = [Arch::X86_64, Arch::Arm64];

/// Two words on lines of their own that nothing else uses here.
fn words(cpu: Cpu<'_>) -> (Word, Word) {
    let q = cpu.k.qdisc(0);
    (q.state, q.gso_skb)
}

async fn wait(cpu: Cpu<'_>, ns: u64) {
    cpu.elapse(Span::from_ns(ns));
    cpu.settle().await;
}

async fn wait_until(cpu: Cpu<'_>, ns: u64) {
    let at = Instant::ZERO + Span::from_ns(ns);
    cpu.elapse(at.since(cpu.now()));
    cpu.settle().await;
}

/// What each CPU saw, in order of time.
type Seen<T> = Rc<RefCell<Vec<T>>>;

fn seen<T>() -> Seen<T> {
    Rc::new(RefCell::new(Vec::new()))
}

/// A CPU sees its own store at once; others see it only once it has the line, never before, always then.
#[test]
fn a_store_is_forwarded_to_its_own_cpu_and_visible_to_others_later() {
    for arch in ARCHS {
        let log = seen();
        let rig = Rig::new(arch, 2);
        let stop = rig.run(|cpu| {
            let log = log.clone();
            Box::pin(async move {
                let (word, _) = words(cpu);
                if cpu.id() == 1 {
                    // Have the line dirty over here, then look from the side.
                    cpu.store(word, 1).await;
                    wait_until(cpu, 10_000).await;
                    for _ in 0..30 {
                        log.borrow_mut()
                            .push((cpu.now(), 1, cpu.machine().peek_as(1, word)));
                        wait(cpu, 5).await;
                    }
                } else {
                    wait_until(cpu, 10_020).await;
                    cpu.store(word, 2).await;
                    let after = cpu.now();
                    assert_eq!(cpu.load(word).await, 2, "own stores are seen");
                    log.borrow_mut().push((after, 0, 2));
                    assert!(
                        after < Instant::ZERO + Span::from_ns(10_030),
                        "a plain store waits for nobody"
                    );
                }
            })
        });
        assert_eq!(stop, StopReason::Quiescent);
        let log = log.borrow();
        let issued = log.iter().find(|l| l.1 == 0).expect("stored").0;
        let first = log
            .iter()
            .find(|l| l.1 == 1 && l.2 == 2)
            .expect("became visible")
            .0;
        assert!(
            first >= issued + Span::from_ns(35),
            "{arch:?}: seen {first:?}, issued {issued:?}"
        );
        assert!(
            first <= issued + Span::from_ns(90),
            "{arch:?}: seen {first:?}, issued {issued:?}"
        );
    }
}

/// A release store, and on x86 any store, never overtakes an earlier one to a line that is far away.
#[test]
fn a_release_waits_for_earlier_stores() {
    for arch in ARCHS {
        let rig = Rig::new(arch, 2);
        let bad = Rc::new(Cell::new(0));
        rig.run(|cpu| {
            let bad = bad.clone();
            Box::pin(async move {
                let (flag, data) = words(cpu);
                if cpu.id() == 1 {
                    // The data's line lies here, the flag's over there.
                    cpu.store(data, 0).await;
                    for _ in 0..400 {
                        let m = cpu.machine();
                        if m.peek_as(1, flag) == 1 && m.peek_as(1, data) != 7 {
                            bad.set(bad.get() + 1);
                        }
                        wait(cpu, 1).await;
                    }
                } else {
                    cpu.store(flag, 0).await;
                    wait(cpu, 200).await;
                    cpu.store(data, 7).await;
                    cpu.store_release(flag, u64::MAX, 1).await;
                }
            })
        });
        assert_eq!(bad.get(), 0, "{arch:?}");
    }
}

/// Atomics lose no count whatever the number of CPUs that hammer one word.
#[test]
fn atomics_are_atomic() {
    for arch in ARCHS {
        let total = Rc::new(Cell::new(0));
        Rig::new(arch, 8).run(|cpu| {
            let total = total.clone();
            Box::pin(async move {
                let (word, _) = words(cpu);
                for _ in 0..100 {
                    cpu.rmw(word, Rmw::Add(1), Order::Full).await;
                }
                wait(cpu, 1_000_000).await;
                total.set(cpu.load(word).await);
            })
        });
        assert_eq!(total.get(), 800, "{arch:?}");
    }
}

/// Eight CPUs add under a lock with plain loads and stores: no count is lost, and with all of them waiting
/// in line nobody gets it twice before the others had it once.
fn mutual_exclusion_in_order<L, U>(lock: L, unlock: U)
where
    L: for<'w> Fn(Cpu<'w>) -> std::pin::Pin<Box<dyn Future<Output = ()> + 'w>> + Clone + 'static,
    U: for<'w> Fn(Cpu<'w>) -> std::pin::Pin<Box<dyn Future<Output = ()> + 'w>> + Clone + 'static,
{
    for arch in ARCHS {
        let (order, inside) = (seen(), Rc::new(Cell::new(0)));
        let total = Rc::new(Cell::new(0));
        let stop = Rig::new(arch, 8).run(|cpu| {
            let (order, inside, total) = (order.clone(), inside.clone(), total.clone());
            let (lock, unlock) = (lock.clone(), unlock.clone());
            Box::pin(async move {
                let (_, counter) = words(cpu);
                wait_until(cpu, 3_000 + u64::from(cpu.id()) * 200).await;
                for _ in 0..20 {
                    lock(cpu).await;
                    assert_eq!(inside.replace(1), 0, "two CPUs are inside");
                    order.borrow_mut().push(cpu.id());
                    let n = cpu.load(counter).await;
                    // Long enough for all others to be in line again.
                    wait(cpu, 3_000).await;
                    cpu.store(counter, n + 1).await;
                    inside.set(0);
                    unlock(cpu).await;
                }
                wait(cpu, 5_000_000).await;
                total.set(cpu.load(counter).await);
            })
        });
        assert_eq!(stop, StopReason::Quiescent, "{arch:?}");
        assert_eq!(total.get(), 160, "{arch:?}");
        let order = order.borrow();
        for round in order.chunks(8) {
            assert_eq!(
                round,
                &order[..8],
                "{arch:?}: first come, first served: {order:?}"
            );
        }
        assert_eq!(order[..8], [0, 1, 2, 3, 4, 5, 6, 7], "{arch:?}");
    }
}

/// The ticket lock excludes and serves in order.
#[test]
fn ticket_lock() {
    let lock: Rc<RefCell<Option<Rc<TicketLock>>>> = Rc::default();
    let get = move |cpu: Cpu<'_>| {
        lock.borrow_mut()
            .get_or_insert_with(|| Rc::new(TicketLock::new(cpu.k.qdisc(0).state, 0)))
            .clone()
    };
    let again = get.clone();
    mutual_exclusion_in_order(
        move |cpu| {
            let lock = get(cpu);
            Box::pin(async move { lock.lock(cpu).await })
        },
        move |cpu| {
            let lock = again(cpu);
            Box::pin(async move { lock.unlock(cpu).await })
        },
    );
}

/// The queued lock excludes and serves in order: owner, pending, then the MCS queue.
#[test]
fn queued_lock() {
    fn busylock<'w>(cpu: Cpu<'w>) -> &'w QSpinLock {
        &cpu.k.qdisc(0).busylock
    }
    mutual_exclusion_in_order(
        |cpu| Box::pin(busylock(cpu).lock(cpu)),
        |cpu| Box::pin(busylock(cpu).unlock(cpu)),
    );
}

/// A trylock of a held lock fails, and says who holds it; of a free one it succeeds.
#[test]
fn trylock() {
    for arch in ARCHS {
        Rig::new(arch, 2).run(|cpu| {
            Box::pin(async move {
                let lock = &cpu.k.qdisc(0).busylock;
                if cpu.id() == 0 {
                    assert!(lock.try_lock(cpu).await);
                    wait_until(cpu, 20_000).await;
                    lock.unlock(cpu).await;
                } else {
                    wait_until(cpu, 10_000).await;
                    assert!(!lock.try_lock(cpu).await);
                    assert_eq!(lock.stats.owner(), Some(0));
                    wait_until(cpu, 30_000).await;
                    assert!(lock.try_lock(cpu).await);
                    lock.unlock(cpu).await;
                }
            })
        });
    }
}

async fn packet(cpu: Cpu<'_>, number: u64, priority: u32) -> Skb {
    let packet = Packet {
        flow: 0,
        number,
        len: 60,
        priority,
    };
    cpu.k.skbs.alloc(cpu, packet).await.expect("room")
}

/// A ring takes as many as it has slots; consumed ones come back in batches of 16, so after `n` were
/// consumed it looks full up to 15 early. Small rings give slots back one by one. Order is kept throughout.
#[test]
fn ptr_ring_gives_slots_back_in_batches() {
    for (size, batch) in [(64u64, 16u64), (33, 16), (32, 16), (31, 1), (4, 1), (1, 1)] {
        let mut rig = Rig::new(Arch::X86_64, 1);
        rig.limit = size as u32;
        let stop = rig.run(|cpu| {
            Box::pin(async move {
                let Queueing::PfifoFast(rings) = &cpu.k.qdisc(0).queue else {
                    unreachable!("the rig's")
                };
                let ring = &rings.rings()[0];
                let (mut put, mut got) = (0, 0);
                assert!(ring.is_empty(cpu).await && ring.consume(cpu).await.is_none());
                for consume in [0, 1, 14, 1, 7, 9, 16, 3] {
                    for _ in 0..consume.min(put - got) {
                        let skb = ring.consume(cpu).await.expect("not empty");
                        assert_eq!(u64::from(skb.0), got % 1000, "first in, first out");
                        got += 1;
                    }
                    let mut room = 0;
                    while ring.produce(cpu, Skb((put % 1000) as u32), || ()).await {
                        put += 1;
                        room += 1;
                    }
                    let queued = put - got;
                    assert!(
                        queued <= size && queued + batch > size,
                        "size {size}: full at {queued}"
                    );
                    assert_eq!(
                        ring.peek_all(cpu).len() as u64,
                        queued,
                        "size {size}: {room} new"
                    );
                }
                // A wrap of the ring gives everything back.
                while ring.consume(cpu).await.is_some() {
                    got += 1;
                }
                assert_eq!(got, put);
            })
        });
        assert_eq!(stop, StopReason::Quiescent);
    }
}

/// Band 0 goes before band 1 before band 2, each first in, first out; a full band refuses only its own.
#[test]
fn pfifo_fast_bands() {
    let mut rig = Rig::new(Arch::X86_64, 1);
    rig.limit = 4;
    rig.run(|cpu| {
        Box::pin(async move {
            let q = cpu.k.qdisc(0);
            let Queueing::PfifoFast(queue) = &q.queue else {
                unreachable!("the rig's")
            };
            // Priorities 2, 0, 6 lie in bands 2, 1, 0.
            for (number, priority) in [2, 0, 6, 2, 0, 6, 7, 1].into_iter().enumerate() {
                let skb = packet(cpu, number as u64, priority).await;
                assert!(queue.enqueue(cpu, q, skb).await);
            }
            let skb = packet(cpu, 99, 1).await;
            assert!(
                queue.enqueue(cpu, q, skb).await,
                "the fifth would be too many, this is the fourth of band 2"
            );
            let skb = packet(cpu, 100, 1).await;
            assert!(!queue.enqueue(cpu, q, skb).await, "band 2 is full");
            let skb = packet(cpu, 101, 6).await;
            assert!(queue.enqueue(cpu, q, skb).await, "band 0 is not");
            let mut order = Vec::new();
            while let Some(skb) = queue.dequeue(cpu, q).await {
                order.push(cpu.k.skbs.flow(skb).1);
            }
            assert_eq!(order, [2, 5, 6, 101, 1, 4, 0, 3, 7, 99]);
        })
    });
}

/// A softirq that keeps raising itself gets ten rounds, then ksoftirqd is woken, so that the task runs on;
/// once the task sleeps, ksoftirqd does the rest.
#[test]
fn softirqs_hand_over_to_ksoftirqd() {
    let (rounds, late) = (seen(), seen());
    let mut rig = Rig::new(Arch::X86_64, 2);
    // One packet a NET_TX run, which then schedules itself again.
    rig.dev_weight = 1;
    let stop = rig.run(|cpu| {
        let (rounds, late) = (rounds.clone(), late.clone());
        Box::pin(async move {
            let look = || {
                let r = cpu.machine().reading(0);
                (r.net_tx, r.squeezed, cpu.k.dev(0).tx_packets.get())
            };
            if cpu.id() == 1 {
                wait_until(cpu, 50_000_000).await;
                late.borrow_mut().push(look());
                return;
            }
            let q = cpu.k.qdisc(0);
            let Queueing::PfifoFast(queue) = &q.queue else {
                unreachable!("the rig's")
            };
            for number in 0..30 {
                let skb = packet(cpu, number, 0).await;
                assert!(queue.enqueue(cpu, q, skb).await);
            }
            local_bh_disable(cpu);
            __netif_schedule(cpu, q).await;
            local_bh_enable(cpu).await;
            rounds.borrow_mut().push(look());
        })
    });
    assert_eq!(stop, StopReason::Quiescent);
    assert_eq!(
        *rounds.borrow(),
        [(10, 1, 10)],
        "ten rounds on the task's stack"
    );
    let late = late.borrow()[0];
    assert_eq!(late.2, 30, "ksoftirqd sent the rest: {late:?}");
    assert!(late.0 >= 30 && late.1 >= 2, "{late:?}");
}

/// Raised in process context with softirqs enabled, it is ksoftirqd that runs it.
#[test]
fn a_softirq_raised_by_a_task_wakes_ksoftirqd() {
    let runs = seen();
    Rig::new(Arch::X86_64, 2).run(|cpu| {
        let runs = runs.clone();
        Box::pin(async move {
            raise_softirq(cpu, NET_TX);
            wait(cpu, 1000).await;
            runs.borrow_mut().push(cpu.machine().reading(0).net_tx);
            if cpu.id() == 1 {
                wait(cpu, 5_000_000).await;
                runs.borrow_mut().push(cpu.machine().reading(0).net_tx);
            }
        })
    });
    assert_eq!(
        *runs.borrow(),
        [0, 0, 1],
        "not while the task has the CPU, but once it sleeps"
    );
}

/// An interrupt during long work is taken at once; the work takes as much longer as the interrupt took.
#[test]
fn an_interrupt_cuts_work() {
    let times = seen();
    let stop = Rig::new(Arch::X86_64, 2).run(|cpu| {
        let times = times.clone();
        Box::pin(async move {
            wait_until(cpu, 10_000).await;
            if cpu.id() == 0 {
                let before = (cpu.now(), cpu.machine().reading(0).instructions);
                // A hundred microseconds in one piece.
                cpu.insns(100_000);
                cpu.settle().await;
                times.borrow_mut().push((0, cpu.now().since(before.0).ns()));
            } else {
                wait(cpu, 30_000).await;
                // e0 is device 1: its interrupt goes to CPU 0.
                cpu.machine().raise_irq(0, 0);
                wait(cpu, 20_000).await;
                let r = cpu.machine().reading(0);
                times.borrow_mut().push((1, r.hardirq));
                assert!(r.hardirq > 0, "taken while the work is under way");
                assert!(r.net_rx == 1, "its softirq ran at its end");
            }
        })
    });
    assert_eq!(stop, StopReason::Quiescent);
    let times = times.borrow();
    assert_eq!(times[0].0, 1, "the work was still under way: {times:?}");
    let took = times[1].1;
    assert!(
        (100_100..130_000).contains(&took),
        "100 us and the interrupt: {took} ns"
    );
}

/// Two busy threads of a core each run at g / 2 of a thread alone; on cores of their own both run at full speed.
#[test]
fn smt_siblings_share_a_core() {
    let took = |smt: u16| {
        let mut rig = Rig::new(Arch::X86_64, 2);
        rig.profile.topology.smt = smt;
        let times = seen();
        rig.run(|cpu| {
            let times = times.clone();
            Box::pin(async move {
                wait_until(cpu, 10_000).await;
                let before = cpu.now();
                for _ in 0..100 {
                    cpu.insns(1000);
                    cpu.settle().await;
                }
                times.borrow_mut().push(cpu.now().since(before).ns());
            })
        });
        let times = times.borrow();
        (times[0], times[1])
    };
    let (apart, together) = (took(1), took(2));
    assert_eq!(apart, (100_000, 100_000));
    // g = 1.3: 1 / 0.65.
    for t in [together.0, together.1] {
        assert!((151_000..=154_000).contains(&t), "{together:?}");
    }
}

/// The variants' word for "leave word" and "look again" is MISSED, and only v5.14 and later also look at DRAINING.
#[test]
fn looking_again_clears_the_word() {
    Rig::new(Arch::X86_64, 1).run(|cpu| {
        Box::pin(async move {
            use crate::kernel::sched::qdisc::state::{DRAINING, MISSED};
            let q = cpu.k.qdisc(0);
            assert!(!lockless::look_again(cpu, q).await);
            for bit in [MISSED, DRAINING] {
                cpu.rmw(q.state, Rmw::Mask { clear: 0, set: bit }, Order::Full)
                    .await;
                assert!(lockless::look_again(cpu, q).await, "v5 looks at {bit}");
                assert!(!lockless::look_again(cpu, q).await, "and clears it");
            }
        })
    });
}

/// Cores of two threads; CPUs 0 and 1 are siblings.
fn smt_rig(cpus: u16) -> Rig {
    let mut rig = Rig::new(Arch::X86_64, cpus);
    rig.profile.topology.cores = 4;
    rig.profile.topology.smt = 2;
    rig
}

/// Both siblings work: each at g / 2 = 0.65. When one is done, what the other has left goes at its full rate.
#[test]
fn work_is_retimed_when_a_sibling_stops() {
    let log = seen();
    smt_rig(2).run(|cpu| {
        let log = log.clone();
        Box::pin(async move {
            cpu.insns(if cpu.id() == 0 { 1000 } else { 500 });
            cpu.settle().await;
            log.borrow_mut().push((cpu.id(), cpu.now().ns()));
        })
    });
    // 500 / 0.65 = 769; then 1000 - 500 are left.
    assert_eq!(*log.borrow(), [(1, 769), (0, 1269)]);
}

/// A sibling in a fence leaves the issue width alone, one that works does not.
#[test]
fn a_stalled_sibling_costs_nothing() {
    let log = seen();
    smt_rig(2).run(|cpu| {
        let log = log.clone();
        Box::pin(async move {
            if cpu.id() == 0 {
                cpu.insns(1000);
                cpu.settle().await;
                log.borrow_mut().push(cpu.now().ns());
            } else {
                for _ in 0..20 {
                    cpu.smp_mb().await;
                }
                // The fences took 200 ns; from there on both work.
                cpu.insns(130);
                cpu.settle().await;
                log.borrow_mut().push(cpu.now().ns());
            }
        })
    });
    // 200 alone, 130 / 0.65 = 200 shared, and 1000 - 200 - 130 alone again.
    assert_eq!(*log.borrow(), [400, 1070]);
}

/// Two siblings miss the same line: one fill, counted once, and neither sees the data before it is there.
#[test]
fn siblings_share_a_fill() {
    let log = seen();
    smt_rig(3).run(|cpu| {
        let log = log.clone();
        Box::pin(async move {
            let (word, _) = words(cpu);
            if cpu.id() == 2 {
                cpu.store(word, 7).await;
                wait_until(cpu, 2_000).await;
                return;
            }
            cpu.elapse(Span::from_ns(1_000));
            cpu.settle().await;
            let (start, before) = (cpu.now(), cpu.counters().llc_references.get());
            let value = cpu.load_exposed(word).await;
            let refs = cpu.counters().llc_references.get() - before;
            log.borrow_mut().push((refs, value, start, cpu.now()));
        })
    });
    let mut log = log.borrow().clone();
    log.sort_unstable();
    let [(0, 7, _, second), (1, 7, start, first)] = log[..] else {
        panic!("one fill, and both see the value: {log:?}")
    };
    assert_eq!(first, second, "together");
    assert_eq!(first.since(start), Span::from_ns(40));
}

/// `cli` and `popf` wait for the stores before them.
#[test]
fn interrupt_flags_wait_for_the_store_buffer() {
    let mut rig = Rig::new(Arch::X86_64, 2);
    rig.profile
        .set(crate::machine::cost::Param::IrqSave, 20_000);
    rig.run(|cpu| {
        Box::pin(async move {
            let (word, _) = words(cpu);
            if cpu.id() == 1 {
                cpu.store(word, 1).await;
                return;
            }
            wait(cpu, 1_000).await;
            let start = cpu.now();
            cpu.irq_flags().await;
            assert_eq!(cpu.now().since(start), Span::from_ns(10), "nothing waits");
            let start = cpu.now();
            cpu.store(word, 2).await;
            cpu.irq_flags().await;
            assert_eq!(cpu.now().since(start), Span::from_ns(50), "40 for the line");
        })
    });
}
