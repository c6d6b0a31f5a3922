//! All that the protocol promises, held against a whole log.

use r1_event::side_record::{Erase, Prune};
use r1_event::{Record, SideRecord};

use crate::lint::{Linter, Writer};
use crate::schema::Strictness;
use crate::{RunFacts, Thinking, check};

/// What is wrong with the events of a run, each in words: an envelope or data that is not what its type
/// promises, and events in another order than promised. `records` are all that are left of the log.
#[must_use]
pub fn problems(records: &[Record], side_records: &[SideRecord]) -> Vec<String> {
    let erasures: Vec<&Erase> = side_records
        .iter()
        .filter_map(|record| match record {
            SideRecord::Erase(erase) => Some(erase),
            SideRecord::Prune(_)
            | SideRecord::Seal(_)
            | SideRecord::Checkpoint(_)
            | SideRecord::Other(_)
            | SideRecord::Damaged(_) => None,
        })
        .collect();
    let prune = Prune::furthest(side_records);
    let erased = |seq: u64| erasures.iter().copied().find(|erase| erase.seq.get() == seq);
    let facts = match (prune, records.first()) {
        (Some(prune), _) => RunFacts::of_prune(prune),
        (None, Some(first)) => match RunFacts::of_first(first, erased(1)) {
            Some(facts) => facts,
            None => return vec!["the first event cannot be read".into()],
        },
        (None, None) => return Vec::new(),
    };
    let mut problems = Vec::new();
    let mut linter = Linter::new(Writer::from(&facts));
    let mut position = 0;
    if let Some(prune) = prune {
        let marker = facts.pruned(prune);
        linter.push(marker.sequence, &marker.type_name, &marker.data);
        position = prune.through().get();
    }
    for record in records {
        position += 1;
        let Some(envelope) = facts.envelope(record, erased(position), Thinking::Shown) else {
            problems.push(format!("event {position} cannot be read"));
            continue;
        };
        linter.push(envelope.sequence, &envelope.type_name, &envelope.data);
        let mut found = check::envelope_problems(&envelope);
        if record.payload.is_some() {
            found.extend(check::problems(&envelope.type_name, &envelope.data, Strictness::of(&facts)));
        }
        let place = format!("`{}` at sequence {}", envelope.type_name, envelope.sequence);
        problems.extend(found.into_iter().map(|problem| format!("{place}: {problem}")));
    }
    problems.extend(linter.findings().iter().map(ToString::to_string));
    problems
}
