//! What events say, alone and together.

use std::collections::HashSet;

use r1_event::{Digest, RunId, Statement};

use super::facts::{Detail, Fact, Memory};
use super::{Events, Failure, Options, Report, phases};
use crate::file::read_signature;
use crate::json::Object;
use crate::node::{NodeId, NodeType, Stub, read_hex};
use crate::verdict::Reason;

pub(super) fn check<'a>(
    events: &Events<'a>,
    options: &Options<'_>,
    report: &mut Report,
) -> Result<Vec<Fact<'a>>, Failure> {
    let mut links = Links { events, walked: 0 };
    let read = |(index, event)| Fact::read(index, event).and_then(|fact| links.check(index, fact));
    let facts: Vec<Fact<'a>> = events.list.iter().enumerate().map(read).collect::<Result<_, _>>()?;
    let contract = Contract { events, facts: &facts };
    contract.stubs()?;
    contract.seq_order()?;
    contract.root()?;
    contract.run_log()?;
    contract.seal(options, report)?;
    contract.calls()?;
    contract.memory()?;
    contract.identity()?;
    phases::check(&contract, options.gates)?;
    Ok(facts)
}

/// How far the links of a receipt may lead in all, in events, where they are no edges: walking stays bounded,
/// whatever a receipt says.
const MOST_WALKED: usize = 1_000_000;

/// What an event names as the one that it revises or answers is one that it follows, unless that was pruned.
struct Links<'e, 'a> {
    events: &'e Events<'a>,
    walked: usize,
}

impl<'a> Links<'_, 'a> {
    fn check(&mut self, index: usize, fact: Fact<'a>) -> Result<Fact<'a>, Failure> {
        let Detail::Names(named) = &fact.detail else { return Ok(fact) };
        let events = self.events;
        if events.list.iter().any(|event| event.parts.stub() == Some(Stub::Pruned)) || self.leads_to(*named, index) {
            return Ok(fact);
        }
        let failure = Failure::at(Reason::BadBody, index, events.list[index].parts.id);
        Err(failure.with("the id of an event that this one follows", named.to_string()))
    }

    fn leads_to(&mut self, named: NodeId, index: usize) -> bool {
        let Some(target) = self.events.places.get(&named) else { return false };
        if self.events.list[index].parts.preds.contains(&named) {
            return true;
        }
        self.walked += index.saturating_sub(*target);
        self.walked <= MOST_WALKED && self.events.is_ancestor(*target, index)
    }
}

/// Events and what they say, place by place.
pub(super) struct Contract<'c, 'a> {
    pub(super) events: &'c Events<'a>,
    pub(super) facts: &'c [Fact<'a>],
}

impl<'a> Contract<'_, 'a> {
    pub(super) fn fail(&self, reason: Reason, index: usize) -> Failure {
        Failure::at(reason, index, self.events.list[index].parts.id)
    }

    pub(super) fn is_pruned(&self) -> bool {
        self.facts.iter().any(|fact| matches!(fact.detail, Detail::Stub(Stub::Pruned)))
    }

    fn stubs(&self) -> Result<(), Failure> {
        for (index, (event, fact)) in self.events.list.iter().zip(self.facts).enumerate() {
            let kept = matches!(event.node_type, NodeType::GateDecision | NodeType::PhaseTransition);
            if kept && matches!(fact.detail, Detail::Stub(Stub::Erased | Stub::Withheld)) {
                return Err(self.fail(Reason::StubForbidden, index));
            }
        }
        Ok(())
    }

    fn seq_order(&self) -> Result<(), Failure> {
        for (index, event) in self.events.list.iter().enumerate() {
            let Some(seq) = self.facts[index].seq else { continue };
            let later = self.events.preds(event).filter_map(|(at, _)| self.facts[at].seq).find(|before| *before > seq);
            if let Some(later) = later {
                return Err(self.fail(Reason::SeqOrder, index).with(format!("at most {seq}"), later.to_string()));
            }
        }
        Ok(())
    }

    fn root(&self) -> Result<(), Failure> {
        let pruned = self.is_pruned();
        let mut roots = 0;
        for (index, event) in self.events.list.iter().enumerate() {
            if !event.parts.preds.is_empty() {
                continue;
            }
            roots += 1;
            let sound = match &self.facts[index].detail {
                Detail::Stub(Stub::Pruned) => true,
                Detail::Root { sound } => *sound && !pruned && roots == 1,
                Detail::Stub(_) => event.node_type == NodeType::MemoryRead && !pruned && roots == 1,
                _ => false,
            };
            if !sound {
                return Err(self.fail(Reason::BadRoot, index));
            }
        }
        // A graph without a cycle has a beginning unless it is empty.
        if roots == 0 { Err(Failure::of(Reason::BadRoot)) } else { Ok(()) }
    }

    fn run_log(&self) -> Result<(), Failure> {
        let last = self.events.list.len() - 1;
        for (index, fact) in self.facts.iter().enumerate() {
            let Detail::RunLog(body) = &fact.detail else { continue };
            if index != last || !is_consistent(body) {
                return Err(self.fail(Reason::BadRunLog, index));
            }
            let followed: HashSet<_> = self.events.list.iter().flat_map(|event| &event.parts.preds).collect();
            let loose = self.events.list[..last].iter().position(|event| !followed.contains(&event.parts.id));
            if let Some(loose) = loose {
                let failure = self.fail(Reason::BadRunLog, index);
                return Err(
                    failure.with("the only event that nothing follows", self.events.list[loose].parts.id.to_string())
                );
            }
        }
        Ok(())
    }

    fn seal(&self, options: &Options<'_>, report: &mut Report) -> Result<(), Failure> {
        let Some(last) = self.facts.len().checked_sub(1) else { return Ok(()) };
        let Detail::RunLog(body) = &self.facts[last].detail else { return Ok(()) };
        let named = body.text("seal_key_id").unwrap_or_default();
        let Some(key) = options.keys.iter().find(|key| key.kid().to_string() == named) else {
            report.warnings.push(format!("the seal is by {named}, which is not known here; it was not checked"));
            return Ok(());
        };
        let signature = body.text("seal").and_then(read_signature);
        let sealed = statement(body)
            .zip(signature)
            .is_some_and(|(statement, signature)| key.verifies(&statement.message(), &signature));
        if sealed { Ok(()) } else { Err(self.fail(Reason::SealMismatch, last)) }
    }

    fn calls(&self) -> Result<(), Failure> {
        let mut seen = HashSet::new();
        for (index, fact) in self.facts.iter().enumerate() {
            if let Detail::Call { call_id, attempt } = &fact.detail
                && !seen.insert((call_id, attempt))
            {
                return Err(self.fail(Reason::CallConflict, index));
            }
        }
        Ok(())
    }

    fn memory(&self) -> Result<(), Failure> {
        for (index, event) in self.events.list.iter().enumerate() {
            let Detail::Memory(memory) = &self.facts[index].detail else { continue };
            let (Some(before), "L1" | "L2") = (&memory.before, &*memory.tier) else { continue };
            let conflict = self.events.preds(event).any(|(at, _)| match &self.facts[at].detail {
                Detail::Memory(write) => is_same_place(write, memory) && write.fingerprint.as_ref() != Some(before),
                _ => false,
            });
            if conflict {
                return Err(self.fail(Reason::MemoryConflict, index));
            }
        }
        Ok(())
    }

    fn identity(&self) -> Result<(), Failure> {
        let thinks = self.events.list.iter().any(|event| event.node_type == NodeType::Thought);
        for (index, fact) in self.facts.iter().enumerate() {
            if let Detail::Memory(Memory { is_write: true, tier, by_operator, .. }) = &fact.detail
                && tier == "L0"
                && (thinks || !by_operator)
            {
                return Err(self.fail(Reason::L0Written, index));
            }
        }
        Ok(())
    }
}

fn is_same_place(write: &Memory<'_>, memory: &Memory<'_>) -> bool {
    write.is_write && write.tier == memory.tier && write.key == memory.key
}

fn is_consistent(body: &Object<'_>) -> bool {
    body.int("seq") == body.int("size")
        && body.int("first_seq") <= body.int("size")
        && (body.text("state") == Some("open")) == (body.text("outcome") == Some("none"))
}

fn statement(body: &Object<'_>) -> Option<Statement> {
    let digest = |key| body.text(key).and_then(read_hex).map(Digest::new);
    Some(Statement {
        run_id: body.text("run_id")?.parse::<RunId>().ok()?,
        size: u64::try_from(body.int("size")?).ok()?,
        root: digest("root_blake3")?,
        head: digest("head_blake3")?,
    })
}
