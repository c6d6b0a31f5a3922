//! Programs of an agent: what they cannot reach, and that nothing of them stays.
//!
//! Here and not beside the code, because the supervisor is the real binary.

mod ends;
mod escapes;
mod limits;
mod world;
