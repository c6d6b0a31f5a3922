//! Tools that work on files, and what becomes of their patches.

mod editing;
mod escape;
mod looking;
mod patches;
mod stage;
