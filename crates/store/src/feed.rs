//! Events of all runs in one line.

use std::fmt;
use std::str::FromStr;

use r1_event::{Record, RunId};

/// A place in the feed. Opaque: only a store can say what comes after it. As text it is stable and sorts
/// like the feed.
///
/// Two numbers, because on PostgreSQL an event becomes visible in the order of transactions, not of
/// positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeedCursor {
    /// Transaction, where positions alone do not tell; otherwise 0.
    pub epoch: u64,
    /// Position.
    pub position: u64,
}

impl FeedCursor {
    /// Before everything.
    pub const START: Self = Self { epoch: 0, position: 0 };
}

impl fmt::Display for FeedCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:016x}", self.epoch, self.position)
    }
}

/// Text that is no cursor of a feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor of the feed: use one as it was given, or none to begin at the start")]
pub struct InvalidCursor;

impl FromStr for FeedCursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 32 || !text.bytes().all(is_digit) {
            return Err(InvalidCursor);
        }
        let (epoch, position) = text.split_at(16);
        let number = |digits| u64::from_str_radix(digits, 16).map_err(|_| InvalidCursor);
        Ok(Self { epoch: number(epoch)?, position: number(position)? })
    }
}

/// One event of the feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedItem {
    /// Go on after this to get the next one.
    pub cursor: FeedCursor,
    /// The run.
    pub run: RunId,
    /// The event.
    pub record: Record,
}

/// A part of the feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedPage {
    /// The events.
    pub items: Vec<FeedItem>,
    /// Where to go on; moves forward even if `items` is empty.
    pub next: FeedCursor,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_as_text_and_sorts_the_same() {
        let cursor = |epoch, position| FeedCursor { epoch, position };
        let cursors = [FeedCursor::START, cursor(0, 9), cursor(0, 10), cursor(1, 0), cursor(u64::MAX, u64::MAX)];
        let texts = cursors.map(|cursor| cursor.to_string());
        assert!(texts.is_sorted_by(|one, next| one < next), "{texts:?}");
        assert_eq!(texts[2], "0000000000000000000000000000000a", "never changes: clients keep it");
        assert_eq!(texts.map(|text| text.parse()), cursors.map(Ok));
    }

    #[test]
    fn other_text_is_no_cursor() {
        let almost = FeedCursor::START.to_string();
        let others = ["", "now", "0", &almost[1..], &format!("{almost}0"), &almost.replacen('0', "A", 1)];
        for text in others.into_iter().chain([&*almost.replacen('0', "+", 1), &almost.replacen("00", "é", 1)]) {
            assert_eq!(text.parse::<FeedCursor>(), Err(InvalidCursor), "{text}");
        }
    }
}
