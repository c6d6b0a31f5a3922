//! L8: each approval has one request and one end.

use std::collections::HashMap;

use super::{Event, Report, Rule};

#[derive(Debug, Default)]
pub(super) struct Approvals {
    /// The call that waits for it, if any; `None` once it ended.
    by_id: HashMap<String, Option<Option<String>>>,
}

/// An approval that just ended.
pub(super) struct Ended {
    /// The call that waited for it.
    pub(super) tool_call_id: Option<String>,
    /// Whether the call may run.
    pub(super) approved: bool,
}

impl Approvals {
    pub(super) fn observe(&mut self, event: &Event<'_>, report: &mut Report) -> Option<Ended> {
        let approved = match event.type_name {
            "approval.requested" => {
                self.request(event, report);
                return None;
            }
            "approval.resolved" => event.text("decision") == Some("approved"),
            "approval.timed_out" => false,
            _ => return None,
        };
        let approval_id = event.text("approval_id")?;
        match self.by_id.get_mut(approval_id).map(Option::take) {
            Some(Some(tool_call_id)) => return Some(Ended { tool_call_id, approved }),
            Some(None) => report.add(Rule::L8, event, format!("approval {approval_id} ended a second time")),
            None => report.add_missing(Rule::L8, event, format!("approval {approval_id} was never requested")),
        }
        None
    }

    fn request(&mut self, event: &Event<'_>, report: &mut Report) {
        let Some(approval_id) = event.text("approval_id") else { return };
        let call = event.text("tool_call_id").map(String::from);
        if self.by_id.insert(approval_id.into(), Some(call)).is_some() {
            report.add(Rule::L8, event, format!("approval {approval_id} was requested a second time"));
        }
    }
}
