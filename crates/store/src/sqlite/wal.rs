//! What an unclean end left in the write-ahead log.
//!
//! SQLite itself drops whatever follows the last whole commit. This module only counts, so that the
//! loss of unacknowledged bytes can be told; format: <https://www.sqlite.org/fileformat2.html#walformat>.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
/// Where the first page of a database has its layout version.
const USER_VERSION: usize = 60;

/// What stands in a write-ahead log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Leftover {
    /// Whole commits, which are kept.
    pub(super) commits: u64,
    /// Bytes up to the end of the last whole commit.
    pub(super) committed: u64,
    /// Bytes behind it that belong to no whole commit.
    pub(super) torn: u64,
    /// The layout version that the commits say, if they changed the first page.
    pub(super) user_version: Option<u32>,
}

/// Reads the write-ahead log at `path`; an absent or empty one has nothing left over.
pub(super) fn inspect(path: &Path) -> std::io::Result<Leftover> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(err) if err.kind() == std::io::ErrorKind::NotFound => return Ok(Leftover::default()),
        Err(err) => return Err(err),
    };
    let length = file.metadata()?.len();
    // Another process may be writing: what it adds meanwhile is not looked at.
    walk(BufReader::with_capacity(1 << 16, file.take(length)), length)
}

fn walk(mut wal: impl Read, length: u64) -> std::io::Result<Leftover> {
    let mut header = [0; HEADER];
    if !fill(&mut wal, &mut header)? {
        return Ok(Leftover { torn: length, ..Leftover::default() });
    }
    let mut sum = Checksum { big_endian: header[3] & 1 == 1, state: (0, 0) };
    sum.add(&header[..24]);
    let is_page_size = |size: u32| size.is_power_of_two() && (512..=65_536).contains(&size);
    if sum.state != (word(&header, 24), word(&header, 28)) || !is_page_size(word(&header, 8)) {
        return Ok(Leftover { torn: length, ..Leftover::default() });
    }
    let (salt, page) = ((word(&header, 16), word(&header, 20)), word(&header, 8) as usize);
    let mut frame = vec![0; FRAME_HEADER + page];
    let mut found = Leftover { committed: HEADER as u64, ..Leftover::default() };
    let mut position = HEADER as u64;
    let mut user_version = None;
    while fill(&mut wal, &mut frame)? {
        let frame_salt = (word(&frame, 8), word(&frame, 12));
        if frame_salt != salt {
            // Each restart of the log counts the first salt up and draws a new second one: what is older
            // was copied into the database long ago and is no loss.
            let age = salt.0.wrapping_sub(frame_salt.0);
            let is_older = age > 0 && age < u32::MAX / 2 && frame_salt.1 != salt.1;
            found.torn = if is_older { position - found.committed } else { length - found.committed };
            return Ok(found);
        }
        sum.add(&frame[..8]);
        sum.add(&frame[FRAME_HEADER..]);
        if sum.state != (word(&frame, 16), word(&frame, 20)) {
            break;
        }
        position += frame.len() as u64;
        if word(&frame, 0) == 1 {
            user_version = Some(word(&frame, FRAME_HEADER + USER_VERSION));
        }
        if word(&frame, 4) != 0 {
            found.commits += 1;
            found.committed = position;
            found.user_version = user_version;
        }
    }
    found.torn = length - found.committed;
    Ok(found)
}

struct Checksum {
    big_endian: bool,
    state: (u32, u32),
}

impl Checksum {
    fn add(&mut self, bytes: &[u8]) {
        let word = |bytes: &[u8]| {
            let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
            if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
        };
        let (mut one, mut two) = self.state;
        for pair in bytes.chunks_exact(8) {
            one = one.wrapping_add(word(&pair[..4])).wrapping_add(two);
            two = two.wrapping_add(word(&pair[4..])).wrapping_add(one);
        }
        self.state = (one, two);
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Fills `buffer`; false if the input ends before it is full.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<bool> {
    match input.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(err) if err.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
        Err(err) => Err(err),
    }
}
