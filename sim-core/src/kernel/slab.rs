//! SLUB: per-CPU free lists, pages, and what freeing on another CPU costs.
//!
//! Follows Linux 5.11 `mm/slub.c`. An object goes back to its page; if that page is another CPU's,
//! the free is an atomic on the page's `struct page` line. Modelled: fast paths, `__slab_free` with
//! its four cases, per-CPU partial lists with their limit, the node's list under `list_lock`.
//! Approximated: refill instructions (not counted). Absent: discarding empty slabs, NUMA.

use super::locking::QSpinLock;
use super::{Cost, Cpu, Func};
use crate::machine::memory::{LineId, Placement, Word};
use crate::machine::{Footprint, Order, Rmw};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// No page.
const NONE: u32 = u32::MAX;

/// What a cache's objects look like.
#[derive(Clone, Copy, Debug)]
pub struct CacheSpec {
    /// Name, as in `/proc/slabinfo`.
    pub name: &'static str,
    /// Lines of an object that are modelled.
    pub lines: u32,
    /// Which of them holds the free pointer.
    pub freeptr: u32,
    /// Objects in a slab.
    pub per_slab: u32,
    /// `cpu_partial`: free objects (counted as they were put) a CPU keeps on partial slabs.
    pub cpu_partial: u32,
    /// Objects at most; sized by the caller so that a run cannot need more.
    pub capacity: u32,
}

#[derive(Debug)]
struct Page {
    /// Atomic `freelist`/`counters` of `struct page`.
    word: Word,
    free: RefCell<Vec<u32>>,
    frozen: Cell<bool>,
    on_node: Cell<bool>,
}

#[derive(Debug)]
struct CpuSlab {
    page: Cell<u32>,
    free: RefCell<Vec<u32>>,
    partial: RefCell<Vec<u32>>,
    partial_objects: Cell<u32>,
}

/// A `kmem_cache`.
#[derive(Debug)]
pub struct KmemCache {
    spec: CacheSpec,
    first_line: LineId,
    pages: Vec<Page>,
    fresh: Cell<u32>,
    cpus: Vec<CpuSlab>,
    list_lock: QSpinLock,
    node_line: LineId,
    node: RefCell<VecDeque<u32>>,
    in_use: Cell<u32>,
}

impl KmemCache {
    /// Places a cache for `cpus` CPUs; its node lock gets `lock` as its number in the trace.
    pub fn place(memory: &mut Placement, spec: CacheSpec, cpus: usize, lock: u32) -> KmemCache {
        let pages = spec.capacity.div_ceil(spec.per_slab).max(1);
        let first_line = memory.lines(spec.name, pages * spec.per_slab * spec.lines);
        let pages = (0..pages)
            .map(|i| Page {
                word: memory.lone_word(format_args!("{} page {i} freelist", spec.name), 0),
                free: RefCell::default(),
                frozen: Cell::new(false),
                on_node: Cell::new(false),
            })
            .collect();
        let node_line = memory.lines(format_args!("{} node", spec.name), 1);
        let lock_word = memory.word(node_line, 0, format_args!("{} list_lock", spec.name), 0);
        let cpu_slab = || CpuSlab {
            page: Cell::new(NONE),
            free: RefCell::default(),
            partial: RefCell::default(),
            partial_objects: Cell::new(0),
        };
        KmemCache {
            spec,
            first_line,
            pages,
            fresh: Cell::new(0),
            cpus: (0..cpus).map(|_| cpu_slab()).collect(),
            list_lock: QSpinLock::new(lock_word, lock),
            node_line,
            node: RefCell::default(),
            in_use: Cell::new(0),
        }
    }

    /// The first modelled line of object `object`.
    #[inline(always)]
    pub fn line(&self, object: u32) -> LineId {
        self.first_line.nth(object * self.spec.lines)
    }

    /// Number of objects there can be.
    pub fn capacity(&self) -> u32 {
        self.pages.len() as u32 * self.spec.per_slab
    }

    /// Objects that are allocated.
    pub fn in_use(&self) -> u32 {
        self.in_use.get()
    }

    /// The node's lock.
    pub fn list_lock(&self) -> &QSpinLock {
        &self.list_lock
    }

    fn freeptr(&self, object: u32, write: bool) -> Footprint {
        let bit = 1 << self.spec.freeptr;
        Footprint {
            base: self.line(object),
            reads: if write { 0 } else { bit },
            writes: if write { bit } else { 0 },
        }
    }

    /// `kmem_cache_alloc`; `None` when the capacity is used up.
    pub async fn alloc(&self, cpu: Cpu<'_>) -> Option<u32> {
        let mine = &self.cpus[usize::from(cpu.id())];
        cpu.spend(Cost::SlabAlloc);
        let popped = mine.free.borrow_mut().pop();
        let object = match popped {
            Some(object) => object,
            None => self.alloc_slow(cpu, mine).await?,
        };
        self.in_use.set(self.in_use.get() + 1);
        // The next free object's pointer lies in the object itself.
        cpu.touch([self.freeptr(object, false)]).await;
        cpu.this_cpu_op();
        Some(object)
    }

    #[cold]
    async fn alloc_slow(&self, cpu: Cpu<'_>, mine: &CpuSlab) -> Option<u32> {
        let _span = cpu.enter(Func::SlabAlloc);
        cpu.spend(Cost::SlabAllocSlow);
        if mine.page.get() != NONE {
            // get_freelist: everything that others gave back to my slab meanwhile.
            let page = &self.pages[mine.page.get() as usize];
            cpu.rmw(page.word, Rmw::Add(1), Order::Acquire).await;
            let freed = std::mem::take(&mut *page.free.borrow_mut());
            page.frozen.set(!freed.is_empty());
            *mine.free.borrow_mut() = freed;
            if let Some(object) = mine.free.borrow_mut().pop() {
                return Some(object);
            }
            mine.page.set(NONE);
        }
        let partial = mine.partial.borrow_mut().pop();
        let page = match partial {
            Some(page) => {
                cpu.rmw(self.pages[page as usize].word, Rmw::Add(1), Order::Acquire)
                    .await;
                page
            }
            None => match self.take_from_node(cpu, mine).await {
                Some(page) => page,
                None => self.new_slab(cpu)?,
            },
        };
        self.pages[page as usize].frozen.set(true);
        mine.page.set(page);
        *mine.free.borrow_mut() = std::mem::take(&mut *self.pages[page as usize].free.borrow_mut());
        mine.free.borrow_mut().pop()
    }

    /// get_partial_node: one slab to use, and some more for the own list.
    async fn take_from_node(&self, cpu: Cpu<'_>, mine: &CpuSlab) -> Option<u32> {
        if self.node.borrow().is_empty() {
            return None;
        }
        // Interrupts free skbs too (spin_lock_irqsave). What masking costs is part of the path's count.
        let masked = cpu.irq_save();
        self.list_lock.lock(cpu).await;
        cpu.touch([Footprint {
            base: self.node_line,
            reads: 0,
            writes: 1,
        }])
        .await;
        let (mut first, mut got) = (None, 0);
        loop {
            let Some(number) = self.node.borrow_mut().pop_front() else {
                break;
            };
            let page = &self.pages[number as usize];
            cpu.rmw(page.word, Rmw::Add(1), Order::Acquire).await;
            page.on_node.set(false);
            page.frozen.set(true);
            let objects = page.free.borrow().len() as u32;
            if first.is_none() {
                first = Some(number);
            } else {
                mine.partial.borrow_mut().push(number);
                mine.partial_objects
                    .set(mine.partial_objects.get() + objects);
            }
            got += objects;
            if got > self.spec.cpu_partial / 2 {
                break;
            }
        }
        self.list_lock.unlock(cpu).await;
        cpu.irq_restore(masked);
        first
    }

    fn new_slab(&self, cpu: Cpu<'_>) -> Option<u32> {
        let page = self.fresh.get();
        if page as usize == self.pages.len() {
            return None;
        }
        cpu.spend(Cost::SlabNew);
        self.fresh.set(page + 1);
        let n = self.spec.per_slab;
        *self.pages[page as usize].free.borrow_mut() = (page * n..page * n + n).rev().collect();
        Some(page)
    }

    /// `kmem_cache_free`.
    pub async fn free(&self, cpu: Cpu<'_>, object: u32) {
        let mine = &self.cpus[usize::from(cpu.id())];
        let number = object / self.spec.per_slab;
        self.in_use.set(self.in_use.get() - 1);
        cpu.spend(Cost::SlabFree);
        cpu.touch([self.freeptr(object, true)]).await;
        if mine.page.get() == number {
            cpu.this_cpu_op();
            mine.free.borrow_mut().push(object);
            return;
        }
        self.free_slow(cpu, mine, number, object).await;
    }

    async fn free_slow(&self, cpu: Cpu<'_>, mine: &CpuSlab, number: u32, object: u32) {
        let _span = cpu.enter(Func::SlabFree);
        cpu.spend(Cost::SlabFreeSlow);
        let page = &self.pages[number as usize];
        cpu.rmw(page.word, Rmw::Add(1), Order::Full).await;
        let was_full = page.free.borrow().is_empty();
        page.free.borrow_mut().push(object);
        if page.frozen.get() || !was_full || page.on_node.get() {
            return;
        }
        // A full slab that was on no list: it becomes mine, on the per-CPU partial list.
        page.frozen.set(true);
        if mine.partial_objects.get() > self.spec.cpu_partial {
            self.unfreeze_partials(cpu, mine).await;
        }
        cpu.this_cpu_op();
        mine.partial.borrow_mut().push(number);
        mine.partial_objects.set(mine.partial_objects.get() + 1);
    }

    async fn unfreeze_partials(&self, cpu: Cpu<'_>, mine: &CpuSlab) {
        let slabs = std::mem::take(&mut *mine.partial.borrow_mut());
        mine.partial_objects.set(0);
        let masked = cpu.irq_save();
        self.list_lock.lock(cpu).await;
        cpu.touch([Footprint {
            base: self.node_line,
            reads: 0,
            writes: 1,
        }])
        .await;
        for number in slabs {
            let page = &self.pages[number as usize];
            cpu.rmw(page.word, Rmw::Add(1), Order::Acquire).await;
            page.frozen.set(false);
            page.on_node.set(true);
            self.node.borrow_mut().push_back(number);
        }
        self.list_lock.unlock(cpu).await;
        cpu.irq_restore(masked);
    }
}
