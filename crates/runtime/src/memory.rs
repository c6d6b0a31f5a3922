//! What agents and their operators remember, in four tiers.
//!
//! - [`Tier`]: what a memory is good for and how long it lasts.
//! - [`Value`], [`Held`]: what is remembered, and how an event has it.
//! - [`Tiers`]: the memory of one run, folded from its log.
//! - [`Library`]: what outlives runs: identity and knowledge of a workspace.
//! - [`Memory`]: the way of tools to both.
//!
//! Every access is an event that is durable before its value is used, with the value in it. So a replay needs no
//! memory, and what is kept beside the logs is a cache.

mod access;
mod error;
mod event;
mod library;
mod state;
mod tier;
mod value;

pub(crate) use access::prepare;
pub use access::{Asked, Memory};
pub use error::MemoryError;
pub(crate) use error::{check_key, check_size};
pub use event::{Access, fetch, hold, read_event, write_event};
pub use library::{Found, Learned, Library, Listed, is_content_key};
pub use state::{Entry, Tiers};
pub use tier::{Tier, UnknownTier};
pub use value::{Form, Held, MAX_INLINE, MAX_KEY, MAX_VALUE, Value, diff_hash, fingerprint};
