//! Approvals as the index keeps them.

use r1_event::UnixNanos;
use r1_event::payload::Typed;
use r1_protocol::api::{Approval, ApprovalStatus};
use r1_protocol::data::{ApprovalRequested, ApprovalResolved, ApprovalTimedOut, By, Decision, EventData};
use serde::{Deserialize, Serialize};

use super::drawer::{Entry, facet};
use super::run::{RunEntry, STATUS, TASK};

/// A question and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ApprovalEntry {
    pub(super) stored_run: String,
    requested_at: i64,
    pub(super) approval: Approval,
}

/// What an event says of a question.
#[derive(Debug)]
pub(super) enum Word {
    Asked(Box<ApprovalRequested>),
    Answered(Box<ApprovalResolved>),
    TimedOut(ApprovalTimedOut),
}

impl Word {
    pub(super) fn of(typed: &Typed) -> Option<Self> {
        match typed.r#type.as_str() {
            ApprovalRequested::TYPE => ApprovalRequested::read(typed).map(|asked| Self::Asked(Box::new(asked))),
            ApprovalResolved::TYPE => ApprovalResolved::read(typed).map(|answer| Self::Answered(Box::new(answer))),
            ApprovalTimedOut::TYPE => ApprovalTimedOut::read(typed).map(Self::TimedOut),
            _ => None,
        }
    }

    pub(super) fn approval_id(&self) -> &str {
        match self {
            Self::Asked(asked) => &asked.approval_id,
            Self::Answered(answer) => &answer.approval_id,
            Self::TimedOut(late) => &late.approval_id,
        }
    }
}

impl ApprovalEntry {
    /// A question of `run`.
    pub(super) fn new(run: &RunEntry, at: UnixNanos, asked: ApprovalRequested) -> Self {
        let approval = Approval {
            id: asked.approval_id,
            run_id: run.run.id.clone(),
            task_id: run.run.task_id.clone(),
            tool_call_id: asked.tool_call_id,
            kind: asked.kind.to_string(),
            status: ApprovalStatus::Pending,
            summary: asked.summary,
            policy_reason: asked.policy_reason,
            tool_name: asked.tool_name,
            input: asked.input,
            argv: asked.argv,
            cwd: asked.cwd,
            patch_artifact_ids: asked.patch_artifact_ids.unwrap_or_default(),
            subject_hash: asked.subject_hash,
            scopes: asked.scopes.iter().map(ToString::to_string).collect(),
            approver: asked.approver.map_or_else(|| "any".into(), |approver| approver.to_string()),
            requested_at: at.into(),
            expires_at: asked.expires_at,
            resolved_at: None,
            by: None,
            comment: None,
            scope: None,
        };
        Self { stored_run: run.stored_id.clone(), requested_at: at.0, approval }
    }

    /// Takes the answer.
    pub(super) fn answer(&mut self, at: UnixNanos, answer: ApprovalResolved) {
        let status = match answer.decision {
            Decision::Approved => ApprovalStatus::Approved,
            Decision::Rejected => ApprovalStatus::Rejected,
            Decision::Cancelled | Decision::Other(_) => ApprovalStatus::Cancelled,
        };
        self.close(at, status, &answer.by);
        self.approval.comment = Some(answer.comment);
        self.approval.scope = answer.scope.map(|scope| scope.to_string());
    }

    /// Nobody answered.
    pub(super) fn time_out(&mut self, at: UnixNanos) {
        self.close(at, ApprovalStatus::TimedOut, &By::Timeout);
    }

    /// The run ended first.
    pub(super) fn cancel(&mut self, at: UnixNanos) {
        self.close(at, ApprovalStatus::Cancelled, &By::System);
    }

    fn close(&mut self, at: UnixNanos, status: ApprovalStatus, by: &By) {
        self.approval.status = status;
        self.approval.resolved_at = Some(at.into());
        self.approval.by = Some(by.to_string());
    }
}

impl Entry for ApprovalEntry {
    const COLLECTION: &'static str = "index.approvals";

    fn rank(&self) -> u64 {
        u64::try_from(self.requested_at).unwrap_or(0)
    }

    fn facets(&self) -> Vec<(String, String)> {
        let mut facets = vec![facet(STATUS, self.approval.status.as_str()), facet(RUN, &self.stored_run)];
        facets.extend(self.approval.task_id.as_deref().map(|task_id| facet(TASK, task_id)));
        facets
    }
}

/// The name of the facet with the run, as the store names it.
pub(super) const RUN: &str = "run";
