//! The loop alone, under any order of what gates, models, people and crashes do.

use proptest::prelude::*;
use r1_event::payload::{AssistantMessageCompleted, RunResumed, RunStarted};
use r1_event::{Batch, Chain, Payload, UnixNanos};
use r1_protocol::data::{
    Actor, ActorKind, EventData, GateDecision, GateOverride, Object, PhaseTransition, RunCheckpointSaved,
    RunHandedOver, RunStarted as Claimed, Via,
};
use r1_receipt::graph::Notes;
use r1_receipt::key::{KnownKey, SecretKey};
use r1_receipt::{Builder, Options, Withhold, verify};
use r1_runtime::agent::command::{Command, Decision, Recorded, Refusal, Resolution, Scope, respond};
use r1_runtime::agent::{Effect, PhasePlan, Place, RunSpec, RunState, Toolset};
use r1_runtime::gate::{Placed, Preset};
use serde_json::json;

use super::support::{any_operator, preset};

/// What happens next.
#[derive(Clone, Debug)]
enum Move {
    /// Whatever is under way ends: gates say this, the model says that.
    Work { verdict: usize, answer: usize },
    /// A gate says something, asked or not.
    Stray { round: u64, gate: usize, verdict: usize },
    /// Someone answers a request.
    Resolve { which: usize, answer: usize, who: usize, comment: &'static str },
    /// Someone overrides.
    Override { name: usize, who: usize, reason: &'static str },
    /// Someone says something.
    Say,
    /// Someone adds an event.
    Record { type_name: &'static str },
    /// The process ends in order, and another one goes on.
    Seam,
}

fn moves() -> impl Strategy<Value = Move> {
    prop_oneof![
        8 => (0..3usize, 0..4usize).prop_map(|(verdict, answer)| Move::Work { verdict, answer }),
        1 => (0..9u64, 0..12usize, 0..3usize)
            .prop_map(|(round, gate, verdict)| Move::Stray { round, gate, verdict }),
        3 => (0..3usize, 0..3usize, 0..5usize, prop_oneof![Just(""), Just("it is fine")])
            .prop_map(|(which, answer, who, comment)| Move::Resolve { which, answer, who, comment }),
        2 => (0..12usize, 0..5usize, prop_oneof![Just(""), Just("it is fine")])
            .prop_map(|(name, who, reason)| Move::Override { name, who, reason }),
        1 => Just(Move::Say),
        1 => prop_oneof![
            Just("phase.transition"), Just("gate.decision"), Just("gate.override"), Just("external.build")
        ].prop_map(|type_name| Move::Record { type_name }),
        1 => Just(Move::Seam),
    ]
}

/// A log that grows as a worker would let it grow.
struct Machine {
    log: Batch,
    state: RunState,
    tools: Toolset,
    preset: Preset,
    clock: i64,
}

impl Machine {
    fn new() -> Self {
        let preset = preset(ALL_GATES);
        let phases = PhasePlan {
            preset: preset.clone(),
            reviewer: None,
            criteria: Vec::new(),
            is_git: true,
            commits_own_changes: true,
        };
        let spec = RunSpec { phases: Some(phases), max_turns: 1000, ..RunSpec::default() };
        let started = Payload::RunStarted(Box::new(RunStarted {
            schema_version: 2,
            goal: "do it".into(),
            run_kind: Some("agent_loop".into()),
            task_id: Some("task_1".into()),
            spec: Some(spec.to_raw()),
            ..RunStarted::default()
        }));
        let run: r1_event::RunId = "run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B".parse().unwrap();
        let mut log = Batch::new(&Chain::new(run.clone()));
        let seq = log.push(UnixNanos(1), started.clone()).unwrap();
        let place = Place { seq, ts: UnixNanos(1), hash: log.after().head().unwrap() };
        let state = RunState::begin(place, run, &started).unwrap();
        let mut machine = Self { log, state, tools: Toolset::default(), preset, clock: 1 };
        machine.append(Claimed { worker_id: "w".into(), ..Claimed::default() }.to_payload());
        machine.settle();
        machine
    }

    fn append(&mut self, payload: Payload) {
        self.clock += 1_000_000;
        let ts = UnixNanos(self.clock);
        let seq = self.log.push(ts, payload.clone()).unwrap();
        let hash = self.log.after().head().unwrap();
        self.state.apply(Place { seq, ts, hash }, &payload);
    }

    /// Lets the loop say all that it has to say.
    fn settle(&mut self) {
        while let Some(payload) = self.state.decide(&self.tools) {
            self.append(payload);
        }
    }

    fn step(&mut self, next: &Move) {
        if self.state.terminal.is_some() {
            return;
        }
        match next {
            Move::Work { verdict, answer } => self.work(*verdict, *answer),
            Move::Stray { round, gate, verdict } => {
                let all: Vec<_> = r1_runtime::gate::Transition::ALL.map(|step| self.preset.required(step)).concat();
                let gate = all[gate % all.len()].clone();
                self.decide(*round, &gate, *verdict);
            }
            Move::Resolve { which, answer, who, comment } => {
                let open: Vec<_> = self.state.approvals().map(|(id, _)| id.to_owned()).collect();
                let Some(approval_id) = open.get(which % open.len().max(1)).cloned() else { return };
                let decision = if *answer == 0 { Decision::Reject } else { Decision::Approve };
                let edited_input = (*answer == 2).then(|| json!({ "action": "retry" }));
                let (comment, scope) = ((*comment).to_owned(), Scope::Once);
                let resolution = Resolution { approval_id, decision, comment, scope, subject_hash: None, edited_input };
                self.command(&Command::Resolve(resolution), *who);
            }
            Move::Override { name, who, reason } => {
                let attempt = self.state.phases.as_ref().and_then(|phases| phases.attempt());
                let standing = attempt.map(|attempt| attempt.standing.clone()).unwrap_or_default();
                let Some(standing) = standing.get(name % standing.len().max(1)) else { return };
                let node = standing.decided.as_ref().map(|decided| decided.node.to_string());
                let decision = node.unwrap_or_else(|| standing.placed.to_string());
                self.command(&Command::Override { decision, reason: (*reason).to_owned() }, *who);
            }
            Move::Say => {
                let text = "and be quick".to_owned();
                self.command(&Command::Message { text, client_message_id: None, artifact_ids: Vec::new() }, 0);
            }
            Move::Record { type_name } => {
                let event = Recorded { type_name: (*type_name).into(), data: json!({}), blobs: Vec::new() };
                self.command(&Command::Record { events: vec![event] }, 0);
            }
            Move::Seam => {
                self.append(RunHandedOver { reason: "shutdown".into(), ..RunHandedOver::default() }.to_payload());
                let resumed = RunResumed { worker_id: Some("w2".into()), ..RunResumed::default() };
                self.append(Payload::RunResumed(resumed));
            }
        }
        self.settle();
    }

    fn work(&mut self, verdict: usize, answer: usize) {
        for effect in self.state.effects(&self.tools) {
            match effect {
                Effect::Gate { round, gate } => self.decide(round, &gate, verdict),
                Effect::Checkpoint => self.append(RunCheckpointSaved::default().to_payload()),
                Effect::Model { turn_id, .. } => {
                    let text = ["done", "done\n```phase\nPLAN\n```", "no\n```phase\nEXECUTE\n```", "```files\na\n```"];
                    self.append(Payload::AssistantMessageCompleted(Box::new(AssistantMessageCompleted {
                        turn_id,
                        text: text[answer].into(),
                        tool_uses: Some(Vec::new()),
                        stop_reason: "end_turn".into(),
                        ..AssistantMessageCompleted::default()
                    })));
                }
                Effect::Delay { .. } | Effect::Prepare { .. } | Effect::Run { .. } => {}
            }
        }
    }

    /// As a worker takes an answer: if it is asked for, and else not at all.
    fn decide(&mut self, round: u64, gate: &Placed, verdict: usize) {
        if !self.state.waits_for_gate(round, gate) {
            return;
        }
        let attempt = self.state.phases.as_ref().and_then(|phases| phases.attempt()).unwrap();
        let decision = GateDecision {
            task_id: "task_1".into(),
            round,
            gate_id: gate.gate_id.clone(),
            transition: attempt.transition.to_string(),
            phase: gate.boundary.phase().to_string(),
            boundary: gate.boundary.side().as_str().into(),
            gate_version: "1".into(),
            verdict: ["allow", "block", "escalate"][verdict].into(),
            reason_code: "passed".into(),
            threshold: 1000,
            preset: self.preset.name.clone(),
            preset_hash: self.preset.hash(),
            inputs_hash: "0".repeat(64),
            ..GateDecision::default()
        };
        self.append(decision.to_payload());
    }

    fn command(&mut self, command: &Command, who: usize) {
        let actor = actors().swap_remove(who);
        let response = respond(&self.state, &self.tools, command, actor.as_ref());
        if let Command::Record { events } = command
            && !events[0].type_name.starts_with("external.")
        {
            assert!(matches!(response, Err(Refusal::Reserved { .. })), "{}", events[0].type_name);
        }
        for emission in response.map(|response| response.events).unwrap_or_default() {
            assert!(PhaseTransition::read(typed(&emission.payload)).is_none(), "only the loop makes a step");
            if let Some(given) = GateOverride::read(typed(&emission.payload)) {
                assert_eq!((given.actor.kind, given.actor.via), (ActorKind::Operator, Some(Via::Cli)));
                assert!(!given.reason.is_empty());
            }
            self.append(emission.payload);
        }
    }

    /// What a verifier says that knows nothing of the loop.
    fn verdict(&self) -> String {
        let mut builder = Builder::new(&[], Notes::default());
        builder.extend(self.log.records());
        let key = SecretKey::from_seed([7; 32]);
        let receipt = builder.sign(&key, Withhold::default()).unwrap();
        let keys = [KnownKey::bare(*key.public().as_bytes())];
        verify(&receipt.bytes, &Options { keys: &keys, ..Options::default() }).verdict().to_string()
    }

    fn steps(&self) -> Vec<String> {
        let payloads = self.log.records().iter().map(|record| RunState::read(record).unwrap().1);
        let step = |payload: Payload| PhaseTransition::read(typed(&payload)).map(|step| step.to.to_string());
        payloads.filter_map(step).collect()
    }
}

/// Two gates at each border, and the composite.
const ALL_GATES: &str = "
preset: test
composite: { threshold: 0.5 }
gates:
  - { id: one, threshold: 1, blocker: true, command: 'true', at: [PLAN.entry, PLAN.exit, EXECUTE.entry, EXECUTE.exit, VERIFY.entry, VERIFY.exit, COMMIT.entry, COMMIT.exit] }
  - { id: two, threshold: 1, blocker: true, command: 'true', at: [PLAN.exit, EXECUTE.entry, VERIFY.exit, COMMIT.exit] }
";

/// A person, one whom a server's client speaks for, an agent, R1 itself, and nobody.
fn actors() -> Vec<Option<Actor>> {
    let actor = |kind, via| Some(Actor { kind, id: Some("ada".into()), via: Some(via), ..Actor::default() });
    vec![
        Some(any_operator()),
        actor(ActorKind::Operator, Via::Mcp),
        actor(ActorKind::Agent, Via::Cli),
        actor(ActorKind::System, Via::Http),
        None,
    ]
}

fn typed(payload: &Payload) -> &r1_event::payload::Typed {
    static NONE: std::sync::LazyLock<r1_event::payload::Typed> = std::sync::LazyLock::new(Default::default);
    if let Payload::Typed(typed) = payload { typed } else { &NONE }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn stoke_22_whatever_happens_no_step_is_made_without_the_decisions_of_its_round(
        moves in prop::collection::vec(moves(), 1..120)
    ) {
        let mut machine = Machine::new();
        for next in &moves {
            machine.step(next);
        }
        let verdict = machine.verdict();
        prop_assert!(["VALID", "INCOMPLETE run_open"].contains(&verdict.as_str()), "{verdict}");
        if machine.state.terminal == Some(r1_event::Kind::RunCompleted) {
            prop_assert_eq!(machine.steps().pop(), Some("END".to_owned()));
        }
    }
}

#[test]
fn gates_that_allow_lead_from_start_to_end() {
    let mut machine = Machine::new();
    while machine.state.terminal.is_none() {
        machine.step(&Move::Work { verdict: 0, answer: 0 });
    }
    assert_eq!(machine.steps(), ["PLAN", "EXECUTE", "VERIFY", "COMMIT", "END"]);
    assert_eq!(machine.verdict(), "VALID");
}

#[test]
fn a_person_is_asked_when_a_step_was_blocked_three_times() {
    let mut machine = Machine::new();
    while machine.state.phases.as_ref().unwrap().phase() != r1_runtime::gate::Phase::Plan {
        machine.step(&Move::Work { verdict: 0, answer: 0 });
    }
    let mut refused = 0;
    while machine.state.approvals().next().is_none() {
        machine.step(&Move::Work { verdict: 1, answer: 0 });
        refused += 1;
        assert!(refused < 50);
    }
    let attempt = machine.state.phases.as_ref().unwrap().attempt().unwrap();
    assert_eq!(attempt.round, 4, "one round to PLAN, and the third one out of it");
    let asked = machine.state.approvals().count();
    assert_eq!(asked, attempt.obstacles().count(), "one question for each decision that stands in the way");
}

#[test]
fn a_decision_cannot_be_edited() {
    let mut machine = Machine::new();
    while machine.state.approvals().next().is_none() {
        machine.step(&Move::Work { verdict: 2, answer: 0 });
    }
    let approval_id = machine.state.approvals().next().unwrap().0.to_owned();
    let edited_input = Some(serde_json::Value::Object(Object::from_iter([("verdict".to_owned(), "allow".into())])));
    let (decision, comment, scope) = (Decision::Approve, "fine".to_owned(), Scope::Once);
    let resolution = Resolution { approval_id, decision, comment, scope, subject_hash: None, edited_input };
    let refused = respond(&machine.state, &machine.tools, &Command::Resolve(resolution), Some(&any_operator()));
    assert_eq!(refused.unwrap_err(), Refusal::NothingToEdit);
}
