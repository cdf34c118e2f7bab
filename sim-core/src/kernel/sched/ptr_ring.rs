//! `ptr_ring`: the array queue under `pfifo_fast`.
//!
//! Follows Linux 5.11 `include/linux/ptr_ring.h`. Consumed slots are given back to producers in
//! batches of up to 16, so the ring can look full up to 15 entries early.

use crate::kernel::Cpu;
use crate::kernel::locking::QSpinLock;
use crate::kernel::skb::Skb;
use crate::machine::memory::{Placement, Word};

/// Slots in a line.
const SLOTS_PER_LINE: u32 = 8;

/// A ring of skbs: many producers under a lock, one consumer at a time.
#[derive(Debug)]
pub struct PtrRing {
    producer: Word,
    producer_lock: QSpinLock,
    consumer_head: Word,
    consumer_tail: Word,
    /// size, batch and queue pointer: read only.
    geometry: Word,
    slots: Word,
    size: u32,
    batch: u32,
}

impl PtrRing {
    /// Places a ring of `size` slots; its producer lock gets number `lock` in the trace.
    pub fn place(memory: &mut Placement, name: &str, size: u32, lock: u32) -> PtrRing {
        let p = memory.lines(format_args!("{name} producer"), 1);
        let producer = memory.word(p, 0, format_args!("{name} producer"), 0);
        let lock_word = memory.word(p, 4, format_args!("{name} producer_lock"), 0);
        let c = memory.lines(format_args!("{name} consumer"), 1);
        let consumer_head = memory.word(c, 0, format_args!("{name} consumer_head"), 0);
        let consumer_tail = memory.word(c, 4, format_args!("{name} consumer_tail"), 0);
        let geometry = memory.lone_word(format_args!("{name} size"), u64::from(size));
        let lines = memory.lines(format_args!("{name} queue"), size.div_ceil(SLOTS_PER_LINE));
        let slots: Vec<Word> = (0..size)
            .map(|i| {
                let at = (i % SLOTS_PER_LINE * 8) as u16;
                memory.word(
                    lines.nth(i / SLOTS_PER_LINE),
                    at,
                    format_args!("{name} queue[{i}]"),
                    0,
                )
            })
            .collect();
        // 16 unless that is more than half of the ring (`__ptr_ring_set_size`).
        let batch = if 16 > size / 2 { 1 } else { 16 };
        PtrRing {
            producer,
            producer_lock: QSpinLock::new(lock_word, lock),
            consumer_head,
            consumer_tail,
            geometry,
            slots: slots[0],
            size,
            batch,
        }
    }

    /// The producers' lock.
    pub fn producer_lock(&self) -> &QSpinLock {
        &self.producer_lock
    }

    /// `ptr_ring_produce`: false if the slot is still taken. `queued` is called just before the
    /// slot is written: afterwards the consumer may already have it.
    pub async fn produce(&self, cpu: Cpu<'_>, skb: Skb, queued: impl FnOnce()) -> bool {
        self.producer_lock.lock(cpu).await;
        let at = cpu.load(self.producer).await as u32;
        let slot = self.slots.nth(at);
        let free = cpu.load(slot).await == 0;
        if free {
            // The skb's contents before its pointer.
            cpu.smp_wmb().await;
            queued();
            cpu.store(slot, u64::from(skb.0) + 1).await;
            cpu.store(
                self.producer,
                u64::from(if at + 1 == self.size { 0 } else { at + 1 }),
            )
            .await;
        }
        self.producer_lock.unlock(cpu).await;
        free
    }

    /// `__ptr_ring_empty`: no lock, no order.
    pub async fn is_empty(&self, cpu: Cpu<'_>) -> bool {
        let head = cpu.load(self.consumer_head).await as u32;
        cpu.load(self.geometry).await;
        cpu.load(self.slots.nth(head)).await == 0
    }

    /// `__ptr_ring_peek`: the caller is the only consumer.
    pub async fn peek(&self, cpu: Cpu<'_>) -> Option<Skb> {
        let head = cpu.load(self.consumer_head).await as u32;
        let slot = cpu.load(self.slots.nth(head)).await as u32;
        slot.checked_sub(1).map(Skb)
    }

    /// `__ptr_ring_consume`: the caller is the only consumer.
    pub async fn consume(&self, cpu: Cpu<'_>) -> Option<Skb> {
        let head = cpu.load(self.consumer_head).await as u32;
        let skb = Skb((cpu.load(self.slots.nth(head)).await as u32).checked_sub(1)?);
        // __ptr_ring_discard_one
        let mut next = head + 1;
        let tail = cpu.load(self.consumer_tail).await as u32;
        if next - tail >= self.batch || next >= self.size {
            for slot in (tail..next).rev() {
                cpu.store(self.slots.nth(slot), 0).await;
            }
            cpu.store(self.consumer_tail, u64::from(next)).await;
        }
        if next >= self.size {
            next = 0;
            cpu.store(self.consumer_tail, 0).await;
        }
        cpu.store(self.consumer_head, u64::from(next)).await;
        Some(skb)
    }

    /// Packets in the ring, looked at from outside the run.
    pub fn peek_all(&self, cpu: Cpu<'_>) -> Vec<Skb> {
        let m = cpu.machine();
        let head = m.peek(self.consumer_head) as u32;
        // Behind the head lie slots that were consumed and not given back yet; they still hold pointers.
        let consumed = head - m.peek(self.consumer_tail) as u32;
        (0..self.size - consumed)
            .map(|i| (head + i) % self.size)
            .map_while(|slot| (m.peek(self.slots.nth(slot)) as u32).checked_sub(1))
            .map(Skb)
            .collect()
    }
}
