//! Phases, and the gates between them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::contract::Contract;
use super::facts::{Detail, Gate, Transition};
use super::{Failure, GatePolicy};
use crate::node::{NodeType, Stub};
use crate::verdict::Reason;

/// Each way from phase to phase, and the boundaries that it crosses.
const WAYS: &[(&str, &str, &[&str])] = &[
    ("START", "PLAN", &["PLAN.entry"]),
    ("PLAN", "EXECUTE", &["PLAN.exit", "EXECUTE.entry"]),
    ("EXECUTE", "VERIFY", &["EXECUTE.exit", "VERIFY.entry"]),
    ("VERIFY", "COMMIT", &["VERIFY.exit", "COMMIT.entry"]),
    ("COMMIT", "END", &["COMMIT.exit"]),
    ("EXECUTE", "PLAN", &["PLAN.entry"]),
    ("VERIFY", "EXECUTE", &["EXECUTE.entry"]),
    ("VERIFY", "PLAN", &["PLAN.entry"]),
];

fn crossed(transition: &Transition<'_>) -> Option<&'static [&'static str]> {
    let way = WAYS.iter().find(|(from, to, _)| transition.from == *from && transition.to == *to);
    way.map(|(_, _, boundaries)| *boundaries)
}

pub(super) fn check(contract: &Contract<'_, '_>, policy: Option<&GatePolicy>) -> Result<(), Failure> {
    let transitions: Vec<(usize, &Transition<'_>)> = contract
        .facts
        .iter()
        .enumerate()
        .filter_map(|(index, fact)| match &fact.detail {
            Detail::Transition(transition) => Some((index, &**transition)),
            _ => None,
        })
        .collect();
    let phases = Phases { contract, transitions };
    phases.order()?;
    phases.presets()?;
    phases.missing()?;
    phases.allowed()?;
    phases.overrides()?;
    policy.map_or(Ok(()), |policy| phases.policy(policy))
}

struct Phases<'p, 'c, 'a> {
    contract: &'p Contract<'c, 'a>,
    transitions: Vec<(usize, &'p Transition<'a>)>,
}

impl<'p, 'a> Phases<'p, '_, 'a> {
    fn lowest(&self, reason: Reason, wrong: impl IntoIterator<Item = usize>) -> Result<(), Failure> {
        wrong.into_iter().min().map_or(Ok(()), |index| Err(self.contract.fail(reason, index)))
    }

    /// The transitions of each task in the order of the log.
    fn by_task(&self) -> BTreeMap<&'p Cow<'a, str>, Vec<(usize, &'p Transition<'a>)>> {
        let mut tasks: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (index, transition) in &self.transitions {
            tasks.entry(&transition.task_id).or_default().push((*index, *transition));
        }
        for task in tasks.values_mut() {
            task.sort_by_key(|(index, _)| (self.contract.facts[*index].seq, *index));
        }
        tasks
    }

    /// Each task goes from START on, each transition from where the one before led and following it.
    fn order(&self) -> Result<(), Failure> {
        let pruned = self.contract.is_pruned();
        let mut wrong = Vec::new();
        for task in self.by_task().into_values() {
            let mut before: Option<(usize, &Transition<'_>)> = None;
            for (index, transition) in task {
                let follows = match before {
                    None => transition.from == "START" || pruned,
                    Some((at, before)) => {
                        let list = &self.contract.events.list;
                        transition.from == before.to && list[index].parts.preds.contains(&list[at].parts.id)
                    }
                };
                if !follows || crossed(transition).is_none() {
                    wrong.push(index);
                }
                before = Some((index, transition));
            }
        }
        self.lowest(Reason::PhaseOrder, wrong)
    }

    fn presets(&self) -> Result<(), Failure> {
        let changed = self.by_task().into_values().flat_map(|task| {
            let first = task.first().map(|(_, transition)| transition.preset_hash.clone());
            let changed =
                move |(_, transition): &(usize, &Transition<'_>)| Some(&transition.preset_hash) != first.as_ref();
            task.into_iter().filter(changed).map(|(index, _)| index).collect::<Vec<_>>()
        });
        self.lowest(Reason::PresetChanged, changed)
    }

    fn missing(&self) -> Result<(), Failure> {
        let wrong = self.transitions.iter().filter(|(index, transition)| {
            let boundaries = crossed(transition).unwrap_or_default();
            let covered = |boundary: &&str| {
                transition
                    .required
                    .iter()
                    .any(|gate| gate.strip_prefix(*boundary).is_some_and(|rest| rest.starts_with('/')))
            };
            let decided = |gate: &Cow<'_, str>| self.decisions(*index, transition, gate).count() == 1;
            !boundaries.iter().all(covered) || !transition.required.iter().all(decided)
        });
        // Of a decision that was pruned nobody can say what it was: the run is incomplete anyway.
        let wrong = wrong.filter(|(index, _)| self.sees_all(*index));
        self.lowest(Reason::GateMissing, wrong.map(|(index, _)| *index))
    }

    fn allowed(&self) -> Result<(), Failure> {
        let refused = self.transitions.iter().filter(|(index, transition)| {
            transition
                .required
                .iter()
                .flat_map(|gate| self.decisions(*index, transition, gate))
                .any(|(at, gate)| !gate.allows && !self.gates_of(*index).any(|(_, other)| self.names(other, at)))
        });
        self.lowest(Reason::GateNotAllowed, refused.map(|(index, _)| *index))
    }

    /// Every override is by an operator and for the very decision that it follows.
    fn overrides(&self) -> Result<(), Failure> {
        let Contract { events, facts } = self.contract;
        let wrong = facts.iter().enumerate().filter(|(index, fact)| {
            let Detail::Gate(gate) = &fact.detail else { return false };
            let Some(given) = &gate.given else { return false };
            let of = events.preds(&events.list[*index]).find(|(_, event)| Some(event.parts.id) == given.of);
            let same_gate = of.is_some_and(|(at, event)| match &facts[at].detail {
                Detail::Gate(of) => (&of.task_id, of.round, &of.name) == (&gate.task_id, gate.round, &gate.name),
                Detail::Stub(Stub::Pruned) => event.node_type == NodeType::GateDecision,
                _ => false,
            });
            !(same_gate && gate.allows && given.actor.starts_with("operator:"))
        });
        self.lowest(Reason::OverrideInvalid, wrong.map(|(index, _)| index))
    }

    fn policy(&self, policy: &GatePolicy) -> Result<(), Failure> {
        let lacking = |transition: &Transition<'_>| {
            let boundaries = crossed(transition).unwrap_or_default();
            let mut demanded = boundaries.iter().flat_map(|boundary| policy.at(boundary));
            demanded.find(|gate| !transition.required.iter().any(|required| *required == *gate))
        };
        let unmet = self.transitions.iter().filter_map(|(index, transition)| Some((*index, lacking(transition)?)));
        if let Some((index, gate)) = unmet.min() {
            return Err(Failure { expected: Some(gate), ..self.contract.fail(Reason::GatePolicyUnmet, index) });
        }
        // Whoever demands gates does not want a run that never came to one.
        match policy.first() {
            Some(gate) if self.transitions.is_empty() && !self.contract.is_pruned() => Err(Failure {
                expected: Some(gate),
                found: Some("no phase transition".into()),
                ..Failure::of(Reason::GatePolicyUnmet)
            }),
            _ => Ok(()),
        }
    }

    /// Whether none of what a transition follows was pruned.
    fn sees_all(&self, transition: usize) -> bool {
        let Contract { events, facts } = self.contract;
        let pruned = |(at, _): (usize, &_)| matches!(facts[at].detail, Detail::Stub(Stub::Pruned));
        !events.preds(&events.list[transition]).any(pruned)
    }

    /// The decisions that a transition follows, overrides among them.
    fn gates_of(&self, transition: usize) -> impl Iterator<Item = (usize, &'p Gate<'a>)> {
        let Contract { events, facts } = self.contract;
        events.preds(&events.list[transition]).filter_map(|(at, _)| match &facts[at].detail {
            Detail::Gate(gate) => Some((at, &**gate)),
            _ => None,
        })
    }

    /// The decisions of this round on one gate that a transition follows.
    fn decisions(
        &self,
        index: usize,
        transition: &Transition<'a>,
        gate: &str,
    ) -> impl Iterator<Item = (usize, &'p Gate<'a>)> {
        self.gates_of(index).filter(move |(_, decision)| {
            decision.given.is_none()
                && decision.name == gate
                && decision.round == transition.round
                && decision.task_id == transition.task_id
        })
    }

    fn names(&self, gate: &Gate<'_>, decision: usize) -> bool {
        let id = self.contract.events.list[decision].parts.id;
        gate.given.as_ref().is_some_and(|given| given.of == Some(id))
    }
}
