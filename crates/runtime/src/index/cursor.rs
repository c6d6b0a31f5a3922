//! Places in lists, as text that only this index understands.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::IndexError;

/// A place in a list: the rank and key of the entry before it.
pub(super) type Place = (u64, String);

/// The text for a place in the list of `collection`.
pub(super) fn write(collection: &str, (rank, key): &Place) -> String {
    URL_SAFE_NO_PAD.encode(format!("{collection}\n{rank}\n{key}"))
}

/// The place that a text stands for; one of another list is none.
pub(super) fn read(collection: &str, given: &str) -> Result<Place, IndexError> {
    let parse = || {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(given).ok()?).ok()?;
        let (rank, key) = text.strip_prefix(collection)?.strip_prefix('\n')?.split_once('\n')?;
        Some((rank.parse().ok()?, key.to_owned()))
    };
    parse().ok_or_else(|| IndexError::BadCursor { given: given.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_comes_back_and_belongs_to_its_list() {
        let place = (7, "a\nkey".to_owned());
        let text = write("index.runs", &place);
        assert_eq!(read("index.runs", &text).unwrap(), place);
        for (collection, given) in [("index.tasks", text.as_str()), ("index.runs", "what"), ("index.runs", "")] {
            assert!(matches!(read(collection, given), Err(IndexError::BadCursor { .. })), "{given}");
        }
    }
}
