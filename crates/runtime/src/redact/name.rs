//! Which names tell that their value is secret.

/// How much a name says about its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
    /// Just `key`: mostly a place in a map, sometimes a secret.
    Weak,
    /// `API_KEY`, `accessToken`: a secret if it looks made by a machine.
    Made,
    /// `password`, `client_secret`: a secret even if a person made it up.
    Certain,
}

/// What `name` says about its value: `None` for an ordinary name.
pub(super) fn strength(name: &[u8]) -> Option<Strength> {
    let normalized = normalized(name);
    let words: Vec<_> = normalized.split('_').filter(|word| !word.is_empty()).collect();
    let last = words.last()?;
    if INNOCENT_ENDS.contains(last) {
        return None;
    }
    words.iter().enumerate().filter_map(|(at, word)| word_strength(name, &words, at, word)).max()
}

fn word_strength(name: &[u8], words: &[&str], at: usize, word: &str) -> Option<Strength> {
    let before = at.checked_sub(1).map(|before| words[before]);
    match word {
        "key" if before.is_some_and(|before| INNOCENT_KEYS.contains(&before)) => None,
        "key" if words.len() == 1 => Some(Strength::Weak),
        "key" | "token" => Some(Strength::Made),
        // Counts of tokens and lists of names are everywhere; only settings in capitals hold secrets.
        "keys" | "tokens" => name.iter().all(|b| !b.is_ascii_lowercase()).then_some(Strength::Made),
        "pass" | "pw" => (at > 0).then_some(Strength::Certain),
        _ if CERTAIN.iter().any(|certain| word.ends_with(certain)) => Some(Strength::Certain),
        _ if MADE.iter().any(|made| word.ends_with(made)) => Some(Strength::Made),
        _ => None,
    }
}

const CERTAIN: [&str; 9] =
    ["password", "passwords", "passwd", "passphrase", "pwd", "secret", "secrets", "credential", "credentials"];

/// Ends of names that are written as one word.
const MADE: [&str; 9] =
    ["apikey", "secretkey", "accesskey", "privatekey", "accountkey", "authkey", "signingkey", "encryptionkey", "token"];

/// Names that end so speak about a secret without holding it.
const INNOCENT_ENDS: [&str; 44] = [
    "algorithm",
    "at",
    "bits",
    "bytes",
    "class",
    "count",
    "dir",
    "digest",
    "enabled",
    "env",
    "expires",
    "expiry",
    "field",
    "file",
    "filename",
    "fingerprint",
    "format",
    "hash",
    "id",
    "index",
    "len",
    "length",
    "limit",
    "max",
    "min",
    "name",
    "names",
    "ordering",
    "path",
    "policy",
    "prefix",
    "ref",
    "sha256",
    "size",
    "sock",
    "status",
    "ttl",
    "type",
    "uri",
    "url",
    "usage",
    "used",
    "var",
    "version",
];

/// Keys of tables, maps and keyboards, and the half of a pair that everyone may see.
const INNOCENT_KEYS: [&str; 21] = [
    "cache",
    "composite",
    "dedup",
    "foreign",
    "group",
    "hot",
    "idempotency",
    "idemp",
    "index",
    "lookup",
    "map",
    "object",
    "partition",
    "primary",
    "public",
    "range",
    "registry",
    "row",
    "shift",
    "sort",
    "unique",
];

/// The name in lower case with `_` between its words: cut at `-`, `.` and where a capital follows a
/// small letter.
fn normalized(name: &[u8]) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    let mut previous = b'_';
    for &byte in name {
        if byte.is_ascii_uppercase() && previous.is_ascii_lowercase() {
            out.push('_');
        }
        out.push(if byte.is_ascii_alphanumeric() { char::from(byte.to_ascii_lowercase()) } else { '_' });
        previous = byte;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_told_from_names_about_them() {
        let of = |name: &str| strength(name.as_bytes());
        for name in [
            "API_KEY",
            "apiKey",
            "apikey",
            "--access-token",
            "token",
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "AccountKey",
            "API_KEYS",
            "x-api-key",
        ] {
            assert!(of(name) >= Some(Strength::Made), "{name}");
        }
        for name in ["password", "DB_PASS", "clientSecret", "spring.datasource.password", "PGPASSWORD", "dbpasswd"] {
            assert_eq!(of(name), Some(Strength::Certain), "{name}");
        }
        assert_eq!(of("key"), Some(Strength::Weak));
        for name in [
            "monkey",
            "keyboard",
            "tokenizer",
            "max_tokens",
            "input_tokens",
            "public_key",
            "primaryKey",
            "password_hash",
            "token_type",
            "SSH_AUTH_SOCK",
            "key_id",
            "secretary",
            "passed",
            "compass",
            "header_keys",
            "idempotency_key",
            "",
            "_",
            "pass",
        ] {
            assert_eq!(of(name), None, "{name}");
        }
    }
}
