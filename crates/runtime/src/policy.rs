//! TEMP
use crate::tool::{Subject, ToolSpec};
use r1_event::Digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ApprovalMode { #[default] Ask, Edits, ReadOnly, Full }
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Policy {}
#[derive(Clone, Debug, Default)]
pub struct Grants {}
impl Grants { pub fn add(&mut self, _: &str, _: Grant) {} }
#[derive(Clone, Debug)]
pub struct Grant {}
impl Grant { pub fn of(_: &str, _: &Value) -> Self { Self {} } pub fn to_json(&self) -> serde_json::Map<String, Value> { Default::default() } pub fn from_json(_: &serde_json::Map<String, Value>) -> Option<Self> { None } }
#[derive(Clone, Copy, Debug)]
pub enum Approver { Any, Human }
impl Approver { pub fn as_str(self) -> &'static str { "any" } }
pub enum Ruling { Run, Allowed { reason: String, policy_id: Option<String>, grant_approval_id: Option<String> }, Ask { reason: String, policy_id: Option<String>, approver: Approver }, Deny { reason: String, policy_id: Option<String> } }
pub struct Situation { pub mode: ApprovalMode, pub workspace_mode: String, pub unattended: bool, pub contains_secrets: bool }
impl Policy { pub fn decide(&self, _: &ToolSpec, s: &Subject, _: &Grants, x: &Situation) -> Ruling { match (s, x.mode) { (Subject::Read{..}|Subject::Internal, _) | (_, ApprovalMode::Full) => Ruling::Run, _ => Ruling::Ask { reason: "default".into(), policy_id: None, approver: Approver::Any } } } }
pub fn subject_hash(tool: &str, input: &Value) -> Digest { Digest::blake3(format!("{tool}{input}").as_bytes()) }
