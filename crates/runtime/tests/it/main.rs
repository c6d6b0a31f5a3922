//! What the runtime promises, seen from outside.

mod engine;
mod net;
mod provider;
mod redaction;
mod shell;
mod tool_stage;
mod web;
