//! Running contexts: `async` blocks that suspend on the engine's clock.

use super::{Engine, Event};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// A context: one box for its whole life, everything it calls nests statically inside.
pub type Task<'w> = Pin<Box<dyn Future<Output = ()> + 'w>>;

/// Runs contexts and device events until the queue is empty or a stop event comes.
///
/// `fire` is called for each event that is not a context's (ids from `tasks.len()` upward); it
/// says whether to go on. A context may name another one to run next at the same instant with
/// [`Engine::hand_over`]; that one is polled without going through the queue.
pub fn run(engine: &Engine, tasks: &mut [Task<'_>], fire: &mut dyn FnMut(Event) -> Flow) {
    let mut cx = Context::from_waker(Waker::noop());
    while let Some(event) = engine.pop() {
        let mut next = match tasks.get(event.id as usize) {
            Some(_) if engine.accepts(event) => Some(event.id),
            Some(_) => None,
            None => match fire(event) {
                Flow::Go => engine.take_hand_over(),
                Flow::Stop => return,
            },
        };
        while let Some(id) = next {
            // A finished context is never polled again: it is nobody's event and nobody's heir.
            let _: Poll<()> = tasks[id as usize].as_mut().poll(&mut cx);
            next = engine.take_hand_over();
        }
        if engine.over() {
            return;
        }
    }
}

/// Polls context `id`, and whomever it hands over to.
pub fn step(engine: &Engine, tasks: &mut [Task<'_>], id: u32) {
    let mut cx = Context::from_waker(Waker::noop());
    let mut next = Some(id);
    while let Some(id) = next {
        let _: Poll<()> = tasks[id as usize].as_mut().poll(&mut cx);
        next = engine.take_hand_over();
    }
}

/// Whether a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// On.
    Go,
    /// End it.
    Stop,
}
