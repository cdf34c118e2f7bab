//! The engine alone, as the usual workloads of discrete-event simulators: PHOLD, a ring of
//! coroutines, queues in tandem. Digest on, no trace: these contexts have nothing to say.
//!
//! One operation is a timed event (phold), a hop: receive, wait, send (ring64), an arrival or the
//! end of a service (tandem8: 9 for each customer).

mod common;

use common::{Exponential, Random, bench, goal, scaled};
use sim_core::engine::Engine;
use sim_core::engine::task::{self, Flow, Task};
use sim_core::engine::time::{Instant, Span};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A context's view of the engine.
#[derive(Clone, Copy)]
struct Process<'e> {
    engine: &'e Engine,
    id: u32,
}

struct Hold<'e> {
    process: Process<'e>,
    until: Instant,
    armed: bool,
}

impl Future for Hold<'_> {
    type Output = ();
    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let Process { engine, id } = self.process;
        if self.armed || engine.try_advance(self.until) {
            return Poll::Ready(());
        }
        self.armed = true;
        engine.arm(self.until, id);
        Poll::Pending
    }
}

/// Suspends until somebody arms this context.
struct Park(bool);

impl Future for Park {
    type Output = ();
    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

impl<'e> Process<'e> {
    #[inline(always)]
    fn hold(self, span: u64) -> Hold<'e> {
        Hold {
            process: self,
            until: self.engine.now() + Span::from_ps(span),
            armed: false,
        }
    }

    #[inline(always)]
    fn step(self, kind: u16, value: u64) {
        self.engine.step(self.engine.now(), self.id, kind, 0, value);
    }

    fn wake(self, other: u32) {
        self.engine.arm(self.engine.now(), other);
    }
}

/// Runs `n` contexts, all from time zero on, for `ops` steps; returns the steps and the digest.
fn run<'e>(engine: &'e Engine, n: u32, body: impl Fn(Process<'e>) -> Task<'e>) -> (u64, String) {
    let mut tasks: Vec<Task<'e>> = (0..n).map(|id| body(Process { engine, id })).collect();
    (0..n).for_each(|id| engine.arm(Instant::ZERO, id));
    task::run(engine, &mut tasks, &mut |_| Flow::Go);
    (engine.steps(), engine.digest.text())
}

fn phold(n: u32, ops: u64) -> Option<f64> {
    let exponential = Exponential::new(1_000_000);
    bench(&format!("phold/n={n}"), || {
        let engine = Engine::new(n as usize, scaled(ops), true);
        let (random, exponential) = (&Random::new(1), &exponential);
        run(&engine, n, |process| {
            Box::pin(async move {
                loop {
                    let span = exponential.draw(random);
                    process.hold(span).await;
                    process.step(0, span);
                }
            })
        })
    })
}

fn ring(ops: u64) -> Option<f64> {
    const N: u32 = 64;
    bench("ring64", || {
        let engine = Engine::new(N as usize, scaled(ops), true);
        // Messages that wait, and whether the receiver does.
        let boxes: Vec<Cell<(u32, bool)>> = (0..N).map(|_| Cell::new((1, false))).collect();
        let boxes = &boxes;
        run(&engine, N, |process| {
            Box::pin(async move {
                let random = Random::new(u64::from(process.id));
                let next = (process.id + 1) % N;
                let (mine, theirs) = (&boxes[process.id as usize], &boxes[next as usize]);
                loop {
                    while mine.get().0 == 0 {
                        mine.set((0, true));
                        Park(false).await;
                    }
                    mine.set((mine.get().0 - 1, false));
                    process.hold(100_000 + random.below(100_000)).await;
                    process.step(0, 0);
                    let (waiting, parked) = theirs.replace((theirs.get().0 + 1, false));
                    debug_assert!(!parked || waiting == 0);
                    if parked {
                        process.wake(next);
                    }
                }
            })
        })
    })
}

#[derive(Default)]
struct Station {
    queue: RefCell<VecDeque<Instant>>,
    idle: Cell<bool>,
}

fn tandem(ops: u64) -> Option<f64> {
    const N: u32 = 8;
    let (arrival, service) = (&Exponential::new(1_000_000), &Exponential::new(800_000));
    bench("tandem8", || {
        let engine = Engine::new(N as usize + 1, scaled(ops), true);
        let stations: Vec<Station> = (0..N).map(|_| Station::default()).collect();
        let (stations, random) = (&stations, &Random::new(1));
        let put = move |from: Process<'_>, to: u32, born: Instant| {
            from.step(to as u16, from.engine.now().since(born).ps());
            if let Some(station) = stations.get(to as usize) {
                station.queue.borrow_mut().push_back(born);
                if station.idle.replace(false) {
                    from.wake(to);
                }
            }
        };
        run(&engine, N + 1, |process| {
            match stations.get(process.id as usize) {
                Some(station) => Box::pin(async move {
                    loop {
                        while station.queue.borrow().is_empty() {
                            station.idle.set(true);
                            Park(false).await;
                        }
                        process.hold(service.draw(random)).await;
                        let born = station
                            .queue
                            .borrow_mut()
                            .pop_front()
                            .expect("it waited to be served");
                        put(process, process.id + 1, born);
                    }
                }),
                None => Box::pin(async move {
                    loop {
                        process.hold(arrival.draw(random)).await;
                        put(process, 0, process.engine.now());
                    }
                }),
            }
        })
    })
}

fn main() {
    let rate = |ns: Option<f64>| ns.map(|ns| 1e3 / ns);
    let phold64 = phold(64, 4_000_000);
    phold(1000, 4_000_000);
    phold(100_000, 2_000_000);
    let ring64 = ring(4_000_000);
    let tandem8 = tandem(9_000_000);
    goal("phold 64, M/s", rate(phold64), 15.0, 22.0);
    goal("ring64, M/s", rate(ring64), 7.0, 15.0);
    goal("tandem8, M/s", rate(tandem8), 7.0, 18.0);
}
