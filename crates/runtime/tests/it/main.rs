//! What the runtime promises, seen from outside.

mod engine;
mod files;
mod mcp;
mod net;
mod provider;
mod redaction;
mod shell;
mod tool_stage;
mod web;
