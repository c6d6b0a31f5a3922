//! Names for what is saved.

use std::fmt::Write as _;

use axum::http::HeaderValue;

/// `Content-Disposition` of something that is to be saved under a name, never shown in place.
pub(super) fn attachment(name: &str) -> HeaderValue {
    let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let mut value = format!("attachment; filename=\"{plain}\"");
    if plain != name {
        value.push_str("; filename*=UTF-8''");
        for byte in name.bytes() {
            match byte {
                b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'.' | b'_' => value.push(char::from(byte)),
                // Writing to a string does not fail.
                _ => drop(write!(value, "%{byte:02X}")),
            }
        }
    }
    HeaderValue::from_str(&value).unwrap_or(HeaderValue::from_static("attachment"))
}

/// Whether a character is the same in every reader of quoted names, and leads nowhere.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || " ._-()+@,".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_quoted_and_cannot_break_out() {
        for (name, header) in [
            ("a.txt", "attachment; filename=\"a.txt\""),
            ("ü\"\r\n/x", "attachment; filename=\"_____x\"; filename*=UTF-8''%C3%BC%22%0D%0A%2Fx"),
        ] {
            assert_eq!(attachment(name).to_str().unwrap(), header);
        }
    }
}
