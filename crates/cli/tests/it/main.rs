//! The real binary, as its user meets it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed, as it should")]

mod agent;
mod approval;
mod bad_input;
mod crash;
mod exchange;
mod house_keeping;
mod looking;
mod patching;
mod proofs;
mod remote;
mod sandbox;
mod starling;
mod stoke;
mod support;
mod validate;
mod words;
