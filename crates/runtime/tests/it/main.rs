//! What the runtime promises, seen from outside.

mod engine;
mod provider;
mod redaction;
