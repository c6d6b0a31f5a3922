//! L8: what becomes of an artifact.

use std::collections::HashMap;

use serde_json::Value;

use super::{Event, Report, Rule};

#[derive(Debug, Default)]
pub(super) struct Artifacts {
    status: HashMap<String, String>,
}

impl Artifacts {
    pub(super) fn observe(&mut self, event: &Event<'_>, report: &mut Report) {
        let Some(artifact_id) = event.text("artifact_id") else { return };
        match event.type_name {
            "artifact.created" => {
                let status = event.text("status").unwrap_or("created");
                if self.status.insert(artifact_id.into(), status.into()).is_some() {
                    report.add(Rule::L8, event, format!("artifact {artifact_id} was created a second time"));
                }
            }
            "artifact.updated" => self.update(artifact_id, event, report),
            _ => {}
        }
    }

    fn update(&mut self, artifact_id: &str, event: &Event<'_>, report: &mut Report) {
        let value = |key: &str| event.data.get(key).and_then(Value::as_str);
        match event.text("field") {
            Some("status") => {
                let (from, to) = (value("old_value").unwrap_or_default(), value("new_value").unwrap_or_default());
                let known = self.status.insert(artifact_id.into(), to.into());
                if known.is_some_and(|known| known != from) {
                    report.add(Rule::L8, event, format!("artifact {artifact_id} was not {from}"));
                }
                if !matches!((from, to), ("proposed", "applied" | "rejected")) {
                    report.add(Rule::L8, event, format!("artifact {artifact_id} cannot go from {from} to {to}"));
                }
            }
            Some("reverted_at") if self.status.get(artifact_id).is_some_and(|status| status != "applied") => {
                report.add(Rule::L8, event, format!("artifact {artifact_id} is reverted, but is not applied"));
            }
            _ => {}
        }
    }
}
