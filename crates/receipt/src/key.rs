//! Private keys, public keys, and what a keyring says of them.

mod attest;
mod entry;
mod jwk;
mod known;
mod private;
mod public;
mod secret;

pub use attest::AttestKey;
pub use entry::{Entry, Revocation, RevocationReason, Scope, Usage, moment};
pub use jwk::Jwk;
pub use known::{KnownKey, SPKI_PREFIX};
pub use private::PrivateKey;
pub use public::PublicKey;
use r1_event::KeyId;
pub use secret::SecretKey;

/// Why a key or a keyring entry was refused.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// Not a private key in PKCS#8 PEM form.
    #[error("this is not a private key of the right kind in PKCS#8 PEM form")]
    NotPkcs8(#[source] ed25519_dalek::pkcs8::Error),
    /// Not the JSON of a keyring entry.
    #[error("this is not a keyring entry")]
    NotAnEntry(#[source] serde_json::Error),
    /// None of the forms that a public key is given in.
    #[error("this is no Ed25519 public key: give a keyring entry, a JWK or an SPKI PEM file")]
    NotAPublicKey,
    /// A keyring entry of a newer R1.
    #[error("the keyring entry has version {found}; this r1 knows version 1")]
    Newer {
        /// Its version.
        found: u64,
    },
    /// Not a public key that signatures can be checked with.
    #[error("`public` is not a key: {reason}")]
    BadPublicKey {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The id is not that of the public key.
    #[error("the entry calls itself {claimed}, but its public key is {actual}")]
    WrongKid {
        /// What the entry says.
        claimed: String,
        /// What follows from the key.
        actual: KeyId,
    },
    /// A time that is none.
    #[error("`{field}` is not a time like 2026-01-31T12:00:00Z")]
    BadTime {
        /// Which field.
        field: &'static str,
    },
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use r1_event::UnixNanos;

    use super::*;

    /// RFC 8032 §7.1, test 1.
    const SEED: &str = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
    const KID: &str = "kid:kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k";

    fn key() -> SecretKey {
        SecretKey::from_seed(r1_event::id::from_hex(SEED).unwrap().try_into().unwrap())
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn entry() -> Entry {
        Entry::new(key().public(), Scope::Agent, "agent:test", at(1_777_000_000))
    }

    #[test]
    fn a_private_key_survives_its_pem_form() {
        let pem = key().to_pem().unwrap();
        assert!(pem.starts_with("-----BEGIN PRIVATE KEY-----"));
        let again = SecretKey::from_pem(&pem).unwrap();
        assert_eq!(again.kid().to_string(), KID);
        assert!(matches!(SecretKey::from_pem("hello"), Err(KeyError::NotPkcs8(_))));
    }

    #[test]
    fn a_private_key_is_written_as_rfc_8410_prints_it_and_read_with_its_public_half_too() {
        // RFC 8410 §10.3, the same key in both forms.
        let alone = "\
-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC
-----END PRIVATE KEY-----
";
        let with_public = "\
-----BEGIN PRIVATE KEY-----
MHICAQEwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC
oB8wHQYKKoZIhvcNAQkJFDEPDA1DdXJkbGUgQ2hhaXJzgSEAGb9ECWmEzf6FQbrB
Z9w7lshQhqowtrbLDFw4rXAxZuE=
-----END PRIVATE KEY-----
";
        let key = SecretKey::from_pem(alone).unwrap();
        assert_eq!(*key.to_pem().unwrap(), *alone);
        let public = "19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1";
        assert_eq!(r1_event::id::to_hex(key.public().as_bytes()), public);
        assert_eq!(SecretKey::from_pem(with_public).unwrap().kid(), key.kid());
    }

    #[test]
    fn a_debug_print_shows_no_secret() {
        assert_eq!(format!("{:?}", key()), format!("SecretKey({KID})"));
    }

    #[test]
    fn an_entry_is_the_json_that_other_tools_expect() {
        let expected = r#"{
  "v": 1,
  "kid": "kid:kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
  "public": {
    "kty": "OKP",
    "crv": "Ed25519",
    "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
  },
  "use": "receipt",
  "scope": "agent",
  "subject": "agent:test",
  "not_before": "2026-04-24T03:06:40Z"
}
"#;
        assert_eq!(entry().to_json(), expected);
        assert_eq!(Entry::from_json(expected.as_bytes()).unwrap(), entry());
    }

    #[test]
    fn an_entry_whose_kid_does_not_follow_from_its_key_is_refused() {
        let forged = entry().to_json().replace("kPrK_", "kPrK-");
        assert!(matches!(Entry::from_json(forged.as_bytes()), Err(KeyError::WrongKid { .. })));
        let other_key = entry().to_json().replace("11qY", "21qY");
        assert!(matches!(
            Entry::from_json(other_key.as_bytes()),
            Err(KeyError::WrongKid { .. } | KeyError::BadPublicKey { .. })
        ));
    }

    #[test]
    fn a_key_counts_within_its_dates_and_until_it_is_revoked() {
        let signs = |entry: &Entry, at| entry.may_sign(Usage::Receipt, at);
        assert!(!signs(&entry(), moment(UnixNanos(1_776_999_999_999_999_999))));
        assert!(signs(&entry(), at(1_777_000_000)) && signs(&entry(), Timestamp::MAX));
        assert!(!entry().may_sign(Usage::Attest, at(1_777_000_001)));
        let mut ended = entry();
        ended.not_after = Some(at(1_777_000_100));
        assert!(signs(&ended, at(1_777_000_100)) && !signs(&ended, moment(UnixNanos(1_777_000_100_000_000_001))));
        let mut revoked = entry();
        revoked.revocation = Some(Revocation { at: at(1_777_000_050), reason: RevocationReason::Compromised });
        assert!(!signs(&revoked, at(1_777_000_010)));
        assert_eq!(Entry::from_json(revoked.to_json().as_bytes()).unwrap(), revoked);
    }

    #[test]
    fn dates_are_kept_to_the_nanosecond() {
        let mut exact = entry();
        exact.not_before = "2026-04-24T03:06:40.000000001Z".parse().unwrap();
        exact.not_after = Some("2026-04-24T03:06:40.015Z".parse().unwrap());
        let text = exact.to_json();
        assert!(text.contains("\"2026-04-24T03:06:40.000000001Z\"") && text.contains("\"2026-04-24T03:06:40.015Z\""));
        assert_eq!(Entry::from_json(text.as_bytes()).unwrap(), exact);
        let elsewhere = text.replace("03:06:40.015Z", "05:06:40.015+02:00");
        assert_eq!(Entry::from_json(elsewhere.as_bytes()).unwrap(), exact);
    }

    #[test]
    fn a_revocation_without_its_time_is_kept_as_it_is() {
        let text = entry().to_json().replace("40Z\"\n", "40Z\",\n  \"revoked_reason\": \"retired\"\n");
        let revoked = Entry::from_json(text.as_bytes()).unwrap();
        assert_eq!(revoked.revocation, Some(Revocation { at: Timestamp::MIN, reason: RevocationReason::Retired }));
        assert_eq!(revoked.to_json(), text);
    }

    #[test]
    fn a_revocation_is_weaker_if_it_lets_something_count_again() {
        let retired = |seconds| Revocation { at: at(seconds), reason: RevocationReason::Retired };
        let compromised = |seconds| Revocation { at: at(seconds), reason: RevocationReason::Compromised };
        assert!(retired(1).weakens(compromised(9)) && retired(2).weakens(retired(1)));
        assert!(!retired(1).weakens(retired(1)) && !retired(1).weakens(retired(2)));
        assert!(!compromised(9).weakens(retired(1)) && !compromised(9).weakens(compromised(1)));
    }

    #[test]
    fn what_is_no_entry_is_refused_with_its_reason() {
        let refused = |text: &str| Entry::from_json(text.as_bytes()).unwrap_err();
        assert!(matches!(refused("{}"), KeyError::NotAnEntry(_)));
        let newer = entry().to_json().replace("\"v\": 1", "\"v\": 2");
        assert!(matches!(refused(&newer), KeyError::Newer { found: 2 }));
        let undated = entry().to_json().replace("2026-04-24T03:06:40Z", "soon");
        assert!(matches!(refused(&undated), KeyError::BadTime { field: "not_before" }));
        let short = entry().to_json().replace("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "AAAA");
        assert!(matches!(refused(&short), KeyError::BadPublicKey { .. }));
    }
}
