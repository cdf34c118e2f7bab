//! Recordings on disk: what `run --trace OUT` writes and `view OUT` reads.
//!
//! ```text
//! "SKBTRACE"  version u32  header length u32  header (JSON)  xxh3 of the header u64
//! chunk*:     records u32  0 u32  records (24 bytes each)    xxh3 of the records u64
//! footer:     per chunk: offset u64, first time u64, records u64
//!             chunks u64  records u64  xxh3 of the footer so far u64
//!             footer offset u64  "ECARTBKS"
//! ```
//!
//! All numbers are little-endian. The index is for readers that want one moment of a large file;
//! this reader takes all of it and holds the chunks against the index. It believes nothing: lengths
//! are bounded by the file's size, and each number that names something is checked, so that a
//! damaged file gives an error, never a panic in the viewer.

mod check;
mod header;

pub use check::check;
use header::Header;
use sim_core::trace::{Record, Recording};
use std::io::Write;
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: &[u8; 8] = b"SKBTRACE";
const END: &[u8; 8] = b"ECARTBKS";
const VERSION: u32 = 1;
const RECORD: usize = 24;
/// Records in a chunk; as many as one of the simulator's 64 KiB chunks holds.
const CHUNK: usize = 64 * 1024 / RECORD;

/// Whether `bytes` begin like a recording (of any version).
pub fn is_recording(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Writes `recording`. Gives the number of bytes written.
pub fn write(out: &mut dyn Write, recording: &Recording) -> std::io::Result<u64> {
    let header = serde_json::to_vec(&Header::of(recording)).map_err(std::io::Error::other)?;
    let length = u32::try_from(header.len()).map_err(std::io::Error::other)?;
    let mut at = 0;
    let mut put = |bytes: &[u8]| -> std::io::Result<u64> {
        out.write_all(bytes)?;
        at += bytes.len() as u64;
        Ok(at)
    };
    put(MAGIC)?;
    put(&VERSION.to_le_bytes())?;
    put(&length.to_le_bytes())?;
    put(&header)?;
    let mut offset = put(&xxh3_64(&header).to_le_bytes())?;
    let mut footer = Vec::new();
    let mut chunks = 0u64;
    for chunk in recording.records.chunks(CHUNK) {
        let body: Vec<u8> = chunk.iter().flat_map(encode).collect();
        for number in [offset, chunk[0].time, chunk.len() as u64] {
            footer.extend(number.to_le_bytes());
        }
        chunks += 1;
        put(&u32::try_from(chunk.len())
            .map_err(std::io::Error::other)?
            .to_le_bytes())?;
        put(&[0; 4])?;
        put(&body)?;
        offset = put(&xxh3_64(&body).to_le_bytes())?;
    }
    footer.extend(chunks.to_le_bytes());
    footer.extend((recording.records.len() as u64).to_le_bytes());
    put(&footer)?;
    put(&xxh3_64(&footer).to_le_bytes())?;
    put(&offset.to_le_bytes())?;
    put(END)
}

/// Reads what [`write()`] wrote. The error says what is wrong and where.
pub fn read(bytes: &[u8]) -> Result<Recording, String> {
    let mut reader = Reader { bytes, at: 0 };
    if reader.take(8, "magic")? != MAGIC {
        return Err("this is not a recording (it does not begin with SKBTRACE)".to_owned());
    }
    let version = reader.u32("version")?;
    if version != VERSION {
        return Err(format!(
            "this recording has format version {version}, and this program reads version {VERSION}; \
             make it again with `skbsim run ... --trace`"
        ));
    }
    let length = reader.u32("header length")? as usize;
    let text = reader.summed(length, "header")?;
    let header: Header =
        serde_json::from_slice(text).map_err(|e| format!("the header is damaged: {e}"))?;
    let footer = Footer::read(bytes)?;
    let mut records = Vec::new();
    for (i, entry) in footer.index.iter().enumerate() {
        records.extend(chunk(&mut reader, i, entry)?);
    }
    if reader.at as u64 != footer.offset || records.len() as u64 != footer.records {
        return Err(format!(
            "the footer does not fit the {} records before it",
            records.len()
        ));
    }
    let recording = header.recording(records);
    check(&recording)?;
    Ok(recording)
}

fn chunk(reader: &mut Reader<'_>, i: usize, entry: &Entry) -> Result<Vec<Record>, String> {
    if reader.at as u64 != entry.offset {
        return Err(format!(
            "chunk {i} is at byte {}, but the index says {}",
            reader.at, entry.offset
        ));
    }
    let count = reader.u32("chunk")? as usize;
    if reader.u32("chunk")? != 0 {
        return Err(format!(
            "chunk {i} is damaged: its head is not zero where it must be"
        ));
    }
    if count == 0 || count > CHUNK || count as u64 != entry.records {
        return Err(format!(
            "chunk {i} claims {count} records, but the index says {}",
            entry.records
        ));
    }
    let body = reader.summed(count * RECORD, &format!("chunk {i}"))?;
    let records: Vec<Record> = body.as_chunks::<RECORD>().0.iter().map(decode).collect();
    match records.first() {
        Some(first) if first.time == entry.time => Ok(records),
        _ => Err(format!("chunk {i} does not begin at the time in the index")),
    }
}

fn encode(r: &Record) -> [u8; RECORD] {
    let mut bytes = [0; RECORD];
    bytes[0..8].copy_from_slice(&r.time.to_le_bytes());
    bytes[8..10].copy_from_slice(&r.cpu.to_le_bytes());
    bytes[10..12].copy_from_slice(&r.kind.to_le_bytes());
    bytes[12..16].copy_from_slice(&r.cause.to_le_bytes());
    bytes[16..20].copy_from_slice(&r.a.to_le_bytes());
    bytes[20..24].copy_from_slice(&r.b.to_le_bytes());
    bytes
}

fn decode(b: &[u8; RECORD]) -> Record {
    Record {
        time: u64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]),
        cpu: u16::from_le_bytes([b[8], b[9]]),
        kind: u16::from_le_bytes([b[10], b[11]]),
        cause: u32::from_le_bytes([b[12], b[13], b[14], b[15]]),
        a: u32::from_le_bytes([b[16], b[17], b[18], b[19]]),
        b: u32::from_le_bytes([b[20], b[21], b[22], b[23]]),
    }
}

/// A cursor that never runs past the end.
struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Reader<'b> {
    fn take(&mut self, n: usize, what: &str) -> Result<&'b [u8], String> {
        let end = self
            .at
            .checked_add(n)
            .filter(|&end| end <= self.bytes.len());
        let end = end
            .ok_or_else(|| format!("the file ends at byte {} within: {what}", self.bytes.len()))?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn u32(&mut self, what: &str) -> Result<u32, String> {
        let b = self.take(4, what)?;
        Ok(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    fn u64(&mut self, what: &str) -> Result<u64, String> {
        let b = self.take(8, what)?;
        Ok(u64::from_le_bytes([
            b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7],
        ]))
    }

    /// `n` bytes and the checksum behind them.
    fn summed(&mut self, n: usize, what: &str) -> Result<&'b [u8], String> {
        let start = self.at;
        let body = self.take(n, what)?;
        let sum = self.u64(what)?;
        if xxh3_64(body) == sum {
            Ok(body)
        } else {
            Err(format!(
                "{what} is damaged: its checksum is wrong (bytes {start}..{})",
                start + n
            ))
        }
    }
}

struct Entry {
    offset: u64,
    time: u64,
    records: u64,
}

struct Footer {
    offset: u64,
    index: Vec<Entry>,
    records: u64,
}

impl Footer {
    fn read(bytes: &[u8]) -> Result<Footer, String> {
        const CUT: &str =
            "the recording is cut off: its end mark is missing; was the run interrupted?";
        let tail = bytes.len().checked_sub(16).ok_or(CUT)?;
        let mut reader = Reader { bytes, at: tail };
        let offset = reader.u64("footer offset")?;
        if reader.take(8, "end mark")? != END {
            return Err(CUT.to_owned());
        }
        let start = usize::try_from(offset).ok().filter(|&start| start <= tail);
        let start = start.ok_or("the footer is damaged: it claims to begin behind the end")?;
        // Index, two totals, and the checksum that summed() takes with them.
        let length = (tail - start)
            .checked_sub(8)
            .filter(|n| *n >= 16 && (n - 16).is_multiple_of(24));
        let length = length.ok_or("the footer is damaged: its length is impossible")?;
        let mut reader = Reader { bytes, at: start };
        let mut body = Reader {
            bytes: reader.summed(length, "footer")?,
            at: 0,
        };
        let mut index = Vec::with_capacity((length - 16) / 24);
        for _ in 0..(length - 16) / 24 {
            index.push(Entry {
                offset: body.u64("index")?,
                time: body.u64("index")?,
                records: body.u64("index")?,
            });
        }
        if body.u64("footer")? != index.len() as u64 {
            return Err("the footer is damaged: it counts its chunks wrong".to_owned());
        }
        Ok(Footer {
            offset,
            index,
            records: body.u64("footer")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use sim_core::trace::Kind;

    fn bytes(recording: &Recording) -> Vec<u8> {
        let mut out = Vec::new();
        let n = write(&mut out, recording).expect("memory");
        assert_eq!(n, out.len() as u64);
        out
    }

    #[test]
    fn what_is_written_is_read_again() {
        let recording = testing::recording();
        assert!(recording.records.len() > 2 * CHUNK);
        let read = read(&bytes(&recording)).expect("valid");
        assert_eq!(read.records, recording.records);
        assert_eq!(read.names, recording.names);
        assert_eq!(read.violations, recording.violations);
        assert_eq!(
            (read.digest, read.end, read.command),
            (recording.digest, recording.end, recording.command)
        );
    }

    #[test]
    fn an_empty_recording_is_one_too() {
        let recording = Recording {
            records: vec![],
            ..testing::recording()
        };
        assert!(read(&bytes(&recording)).expect("valid").records.is_empty());
    }

    /// Whichever single bit flips, the reader says no and does not panic.
    #[test]
    fn every_flipped_bit_is_found() {
        let good = bytes(&Recording {
            records: testing::recording().records[..40].to_vec(),
            ..testing::recording()
        });
        for at in 0..good.len() {
            for bit in [0, 5, 7] {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                assert!(read(&bad).is_err(), "byte {at} bit {bit}");
            }
        }
    }

    #[test]
    fn every_cut_is_found() {
        let good = bytes(&Recording {
            records: testing::recording().records[..40].to_vec(),
            ..testing::recording()
        });
        for n in 0..good.len() {
            assert!(read(&good[..n]).is_err(), "{n} bytes");
        }
    }

    #[test]
    fn another_version_is_told_apart_from_damage() {
        let mut other = bytes(&testing::recording());
        other[8] = 9;
        assert!(read(&other).expect_err("version").contains("version 9"));
    }

    /// Intact checksums do not make nonsense valid: numbers that name nothing are refused.
    #[test]
    fn records_that_name_nothing_are_refused() {
        let with = |change: fn(&mut Record)| {
            let mut recording = testing::recording();
            recording.records.truncate(3);
            change(&mut recording.records[2]);
            read(&bytes(&recording)).map(|_| ())
        };
        assert_eq!(with(|_| ()), Ok(()));
        assert!(with(|r| r.kind = 999).is_err());
        assert!(with(|r| r.cpu = 2).is_err());
        assert!(with(|r| r.a = 1).is_err());
        assert!(with(|r| r.time = 0).is_err());
        assert!(with(|r| r.cause = 3).is_err());
        assert!(with(|r| (r.kind, r.a) = (Kind::CtxEnter as u16, 7)).is_err());
    }
}
