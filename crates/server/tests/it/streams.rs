//! Events over HTTP: pages, lines, streams, and the feed of all runs.

mod browser;
mod bytes;
mod clients;
mod cut;
mod desk;
mod ended;
mod feed;
mod gone;
mod many;
mod pages;
pub(crate) mod places;
mod proxy;
mod sse;
mod table;

pub(crate) use bytes::the_bytes_are_the_same_everywhere;
pub(crate) use feed::every_reader_gets_every_event;
