//! Writing down how a skill was made.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use r1_event::{Payload, RunId, payload};
use r1_protocol::data::{ArtifactCreated, ArtifactKind, ArtifactStatus, EventData};
use r1_store::BlobError;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

use super::caller::Caller;
use super::operator::{self, About, Opening, OperatorError};
use crate::agent::command::with_actor;
use crate::emit::Emission;
use crate::engine::Engine;
use crate::model::{Block, Message, ModelRequest, ModelResponse, Role};
use crate::provider::{Provider, ProviderError};
use crate::skill::{Question, Wizard};
use crate::world;

/// What a model proposed, and what that took.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// An answer to each question that was open, and how sure the model is, up to 1000.
    pub answers: Vec<(&'static Question, String, u64)>,
    turn: Turn,
}

/// One model call, as the log has it.
#[derive(Clone, Debug)]
struct Turn {
    model: String,
    provider: String,
    prompt: String,
    text: String,
    response: ModelResponse,
}

/// Where a skill was written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The run that tells how it was made.
    pub run: RunId,
    /// The file's content.
    pub artifact_id: String,
}

/// Writes the decisions of a wizard and the file that follows from them into an operator run about `workspace`.
/// `path` is where the file will be, as people name it.
pub async fn record(
    engine: &Engine,
    workspace: &str,
    wizard: &Wizard,
    path: &str,
    proposal: Option<&Proposal>,
    caller: &Caller,
) -> Result<Made, SkillError> {
    let skill = wizard.skill().ok_or(SkillError::Unfinished)?;
    let text = skill.render();
    let content = Bytes::from(text.clone());
    let blob = engine.store().blobs().put(Box::pin(stream::once(async move { Ok(content) }))).await?;
    let redactor = engine.redactor();
    let artifact_id = world::new_id("art");
    let artifact = ArtifactCreated {
        artifact_id: artifact_id.clone(),
        kind: ArtifactKind::Skill,
        size_bytes: blob.size,
        summary: format!("skill {}", skill.name),
        digest: format!("blake3:{}", blob.hash),
        sha256: r1_event::id::to_hex(&Sha256::digest(&text)),
        mime: Some("text/markdown".into()),
        status: Some(ArtifactStatus::Created),
        name: Some("SKILL.md".into()),
        path: Some(path.to_owned()),
        contains_secrets: redactor.contains_secret(text.as_bytes()).then_some(true),
        ..Default::default()
    };
    let wizard_id = world::new_id("wiz");
    let clean = |payload: Payload| Emission::plain(redactor.payload(with_actor(payload, caller.actor.as_ref())));
    let opening = Opening {
        about: About::Workspace(workspace.to_owned()),
        goal: format!("make the skill `{}`", skill.name),
        reason: "requested".into(),
    };
    let key = engine.key().cloned();
    let written = operator::write_with(engine.store(), opening, engine.instance(), key, world::now(), caller, |pen| {
        for payload in proposal.iter().flat_map(|proposal| proposal.turn.events()) {
            pen.write(Emission::plain(redactor.payload(payload)))?;
        }
        let mut nodes = Vec::new();
        for (step, decision) in wizard.decisions().iter().enumerate() {
            let revised = decision.revises.and_then(|at| nodes.get(at).copied().flatten());
            let revision_of = revised.map(|node: r1_receipt::NodeId| node.to_string());
            nodes.push(pen.write(clean(decision.event(&wizard_id, step, revision_of).to_payload()))?);
        }
        let artifact = ArtifactCreated { created_by_event_id: pen.last_event_id(), ..artifact };
        pen.write(Emission { blobs: vec![blob.hash], ..clean(artifact.to_payload()) }).map(drop)
    });
    let places = written.await?;
    let run = places.first().map(|place| place.run_id.clone()).ok_or(SkillError::Unfinished)?;
    Ok(Made { run, artifact_id })
}

/// Asks a model for the answers that are still open.
pub async fn propose(provider: &dyn Provider, model: &str, wizard: &Wizard) -> Result<Proposal, SkillError> {
    let prompt = prompt(wizard);
    let message = Message { role: Role::User, blocks: vec![Block::Text(prompt.clone())] };
    let request = ModelRequest {
        model: model.to_owned(),
        system: SYSTEM.into(),
        messages: Arc::new(vec![message]),
        tools: Arc::new([]),
        max_output_tokens: 8192,
        params: serde_json::Map::new(),
        turn_index: 0,
        attempt: 1,
        attachments: Arc::default(),
    };
    let (deltas, mut pieces) = mpsc::channel(64);
    let drain = async move { while pieces.recv().await.is_some() {} };
    let (response, ()) = tokio::join!(provider.call(request, deltas), drain);
    let response = response?;
    let text =
        response.blocks.iter().filter_map(|block| if let Block::Text(text) = block { Some(&**text) } else { None });
    let text: String = text.collect();
    let answers = read(&text, wizard)?;
    let turn = Turn { model: model.to_owned(), provider: provider.id().to_owned(), prompt, text, response };
    Ok(Proposal { answers, turn })
}

const SYSTEM: &str = "You write skills for coding agents: short, exact instructions that another agent follows. Answer \
    with one JSON object and nothing else.";

fn prompt(wizard: &Wizard) -> String {
    let mut prompt = String::from("A skill is being made. Known so far:\n");
    for question in Question::ALL {
        if let Some(decision) = wizard.standing(question) {
            prompt.push_str(&format!("- {}: {}\n", question.id, decision.answer.replace('\n', "\n  ")));
        }
    }
    prompt.push_str(
        "\nAnswer the open questions with your best judgment, as an object that has under each question's id an object \
         with `answer` (a text; items one per line) and `confidence` (an integer from 0 to 1000):\n",
    );
    for question in wizard.open() {
        prompt.push_str(&format!("- {}: {}\n", question.id, question.text));
    }
    prompt
}

#[derive(Deserialize)]
struct Proposed {
    answer: String,
    confidence: u64,
}

/// The answers in a model's text, which may have words around its JSON.
fn read(text: &str, wizard: &Wizard) -> Result<Vec<(&'static Question, String, u64)>, SkillError> {
    let unreadable = || SkillError::Unreadable { text: text.chars().take(200).collect() };
    let object =
        text.find('{').zip(text.rfind('}')).and_then(|(from, to)| text.get(from..=to)).ok_or_else(unreadable)?;
    let mut proposed: std::collections::HashMap<String, Proposed> =
        serde_json::from_str(object).map_err(|_| unreadable())?;
    wizard
        .open()
        .map(|question| {
            let Proposed { answer, confidence } = proposed.remove(question.id).ok_or_else(unreadable)?;
            Ok((question, answer, confidence.min(1000)))
        })
        .collect()
}

impl Turn {
    fn events(&self) -> Vec<Payload> {
        let Self { model, provider, prompt, text, response } = self;
        let turn_id = world::new_id("turn");
        let count = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let usage = response.usage;
        vec![
            Payload::UserMessageAppended(payload::UserMessageAppended {
                content: prompt.clone(),
                turn_index: Some(0),
                by: Some("system".into()),
                ..Default::default()
            }),
            Payload::TurnStarted(payload::TurnStarted {
                turn_id: turn_id.clone(),
                turn_index: Some(0),
                model: Some(model.clone()),
                provider: Some(provider.clone()),
                ..Default::default()
            }),
            Payload::AssistantMessageCompleted(Box::new(payload::AssistantMessageCompleted {
                turn_id,
                text: text.clone(),
                stop_reason: response.stop_reason.as_str().into(),
                input_tokens: count(usage.input_tokens),
                output_tokens: count(usage.output_tokens),
                raw_response_hash: Some(Bytes::copy_from_slice(response.raw_response_hash.as_bytes())),
                turn_index: Some(0),
                cost_micros_usd: Some(response.cost_micros_usd.unwrap_or(0)),
                ..Default::default()
            })),
        ]
    }
}

/// A skill was not made.
#[derive(Debug, thiserror::Error)]
pub enum SkillError {
    /// Not every question has an answer that counts.
    #[error("not every question is answered")]
    Unfinished,
    /// The model did not answer.
    #[error("the model gave no answer")]
    Model(#[from] ProviderError),
    /// The model answered something else.
    #[error("the model did not answer as it was asked: {text}")]
    Unreadable {
        /// The beginning of what it said.
        text: String,
    },
    /// The file could not be stored.
    #[error("the skill could not be stored")]
    Blob(#[from] BlobError),
    /// It could not be written down.
    #[error(transparent)]
    Operator(#[from] OperatorError),
}
