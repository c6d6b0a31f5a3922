//! R1 over HTTP.
