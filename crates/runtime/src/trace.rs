//! W3C trace context: the place that a run has in somebody's trace.

use std::fmt;

use r1_event::id::to_hex;

use crate::world::{self, NoRandomness};

/// A `traceparent`: which trace, and where in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceParent {
    trace_id: [u8; 16],
    parent_id: [u8; 8],
    flags: u8,
}

impl TraceParent {
    /// Reads a `traceparent`; `None` for what is none. One of a later version is read by its first four fields.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split('-');
        let [version] = field::<1>(fields.next()?)?;
        let this = Self {
            trace_id: field(fields.next()?)?,
            parent_id: field(fields.next()?)?,
            flags: field::<1>(fields.next()?)?[0],
        };
        let has_more = fields.next().is_some();
        let is_known_form = version != 0xff && (version > 0 || !has_more);
        (is_known_form && this.is_some_place()).then_some(this)
    }

    /// A new place: in the trace of `within`, or in a new one.
    pub fn mint(within: Option<&Self>) -> Result<Self, NoRandomness> {
        let (trace_id, flags) = match within {
            Some(within) => (within.trace_id, within.flags),
            None => (world::random()?, 1),
        };
        let minted = Self { trace_id, parent_id: world::random()?, flags };
        // All zeros mean no place at all, and come by chance to nobody.
        if minted.is_some_place() { Ok(minted) } else { Err(NoRandomness) }
    }

    /// Which trace.
    #[must_use]
    pub const fn trace_id(&self) -> [u8; 16] {
        self.trace_id
    }

    /// Where in it.
    #[must_use]
    pub const fn parent_id(&self) -> [u8; 8] {
        self.parent_id
    }

    /// Whether whoever began the trace records it.
    #[must_use]
    pub const fn is_sampled(&self) -> bool {
        self.flags & 1 == 1
    }

    fn is_some_place(&self) -> bool {
        self.trace_id != [0; 16] && self.parent_id != [0; 8]
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { trace_id, parent_id, flags } = self;
        write!(f, "00-{}-{}-{flags:02x}", to_hex(trace_id), to_hex(parent_id))
    }
}

/// `N` bytes in lowercase hex, and nothing else.
fn field<const N: usize>(text: &str) -> Option<[u8; N]> {
    let is_lowercase = text.len() == 2 * N && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    r1_event::id::from_hex(text).filter(|_| is_lowercase)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIVEN: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

    #[test]
    fn stoke_08_a_valid_traceparent_keeps_its_trace_and_flags_and_gets_a_new_place() {
        let given = TraceParent::parse(GIVEN).unwrap();
        assert_eq!(given.to_string(), GIVEN);
        let minted = TraceParent::mint(Some(&given)).unwrap();
        assert_eq!((minted.trace_id, minted.flags), (given.trace_id, 0));
        assert_ne!(minted.parent_id, given.parent_id);
    }

    #[test]
    fn stoke_08_one_of_a_later_version_is_read_by_its_first_four_fields() {
        let later = format!("cc{}-what-comes-later", &GIVEN[2..]);
        assert_eq!(TraceParent::parse(&later), TraceParent::parse(GIVEN));
        assert_eq!(TraceParent::parse(&format!("cc{}", &GIVEN[2..])), TraceParent::parse(GIVEN));
    }

    #[test]
    fn stoke_08_what_is_no_traceparent_is_ignored() {
        let wrong = [
            String::new(),
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into(),
            format!("{GIVEN}-more"),
            GIVEN.to_uppercase(),
            GIVEN.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            GIVEN.replace("b7ad6b7169203331", &"0".repeat(16)),
            GIVEN.replace("b7ad", "b7a"),
            GIVEN.replace("0af7", "0ag7"),
            GIVEN[..52].into(),
            format!(" {GIVEN}"),
        ];
        for wrong in wrong {
            assert_eq!(TraceParent::parse(&wrong), None, "{wrong}");
        }
        let minted = TraceParent::mint(None).unwrap().to_string();
        assert!(minted.starts_with("00-") && minted.ends_with("-01") && minted.len() == 55, "{minted}");
    }
}
