//! What the runtime promises, seen from outside.

mod engine;
mod files;
mod provider;
mod redaction;
