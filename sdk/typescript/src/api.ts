// Made by `cargo run -p r1-protocol --example generate`; do not edit.

/** An error as it is sent. */
export interface ApiErrorBody {
  /** The error. */
  error: ErrorObject;
}

/** A question to a person, and what came of it. */
export interface Approval {
  /** any, or human: then no program may answer. */
  approver: string;
  /** Exactly what will be executed. */
  argv: string[] | null;
  /** operator, agent, system, timeout, parent or policy. */
  by: string | null;
  /** What the answer came with. */
  comment: string | null;
  /** Where. */
  cwd: string | null;
  /** When it is too late. */
  expires_at: Time | null;
  /** `appr_` and a ULID. */
  id: string;
  /** Exactly what the tool will be given. */
  input: Record<string, unknown> | null;
  /** The tool's family, or gate, soft_pass, ac_rewrite, critical_note, consent. */
  kind: string;
  /** The patches that will be applied. */
  patch_artifact_ids: string[];
  /** Why it is asked. */
  policy_reason: string;
  /** When it was asked. */
  requested_at: Time;
  /** When it was answered. */
  resolved_at: Time | null;
  /** The run that asks. */
  run_id: string;
  /** For how long the yes holds. */
  scope: string | null;
  /** For how long a yes may hold: once, session. */
  scopes: string[];
  /** What came of it. */
  status: ApprovalStatus;
  /** Names what is asked; give it back with the answer, so that nothing else is approved. */
  subject_hash: string;
  /** What will be done, in a line. */
  summary: string;
  /** Its task. */
  task_id: string | null;
  /** The call that it is about. */
  tool_call_id: string | null;
  /** The tool. */
  tool_name: string | null;
}

/** How much is allowed without asking. */
export type ApprovalPolicy = "ask" | "edits" | "read-only" | "full";

/** What came of a question. */
export type ApprovalStatus = "pending" | "approved" | "rejected" | "timed_out" | "cancelled";

/** What is allowed without asking. */
export interface ApprovalWish {
  /** How much. */
  policy?: ApprovalPolicy | null;
  /** How long a question waits for an answer; 0 means for ever. */
  timeout_seconds?: number | null;
}

/** Something that a run made or used and that is kept: its body is at `/artifacts/{id}/raw`. */
export interface Artifact {
  /** When a patch was applied. */
  applied_at: Time | null;
  /** That file before: `sha256:` and hex; null means no file. */
  base_revision: string | null;
  /** Patches with the same one move together. */
  batch_id: string | null;
  /** Whether it seems to hold a secret; then its body needs the right to write. */
  contains_secrets: boolean;
  /** When it was made. */
  created_at: Time;
  /** The patch itself, up to 1 MiB; always null in lists. */
  diff: string | null;
  /** `blake3:` and 64 hexadecimal digits. */
  digest: string;
  /** `art_` and a ULID. */
  id: string;
  /** patch, file_snapshot, command_output, fetched_resource, search_results, image, tool_result_blob, … */
  kind: string;
  /** What else is known of it, by kind. */
  metadata: Record<string, unknown>;
  /** Its type. */
  mime: string | null;
  /** Its name for people. */
  name: string | null;
  /** Whether it is kept for good. */
  pinned: boolean;
  /** The run whose log tells of it first. */
  produced_by_run_id: string;
  /** The call that made it. */
  produced_by_tool_call_id: string | null;
  /** When it was rejected. */
  rejected_at: Time | null;
  /** That file after. */
  result_revision: string | null;
  /** When it was undone. */
  reverted_at: Time | null;
  /** The patch that this one undoes. */
  reverts_artifact_id: string | null;
  /** How long its body is. */
  size_bytes: number;
  /** How large a patch is. */
  stats: DiffStats | null;
  /** created; of a patch proposed, applied or rejected. */
  status: string;
  /** In a line. */
  summary: string;
  /** The file that a patch changes. */
  target_path: string | null;
  /** The run's task. */
  task_id: string | null;
}

/** Limits; 0 means none. */
export interface Budget {
  /** Tokens that the model reads. */
  input_tokens?: number;
  /** Money, in millionths of a US dollar. */
  micros_usd?: number;
  /** Tokens that the model writes. */
  output_tokens?: number;
  /** Model calls. */
  turns?: number;
  /** Milliseconds of one run, while it is worked on. */
  wall_clock_ms?: number;
  /** Percentages of the money at which a warning is written. */
  warning_pct?: number[];
}

/** Why something is to end. */
export interface CancelRequest {
  /** Why. */
  reason?: string | null;
}

/** A command, taken apart or as one line. */
export type CommandLine = string[] | string;

/** Yes or no, in the words that people use. */
export type Decision = "approve" | "reject";

/** How large a patch is. */
export interface DiffStats {
  /** Lines added. */
  additions: number;
  /** Lines removed. */
  deletions: number;
  /** Places. */
  hunks: number;
}

/** What kind of error. */
export type ErrorCode = "validation" | "not_found" | "conflict" | "append_only_violation" | "permission_denied" | "budget_exceeded" | "timeout" | "crash_recovery" | "schema_version" | "internal";

/** One part of a request that is wrong. */
export interface ErrorDetail {
  /** A JSON Pointer into the body, or `?name` for a query parameter. */
  path: string;
  /** Why. */
  reason: string;
}

/** What went wrong, and what to do. */
export interface ErrorObject {
  /** A word for programs. */
  code: ErrorCode;
  /** Which parts of the request, and why. */
  details?: ErrorDetail[];
  /** What to do next. */
  hint?: string | null;
  /** A sentence for people. */
  message: string;
  /** Leads to the server's own log. */
  request_id: string;
  /** Whether the same request may work later. */
  retriable: boolean;
}

/** A page of a run's events. */
export interface EventList<Item> {
  /** The events, each as it is in every other form of this API, byte for byte. */
  data: Item[];
  /** Whether more was stored when the page was read. */
  has_more: boolean;
  /** Place of the run's last event. */
  last_sequence: number | null;
  /** Give this as `after_sequence` to get the next page; null if there is nothing yet. */
  next_after_sequence: number | null;
  /** Always `list`. */
  object: string;
  /** Whether the run has ended. */
  terminal: boolean;
}

/** An event from outside. */
export interface ExternalEvent {
  /** What it says. */
  data: Record<string, unknown>;
  /** `external.` and a name. */
  type: string;
}

/** One change to a file. */
export interface FileOperation {
  /** What to write or append. */
  content?: string | null;
  /** What to do. */
  op: Operation;
  /** To which file, relative to the workspace. */
  path: string;
}

/** How a run is to be forked. */
export interface ForkRequest {
  /** The last event that both share. */
  at_sequence: number;
  /** What to tell the agent. */
  message?: string | null;
  /** Another model. */
  model?: string | null;
  /** Why. */
  reason?: string | null;
}

/** Where a fork leaves its origin. */
export interface ForkedFrom {
  /** The run. */
  run_id: string;
  /** The last event that both share. */
  sequence: number;
}

/** A page of objects. */
export interface List<Item> {
  /** The objects. */
  data: Item[];
  /** Whether there were more when the page was read. */
  has_more: boolean;
  /** Give this as `cursor` to get the next page. */
  next_cursor: string | null;
  /** Always `list`. */
  object: string;
}

/** Something said to an agent. */
export interface MessageRequest {
  /** Artifacts of the run that come with it. */
  artifact_ids?: string[];
  /** The sender's own id of it: the same one twice is one message. */
  client_message_id?: string | null;
  /** What. */
  text: string;
}

/** A task that is wanted. */
export interface NewTask {
  /** What is allowed without asking. */
  approval?: ApprovalWish | null;
  /** What it may use up. */
  budget?: Budget | null;
  /** A program and its arguments, or a line for a shell; of the kinds shell and git. */
  command?: CommandLine | null;
  /** What kind of work. */
  kind?: TaskKind;
  /** Servers whose tools are offered too, as in r1.toml. */
  mcp_servers?: Record<string, unknown>[] | null;
  /** Which model. */
  model?: string | null;
  /** What is to be done to files; of kind file. */
  operations?: FileOperation[] | null;
  /** How soon. */
  priority?: Priority | null;
  /** What the agent is to do; of kind agent_loop. */
  prompt?: string | null;
  /** Who serves it. */
  provider?: string | null;
  /** How programs are confined. */
  sandbox?: SandboxRequest | null;
  /** Whether it may begin; true if not given. */
  start?: boolean | null;
  /** What the model is told first, instead of the usual. */
  system_prompt?: string | null;
  /** What its owner calls it: short texts by name. */
  tags?: Record<string, unknown> | null;
  /** In a few words; the beginning of the prompt if not given. */
  title?: string | null;
  /** Where to work. */
  workspace?: WorkspaceRequest | null;
}

/** One object. */
export interface Object<Item> {
  /** The object. */
  data: Item;
  /** What it is: task, run, event, approval, artifact, … */
  object: string;
}

/** What can be done to a file. */
export type Operation = "write" | "append" | "delete";

/** How a patch is to be moved. */
export interface PatchRequest {
  /** Whether a drifted file is patched where every hunk fits in exactly one place. */
  allow_offset?: boolean | null;
  /** Why. */
  reason?: string | null;
}

/** What of a task is to change. */
export interface PatchTask {
  /** What it may use up; money and tokens may only rise. */
  budget?: Budget | null;
  /** How soon. */
  priority?: Priority | null;
  /** All its tags. */
  tags?: Record<string, unknown> | null;
  /** In a few words. */
  title?: string | null;
}

/** How soon. */
export type Priority = "low" | "normal" | "high";

/** The answer to a question. */
export interface ResolveRequest {
  /** What else there is to say; the model hears it with a no. */
  comment?: string | null;
  /** Yes or no. */
  decision: Decision;
  /** What to run instead. */
  edited_input?: unknown;
  /** For how long a yes holds. */
  scope?: Scope | null;
  /** What was shown; another subject is refused. */
  subject_hash?: string | null;
}

/** How a run is to go on. */
export interface ResumeRequest {
  /** Another budget. */
  budget?: Budget | null;
  /** From this checkpoint. */
  checkpoint_id?: string | null;
  /** From this event. */
  from_sequence?: number | null;
  /** What to tell the agent. */
  message?: string | null;
  /** Why. */
  reason?: string | null;
}

/** Why something is to begin again. */
export interface RetryRequest {
  /** Why. */
  reason?: string | null;
}

/** One run: a fold over its log, and whose lease it is under. */
export interface Run {
  /** How often a worker took it. */
  attempt: number;
  /** Whether someone asked it to end and it has not yet. */
  cancelling: boolean;
  /** What it has cost. */
  cost_micros_usd: number;
  /** Time of its first event. */
  created_at: Time;
  /** Why it failed. */
  error: RunError | null;
  /** When it ended. */
  finished_at: Time | null;
  /** The run that it shares its beginning with. */
  forked_from: ForkedFrom | null;
  /** `run_` and a ULID. */
  id: string;
  /** Tokens that the model read. */
  input_tokens: number;
  /** agent_loop, shell, git, file, recorded, operator or control. */
  kind: string;
  /** Place of its last event. */
  last_sequence: number;
  /** Until when its lease holds, if anyone has one. */
  lease_until: Time | null;
  /** Which model; `none` for runs without one. */
  model: string;
  /** Its number in its task, from 1. */
  number: number | null;
  /** Tokens that the model wrote. */
  output_tokens: number;
  /** The run that started it as a part of its own work, or that it is about. */
  parent_run_id: string | null;
  /** Questions that wait for a person. */
  pending_approvals: number;
  /** What its task had cost before it. */
  prior_cost_micros_usd: number;
  /** The run of the same task before it. */
  prior_run_id: string | null;
  /** Who serves it. */
  provider: string;
  /** The last event that was pruned. */
  pruned_through: number | null;
  /** Whether its end is signed. */
  sealed: boolean;
  /** `chat_` and a ULID; none on logs of Starling. */
  session_id: string | null;
  /** Of a recorded run: what it was recorded from. */
  source: Record<string, unknown> | null;
  /** When a worker first took it. */
  started_at: Time | null;
  /** How it stands. */
  status: RunStatus;
  /** Its task, if it has one. */
  task_id: string | null;
  /** In a few words. */
  title: string;
  /** Tool calls that were decided to run. */
  tool_calls: number;
  /** The trace that it belongs to: 32 hexadecimal digits. */
  trace_id: string | null;
  /** Model calls that were completed. */
  turns: number;
  /** The worker that has it, or had it last. */
  worker_id: string | null;
  /** clone, worktree, in_place or none. */
  workspace_mode: string | null;
  /** Where it works. */
  workspace_path: string | null;
}

/** Why a run failed. */
export interface RunError {
  /** A word for programs. */
  code: string;
  /** A sentence for people. */
  message: string;
}

/** How a run stands. */
export type RunStatus = "not_started" | "queued" | "running" | "awaiting_approval" | "idle" | "paused" | "completed" | "failed" | "cancelled";

/** How programs are confined. */
export interface SandboxRequest {
  /** Whether programs may use the network. */
  network?: boolean | null;
  /** Whether they may only look at the workspace. */
  read_only?: boolean | null;
}

/** For how long a yes holds. */
export type Scope = "once" | "session";

/** Something that is to be done, in one run or several: a fold over its runs. */
export interface Task {
  /** What it may use up, over all its runs. */
  budget: Budget;
  /** What it has cost, all runs and children together. */
  cost_micros_usd: number;
  /** When it was made. */
  created_at: Time;
  /** `task_` and a ULID. */
  id: string;
  /** agent_loop, shell, git or file. */
  kind: string;
  /** That run. */
  latest_run_id: string;
  /** low, normal or high. */
  priority: string;
  /** How many runs of its own it has; children and operator runs do not count. */
  run_count: number;
  /** How its newest run of its own stands. */
  status: RunStatus;
  /** What its owner calls it, as given. */
  tags: Record<string, unknown>;
  /** In a few words. */
  title: string;
  /** When one of its runs last wrote something. */
  updated_at: Time;
}

/** What kind of work a task is. */
export type TaskKind = "agent_loop" | "shell" | "git" | "file";

/**
 * A moment as text: RFC 3339 in UTC. R1 always writes nine digits of the second's fraction; a foreign
 * writer's text is kept as it is.
 */
export type Time = string;

/** Where to work. */
export interface WorkspaceRequest {
  /** Of a clone or worktree: the revision to begin with. */
  base?: string | null;
  /** clone, worktree, in_place or none. */
  mode?: string | null;
  /** A directory of the machine that does the work. */
  path?: string | null;
}
