//! The pages of a ring: blocks of four, each a compound page.
//!
//! Follows Linux 3.14 `mm/swap.c` and `include/linux/mm.h`. trafgen asks for blocks of 16 KB and frames
//! of 2 KB, so a block is one compound page of order 2, and six of its eight frames lie on tail pages.
//! Up to v4.4 a reference to a tail page goes through the head: `get_page` takes four locked operations
//! and `put_page` six, both with interrupts off; since v4.5 either is one on the head.

use crate::kernel::{Cost, Cpu, Func};
use crate::machine::memory::{Placement, Word};
use crate::machine::{Order, Rmw};

const FRAMES_PER_PAGE: u32 = 2;
const PAGES_PER_BLOCK: u32 = 4;

/// `PG_compound_lock`.
const COMPOUND_LOCK: u64 = 1;

/// `struct page` of each page of a ring, a line each.
#[derive(Debug)]
pub(crate) struct Pages {
    /// Of each page `_count`, then of each page `flags`, then of each page `_mapcount`.
    count: Vec<Word>,
    flags: Vec<Word>,
    mapcount: Vec<Word>,
}

/// Where a frame lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PageOf {
    Head(usize),
    Tail { head: usize, page: usize },
}

fn page_of(frame: u32) -> PageOf {
    let page = (frame / FRAMES_PER_PAGE) as usize;
    let head = page - page % PAGES_PER_BLOCK as usize;
    if page == head {
        PageOf::Head(head)
    } else {
        PageOf::Tail { head, page }
    }
}

impl Pages {
    pub fn place(memory: &mut Placement, name: &str, frames: u32) -> Pages {
        let pages = frames.div_ceil(FRAMES_PER_PAGE);
        let mut all = Pages {
            count: Vec::new(),
            flags: Vec::new(),
            mapcount: Vec::new(),
        };
        for p in 0..pages {
            let name = format!("{name} page {p}");
            let line = memory.lines(&name, 1);
            all.flags
                .push(memory.word(line, 0, format_args!("{name} flags"), 0));
            all.mapcount
                .push(memory.word(line, 24, format_args!("{name} _mapcount"), 0));
            all.count
                .push(memory.word(line, 28, format_args!("{name} _count"), 1));
        }
        all
    }

    /// `get_page` of the page that frame `frame` lies on.
    pub async fn get(&self, cpu: Cpu<'_>, frame: u32) {
        match page_of(frame) {
            PageOf::Tail { head, page } if through_head(cpu) => {
                // __get_page_tail
                cpu.spend(Cost::CompoundTailGet);
                atomic(cpu, self.count[head], 1).await;
                self.lock(cpu, head).await;
                atomic(cpu, self.mapcount[page], 1).await;
                self.unlock(cpu, head).await;
            }
            PageOf::Head(head) | PageOf::Tail { head, .. } => {
                atomic(cpu, self.count[head], 1).await;
            }
        }
    }

    /// `put_page` of the page that frame `frame` lies on; the ring keeps its own reference.
    pub async fn put(&self, cpu: Cpu<'_>, frame: u32) {
        let _span = cpu.enter(Func::PutPage);
        cpu.spend(Cost::PutPage);
        match page_of(frame) {
            PageOf::Tail { head, page } if through_head(cpu) => {
                // put_compound_page: hold the head, so that its lock stays; drop the tail's reference
                // and the head's with it; drop the hold.
                cpu.spend(Cost::CompoundTailPut);
                atomic(cpu, self.count[head], 1).await;
                self.lock(cpu, head).await;
                atomic(cpu, self.mapcount[page], -1).await;
                atomic(cpu, self.count[head], -1).await;
                self.unlock(cpu, head).await;
                atomic(cpu, self.count[head], -1).await;
            }
            PageOf::Head(head) | PageOf::Tail { head, .. } => {
                atomic(cpu, self.count[head], -1).await;
            }
        }
    }

    /// `compound_lock_irqsave`: a bit lock. The CPU that completes packets may hold it.
    async fn lock(&self, cpu: Cpu<'_>, head: usize) {
        cpu.irq_flags().await;
        cpu.irq_disable();
        let set = Rmw::Mask {
            clear: 0,
            set: COMPOUND_LOCK,
        };
        let flags = self.flags[head];
        while cpu.rmw(flags, set, Order::Full).await & COMPOUND_LOCK != 0 {
            cpu.wait_until(flags, |v| v & COMPOUND_LOCK == 0).await;
        }
    }

    async fn unlock(&self, cpu: Cpu<'_>, head: usize) {
        let clear = Rmw::Mask {
            clear: COMPOUND_LOCK,
            set: 0,
        };
        cpu.rmw(self.flags[head], clear, Order::Full).await;
        cpu.irq_flags().await;
        cpu.irq_enable();
    }

    /// References that the ring's pages have beside its own, after a run.
    pub fn held(&self, cpu: Cpu<'_>) -> u64 {
        let m = cpu.machine();
        self.count.iter().map(|&word| m.peek(word) - 1).sum()
    }
}

/// References to a tail page go through its head.
fn through_head(cpu: Cpu<'_>) -> bool {
    cpu.k.config.version < (4, 5)
}

async fn atomic(cpu: Cpu<'_>, word: Word, n: i64) {
    cpu.rmw(word, Rmw::Add(n as u64), Order::Full).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_of_eight_frames_lie_on_tails() {
        let tails = |block: u32| {
            (0..8)
                .filter(|f| matches!(page_of(8 * block + f), PageOf::Tail { head, .. } if head == 4 * block as usize))
                .count()
        };
        assert_eq!((tails(0), tails(5)), (6, 6));
        assert_eq!(page_of(41), PageOf::Head(20));
        assert_eq!(page_of(47), PageOf::Tail { head: 20, page: 23 });
    }
}
