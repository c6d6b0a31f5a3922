//! The JSON that receipts are made of: RFC 8785 over a closed set of values.
//!
//! Objects, arrays, strings, booleans and integers up to ±(2^53−1); no floats, no null. Text that comes
//! from outside is read in two steps: `syntax` says whether it is JSON at all, and `walk` looks at the
//! values without building them, so that hostile input costs no memory to speak of.

pub(crate) mod syntax;
mod text;
mod value;
pub(crate) mod walk;

pub use value::{Object, Value};

pub(crate) use text::{cmp_utf16, write_text};

/// The largest integer that every JSON reader keeps exactly.
pub const MAX_INTEGER: i64 = (1 << 53) - 1;
