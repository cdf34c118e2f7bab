//! Receive buffers of a driver with XDP: a page a frame, and the frames made of them.

use super::super::Cpu;
use crate::frame::Frame;
use crate::kernel::Cost;
use crate::machine::Footprint;
use crate::machine::memory::{LineId, Placement};
use std::cell::RefCell;
use std::collections::VecDeque;

/// `struct xdp_frame`: a frame that has left its receive queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XdpFrame {
    /// Its bytes.
    pub frame: Frame,
    /// Device it was received by, whose pool the page belongs to.
    pub rx_dev: usize,
    /// Number of its page.
    pub page: u32,
}

/// `page_pool` of a device: two lines of each page are modelled, the headroom (where `xdp_frame` is put)
/// and the headers (which the device writes by DMA).
#[derive(Debug)]
pub struct Pages {
    lines: LineId,
    free: RefCell<VecDeque<u32>>,
    used: RefCell<Vec<Option<XdpFrame>>>,
}

impl Pages {
    pub(crate) fn place(memory: &mut Placement, name: &str, count: u32) -> Pages {
        Pages {
            lines: memory.lines(format_args!("{name} rx pages"), 2 * count),
            free: RefCell::new((0..count).collect()),
            used: RefCell::new(vec![None; count as usize]),
        }
    }

    /// A page with a frame that the device just wrote. `None` if all are in use.
    pub(crate) fn fill(&self, cpu: Cpu<'_>, rx_dev: usize, frame: Frame) -> Option<XdpFrame> {
        let page = self.free.borrow_mut().pop_front()?;
        cpu.machine().dma_write(self.headers(page));
        let frame = XdpFrame {
            frame,
            rx_dev,
            page,
        };
        self.used.borrow_mut()[page as usize] = Some(frame);
        Some(frame)
    }

    /// The frame in a page that is in use.
    ///
    /// # Panics
    /// If it is not: a frame freed twice.
    pub fn frame(&self, page: u32) -> XdpFrame {
        self.used.borrow()[page as usize].expect("the page is in use")
    }

    fn headers(&self, page: u32) -> LineId {
        self.lines.nth(2 * page + 1)
    }

    /// The program reads the headers.
    pub(crate) fn read_headers(&self, page: u32) -> Footprint {
        Footprint {
            base: self.headers(page),
            reads: 1,
            writes: 0,
        }
    }

    /// `convert_to_xdp_frame` writes into the headroom.
    pub(crate) fn write_headroom(&self, page: u32) -> Footprint {
        Footprint {
            base: self.lines.nth(2 * page),
            reads: 0,
            writes: 1,
        }
    }

    /// The page goes back to the pool (`page_pool_recycle_direct`, or `xdp_return_frame` behind it).
    pub(crate) fn recycle(&self, cpu: Cpu<'_>, page: u32) {
        cpu.spend(Cost::PagePoolRecycle);
        let frame = self.used.borrow_mut()[page as usize].take();
        assert!(frame.is_some(), "page {page} is recycled twice");
        self.free.borrow_mut().push_back(page);
    }

    /// Frames of `flow` that wait in a page.
    pub fn waiting(&self, flow: u32) -> u64 {
        let used = self.used.borrow();
        used.iter()
            .flatten()
            .filter(|f| f.frame.flow == flow)
            .count() as u64
    }
}
