//! The real binary, as its user meets it.

mod bad_input;
mod exchange;
mod house_keeping;
mod looking;
mod proofs;
mod starling;
mod support;
mod validate;
mod words;
