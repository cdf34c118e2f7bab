//! Colours by meaning. Letters and fill carry everything; colour only repeats it.

use crate::lens::track::Class;
use ratatui::style::{Color, Modifier, Style};

/// What a piece of the screen means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Plain text.
    Text,
    /// Less important text: rules, idle time, free locks.
    Dim,
    /// Headings.
    Title,
    /// Keys in hints.
    Key,
    /// The focused lane or row.
    Focus,
    /// The selected moment.
    Cursor,
    /// A mark the user set.
    Mark,
    /// A class of the lanes.
    Of(Class),
    /// A CPU or core as owner of something.
    Owner(u32),
}

/// How to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    /// Whether colours may be used.
    pub color: bool,
    /// Whether only ASCII may be used.
    pub ascii: bool,
}

const OWNERS: [Color; 6] = [
    Color::Cyan,
    Color::Yellow,
    Color::Magenta,
    Color::Green,
    Color::LightBlue,
    Color::LightRed,
];

impl Theme {
    /// The style of a meaning.
    pub fn style(self, meaning: Meaning) -> Style {
        let style = Style::default().add_modifier(modifier(meaning));
        match (self.color, color(meaning)) {
            (true, Some(color)) => style.fg(color),
            _ => style,
        }
    }

    /// The character of a horizontal rule.
    pub fn horizontal(self) -> char {
        if self.ascii { '-' } else { '─' }
    }

    /// The character of a vertical rule.
    pub fn vertical(self) -> char {
        if self.ascii { '|' } else { '│' }
    }
}

fn color(meaning: Meaning) -> Option<Color> {
    Some(match meaning {
        Meaning::Text | Meaning::Title | Meaning::Focus | Meaning::Cursor => return None,
        Meaning::Dim => Color::DarkGray,
        Meaning::Key => Color::Cyan,
        Meaning::Mark => Color::LightMagenta,
        Meaning::Owner(owner) => OWNERS[owner as usize % OWNERS.len()],
        Meaning::Of(class) => match class {
            Class::NONE | Class::IDLE => Color::DarkGray,
            Class::TASK => Color::Green,
            Class::SOFTIRQ => Color::Cyan,
            Class::HARDIRQ => Color::Magenta,
            Class::SPIN | Class::BOUNCE | Class::TRYLOCK => Color::Yellow,
            Class::XMIT | Class::DOORBELL => Color::LightBlue,
            Class::DROP | Class::VIOLATION => Color::LightRed,
            _ => return None,
        },
    })
}

fn modifier(meaning: Meaning) -> Modifier {
    match meaning {
        Meaning::Title | Meaning::Focus | Meaning::Mark => Modifier::BOLD,
        Meaning::Cursor => Modifier::REVERSED,
        Meaning::Of(class) if class >= Class::DROP => Modifier::BOLD.union(Modifier::REVERSED),
        Meaning::Of(Class::TRYLOCK) => Modifier::BOLD,
        _ => Modifier::empty(),
    }
}
