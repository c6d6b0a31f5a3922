//! What a receipt says, in the forms that tools of others check.
//!
//! - [`Statement`]: an in-toto statement about a receipt, signed as a DSSE [`Envelope`].
//! - [`NoteKey`], [`Checkpoint`]: the size and root of a log, signed as a note of C2SP.
//! - [`tlog_proof`]: that something is in such a log.
//! - [`tiles`]: such a log as static files.
//! - [`Bundle`], [`trusted_root`]: envelope and proof as Sigstore's tools take them.
//!
//! Everything here is a pure function of what is signed and of the key: the same input gives the same bytes.

mod bundle;
mod envelope;
mod note;
mod statement;
mod tiles;
mod tlog_proof;

pub use bundle::{Bundle, trusted_root};
pub use envelope::{Envelope, PAYLOAD_TYPE};
pub use note::{Checkpoint, InvalidName, NoteKey, is_name, vkey};
pub use statement::Statement;
pub use tiles::{TILE_WIDTH, tiles};
pub use tlog_proof::{Inclusion, TLOG_PROOF_START, TlogProof, tlog_proof};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::json::{Object, Value};

fn base64(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(bytes)
}

/// An object with these texts and values.
fn object<const N: usize>(entries: [(&'static str, Value<'static>); N]) -> Value<'static> {
    let mut object = Object::default();
    for (key, value) in entries {
        object.put(key, value);
    }
    Value::Object(object)
}
