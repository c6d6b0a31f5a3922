//! What the runtime promises, seen from outside.

mod redaction;
