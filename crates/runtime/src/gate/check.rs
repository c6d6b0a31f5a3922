//! One gate looks.
//!
//! Each gate is a file below: it says what it found ([`Found`]), and here its threshold makes a verdict of it.
//! Nothing that a gate could not find out is ever a pass.

mod commands;
mod committed;
mod composite;
mod counts;
mod custom;
mod findings;
mod lint;
mod parsers;
mod policy;
mod review;
mod scope;
mod secrets;
mod syntax;
mod tests;

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use futures_util::FutureExt as _;
use r1_protocol::data::GateVerdict;
use r1_protocol::review::Review;
use serde_json::json;

use super::preset::{gate_id, hash_of};
use super::tree::Tree;
use super::{Boundary, GateContext, GateRule, NotApplicable, Outcome, Phase, Reason, Side, Transition};

/// Which edition of the gates this is; it stands in every decision.
pub const GATE_VERSION: &str = "1";

/// What a gate found, before its threshold counts.
#[derive(Clone, Debug)]
struct Found {
    judgement: Judgement,
    evidence: String,
    command: Option<String>,
    exit_code: Option<i64>,
    excluded: Vec<String>,
    review: Option<Review>,
}

#[derive(Clone, Debug)]
enum Judgement {
    /// So much of 1000; if that is too little, this is why.
    Score { score: u64, below: Reason },
    /// The threshold does not matter.
    Said { verdict: GateVerdict, reason: Reason, score: Option<u64> },
    /// There is nothing that it could judge.
    NothingToCheck,
}

impl Found {
    fn new(judgement: Judgement, evidence: impl Into<String>) -> Self {
        Self {
            judgement,
            evidence: evidence.into(),
            command: None,
            exit_code: None,
            excluded: Vec::new(),
            review: None,
        }
    }

    fn score(score: u64, below: Reason, evidence: impl Into<String>) -> Self {
        Self::new(Judgement::Score { score, below }, evidence)
    }

    fn block(reason: Reason, evidence: impl Into<String>) -> Self {
        Self::new(Judgement::Said { verdict: GateVerdict::Block, reason, score: None }, evidence)
    }

    fn escalate(reason: Reason, evidence: impl Into<String>) -> Self {
        Self::new(Judgement::Said { verdict: GateVerdict::Escalate, reason, score: None }, evidence)
    }

    /// With what was measured, though it does not decide.
    fn scored(mut self, measured: u64) -> Self {
        if let Judgement::Said { score, .. } = &mut self.judgement {
            *score = Some(measured);
        }
        self
    }
}

/// What a gate is asked about.
struct Question<'a> {
    rule: &'a GateRule,
    boundary: Boundary,
    transition: Transition,
    context: &'a GateContext,
    tree: &'a Tree,
}

/// Asks one gate. It always answers: what goes wrong inside of it is an answer too.
pub async fn evaluate(rule: &GateRule, boundary: Boundary, transition: Transition, context: &GateContext) -> Outcome {
    let started = Instant::now();
    let asked = AssertUnwindSafe(ask(rule, boundary, transition, context)).catch_unwind().await;
    let (tree, found) = asked.unwrap_or_else(|_| (String::new(), Err("the gate stopped in the middle".into())));
    let Found { judgement, evidence, command, exit_code, excluded, review } =
        found.unwrap_or_else(|why| trouble(rule, why));
    let (verdict, reason, score) = conclude(rule, judgement);
    Outcome {
        verdict,
        reason,
        score,
        evidence: context.redactor.text(&evidence).into_owned(),
        inputs_hash: inputs_hash(rule, context, &tree),
        duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        command: command.map(|command| context.redactor.text(&command).into_owned()),
        exit_code,
        excluded,
        review,
    }
}

/// Looks at the files as a gate would; the error says why none can.
pub(crate) async fn look(context: &GateContext) -> Result<(), String> {
    Tree::look(&context.workspace, &context.base).await.map(drop)
}

/// The name of the tree that the gate looked at, and what it found.
async fn ask(
    rule: &GateRule,
    boundary: Boundary,
    transition: Transition,
    context: &GateContext,
) -> (String, Result<Found, String>) {
    // What is verified is compared with the commit afterwards.
    let verifies = boundary.phase() == Phase::Verify && boundary.side() == Side::Exit;
    let looked = match verifies {
        true => Tree::look_and_keep(&context.workspace, &context.base).await,
        false => Tree::look(&context.workspace, &context.base).await,
    };
    let tree = match looked {
        Ok(tree) => tree,
        Err(why) => return (String::new(), Err(why)),
    };
    let question = Question { rule, boundary, transition, context, tree: &tree };
    let found = match rule.id.as_str() {
        gate_id::SYNTAX => syntax::check(&question).await,
        gate_id::TESTS => tests::check(&question).await,
        gate_id::LINT => lint::check(&question).await,
        gate_id::SECRETS => secrets::check(&question).await,
        gate_id::POLICY => policy::check(&question),
        gate_id::REVIEW => review::check(&question).await,
        gate_id::SCOPE => scope::check(&question).await,
        gate_id::COMPOSITE => composite::check(&question),
        _ => custom::check(&question).await,
    };
    (tree.id, found)
}

/// Names what a gate was asked about. The committed tree is the verified one if it gives the same name.
fn inputs_hash(rule: &GateRule, context: &GateContext, tree: &str) -> String {
    let mut config = json!({ "rule": rule });
    match rule.id.as_str() {
        gate_id::COMPOSITE => config["weights"] = json!(context.preset.composite.weights),
        gate_id::SCOPE => config["scope"] = json!(context.preset.scope),
        gate_id::TESTS => {
            let criteria = context.criteria.iter().map(|criterion| json!([criterion.id, criterion.command]));
            config["criteria"] = criteria.collect();
        }
        _ => {}
    }
    hash_of(&json!({ "gate": rule.id, "version": GATE_VERSION, "config": config, "tree": tree }))
}

fn trouble(rule: &GateRule, why: String) -> Found {
    // Of what may come next nobody but the rules can say: without them it stays forbidden.
    if rule.id == gate_id::POLICY {
        Found::block(Reason::GateError, why)
    } else {
        Found::escalate(Reason::GateError, why)
    }
}

fn conclude(rule: &GateRule, judgement: Judgement) -> (GateVerdict, Reason, Option<u64>) {
    match judgement {
        Judgement::Said { verdict, reason, score } => (verdict, reason, score),
        Judgement::Score { score, below } => {
            let (verdict, reason) = match (score >= rule.threshold, rule.blocker) {
                (true, _) => (GateVerdict::Allow, Reason::Passed),
                (false, true) => (GateVerdict::Block, below),
                (false, false) => (GateVerdict::Allow, Reason::Advisory),
            };
            (verdict, reason, Some(score))
        }
        Judgement::NothingToCheck => {
            let verdict = match rule.when_not_applicable {
                NotApplicable::Allow => GateVerdict::Allow,
                NotApplicable::Escalate => GateVerdict::Escalate,
            };
            (verdict, Reason::NothingToCheck, None)
        }
    }
}

/// `part` of `whole`, of 1000, never rounded up.
fn share(part: usize, whole: usize) -> u64 {
    let share = u64::try_from(part).unwrap_or(0).saturating_mul(1000) / u64::try_from(whole.max(1)).unwrap_or(1);
    share.min(1000)
}
