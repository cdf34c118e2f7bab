//! `psched_ratecfg`: from bytes to nanoseconds at a rate, by multiplication and shift.
//!
//! Follows Linux 6.1 `net/sched/sch_generic.c` (`psched_ratecfg_precompute`) and `psched_l2t_ns`. Absent: ATM cells.

/// A rate with its framing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateCfg {
    mult: u32,
    shift: u8,
    overhead: u32,
    mpu: u32,
}

impl RateCfg {
    /// `bytes_ps` bytes a second; each packet counts `overhead` bytes more, and at least `mpu`.
    pub fn new(bytes_ps: u64, overhead: u32, mpu: u32) -> RateCfg {
        // The largest factor for which the product with 32 bits of length is exact to the nanosecond.
        let (mut factor, mut shift) = (1_000_000_000u64, 0);
        let mut mult;
        let bytes_ps = bytes_ps.max(1);
        loop {
            mult = (factor / bytes_ps) as u32;
            if mult & 1 << 31 != 0 || factor & 1 << 63 != 0 {
                break;
            }
            factor <<= 1;
            shift += 1;
        }
        RateCfg {
            mult,
            shift,
            overhead,
            mpu,
        }
    }

    /// `psched_l2t_ns`: nanoseconds that a packet of `len` bytes takes.
    pub fn l2t_ns(&self, len: u32) -> i64 {
        let len = (len + self.overhead).max(self.mpu);
        ((u64::from(len) * u64::from(self.mult)) >> self.shift) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 Mbit/s: 8 us a byte; framing counts.
    #[test]
    fn lengths_become_times() {
        let rate = RateCfg::new(125_000, 0, 0);
        assert_eq!(rate.l2t_ns(1500), 12_000_000);
        let framed = RateCfg::new(125_000, 24, 200);
        assert_eq!(framed.l2t_ns(60), 1_600_000);
        assert_eq!(framed.l2t_ns(300), 2_592_000);
        // 100 Gbit/s: less than a nanosecond a byte.
        assert_eq!(RateCfg::new(12_500_000_000, 0, 0).l2t_ns(1514), 121);
    }
}
