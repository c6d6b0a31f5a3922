//! Canonical CBOR (RFC 8949 §4.2.1): one value, one byte string.
//!
//! [`mod@write`] makes canonical bytes; [`scan`] tells whether given bytes are one well-formed item, and
//! whether they are *the* bytes of that item; [`value`] holds any item as a tree, [`Walk`] goes through
//! one without making a tree. Nothing here recurses on input, so no depth of nesting overflows the stack.

pub mod scan;
pub mod value;
pub mod write;

mod read;
mod walk;

pub(crate) use read::Reader;
pub use scan::{Malformed, Rules, check};
pub use value::Value;
pub use walk::{Item, Walk};
