//! Random text beside a name that speaks of secrets: "the API key is …".

use super::look::{Class, JUDGED, Look, NeedMore, Reached};
use super::plausible::is_digest;

/// Shorter text may be anything.
const LEAST_LEN: usize = 32;
/// Bits of information in each character, at least.
const LEAST_BITS: f64 = 4.0;
/// How far behind the name it may begin, on the same line.
const NEARBY: usize = 48;

/// Random text that begins close behind `look`.
pub(super) fn find(mut look: Look<'_>) -> Result<Option<Reached>, NeedMore> {
    let nearby = look.position() + NEARBY;
    while look.position() < nearby {
        match look.peek()? {
            None | Some(b'\n') => break,
            Some(byte) if Class::Base64.contains(byte) => {
                let start = look.position();
                let run = look.run(Class::Base64, JUDGED)?;
                if is_random(run) {
                    look.run(Class::Base64, usize::MAX)?;
                    return Ok(Some(look.span(start, Class::Base64)));
                }
            }
            Some(_) => look.advance(1),
        }
    }
    Ok(None)
}

fn is_random(run: &[u8]) -> bool {
    run.len() >= LEAST_LEN
        && run.iter().any(u8::is_ascii_digit)
        && run.iter().any(u8::is_ascii_alphabetic)
        // Paths, too, have many different characters.
        && (!run.contains(&b'/') || run.iter().any(u8::is_ascii_uppercase))
        && !is_digest(run)
        && !DIGEST_NAMES.iter().any(|name| run.starts_with(name.as_bytes()))
        && bits_per_character(run) >= LEAST_BITS
}

/// How digests in base64 begin, as lock files have them.
const DIGEST_NAMES: [&str; 4] = ["sha1-", "sha256-", "sha384-", "sha512-"];

/// Shannon's entropy of the characters of `text`.
#[expect(clippy::cast_precision_loss, reason = "a run is far shorter than 2^52 bytes")]
fn bits_per_character(text: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    text.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let len = text.len() as f64;
    counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / len).map(|p| -p * p.log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> bool {
        find(Look::new(text.as_bytes(), 0, true)).unwrap().is_some()
    }

    #[test]
    fn random_text_is_told_from_words_and_digests() {
        assert!(found(" is q8Zt0vLw3XnB7yRk5mJd2PfHsG9cTa1E"));
        assert!(!found(" is q8Zt0vLw3XnB7yRk5mJd2PfHsG9cTa"));
        assert!(!found(" is 3f786850e387550fdab836ed7e6dc881de23001b"));
        assert!(!found(" is 123e4567-e89b-12d3-a456-426614174000"));
        assert!(!found(" crates/runtime/src/provider/anthropic/stream2/parser"));
        assert!(!found(" sha512-q8Zt0vLw3XnB7yRk5mJd2PfHsG9cTa1Eq8Zt0vLw=="));
        assert!(!found("\n q8Zt0vLw3XnB7yRk5mJd2PfHsG9cTa1E"));
        assert!(!found(&format!("{} q8Zt0vLw3XnB7yRk5mJd2PfHsG9cTa1E", " ".repeat(NEARBY))));
    }
}
