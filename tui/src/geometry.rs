//! How the window is divided. Numbers only, so that keys and drawing agree.

/// Columns and rows below which the viewer asks for a larger window.
pub const SIZE_MIN: (u16, u16) = (80, 24);

/// The division of the timeline screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Columns of the margin with the lanes' names.
    pub margin: u16,
    /// Columns that show time.
    pub plot: u16,
    /// Rows for lanes.
    pub lanes: u16,
    /// Rows of the overview: 0 to 2.
    pub overview: u16,
    /// Rows of the panes below the lanes, their heading included; 0 if there is no room.
    pub detail: u16,
    /// Whether CPUs get a row for functions by default.
    pub functions: bool,
}

/// Title, screens, axis, marks and message, keys.
const FIXED: u16 = 5;

impl Geometry {
    /// Divides a window of `size` when `wanted` lanes ask for a row each.
    ///
    /// What gives way when rows are short: function rows, then the overview, then the panes.
    pub fn new(size: (u16, u16), wanted: usize) -> Geometry {
        let (width, height) = size;
        let margin = match width {
            120.. => 24,
            100.. => 20,
            _ => 18,
        };
        let tall = height >= 34;
        let mut overview = if tall { 2 } else { 1 };
        let mut detail = if tall { 13 } else { 7 };
        let rest = |overview: u16, detail: u16| height.saturating_sub(FIXED + overview + detail);
        let functions = tall || wanted <= usize::from(rest(overview, detail));
        if rest(overview, detail) < 8 {
            overview = 0;
        }
        if rest(overview, detail) < 6 {
            detail = 0;
        }
        let plot = width.saturating_sub(margin + 2);
        // Lanes that nobody needs are rows for the panes.
        let room = rest(overview, detail);
        let lanes = room.min(wanted.max(1) as u16);
        if detail > 0 {
            detail += room - lanes;
        }
        Geometry {
            margin,
            plot,
            lanes,
            overview,
            detail,
            functions,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows become scarce in a fixed order.
    #[test]
    fn functions_go_first_then_the_overview_then_the_panes() {
        let at = |height| {
            let g = Geometry::new((80, height), 30);
            (g.functions, g.overview, g.detail)
        };
        assert_eq!(at(40), (true, 2, 13));
        assert_eq!(at(24), (false, 1, 7));
        assert_eq!(at(20), (false, 0, 7));
        assert_eq!(at(16), (false, 0, 0));
    }
}
