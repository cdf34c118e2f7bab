//! Struct layouts as data: which field lies at which offset, so which fields share a line.

use std::collections::BTreeMap;

/// Bytes in a coherence granule.
pub const LINE_BYTES: u32 = 64;

/// One field of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The field's name in the kernel.
    pub name: String,
    /// Byte offset from the start of the struct (which lies on a line boundary).
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
}

/// The layout of one struct.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Layout {
    /// Struct name.
    pub name: String,
    /// Fields in order of offset.
    pub fields: Vec<Field>,
}

impl Layout {
    /// Builds a layout from `(name, offset, size)` triples.
    pub fn new(name: &str, fields: &[(&str, u32, u32)]) -> Layout {
        Layout {
            name: name.to_owned(),
            fields: fields
                .iter()
                .map(|&(name, offset, size)| Field {
                    name: name.to_owned(),
                    offset,
                    size,
                })
                .collect(),
        }
    }

    /// The field called `name`.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|f| f.name == name)
    }

    /// Number of lines that the struct covers.
    pub fn lines(&self) -> u32 {
        self.fields
            .iter()
            .map(|f| (f.offset + f.size - 1) / LINE_BYTES + 1)
            .max()
            .unwrap_or(0)
    }

    /// Groups of fields that share a line, in order of line.
    pub fn by_line(&self) -> BTreeMap<u32, Vec<&Field>> {
        let mut lines: BTreeMap<u32, Vec<&Field>> = BTreeMap::new();
        for f in &self.fields {
            lines.entry(f.offset / LINE_BYTES).or_default().push(f);
        }
        lines
    }
}

/// The layouts a host uses, by struct name. Missing ones are the kernel version's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayoutSet {
    /// By struct name.
    pub by_name: BTreeMap<String, Layout>,
}

impl LayoutSet {
    /// The layout of struct `name`: the scenario's, or else `default()`.
    pub fn get(&self, name: &str, default: impl FnOnce() -> Layout) -> Layout {
        self.by_name.get(name).cloned().unwrap_or_else(default)
    }
}
