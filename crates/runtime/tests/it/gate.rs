//! Gates: each allows, blocks and escalates, and none of them allows what it could not find out.

mod committed;
mod judged;
mod preset;
mod project;
mod protected;
mod reviewed;
