//! Values as text for people.

pub(crate) mod event;
pub(crate) mod live;
pub(crate) mod number;
pub(crate) mod receipt;
pub(crate) mod table;
pub(crate) mod terminal;
pub(crate) mod text;
pub(crate) mod time;
pub(crate) mod verdict;
