//! Finding the places that deserve a closer look, at the speed of reading.
//!
//! Three characters at a time are hashed and looked up in a table of bits that fits into the processor's
//! first cache. Unlike in an automaton no step waits for the one before, and text without secrets rarely
//! hits. Case does not count here: whoever looks closer decides.

/// Bits of the hash of three characters.
const HASH_BITS: u32 = 16;

/// Texts to look for, none shorter than three bytes.
pub(super) struct Anchors {
    /// Whether some text begins with characters of this hash.
    bits: Vec<u64>,
    /// The texts in lower case with their place in the list they came from, by the hash they begin with.
    texts: Vec<(u16, Box<[u8]>, usize)>,
    longest: usize,
}

impl Anchors {
    pub(super) const LEAST_LEN: usize = 3;

    /// Looks for these; shorter ones than [`Self::LEAST_LEN`] are never found.
    pub(super) fn new<'a>(texts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut anchors = Self { bits: vec![0; 1 << (HASH_BITS - 6)], texts: Vec::new(), longest: 0 };
        for (at, text) in texts.into_iter().enumerate() {
            let Some(hash) = text.first_chunk().map(hash) else { continue };
            anchors.bits[usize::from(hash >> 6)] |= 1 << (hash & 63);
            anchors.texts.push((hash, text.to_ascii_lowercase().into(), at));
            anchors.longest = anchors.longest.max(text.len());
        }
        anchors.texts.sort();
        anchors
    }

    /// Shows each place at `from` or later where a text stands, in order: where it begins, how long it
    /// is, and its place in the list. Goes on as long as it is told to.
    pub(super) fn find(&self, bytes: &[u8], from: usize, mut show: impl FnMut(usize, usize, usize) -> bool) {
        for (at, three) in bytes.get(from..).unwrap_or_default().windows(Self::LEAST_LEN).enumerate() {
            let Some(hash) = three.first_chunk().map(hash) else { continue };
            if self.bits[usize::from(hash >> 6)] >> (hash & 63) & 1 == 0 {
                continue;
            }
            let start = from + at;
            let first = self.texts.partition_point(|(other, ..)| *other < hash);
            for (_, text, index) in self.texts[first..].iter().take_while(|(other, ..)| *other == hash) {
                let is_here = bytes[start..].get(..text.len()).is_some_and(|here| here.eq_ignore_ascii_case(text));
                if is_here && !show(start, text.len(), *index) {
                    return;
                }
            }
        }
    }

    /// Where a suffix begins that may become one of the texts; the end if none does.
    pub(super) fn partial(&self, bytes: &[u8], from: usize) -> usize {
        let start = bytes.len().saturating_sub(self.longest.saturating_sub(1)).max(from);
        let begins_text = |suffix: &[u8]| {
            let begins = |text: &[u8]| text.len() > suffix.len() && text[..suffix.len()].eq_ignore_ascii_case(suffix);
            self.texts.iter().any(|(_, text, _)| begins(text))
        };
        (start..bytes.len()).find(|at| begins_text(&bytes[*at..])).unwrap_or(bytes.len())
    }
}

/// Equal for texts that differ in case only; spread by a constant of Fibonacci hashing.
#[inline]
fn hash(three: &[u8; 3]) -> u16 {
    let [a, b, c] = three.map(|byte| u32::from(byte | 0x20));
    let spread = (a << 16 | b << 8 | c).wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS);
    spread.to_le_bytes().first_chunk().map_or(0, |low| u16::from_le_bytes(*low))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(texts: &[&str], bytes: &str) -> Vec<(usize, usize, usize)> {
        let mut found = Vec::new();
        Anchors::new(texts.iter().map(|text| text.as_bytes())).find(bytes.as_bytes(), 0, |start, len, index| {
            found.push((start, len, index));
            true
        });
        found
    }

    #[test]
    fn every_place_is_found_in_order_in_any_case_and_inside_of_others() {
        assert_eq!(found(&["key", "monkey", "token"], "MonKEY tok token"), [(0, 6, 1), (3, 3, 0), (11, 5, 2)]);
        assert_eq!(found(&["key", "keyed"], "keyed"), [(0, 3, 0), (0, 5, 1)]);
        assert_eq!(found(&["key"], "ke"), []);
    }

    #[test]
    fn a_suffix_that_may_become_a_text_is_noticed() {
        let anchors = Anchors::new([b"secret".as_slice(), b"sk-"]);
        let partial = |text: &str| anchors.partial(text.as_bytes(), 0);
        assert_eq!(partial("my secr"), 3);
        assert_eq!(partial("my S"), 3);
        assert_eq!(partial("my secret"), 9);
        assert_eq!(partial("mine"), 4);
    }
}
