//! Routes that do something: each reads its request, calls one verb of the control layer, and makes its answer
//! from what that did.

mod answer;
mod approvals;
mod bridges;
mod patches;
mod runs;
mod tasks;

use super::Route;

pub(crate) fn table() -> Vec<Route> {
    let mut rows = tasks::table();
    rows.extend(runs::table());
    rows.extend(approvals::table());
    rows.extend(patches::table());
    rows.extend(bridges::table());
    rows
}
