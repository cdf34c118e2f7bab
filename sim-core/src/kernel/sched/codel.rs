//! The CoDel law: when to drop, shared by `codel` and `fq_codel`.
//!
//! Follows Linux 6.9 `include/net/codel_impl.h`. Time is counted in units of 1024 ns and wraps at 32 bits.
//! Absent: ECN (no packet here is ECN capable), `ce_threshold`.

/// `codel_time_t` of a time in nanoseconds.
pub fn codel_time(ns: u64) -> u32 {
    (ns >> 10) as u32
}

fn after(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 > 0
}

fn after_eq(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 >= 0
}

/// Settings, in units of 1024 ns and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Delay that is fine.
    pub target: u32,
    /// For how long more than that is tolerated.
    pub interval: u32,
    /// A backlog of no more than this is fine.
    pub mtu: u32,
}

/// State of one queue (`struct codel_vars`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vars {
    /// Drops since dropping began.
    pub count: u32,
    /// `count` when it began last.
    pub lastcount: u32,
    /// In the dropping state.
    pub dropping: bool,
    /// 1/sqrt(count), 0.16 fixed point.
    pub rec_inv_sqrt: u16,
    /// When the delay will have been above target for an interval; 0 = it is not above.
    pub first_above_time: u32,
    /// When the next packet is dropped.
    pub drop_next: u32,
}

/// Where the law gets packets from: the head of one queue.
pub trait Queue {
    /// What it queues.
    type Packet: Copy;
    /// Takes the head.
    fn pop(&mut self) -> Option<Self::Packet>;
    /// When it was enqueued, in units of 1024 ns.
    fn enqueued(&self, packet: Self::Packet) -> u32;
    /// Bytes behind what was taken.
    fn backlog(&self) -> u32;
    /// Throws it away.
    fn drop(&mut self, packet: Self::Packet);
}

impl Vars {
    /// One Newton step towards 1/sqrt(count).
    fn newton_step(&mut self) {
        let inv = u32::from(self.rec_inv_sqrt) << 16;
        let inv2 = (u64::from(inv) * u64::from(inv)) >> 32;
        let mut v = (3u64 << 32) - u64::from(self.count) * inv2;
        v >>= 2;
        v = (v * u64::from(inv)) >> (32 - 2 + 1);
        self.rec_inv_sqrt = (v >> 16) as u16;
    }

    fn control_law(&self, t: u32, interval: u32) -> u32 {
        let step = u64::from(interval) * (u64::from(self.rec_inv_sqrt) << 16);
        t.wrapping_add((step >> 32) as u32)
    }

    fn should_drop<Q: Queue>(
        &mut self,
        q: &Q,
        packet: Option<Q::Packet>,
        p: &Params,
        now: u32,
    ) -> bool {
        let Some(packet) = packet else {
            self.first_above_time = 0;
            return false;
        };
        let delay = now.wrapping_sub(q.enqueued(packet));
        if (delay as i32) < p.target as i32 || q.backlog() <= p.mtu {
            self.first_above_time = 0;
            return false;
        }
        if self.first_above_time == 0 {
            self.first_above_time = now.wrapping_add(p.interval);
            return false;
        }
        after(now, self.first_above_time)
    }

    /// `codel_dequeue`: the packet to send; others may be dropped on the way.
    pub fn dequeue<Q: Queue>(&mut self, q: &mut Q, p: &Params, now: u32) -> Option<Q::Packet> {
        let mut packet = q.pop();
        if packet.is_none() {
            self.dropping = false;
            return None;
        }
        let drop = self.should_drop(q, packet, p, now);
        if self.dropping {
            if !drop {
                self.dropping = false;
            } else if after_eq(now, self.drop_next) {
                while self.dropping && after_eq(now, self.drop_next) {
                    self.count += 1;
                    self.newton_step();
                    if let Some(gone) = packet {
                        q.drop(gone);
                    }
                    packet = q.pop();
                    if self.should_drop(q, packet, p, now) {
                        self.drop_next = self.control_law(self.drop_next, p.interval);
                    } else {
                        self.dropping = false;
                    }
                }
            }
        } else if drop {
            if let Some(gone) = packet {
                q.drop(gone);
            }
            packet = q.pop();
            self.should_drop(q, packet, p, now);
            self.dropping = true;
            // Where it left off, if that was not long ago.
            let delta = self.count.wrapping_sub(self.lastcount);
            if delta > 1 && now.wrapping_sub(self.drop_next) < 16 * p.interval {
                self.count = delta;
                self.newton_step();
            } else {
                self.count = 1;
                self.rec_inv_sqrt = u16::MAX;
            }
            self.lastcount = self.count;
            self.drop_next = self.control_law(now, p.interval);
        }
        packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The law's drop times of Linux for an interval of 100 ms, from entering the dropping state at 0.
    #[test]
    fn drop_times_are_the_kernels() {
        let mut v = Vars {
            count: 1,
            rec_inv_sqrt: u16::MAX,
            ..Vars::default()
        };
        let mut next = v.control_law(0, 97656);
        let mut seen = vec![(v.rec_inv_sqrt, next)];
        for _ in 0..4 {
            v.count += 1;
            v.newton_step();
            next = v.control_law(next, 97656);
            seen.push((v.rec_inv_sqrt, next));
        }
        assert_eq!(
            seen,
            [
                (65535, 97654),
                (32769, 146483),
                (36864, 201414),
                (31968, 249049),
                (28935, 292165)
            ]
        );
    }

    struct List(Vec<u32>, usize);
    impl Queue for List {
        type Packet = u32;
        fn pop(&mut self) -> Option<u32> {
            (!self.0.is_empty()).then(|| self.0.remove(0))
        }
        fn enqueued(&self, packet: u32) -> u32 {
            packet
        }
        fn backlog(&self) -> u32 {
            self.0.len() as u32 * 1514
        }
        fn drop(&mut self, _: u32) {
            self.1 += 1;
        }
    }

    #[test]
    fn it_drops_after_an_interval_above_target_and_not_before() {
        let p = Params {
            target: 10,
            interval: 100,
            mtu: 1514,
        };
        let mut v = Vars::default();
        let mut q = List(vec![0; 50], 0);
        assert!(v.dequeue(&mut q, &p, 20).is_some());
        assert!(v.dequeue(&mut q, &p, 119).is_some());
        assert_eq!(q.1, 0);
        assert!(v.dequeue(&mut q, &p, 121).is_some());
        assert_eq!(q.1, 1);
        assert!(v.dropping);
    }
}
