//! Errors: each code, one shape, and never our fault (check 28).

mod codes;
mod fuzz;
