//! What the `event` crate promises, seen from outside.

mod golden;
mod prop_cbor;
mod prop_chain;
//mod prop_hostile;
mod prop_merkle;
mod prop_payload;
