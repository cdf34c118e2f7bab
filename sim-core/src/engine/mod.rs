//! The discrete-event engine: time, total order, contexts. It knows no CPUs, packets or Linux.
//!
//! A context asks for a later instant. If nothing else is due before it, the clock is simply set
//! (the *fast path*: no queue, no suspension); otherwise it goes through the queue. Both
//! ways give the same run, byte for byte; [`Engine::new`] can switch the fast path off so that a
//! test can say so.

mod digest;
mod queue;
pub mod rng;
pub mod schedule;
pub mod task;
pub mod time;

pub use digest::Digest;
use queue::Queue;
use std::cell::{Cell, RefCell};
use time::Instant;

/// Order of events at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Class {
    /// Stores that become visible; the end of the run.
    Drain = 0,
    /// Devices and interrupts.
    Device = 1,
    /// Contexts.
    Context = 2,
}

/// An event taken from the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Whose event it is.
    pub id: u32,
    /// Its place in the order of issue; an armed event is identified by it.
    pub seq: u64,
}

const ID_BITS: u32 = 20;
const SEQ_BITS: u32 = 40;

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The configured end was reached.
    Deadline,
    /// Nothing was left to do.
    Quiescent,
    /// Contexts wait for each other: one line each, `CPU0 task kpktgend_0 waits on d0:0 seqlock`.
    Deadlock(Vec<String>),
    /// The step limit was hit; the text names the last function of the busiest context.
    StepLimit(String),
    /// The CPUs go round in circles with a packet queued (explored runs only).
    Livelock {
        /// The busiest CPU and its function.
        function: String,
        /// Device events that would end it, if any are due.
        waits: Vec<String>,
    },
    /// The recording ran out of its memory.
    TraceFull,
}

/// The clock, the queue and the digest of one run.
#[derive(Debug)]
pub struct Engine {
    now: Cell<Instant>,
    /// The instant before the clock last moved.
    last: Cell<Instant>,
    /// Time of the earliest pending event; the fast path stays strictly below it. 0 without one.
    floor: Cell<u64>,
    /// All ones, or zero once there is no fast path (any more).
    fast: Cell<u64>,
    queue: RefCell<Queue>,
    seq: Cell<u64>,
    steps: Cell<u64>,
    step_limit: u64,
    halted: Cell<bool>,
    /// For each context the `seq` of the event it waits for; a cancelled one finds another.
    armed: Vec<Cell<u64>>,
    hand_over: Cell<Option<u32>>,
    /// The digest of the run.
    pub digest: Digest,
}

/// `armed` of a context that waits for no event.
const DISARMED: u64 = u64::MAX;

impl Engine {
    /// An engine for `contexts` contexts (ids `0..contexts`) that stops after `step_limit` steps.
    ///
    /// # Panics
    /// If there are 2^20 contexts or more.
    pub fn new(contexts: usize, step_limit: u64, fast_path: bool) -> Engine {
        assert!(contexts < 1 << ID_BITS, "contexts fit in the key");
        let fast = if fast_path && step_limit > 0 {
            u64::MAX
        } else {
            0
        };
        Engine {
            now: Cell::new(Instant::ZERO),
            last: Cell::new(Instant::ZERO),
            floor: Cell::new(fast),
            fast: Cell::new(fast),
            queue: RefCell::new(Queue::with_capacity(contexts + 16)),
            seq: Cell::new(0),
            steps: Cell::new(0),
            step_limit,
            halted: Cell::new(false),
            armed: (0..contexts).map(|_| Cell::new(DISARMED)).collect(),
            hand_over: Cell::new(None),
            digest: Digest::default(),
        }
    }

    /// The current instant.
    #[inline(always)]
    pub fn now(&self) -> Instant {
        self.now.get()
    }

    /// The instant of the event before the one that is handled now.
    pub fn last(&self) -> Instant {
        self.last.get()
    }

    /// Number of events that are queued.
    pub fn pending(&self) -> usize {
        self.queue.borrow().len()
    }

    /// Micro-steps so far.
    pub fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// Whether the step limit was reached.
    #[inline(always)]
    pub fn exhausted(&self) -> bool {
        self.steps.get() >= self.step_limit
    }

    /// Ends the run at the next event.
    pub fn halt(&self) {
        self.halted.set(true);
        self.end_fast_path();
    }

    #[cold]
    fn end_fast_path(&self) {
        self.fast.set(0);
        self.floor.set(0);
    }

    /// Whether the run is to go no further.
    #[inline(always)]
    pub fn over(&self) -> bool {
        self.halted.get() || self.exhausted()
    }

    /// Counts a micro-step and folds it into the digest. `time` may lie ahead of the clock by the
    /// work that the context still owes.
    #[inline(always)]
    pub fn step(&self, time: Instant, context: u32, kind: u16, word: u32, value: u64) {
        let steps = self.steps.get() + 1;
        self.steps.set(steps);
        if steps >= self.step_limit {
            // No fast path any more: the loop must see it.
            self.end_fast_path();
        }
        self.digest.step(time.ps(), context, kind, word, value);
    }

    /// Moves the clock to `to` if nothing else is due before or at it.
    #[inline(always)]
    pub fn try_advance(&self, to: Instant) -> bool {
        let free = to.ps() < self.floor.get();
        if free {
            self.now.set(to);
        }
        free
    }

    /// Queues an event for `id`.
    ///
    /// # Panics
    /// If `at` lies in the past, or after 2^40 events.
    #[inline(always)]
    pub fn push(&self, at: Instant, class: Class, id: u32) -> u64 {
        assert!(at >= self.now.get(), "time runs backwards");
        let seq = self.seq.get() + 1;
        assert!(seq < 1 << SEQ_BITS, "events fit in the key");
        self.seq.set(seq);
        let low = u64::from(class as u8) << (SEQ_BITS + ID_BITS) | seq << ID_BITS | u64::from(id);
        self.queue
            .borrow_mut()
            .push(u128::from(at.ps()) << 64 | u128::from(low));
        self.floor.set(self.floor.get().min(at.ps()));
        seq
    }

    /// Queues the event that context `id` waits for; an earlier one of it no longer counts.
    #[inline(always)]
    pub fn arm(&self, at: Instant, id: u32) {
        let seq = self.push(at, Class::Context, id);
        self.armed[id as usize].set(seq);
    }

    /// Takes back the event that context `id` waits for.
    pub fn disarm(&self, id: u32) {
        self.armed[id as usize].set(DISARMED);
    }

    /// Names the context to run next at this instant, once the running one suspends.
    ///
    /// # Panics
    /// If another one was named already.
    #[inline(always)]
    pub fn hand_over(&self, id: u32) {
        assert!(
            self.hand_over.replace(Some(id)).is_none(),
            "one heir at a time"
        );
    }

    #[inline(always)]
    fn take_hand_over(&self) -> Option<u32> {
        self.hand_over.take()
    }

    /// Whether context event `event` is the one its context waits for; if so it is used up.
    #[inline(always)]
    fn accepts(&self, event: Event) -> bool {
        let armed = &self.armed[event.id as usize];
        let ok = armed.get() == event.seq;
        if ok {
            armed.set(DISARMED);
        }
        ok
    }

    /// Takes the earliest event without moving the clock, for a run whose order is explored: whose it is
    /// and for when. A context's event that no longer counts is skipped.
    pub fn take(&self) -> Option<(Instant, Event)> {
        loop {
            let key = self.queue.borrow_mut().pop()?;
            let event = Event {
                id: (key as u64 & ((1 << ID_BITS) - 1)) as u32,
                seq: key as u64 >> ID_BITS & ((1 << SEQ_BITS) - 1),
            };
            if self.armed.get(event.id as usize).is_none() || self.accepts(event) {
                return Some((Instant::from_ps((key >> 64) as u64), event));
            }
        }
    }

    /// Sets the clock of a run whose order is explored; it never goes back.
    pub fn set_clock(&self, to: Instant) {
        if to > self.now.get() {
            self.last.set(self.now.replace(to));
        }
    }

    #[inline(always)]
    fn pop(&self) -> Option<Event> {
        let mut queue = self.queue.borrow_mut();
        let key = queue.pop()?;
        self.floor.set((queue.min() >> 64) as u64 & self.fast.get());
        self.last
            .set(self.now.replace(Instant::from_ps((key >> 64) as u64)));
        let low = key as u64;
        Some(Event {
            id: (low & ((1 << ID_BITS) - 1)) as u32,
            seq: low >> ID_BITS & ((1 << SEQ_BITS) - 1),
        })
    }
}
