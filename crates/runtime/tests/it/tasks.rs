//! Tasks, from what is asked to runs that ended.

mod changing;
mod making;
mod planned;
mod queue;
mod shop;
