//! The server about itself.

mod health;
mod login;
mod schemas;

use super::Route;

pub(crate) fn table() -> Vec<Route> {
    let mut rows = health::table();
    rows.extend(login::table());
    rows.extend(schemas::table());
    rows
}
