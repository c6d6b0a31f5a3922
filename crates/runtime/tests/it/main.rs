//! What the runtime promises, seen from outside.

mod engine;
mod mcp;
mod provider;
mod redaction;
