//! Socket buffers: identity, references, and the lines they lie on.
//!
//! Follows Linux 5.11 `net/core/skbuff.c`. An skb is two slab objects: the struct (4 lines) and the
//! head, of which three lines matter here: headers, free pointer, shared info. Layout as counted on 6.1.

use super::packet::{self, Destructor};
use super::slab::{CacheSpec, KmemCache};
use super::{Cost, Cpu, Func};
use crate::engine::time::Instant;
use crate::frame::{ETH_HLEN, Frame, Tag};
use crate::machine::memory::{Placement, Word};
use crate::machine::{Footprint, Order, Rmw};
use crate::trace::Kind;
use std::cell::Cell;

/// An skb in use: the number of its struct's slab object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Skb(pub(crate) u32);

/// Lines of the struct, as bits of a mask.
pub mod line {
    /// next, prev, dev, sk, cb (qdisc packet length).
    pub const L0: u16 = 1;
    /// dst, destructor, len, queue_mapping, slab free pointer.
    pub const L1: u16 = 2;
    /// protocol, priority, header offsets.
    pub const L2: u16 = 4;
    /// head, data, truesize, users.
    pub const L3: u16 = 8;
    /// Of the head: packet headers.
    pub const HEADERS: u16 = 1;
    /// Of the head: slab free pointer.
    pub const HEAD_FREEPTR: u16 = 2;
    /// Of the head: `skb_shared_info`.
    pub const SHINFO: u16 = 4;
}

/// `skb->ip_summed` on transmit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IpSummed {
    /// `CHECKSUM_NONE`: it is in the data.
    #[default]
    None,
    /// `CHECKSUM_PARTIAL`: somebody below has to fill it in.
    Partial,
    /// `CHECKSUM_UNNECESSARY`: looked at already.
    Unnecessary,
}

/// Pages of received fragments: each holds two buffers, and its `_count` is on the line of its `struct page`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RxPages {
    /// `_count` of the first page of the ring, and how many pages there are.
    pub counts: Word,
    /// Pages.
    pub pages: u32,
    /// Buffer of the first fragment.
    pub first: u32,
}

impl RxPages {
    /// `_count` of the page of fragment `n`.
    pub fn count(&self, n: u32) -> Word {
        self.counts
            .nth((self.first.wrapping_add(n) / 2) % self.pages)
    }
}

/// What the stack notes about an skb beside its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// `skb->priority`.
    pub priority: u32,
    /// `vlan_tci`: a tag beside the data (`skb_vlan_tag_present`).
    pub vlan_tag: Option<Tag>,
    /// `ip_summed`.
    pub ip_summed: IpSummed,
    /// `queue_mapping`.
    pub queue_mapping: u16,
    /// Page fragments.
    pub nr_frags: u8,
    /// Bytes of the payload that are in fragments.
    pub data_len: u32,
    /// Its head is shared with a clone.
    pub cloned: bool,
    /// `skb->hash` was computed.
    pub hashed: bool,
    /// Its fragments are receive buffers.
    pub rx_pages: Option<RxPages>,
    /// The CPU that wrote its payload and still has it in its caches; not kernel state.
    pub cached_on: Option<u16>,
}

/// What is known of an skb.
#[derive(Debug, Default)]
struct Slot {
    /// Identity in the trace; new for each allocation.
    id: Cell<u32>,
    head: Cell<u32>,
    frame: Cell<Frame>,
    meta: Cell<Meta>,
    born: Cell<Instant>,
    /// `skb->destructor`, and what it gives back.
    destructor: Cell<Option<(Destructor, u64)>>,
    /// `skb->next`, in lists.
    next: Cell<Option<Skb>>,
    /// `skb->sk` with its destructor (`tcp_wfree`): who is told when it is freed, and `truesize`.
    owner: Cell<Option<(u16, u32)>>,
}

/// All skbs of a host.
#[derive(Debug)]
pub struct Skbs {
    structs: KmemCache,
    heads: KmemCache,
    users: Word,
    slots: Vec<Slot>,
    /// `dataref` of each head: skbs that share it.
    dataref: Vec<Cell<u8>>,
    allocated: Cell<u32>,
}

/// Who sends, how long, what priority.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Sending context.
    pub flow: u32,
    /// Number within the flow, from 0, in program order.
    pub number: u64,
    /// Length in bytes without FCS.
    pub len: u32,
    /// `skb->priority`.
    pub priority: u32,
}

impl Skbs {
    /// Places both caches for `capacity` skbs; `locks` are the trace numbers of the two node locks.
    pub fn place(memory: &mut Placement, capacity: u32, cpus: usize, locks: [u32; 2]) -> Skbs {
        // Sizes of a machine with 64 to 127 CPUs: 32 objects a slab in both caches.
        let structs = CacheSpec {
            name: "skbuff_head_cache",
            lines: 4,
            freeptr: 1,
            per_slab: 32,
            cpu_partial: 13,
            capacity,
        };
        let heads = CacheSpec {
            name: "kmalloc-1k",
            lines: 3,
            freeptr: 1,
            per_slab: 32,
            cpu_partial: 6,
            capacity,
        };
        let structs = KmemCache::place(memory, structs, cpus, locks[0]);
        let heads = KmemCache::place(memory, heads, cpus, locks[1]);
        let users: Vec<Word> = (0..structs.capacity())
            .map(|i| memory.word(structs.line(i).nth(3), 28, "skb users", 0))
            .collect();
        let slots = users.iter().map(|_| Slot::default()).collect();
        let dataref = (0..heads.capacity()).map(|_| Cell::new(0)).collect();
        Skbs {
            structs,
            heads,
            dataref,
            users: users[0],
            slots,
            allocated: Cell::new(0),
        }
    }

    fn slot(&self, skb: Skb) -> &Slot {
        &self.slots[skb.0 as usize]
    }

    /// Identity in the trace.
    pub fn id(&self, skb: Skb) -> u32 {
        self.slot(skb).id.get()
    }
    /// Its bytes, as far as they are modelled.
    pub fn frame(&self, skb: Skb) -> Frame {
        self.slot(skb).frame.get()
    }
    /// Changes its bytes.
    pub fn set_frame(&self, skb: Skb, frame: Frame) {
        self.slot(skb).frame.set(frame);
    }
    /// What is noted beside them.
    pub fn meta(&self, skb: Skb) -> Meta {
        self.slot(skb).meta.get()
    }
    /// Changes what is noted.
    pub fn set_meta(&self, skb: Skb, meta: Meta) {
        self.slot(skb).meta.set(meta);
    }
    /// Sets what happens when it is freed, and the truesize charged to its socket.
    pub fn set_destructor(&self, skb: Skb, destructor: Option<Destructor>, truesize: u64) {
        self.slot(skb)
            .destructor
            .set(destructor.map(|d| (d, truesize)));
    }
    /// The skb behind it in a list.
    pub fn next(&self, skb: Skb) -> Option<Skb> {
        self.slot(skb).next.get()
    }
    /// Puts `next` behind it.
    pub fn set_next(&self, skb: Skb, next: Option<Skb>) {
        self.slot(skb).next.set(next);
    }
    /// Length in bytes.
    pub fn len(&self, skb: Skb) -> u32 {
        self.frame(skb).len
    }
    /// Sending context and number within it.
    pub fn flow(&self, skb: Skb) -> (u32, u64) {
        let frame = self.frame(skb);
        (frame.flow, frame.number)
    }
    /// `skb->priority`.
    pub fn priority(&self, skb: Skb) -> u32 {
        self.meta(skb).priority
    }
    /// When the sender handed it to the stack.
    pub fn born(&self, skb: Skb) -> Instant {
        self.slot(skb).born.get()
    }
    /// Sets the instant at which the sender hands it to the stack.
    pub fn set_born(&self, skb: Skb, at: Instant) {
        self.slot(skb).born.set(at);
    }
    /// Whether no device can have anything to do for it: one frame of complete bytes.
    pub fn is_plain(&self, skb: Skb) -> bool {
        let meta = self.meta(skb);
        self.frame(skb).segs <= 1
            && meta.vlan_tag.is_none()
            && meta.ip_summed != IpSummed::Partial
            && meta.nr_frags == 0
    }
    /// Page fragments and their bytes. A frame of a TX_RING stays in the ring but for its Ethernet header.
    pub fn fragments(&self, skb: Skb) -> (u32, u32) {
        let meta = self.meta(skb);
        match self.slot(skb).destructor.get() {
            Some((Destructor::Tpacket { .. }, _)) => (1, self.len(skb) - ETH_HLEN),
            _ => (u32::from(meta.nr_frags), meta.data_len),
        }
    }
    /// `skb->sk` and `truesize`, if a socket waits for its freeing.
    pub fn owner(&self, skb: Skb) -> Option<(u16, u32)> {
        self.slot(skb).owner.get()
    }
    /// `skb_set_owner_w`, or `skb_orphan`: the caller accounts for it.
    pub fn set_owner(&self, skb: Skb, owner: Option<(u16, u32)>) {
        self.slot(skb).owner.set(owner);
    }
    /// Gives a cloned skb (`clone_skb`) its next number.
    pub fn renumber(&self, skb: Skb, number: u64) {
        let frame = self.frame(skb);
        self.set_frame(skb, Frame { number, ..frame });
    }
    /// skbs that are allocated.
    pub fn in_use(&self) -> u32 {
        self.structs.in_use()
    }
    /// The two caches.
    pub fn caches(&self) -> [&KmemCache; 2] {
        [&self.structs, &self.heads]
    }
    fn users(&self, skb: Skb) -> Word {
        self.users.nth(skb.0)
    }

    /// Lines of the struct.
    #[inline(always)]
    pub fn struct_lines(&self, skb: Skb, reads: u16, writes: u16) -> Footprint {
        Footprint {
            base: self.structs.line(skb.0),
            reads,
            writes,
        }
    }

    /// Lines of the head.
    #[inline(always)]
    pub fn head_lines(&self, skb: Skb, reads: u16, writes: u16) -> Footprint {
        Footprint {
            base: self.heads.line(self.slot(skb).head.get()),
            reads,
            writes,
        }
    }

    /// [`alloc_frame`](Skbs::alloc_frame) for a plain packet.
    pub async fn alloc(&self, cpu: Cpu<'_>, packet: Packet) -> Option<Skb> {
        let frame = Frame {
            flow: packet.flow,
            number: packet.number,
            len: packet.len,
            port: packet.flow,
            segs: 1,
            ..Frame::default()
        };
        let skb = self.alloc_frame(cpu, frame).await?;
        let priority = packet.priority;
        self.set_meta(
            skb,
            Meta {
                priority,
                ..Meta::default()
            },
        );
        Some(skb)
    }

    /// `__alloc_skb`: one reference. `None` when the host's skbs are used up.
    pub async fn alloc_frame(&self, cpu: Cpu<'_>, frame: Frame) -> Option<Skb> {
        let _span = cpu.enter(Func::AllocSkb);
        let object = self.structs.alloc(cpu).await?;
        let Some(head) = self.heads.alloc(cpu).await else {
            self.structs.free(cpu, object).await;
            return None;
        };
        cpu.spend(Cost::SkbAlloc);
        let skb = Skb(object);
        let slot = self.slot(skb);
        slot.head.set(head);
        slot.owner.set(None);
        self.dataref[head as usize].set(1);
        slot.id.set(self.allocated.get());
        self.allocated.set(self.allocated.get().wrapping_add(1));
        slot.frame.set(frame);
        slot.meta.set(Meta::default());
        slot.next.set(None);
        slot.destructor.set(None);
        let all = line::L0 | line::L1 | line::L2;
        cpu.touch([
            self.struct_lines(skb, 0, all),
            self.head_lines(skb, 0, line::SHINFO),
        ])
        .await;
        cpu.store(self.users(skb), 1).await;
        cpu.record(Kind::SkbAlloc, slot.id.get(), frame.len);
        Some(skb)
    }

    /// `skb_clone`: another struct for the same head. Approximated: the companion of an fclone pair is
    /// an object of its own here.
    pub async fn clone(&self, cpu: Cpu<'_>, skb: Skb) -> Option<Skb> {
        let _span = cpu.enter(Func::AllocSkb);
        let object = self.structs.alloc(cpu).await?;
        cpu.spend(Cost::SkbClone);
        let (from, clone) = (self.slot(skb), Skb(object));
        let slot = self.slot(clone);
        let head = from.head.get();
        from.meta.set(Meta {
            cloned: true,
            ..from.meta.get()
        });
        slot.head.set(head);
        slot.owner.set(None);
        self.dataref[head as usize].set(self.dataref[head as usize].get() + 1);
        slot.id.set(self.allocated.get());
        self.allocated.set(self.allocated.get().wrapping_add(1));
        slot.frame.set(from.frame.get());
        slot.meta.set(from.meta.get());
        slot.next.set(None);
        let all = line::L0 | line::L1 | line::L2;
        cpu.touch([
            self.struct_lines(skb, all | line::L3, 0),
            self.struct_lines(clone, 0, all),
            self.head_lines(skb, 0, line::SHINFO),
        ])
        .await;
        cpu.store(self.users(clone), 1).await;
        cpu.record(Kind::SkbAlloc, slot.id.get(), self.len(clone));
        Some(clone)
    }

    /// `skb_get_hash`: dissects and hashes, unless that was done before.
    pub async fn get_hash(&self, cpu: Cpu<'_>, skb: Skb) {
        let mut meta = self.meta(skb);
        if meta.hashed {
            return;
        }
        cpu.spend(Cost::SkbHash);
        cpu.touch([
            self.struct_lines(skb, line::L2 | line::L3, line::L2),
            self.head_lines(skb, line::HEADERS, 0),
        ])
        .await;
        meta.hashed = true;
        self.set_meta(skb, meta);
    }

    /// `refcount_add(n, &skb->users)`.
    pub async fn get(&self, cpu: Cpu<'_>, skb: Skb, n: u32) {
        cpu.rmw(self.users(skb), Rmw::Add(u64::from(n)), Order::Relaxed)
            .await;
    }

    /// `refcount_sub`: gives back `n` references that are surely not the last.
    pub async fn put_spare(&self, cpu: Cpu<'_>, skb: Skb, n: u32) {
        cpu.rmw(
            self.users(skb),
            Rmw::Add((n as u64).wrapping_neg()),
            Order::Relaxed,
        )
        .await;
    }

    /// `consume_skb`/`kfree_skb`: drops one reference; the last one frees.
    pub async fn put(&self, cpu: Cpu<'_>, skb: Skb) {
        let _span = cpu.enter(Func::ConsumeSkb);
        cpu.spend(Cost::SkbUnref);
        if cpu.load(self.users(skb)).await != 1 {
            let old = cpu
                .rmw(
                    self.users(skb),
                    Rmw::Add(1u64.wrapping_neg()),
                    Order::Relaxed,
                )
                .await;
            assert!(old > 0, "skb {} freed twice", self.id(skb));
            if old != 1 {
                return;
            }
        }
        self.release(cpu, skb).await;
    }

    /// `skb_orphan`: its socket is told that it is gone (`skb->destructor`).
    pub async fn orphan(&self, cpu: Cpu<'_>, skb: Skb) {
        let Some((sock, truesize)) = self.slot(skb).owner.take() else {
            return;
        };
        if sock & super::udp::OWNER != 0 {
            super::udp::sock_wfree(cpu, sock, truesize).await;
        } else {
            super::tcp::tcp_wfree(cpu, sock, truesize).await;
        }
    }

    /// `__kfree_skb`.
    async fn release(&self, cpu: Cpu<'_>, skb: Skb) {
        let _span = cpu.enter(Func::KfreeSkb);
        cpu.spend(Cost::SkbFree);
        cpu.touch([
            self.struct_lines(skb, line::L1 | line::L3, 0),
            self.head_lines(skb, line::SHINFO, 0),
        ])
        .await;
        cpu.record(Kind::SkbFree, self.id(skb), 0);
        if let Some((destructor, truesize)) = self.slot(skb).destructor.take() {
            packet::destruct(cpu, destructor, truesize).await;
            packet::release_frag(cpu, destructor).await;
        }
        self.orphan(cpu, skb).await;
        let head = self.slot(skb).head.get();
        let sharers = &self.dataref[head as usize];
        sharers.set(sharers.get() - 1);
        if sharers.get() > 0 {
            cpu.touch([self.head_lines(skb, 0, line::SHINFO)]).await;
        } else {
            let meta = self.meta(skb);
            for n in 0..u32::from(meta.nr_frags) {
                if let Some(pages) = meta.rx_pages {
                    cpu.spend(Cost::RxPutPage);
                    let less = Rmw::Add(1u64.wrapping_neg());
                    cpu.rmw(pages.count(n), less, Order::Relaxed).await;
                } else {
                    cpu.spend(Cost::PutPage);
                    cpu.elapse(cpu.machine().costs.rmw);
                }
            }
            self.heads.free(cpu, head).await;
        }
        self.structs.free(cpu, skb.0).await;
    }
}
