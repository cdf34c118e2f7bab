//! Reading what `pahole` prints: the members of structs with their offsets and sizes.
//!
//! A line at a time, without recursion: holes and cache-line remarks are comments, `struct {`,
//! `union {` and `enum {` open a scope, `}` closes it, and every other line is a member with
//! `/* offset size */` behind it (`/* offset: bit size */` for bit-fields, hexadecimal with
//! `--hex`). A text may hold several structs, or only the middle of one, as people quote it in
//! mails. Members of anonymous structs and unions belong to the struct around them; those of named
//! ones are called `outer.inner`.
//!
//! Checked: members of a struct do not overlap (those of a union may), nothing lies outside of what
//! holds it, and the text is within the limits below before memory is taken.

/// Most members of a text.
pub const MAX_MEMBERS: usize = 16_384;
/// Largest struct, in bytes.
pub const MAX_BYTES: u32 = 1 << 20;
/// Deepest nesting of structs and unions.
pub const MAX_DEPTH: usize = 32;

/// One struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Struct {
    /// Its name; empty for members that no `struct NAME {` stands around.
    pub name: String,
    /// Its members, in the order of the text.
    pub members: Vec<Member>,
    /// The size that pahole printed, in bytes, if it did.
    pub size: Option<u32>,
}

/// A member of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name, with those of the named structs and unions around it: `xmit.recursion`.
    pub name: String,
    /// Its type as pahole prints it, without array lengths and bit widths.
    pub ty: String,
    /// Bytes from the start of the struct.
    pub offset: u32,
    /// Bytes; 0 for empty arrays and empty structs. Of a bit-field: those of its type.
    pub size: u32,
    /// First bit and number of bits, of a bit-field.
    pub bits: Option<(u32, u32)>,
    /// First byte and end of the member's line in the text.
    pub place: (usize, usize),
    /// It is made of members of its own, which follow.
    pub nested: bool,
}

impl Struct {
    /// The member called `name`, also by the names of the structs around it: `q.qlen`.
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|m| m.name == name)
    }

    /// Whether pahole printed something about it besides its members.
    pub fn is_fragment(&self) -> bool {
        self.name.is_empty()
    }

    /// End of the last member, or the size if that was printed.
    pub fn bytes(&self) -> u32 {
        let end = self.members.iter().map(|m| m.offset + m.size).max();
        self.size.or(end).unwrap_or(0)
    }
}

/// Why a text is no output of pahole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// First byte and end of what is wrong.
    pub place: (usize, usize),
    /// The text is right but larger than is read.
    pub limit: bool,
}

/// What a brace opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Struct,
    Union,
    Enum,
}

/// A struct, union or enum that is not closed yet.
#[derive(Debug)]
struct Open {
    scope: Scope,
    /// First of its members in the list.
    first: usize,
    /// Bit at which the next member of a struct may start.
    free: u64,
    /// Lowest bit and end of all members.
    extent: Option<(u64, u64)>,
    place: (usize, usize),
}

/// Reads all structs of `text`.
///
/// # Errors
/// With the first line that is wrong.
pub fn parse(text: &str) -> Result<Vec<Struct>, Error> {
    let mut reader = Reader::default();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let place = (at, at + line.trim_end().len());
        reader.line(line, place)?;
        at += line.len();
    }
    reader.finish()
}

#[derive(Default)]
struct Reader {
    done: Vec<Struct>,
    /// Members of the struct that is being read.
    members: Vec<Member>,
    total: usize,
    name: String,
    size: Option<u32>,
    open: Vec<Open>,
    /// A comment goes on in the next line.
    comment: bool,
    /// Members without a struct around them.
    fragment: bool,
}

fn wrong(place: (usize, usize), message: impl Into<String>, help: &str) -> Error {
    Error {
        message: message.into(),
        help: (!help.is_empty()).then(|| help.to_owned()),
        place,
        limit: false,
    }
}

const AS_PRINTED: &str = "give it as `pahole -C NAME vmlinux` prints it";

impl Reader {
    fn line(&mut self, line: &str, place: (usize, usize)) -> Result<(), Error> {
        let mut line = line.trim();
        let indent = place.1 - place.0 - line.len();
        let place = (place.0 + indent.min(place.1 - place.0), place.1);
        if self.comment {
            let Some((_, rest)) = line.split_once("*/") else {
                return Ok(());
            };
            self.comment = false;
            line = rest.trim();
        }
        if let Some(comment) = line.strip_prefix("/*") {
            match comment.split_once("*/") {
                None => self.comment = true,
                Some((remark, "")) => self.remark(remark),
                Some(_) => {
                    return Err(wrong(place, "a member behind a comment", AS_PRINTED));
                }
            }
            return Ok(());
        }
        if line.is_empty() || line.starts_with("//") {
            return Ok(());
        }
        if let Some(rest) = line.strip_prefix('}') {
            return self.close(rest, place);
        }
        if let Some(head) = line.strip_suffix('{') {
            return self.open(head, place);
        }
        if self.open.last().is_some_and(|o| o.scope == Scope::Enum) {
            return Ok(());
        }
        self.member(line, place)
    }

    /// `/* size: 2432, cachelines: 38, members: 159 */` says how large the struct is.
    fn remark(&mut self, remark: &str) {
        let size = remark.trim().strip_prefix("size:");
        let number = size.and_then(|s| s.split(',').next()?.trim().parse().ok());
        // An inner struct's size is not printed; the outermost is.
        self.size = number.or(self.size);
    }

    fn open(&mut self, head: &str, place: (usize, usize)) -> Result<(), Error> {
        let mut words = head.split_whitespace();
        let scope = match words.next() {
            Some("struct" | "class") => Scope::Struct,
            Some("union") => Scope::Union,
            Some("enum") => Scope::Enum,
            _ => {
                let message = "a brace that opens no struct, union or enum";
                return Err(wrong(place, message, AS_PRINTED));
            }
        };
        if self.open.len() >= MAX_DEPTH {
            let mut error = wrong(place, format!("nested more than {MAX_DEPTH} deep"), "");
            error.limit = true;
            return Err(error);
        }
        if self.open.is_empty() {
            self.end_struct();
            self.name = words.next().unwrap_or_default().to_owned();
            if self.name.is_empty() {
                let message = "a struct without a name";
                return Err(wrong(place, message, AS_PRINTED));
            }
        }
        self.open.push(Open {
            scope,
            first: self.members.len(),
            free: 0,
            extent: None,
            place,
        });
        Ok(())
    }

    fn close(&mut self, rest: &str, place: (usize, usize)) -> Result<(), Error> {
        let Some(inner) = self.open.pop() else {
            return Err(wrong(place, "a brace that closes nothing", AS_PRINTED));
        };
        if self.open.is_empty() {
            if let (Some(size), Some((_, end))) = (self.size, inner.extent)
                && end > u64::from(size) * 8
            {
                let message = format!(
                    "`{}` has {size} bytes, but its last member ends at byte {}",
                    self.name,
                    end.div_ceil(8)
                );
                return Err(wrong(place, message, AS_PRINTED));
            }
            self.end_struct();
            return Ok(());
        }
        let (declaration, at) = split(rest, place)?;
        let name = declared(declaration).map_or(String::new(), |(name, _)| name);
        let (low, high) = at.extent();
        if let Some((first, end)) = inner.extent
            && (first < low || end > high)
        {
            let message = format!(
                "members of bytes {}..{} in a struct or union of bytes {}..{}",
                first / 8,
                end.div_ceil(8),
                at.offset,
                at.offset + at.size
            );
            return Err(wrong(place, message, AS_PRINTED));
        }
        self.occupy((low, high), place, &name)?;
        if name.is_empty() {
            return Ok(());
        }
        for member in &mut self.members[inner.first..] {
            member.name = format!("{name}.{}", member.name);
        }
        let whole = Member {
            name,
            ty: match inner.scope {
                Scope::Struct => "struct",
                Scope::Union => "union",
                Scope::Enum => "enum",
            }
            .to_owned(),
            offset: at.offset,
            size: at.size,
            bits: at.bits,
            place,
            nested: self.members.len() > inner.first,
        };
        self.count(place)?;
        self.members.insert(inner.first, whole);
        Ok(())
    }

    fn member(&mut self, line: &str, place: (usize, usize)) -> Result<(), Error> {
        if line.ends_with(":0;") {
            // An unnamed bit-field of width 0 only ends the one before it; it has no place.
            return Ok(());
        }
        if self.open.is_empty() && !self.fragment {
            self.end_struct();
            self.fragment = true;
        }
        let (declaration, at) = split(line, place)?;
        let Some((name, ty)) = declared(declaration) else {
            return Err(wrong(place, "a member without a name", AS_PRINTED));
        };
        self.occupy(at.extent(), place, &name)?;
        self.count(place)?;
        self.members.push(Member {
            name,
            ty,
            offset: at.offset,
            size: at.size,
            bits: at.bits,
            place,
            nested: false,
        });
        Ok(())
    }

    fn count(&mut self, place: (usize, usize)) -> Result<(), Error> {
        self.total += 1;
        if self.total > MAX_MEMBERS {
            let mut error = wrong(place, format!("more than {MAX_MEMBERS} members"), "");
            error.limit = true;
            return Err(error);
        }
        Ok(())
    }

    /// Takes the bits of a member from what holds it. In a struct they come behind those taken.
    fn occupy(
        &mut self,
        (low, end): (u64, u64),
        place: (usize, usize),
        name: &str,
    ) -> Result<(), Error> {
        let mut fragment = Open {
            scope: Scope::Struct,
            first: 0,
            free: 0,
            extent: None,
            place,
        };
        if self.fragment && self.open.is_empty() {
            // Members without a struct come one behind the other, too.
            fragment.free = self.members.last().map_or(0, |m| {
                let (offset, size, bits) = (m.offset, m.size, m.bits);
                Place { offset, size, bits }.extent().1
            });
        }
        let holder = self.open.last_mut().unwrap_or(&mut fragment);
        if holder.scope == Scope::Struct {
            if low < holder.free {
                let byte = |bit: u64| match bit % 8 {
                    0 => format!("byte {}", bit / 8),
                    n => format!("byte {} bit {n}", bit / 8),
                };
                let what = if name.is_empty() { "a member" } else { name };
                let message = format!(
                    "`{what}` starts at {}, inside the member before it, which ends at {}",
                    byte(low),
                    byte(holder.free)
                );
                let help = "offsets of a struct's members ascend; members that share bytes \
                            stand in a union";
                return Err(wrong(place, message, help));
            }
            holder.free = end;
        }
        holder.extent = Some(
            holder
                .extent
                .map_or((low, end), |(a, b)| (a.min(low), b.max(end))),
        );
        Ok(())
    }

    /// What was read so far is a struct, if it is anything.
    fn end_struct(&mut self) {
        if !self.members.is_empty() || !self.name.is_empty() {
            self.done.push(Struct {
                name: std::mem::take(&mut self.name),
                members: std::mem::take(&mut self.members),
                size: self.size,
            });
        }
        self.size = None;
        self.fragment = false;
    }

    fn finish(mut self) -> Result<Vec<Struct>, Error> {
        if let Some(open) = self.open.last() {
            return Err(wrong(open.place, "this is never closed", AS_PRINTED));
        }
        self.end_struct();
        if self.done.is_empty() {
            return Err(wrong((0, 0), "no struct in this text", AS_PRINTED));
        }
        Ok(self.done)
    }
}

/// Offset, size and bits of a member.
#[derive(Clone, Copy)]
struct Place {
    offset: u32,
    size: u32,
    bits: Option<(u32, u32)>,
}

impl Place {
    /// First bit and end.
    fn extent(self) -> (u64, u64) {
        let start = u64::from(self.offset) * 8;
        match self.bits {
            Some((bit, width)) => (
                start + u64::from(bit),
                start + u64::from(bit) + u64::from(width),
            ),
            None => (start, start + u64::from(self.size) * 8),
        }
    }
}

/// A member's declaration and its place, out of `TYPE NAME; /* offset size */`.
fn split(line: &str, place: (usize, usize)) -> Result<(&str, Place), Error> {
    let help = "a member ends in `/* offset size */`, both in bytes";
    let no_place = || wrong(place, "a member without offset and size", help);
    let (before, comment) = line.rsplit_once("/*").ok_or_else(no_place)?;
    let comment = comment.trim().strip_suffix("*/").ok_or_else(no_place)?;
    let declaration = before.trim().strip_suffix(';').ok_or_else(no_place)?;
    let bit_field = comment.contains(':');
    let numbers: Option<Vec<u32>> = comment
        .split([' ', ':', '\t'])
        .filter(|word| !word.is_empty())
        .map(number)
        .collect();
    let (offset, bit, size) = match numbers.as_deref() {
        Some(&[offset, size]) if !bit_field => (offset, None, size),
        Some(&[offset, bit, size]) if bit_field => (offset, Some(bit), size),
        _ => return Err(no_place()),
    };
    let bits = match (bit, width(declaration)) {
        (Some(bit), Some(width)) if u64::from(bit) + u64::from(width) <= u64::from(size) * 8 => {
            Some((bit, width))
        }
        (None, None) => None,
        (Some(_), _) => {
            return Err(wrong(
                place,
                "a bit-field that its type does not hold",
                help,
            ));
        }
        (None, Some(_)) => return Err(wrong(place, "a bit-field without its first bit", help)),
    };
    let fits = offset.checked_add(size).is_some_and(|end| end <= MAX_BYTES);
    if !fits {
        let mut error = wrong(
            place,
            format!("a member that ends behind byte {MAX_BYTES}"),
            "",
        );
        error.limit = true;
        return Err(error);
    }
    Ok((declaration.trim(), Place { offset, size, bits }))
}

fn number(word: &str) -> Option<u32> {
    match word.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => word.parse().ok(),
    }
}

/// The width of a bit-field: what stands behind the colon of `unsigned int x:3`.
fn width(declaration: &str) -> Option<u32> {
    let (_, width) = declaration.rsplit_once(':')?;
    width.trim().parse().ok()
}

/// Name and type out of a declaration; `None` for one without a name.
fn declared(declaration: &str) -> Option<(String, String)> {
    let bare = declaration
        .split("__attribute__")
        .next()
        .unwrap_or_default()
        .trim();
    // A function pointer, or an array of them: the name is the first word in `(*name...)`.
    if let Some(at) = bare.find("(*") {
        let inner = bare[at + 2..].trim_start_matches(['(', '*', ' ']);
        let name = word_at_start(inner);
        return (!name.is_empty()).then(|| (name.to_owned(), bare.to_owned()));
    }
    let bare = match bare.rsplit_once(':') {
        Some((before, width)) if width.trim().parse::<u32>().is_ok() => before.trim_end(),
        _ => bare,
    };
    let bare = bare.split('[').next().unwrap_or_default().trim_end();
    let start = bare
        .rfind(|c: char| !(c.is_alphanumeric() || c == '_'))
        .map_or(0, |at| {
            at + bare[at..].chars().next().map_or(1, char::len_utf8)
        });
    let name = &bare[start..];
    (!name.is_empty()).then(|| (name.to_owned(), bare[..start].trim_end().to_owned()))
}

fn word_at_start(text: &str) -> &str {
    let end = text
        .find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests;
