//! Tasks that go through phases, with gates between them.

mod machine;
mod people;
mod playing;
mod reviewing;
pub(crate) mod support;
