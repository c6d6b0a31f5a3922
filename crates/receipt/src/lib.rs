//! Signing keys as files, and the rules by which a key counts.
//!
//! - [`key::SecretKey`]: a private key and its PKCS#8 PEM form.
//! - [`key::Entry`]: what a keyring says of a public key: its JWK, what it may sign, for whom and until when.
//!
//! Pure: whoever calls reads the files, knows the time and brings the randomness.
//!
//! ```
//! use r1_receipt::key::{Entry, Scope, SecretKey};
//!
//! let key = SecretKey::from_seed([7; 32]);
//! let entry = Entry::new(&key.public(), Scope::Agent, "agent:r1-0badcafe", 1_777_000_000);
//! let again = Entry::from_json(entry.to_json().as_bytes())?;
//! assert_eq!(again.kid(), &key.kid());
//! # Ok::<(), r1_receipt::key::KeyError>(())
//! ```

pub mod key;
