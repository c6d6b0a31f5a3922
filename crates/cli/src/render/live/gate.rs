//! Phases, and what gates and people say between them.

use std::collections::HashMap;

use r1_event::payload::SideEffectRecorded;
use r1_protocol::data::{
    ApprovalRequested, GateDecision, GateOverride, GateVerdict, PhaseTransition, PhaseTransitionRefused,
};
use r1_protocol::json;
use serde_json::Value;

use super::page::{Block, Page};
use crate::output::{BAD, BOLD, DIM, GOOD, NAME, NOTICE};
use crate::render::text::one_line;

/// Lines of what a gate saw, where it stands in the way.
const LINES: usize = 8;

/// What of gates must be remembered until it is told.
#[derive(Debug, Default)]
pub(super) struct Gates {
    /// The end of what a gate saw, until it says what it makes of it.
    seen: Option<(String, String)>,
    /// Gates by their decisions' names in the receipt, of those that people were asked about.
    asked: HashMap<String, String>,
}

impl Gates {
    /// What a gate saw.
    pub(super) fn saw(&mut self, effect: &SideEffectRecorded) {
        let value = json::from_raw(&effect.value);
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        self.seen = Some((text("gate"), text("excerpt")));
    }

    pub(super) fn asked(&mut self, request: &ApprovalRequested) {
        let text = |key: &str| request.input.as_ref()?.get(key)?.as_str().map(str::to_owned);
        if let (Some(decision), Some(gate)) = (text("gate_decision"), text("gate")) {
            self.asked.insert(decision, gate);
        }
    }

    /// What it makes of it.
    pub(super) fn decided(&mut self, decision: &GateDecision, verbose: bool, page: &mut Page) {
        page.begin(Block::Gates(decision.round));
        let gate = format!("{}.{}/{}", decision.phase, decision.boundary, decision.gate_id);
        let (style, mark) = match decision.verdict {
            GateVerdict::Allow => (GOOD, "✓"),
            GateVerdict::Block => (BAD, "✗"),
            GateVerdict::Escalate | GateVerdict::Other(_) => (NOTICE, "?"),
        };
        let measured = match decision.score {
            Some(score) if score < decision.threshold => format!(" ({score} of {})", decision.threshold),
            Some(_) | None => String::new(),
        };
        let reason = one_line(&decision.reason_code, 40).replace('_', " ");
        page.line(&format!("  {style}{mark}{style:#} {} {DIM}{reason}{measured}{DIM:#}", one_line(&gate, 60)));
        let Some((_, seen)) = self.seen.take().filter(|(of, _)| *of == gate) else { return };
        if decision.verdict == GateVerdict::Allow && !verbose {
            return;
        }
        let lines: Vec<_> = seen.lines().collect();
        let most = if verbose { usize::MAX } else { LINES };
        for line in lines.iter().skip(lines.len().saturating_sub(most)) {
            let line = page.fit(line, 6);
            page.line(&format!("    {DIM}│ {line}{DIM:#}"));
        }
    }

    /// Who let it pass all the same, and why.
    pub(super) fn overridden(&mut self, given: &GateOverride, page: &mut Page) {
        page.begin(Block::Notice);
        let gate = self.asked.get(&given.of).map_or_else(|| one_line(&given.of, 19), |gate| one_line(gate, 60));
        let who = one_line(given.actor.id.as_deref().unwrap_or(given.actor.kind.as_str()), 60);
        let reason = one_line(&given.reason, 200);
        page.line(&format!("{NOTICE}!{NOTICE:#} {gate} overridden by {NAME}{who}{NAME:#}: {reason}"));
    }
}

/// The task is in another phase.
pub(super) fn went_on(step: &PhaseTransition, page: &mut Page) {
    page.begin(Block::Notice);
    let way = format!("from {}, round {}", one_line(&step.from, 20), step.round);
    page.line(&format!("{NAME}▸{NAME:#} {BOLD}{}{BOLD:#} {DIM}{way}{DIM:#}", one_line(step.to.as_str(), 20)));
}

/// It is not.
pub(super) fn refused(step: &PhaseTransitionRefused, page: &mut Page) {
    page.begin(Block::Notice);
    let (from, to) = (one_line(&step.from, 20), one_line(&step.to, 20));
    let missing = one_line(&step.missing.join(", "), 300);
    page.line(&format!("{BAD}✗{BAD:#} {from}>{to} refused {DIM}in round {}{DIM:#}: {missing}", step.round));
}
