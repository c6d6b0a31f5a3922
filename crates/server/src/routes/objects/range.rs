//! Which part of a body is asked for.

use std::ops::Range;

use axum::http::header::{IF_NONE_MATCH, IF_RANGE, RANGE};
use axum::http::{HeaderMap, HeaderName};

/// What of a body is to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Nothing: the client has it.
    Unchanged,
    /// All of it.
    Whole,
    /// These bytes.
    Part(Range<u64>),
    /// A range that it does not have, or several.
    Unsatisfiable,
}

impl Wanted {
    /// What the headers ask for of `size` bytes named `etag`.
    pub(super) fn of(headers: &HeaderMap, etag: &str, size: u64) -> Self {
        let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        if headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok()).any(|known| has(known, etag)) {
            return Self::Unchanged;
        }
        // Another body than the one that the client has a part of is sent whole; so says anything but our tag.
        if text(IF_RANGE).is_some_and(|known| known.trim() != etag) {
            return Self::Whole;
        }
        if headers.get_all(RANGE).iter().count() > 1 {
            return Self::Unsatisfiable;
        }
        match text(RANGE).map(|range| range.trim().split_once('=')) {
            None => Self::Whole,
            // A unit that nobody knows is no range.
            Some(Some((unit, _))) if !unit.trim().eq_ignore_ascii_case("bytes") => Self::Whole,
            Some(Some((_, range))) => part(range.trim(), size).map_or(Self::Unsatisfiable, Self::Part),
            Some(None) => Self::Unsatisfiable,
        }
    }
}

/// Whether a list of tags has this one.
fn has(known: &str, etag: &str) -> bool {
    known.split(',').map(str::trim).any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag)
}

fn part(range: &str, size: u64) -> Option<Range<u64>> {
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse::<u64>().ok()).flatten();
    let (first, last) = range.split_once('-')?;
    let part = match (first, last) {
        ("", last) => size.saturating_sub(number(last)?)..size,
        (first, "") => number(first)?..size,
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            if last < first {
                return None;
            }
            first..last.saturating_add(1).min(size)
        }
    };
    (part.start < part.end).then_some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ETAG: &str = "\"blake3:ab\"";

    fn wanted(headers: &[(HeaderName, &str)]) -> Wanted {
        let headers = headers.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect();
        Wanted::of(&headers, ETAG, 10)
    }

    #[test]
    fn one_range_inside_of_the_body_is_a_part() {
        for (range, part) in [
            ("bytes=0-0", 0..1),
            ("bytes=2-5", 2..6),
            ("bytes=2-", 2..10),
            ("bytes=-3", 7..10),
            ("bytes=-30", 0..10),
            ("bytes=5-500", 5..10),
            ("Bytes = 5-6", 5..7),
        ] {
            assert_eq!(wanted(&[(RANGE, range)]), Wanted::Part(part), "{range}");
        }
    }

    #[test]
    fn ep_26_several_ranges_and_bad_ones_cannot_be_satisfied() {
        for range in [
            "bytes=0-1,3-4",
            "bytes=10-",
            "bytes=5-4",
            "bytes=-0",
            "bytes=-",
            "bytes=a-b",
            "bytes=",
            "bytes",
            "bytes=+1-2",
        ] {
            assert_eq!(wanted(&[(RANGE, range)]), Wanted::Unsatisfiable, "{range}");
        }
        assert_eq!(wanted(&[(RANGE, "lines=1-2")]), Wanted::Whole);
    }

    #[test]
    fn tags_decide_first() {
        for known in ["*", ETAG, "\"x\", \"blake3:ab\"", "W/\"blake3:ab\""] {
            assert_eq!(wanted(&[(IF_NONE_MATCH, known), (RANGE, "bytes=0-0")]), Wanted::Unchanged, "{known}");
        }
        assert_eq!(wanted(&[(IF_NONE_MATCH, "\"x\"")]), Wanted::Whole);
        assert_eq!(wanted(&[(IF_RANGE, ETAG), (RANGE, "bytes=0-0")]), Wanted::Part(0..1));
        for other in ["\"x\"", "W/\"blake3:ab\"", "Tue, 01 Jan 2030 00:00:00 GMT"] {
            assert_eq!(wanted(&[(IF_RANGE, other), (RANGE, "bytes=0-0")]), Wanted::Whole, "{other}");
        }
    }
}
