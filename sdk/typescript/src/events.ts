// Made by `cargo run -p r1-protocol --example generate`; do not edit.

/** RFC 3339 in UTC. R1 writes nine digits of the second's fraction. */
export type Time = string;

/** One of these words; a newer producer may know others. */
export type Word<Known extends string> = Known | (string & Record<never, never>);

/** Any event, whether its type is known here or not. */
export interface Envelope {
  schema_version: "1";
  /** `evt_` and a ULID: the same event has the same id everywhere. Drop what you have already by this. */
  event_id: string;
  /** `run_` and a ULID. */
  run_id: string;
  /** `task_` and a ULID, when the run has a task. */
  task_id?: string;
  /** `chat_` and a ULID; absent on v1 logs. */
  session_id?: string;
  /** Place in the run, from 0, without gaps. Order events by this. */
  sequence: number;
  /** For display. */
  occurred_at: Time;
  type: string;
  data: Record<string, unknown>;
}

/** What is left of an event whose payload was erased. */
export interface ErasedData {
  erased: true;
  payload_hash: string;
  payload_size: number;
  redaction_event_id?: string;
}

/** What is served of reasoning to those who did not ask for it. */
export interface HiddenData {
  hidden: true;
  turn_index?: number;
  block_index?: number;
}

/** What any event may carry. */
export interface Common {
  /** Absent on the main lane. */
  lane_id?: string;
  /** JSON Pointers to what a redactor replaced. */
  redacted_paths?: string[];
  /** Who caused it through a control action. */
  actor?: { kind: Word<"operator" | "agent" | "system">; id?: string; client?: string; via?: Word<"mcp" | "http" | "ws" | "web" | "tui" | "cli" | "stdin">; };
  /** The foreign record it was derived from. */
  origin?: Record<string, unknown>;
}

/** Who caused an event through a control action. */
export type Actor = NonNullable<Common["actor"]>;

/** `run.queued`: The run was created: event 0. In a run that continues another it is event 1. */
export interface RunQueued extends Common {
  kind: Word<"agent_loop" | "shell" | "git" | "file" | "recorded" | "operator" | "control">;
  /** `none` for runs without a model. */
  model: string;
  provider: string;
  workspace_path: string;
  workspace_mode: Word<"clone" | "worktree" | "in_place" | "none">;
  /** The run of the same task before this one. */
  prior_run_id: string | null;
  /** Which run of its task this is, from 1. */
  number?: number;
  title?: string;
  priority?: string;
  /** Whether it waits for its release. */
  held?: boolean;
  parent_run_id?: string;
  forked_from?: Record<string, unknown>;
  budget?: Record<string, unknown>;
  /** The foreign agent, for recorded runs. */
  source?: Record<string, unknown>;
  system_prompt_hash?: string;
  tool_registry_hash?: string;
}

/** `run.released`: A held run may be claimed. */
export interface RunReleased extends Common {
  by: Word<"operator" | "agent" | "system" | "timeout" | "parent" | "policy">;
}

/** `run.throttled`: The run was passed over in the queue; once per reason and wait. */
export interface RunThrottled extends Common {
  reason: Word<"node_limit" | "task_limit" | "provider_limit">;
  limit: number;
}

/** `run.started`: A worker claimed the run for the first time. */
export interface RunStarted extends Common {
  worker_id: string;
  lease_until: Time;
  attempt?: number;
  queue_wait_ms?: number;
  instance_id?: string;
  trace_parent?: string;
}

/** `run.handed_over`: The worker gave its lease back in order. */
export interface RunHandedOver extends Common {
  worker_id: string;
  reason: Word<"shutdown" | "rebalance">;
}

/** `run.branched_from`: The run is a fork: event 1. */
export interface RunBranchedFrom extends Common {
  from_run_id: string;
  from_sequence: number;
  reason: string;
}

/** `run.checkpoint_saved`: The run can be continued from here: no turn and no call is open. */
export interface RunCheckpointSaved extends Common {
  checkpoint_id: string;
  at_sequence?: number;
  workspace_revision?: string;
}

/** `run.child_started`: A child run belongs to this one. */
export interface RunChildStarted extends Common {
  child_run_id: string;
  kind: Word<"subagent" | "mission_task" | "delegate">;
  task_id?: string;
  title?: string;
  tool_call_id?: string;
  budget_micros_usd?: number;
}

/** `run.child_finished`: A child run ended; the roots bind its whole log. */
export interface RunChildFinished extends Common {
  child_run_id: string;
  final_status: string;
  cost_micros_usd: number;
  log_size: number;
  root_blake3: string;
  root_sha256: string;
  receipt_digest?: string;
  task_id?: string;
  tool_call_id?: string;
  summary?: string;
}

/** `task.updated`: Fields of the task changed. */
export interface TaskUpdated extends Common {
  by: Word<"operator" | "agent" | "system" | "timeout" | "parent" | "policy">;
  title?: string;
  priority?: string;
  budget?: Record<string, unknown>;
  tags?: Record<string, unknown>;
}

/** `run.resumed_from_event`: The run continues a finished one: event 0. */
export interface RunResumedFromEvent extends Common {
  from_run_id: string;
  from_sequence: number;
  prior_cost_micros_usd: number;
  checkpoint_id?: string;
  reason?: string;
}

/** `run.resumed`: Another process goes on with the run. */
export interface RunResumed extends Common {
  at_sequence: number;
  worker_id: string;
  lease_until: Time;
  reissue_tools: boolean;
  pending_calls: number;
  reason: Word<"lease_expired" | "handed_over" | "reopened" | "operator">;
  extra_message?: string;
  instance_id?: string;
  trace_parent?: string;
}

/** `run.side_effect`: Time, randomness or other input was recorded. */
export interface RunSideEffect extends Common {
  name: string;
  value: unknown;
}

/** `run.context_truncated`: The context was compacted. */
export interface RunContextTruncated extends Common {
  strategy: string;
  tokens_before: number;
  tokens_after: number;
  messages_before: number;
  messages_after: number;
}

/** `run.finished`: The run succeeded. Terminal. */
export interface RunFinished extends Common {
  final_status: Word<"completed">;
  turns: number;
  cost_micros_usd: number;
  duration_ms: number;
  tool_calls?: number;
  input_tokens?: number;
  output_tokens?: number;
  final_text?: string;
  merkle_root?: string;
  log_size?: number;
}

/** `run.failed`: The run failed. Terminal. */
export interface RunFailed extends Common {
  code: string;
  message: string;
  retriable: boolean;
  turns: number;
  duration_ms?: number;
  merkle_root?: string;
  log_size?: number;
}

/** `run.cancelled`: The run was stopped. Terminal. */
export interface RunCancelled extends Common {
  by: Word<"operator" | "agent" | "system" | "timeout" | "parent" | "policy">;
  reason: string;
  duration_ms?: number;
  merkle_root?: string;
  log_size?: number;
}

/** `turn.started`: A model call begins. */
export interface TurnStarted extends Common {
  turn_index: number;
  model: string;
  provider: string;
  input_tokens_estimate: number;
  turn_id?: string;
  prompt_hash?: string;
}

/** `turn.completed`: A model call ended; its tools have not run yet. */
export interface TurnCompleted extends Common {
  turn_index: number;
  input_tokens: number;
  output_tokens: number;
  cached_input_tokens: number;
  cost_micros_usd: number;
  duration_ms: number;
  tool_calls: number;
  stop_reason: Word<"end_turn" | "tool_use" | "max_tokens" | "stop_sequence" | "refusal" | "cancelled" | "error">;
  cost_source?: Word<"provider" | "price_book" | "unknown">;
  cache_write_tokens?: number;
  turn_id?: string;
  provider_request_id?: string;
  raw_response_hash?: string;
}

/** `turn.failed`: One attempt at a turn failed. If it will be tried again, the deltas so far are void. */
export interface TurnFailed extends Common {
  turn_index: number;
  code: string;
  message: string;
  will_retry: boolean;
  attempt?: number;
  turn_id?: string;
}

/** `assistant.thinking_complete`: A block of reasoning is whole. */
export interface AssistantThinkingComplete extends Common {
  turn_index: number;
  block_index: number;
  text: string;
  signed?: boolean;
  redacted?: boolean;
}

/** `user.message`: A user's message. */
export interface UserMessage extends Common {
  turn_index: number;
  text: string;
  message_id?: string;
  client_message_id?: string;
  by?: Word<"operator" | "agent" | "system" | "timeout" | "parent" | "policy">;
}

/** `tool.invoked`: It is decided that a call runs. */
export interface ToolInvoked extends Common {
  tool_call_id: string;
  tool_name: string;
  kind: Word<"shell" | "git" | "edit" | "multi_edit" | "file_read" | "file_write" | "glob" | "grep" | "todo_write" | "http" | "web_fetch" | "web_search" | "mcp" | "agent" | "memory" | "builtin" | "external">;
  turn_index: number;
  attempt?: number;
  input?: Record<string, unknown>;
  mcp_server?: string;
  mcp_tool?: string;
}

/** `tool.completed`: A call succeeded. */
export interface ToolCompleted extends Common {
  tool_call_id: string;
  tool_name: string;
  kind: Word<"shell" | "git" | "edit" | "multi_edit" | "file_read" | "file_write" | "glob" | "grep" | "todo_write" | "http" | "web_fetch" | "web_search" | "mcp" | "agent" | "memory" | "builtin" | "external">;
  duration_ms: number;
  summary: string;
  attempt?: number;
  result_artifact_id?: string;
  output?: unknown;
  mcp_server?: string;
  mcp_tool?: string;
  result?: Word<"dispatched" | "tool_error">;
}

/** `tool.failed`: A call failed. */
export interface ToolFailed extends Common {
  tool_call_id: string;
  tool_name: string;
  kind: Word<"shell" | "git" | "edit" | "multi_edit" | "file_read" | "file_write" | "glob" | "grep" | "todo_write" | "http" | "web_fetch" | "web_search" | "mcp" | "agent" | "memory" | "builtin" | "external">;
  duration_ms: number;
  summary: string;
  error: string;
  error_type: Word<"tool" | "panic" | "spawn" | "denied" | "outcome_unknown">;
  outcome: Word<"failed" | "unknown">;
  attempt?: number;
  result_artifact_id?: string;
  output?: unknown;
  mcp_server?: string;
  mcp_tool?: string;
  result?: Word<"dispatched" | "tool_error">;
  final?: boolean;
}

/** `tool.cancelled`: Someone stopped a call. */
export interface ToolCancelled extends Common {
  tool_call_id: string;
  tool_name: string;
  kind: Word<"shell" | "git" | "edit" | "multi_edit" | "file_read" | "file_write" | "glob" | "grep" | "todo_write" | "http" | "web_fetch" | "web_search" | "mcp" | "agent" | "memory" | "builtin" | "external">;
  duration_ms: number;
  summary: string;
  error: string;
  error_type: Word<"cancelled">;
  outcome: Word<"failed" | "unknown">;
  by: Word<"operator" | "agent" | "system" | "timeout" | "parent" | "policy">;
  attempt?: number;
  result_artifact_id?: string;
  output?: unknown;
  mcp_server?: string;
  mcp_tool?: string;
  result?: Word<"dispatched" | "tool_error">;
  final?: boolean;
}

/** `tool.timed_out`: A call hit a cap. */
export interface ToolTimedOut extends Common {
  tool_call_id: string;
  tool_name: string;
  kind: Word<"shell" | "git" | "edit" | "multi_edit" | "file_read" | "file_write" | "glob" | "grep" | "todo_write" | "http" | "web_fetch" | "web_search" | "mcp" | "agent" | "memory" | "builtin" | "external">;
  duration_ms: number;
  summary: string;
  error: string;
  error_type: Word<"timeout">;
  outcome: Word<"failed" | "unknown">;
  limit: Word<"wall_clock" | "output">;
  after_ms: number;
  attempt?: number;
  result_artifact_id?: string;
  output?: unknown;
  mcp_server?: string;
  mcp_tool?: string;
  result?: Word<"dispatched" | "tool_error">;
  final?: boolean;
}

/** `cost.budget_exceeded`: A budget is used up. */
export interface CostBudgetExceeded extends Common {
  cumulative_cost_micros_usd: number;
  task_budget_micros_usd: number;
  action: Word<"halted">;
  limit: Word<"usd" | "input_tokens" | "output_tokens" | "turns" | "wall_clock">;
  where: Word<"pre_call" | "mid_stream" | "post_call">;
  /** Tokens, turns, milliseconds or micro-dollars. */
  cap?: number;
  actual?: number;
  turn_id?: string;
  partial_text?: string;
  partial_tokens?: number;
}

/** `assistant.text_delta`: A piece of the answer as it streams in. */
export interface AssistantTextDelta extends Common {
  turn_index: number;
  block_index: number;
  delta: string;
}

/** `assistant.text_complete`: A block of the answer is whole: the deltas of the last attempt in one. */
export interface AssistantTextComplete extends Common {
  turn_index: number;
  block_index: number;
  text: string;
}

/** `assistant.thinking_delta`: A piece of reasoning as it streams in. */
export interface AssistantThinkingDelta extends Common {
  turn_index: number;
  block_index: number;
  delta: string;
}

/** `assistant.tool_call_proposed`: The model asks for a tool. */
export interface AssistantToolCallProposed extends Common {
  tool_call_id: string;
  turn_index: number;
  tool_name: string;
  /** Input that is no JSON object is `{"raw": text}`. */
  input: Record<string, unknown>;
}

/** `assistant.image_block`: The model made an image. */
export interface AssistantImageBlock extends Common {
  artifact_id: string;
  turn_index: number;
  mime: string;
  summary: string;
}

/** `assistant.final_answer`: The last turn's answer, which asks for no tool. */
export interface AssistantFinalAnswer extends Common {
  turn_index: number;
  /** The whole text. */
  summary: string;
}

/** `user.attachment`: A file or image was given with a message. */
export interface UserAttachment extends Common {
  artifact_id: string;
  turn_index: number;
  kind: string;
  mime: string;
}

/** `session.interrupted`: The current exchange was stopped; the run stays open. */
export interface SessionInterrupted extends Common {
  by: Word<"operator" | "agent" | "system" | "timeout" | "parent" | "policy">;
  reason: string;
  dropped_partial: boolean;
}

/** `assistant.tool_call_input_delta`: A piece of a call's input. R1 never writes it: a secret may span pieces. */
export interface AssistantToolCallInputDelta extends Common {
  tool_call_id: string;
  turn_index: number;
  delta: string;
}

/** `tool.started`: A call's execution began. */
export interface ToolStarted extends Common {
  tool_call_id: string;
  tool_name: string;
  kind: Word<"shell" | "git" | "edit" | "multi_edit" | "file_read" | "file_write" | "glob" | "grep" | "todo_write" | "http" | "web_fetch" | "web_search" | "mcp" | "agent" | "memory" | "builtin" | "external">;
  turn_index?: number;
  attempt?: number;
}

/** `tool.shell.command`: A command is about to be spawned. */
export interface ToolShellCommand extends Common {
  tool_call_id: string;
  argv: string[];
  cwd: string;
  /** All names that are really passed. */
  env_keys: string[];
  sandbox_layer: Word<"bwrap" | "landlock" | "sandbox-exec" | "none">;
  timeout_ms?: number;
  command_string?: string;
  network?: boolean;
}

/** `tool.shell.output_chunk`: A piece of a command's output, after redaction. */
export interface ToolShellOutputChunk extends Common {
  tool_call_id: string;
  stream: Word<"stdout" | "stderr">;
  data: string;
  /** Place of the chunk's first byte in its stream, counted after decoding. */
  byte_offset: number;
  /** Absent: `data` is the bytes as UTF-8. */
  encoding?: Word<"base64">;
}

/** `tool.shell.exited`: A spawned command ended. */
export interface ToolShellExited extends Common {
  tool_call_id: string;
  /** −1 when a signal killed it. */
  exit_code: number;
  /** The signal's name, such as `SIGKILL`. */
  signal: string | null;
  stdout_bytes: number;
  stderr_bytes: number;
  /** Whether there was more output than chunks tell. */
  truncated: boolean;
}

/** `tool.git.completed`: The git tool ran a command. */
export interface ToolGitCompleted extends Common {
  tool_call_id: string;
  argv: string[];
  exit_code: number;
  head_before?: string;
  head_after?: string;
}

/** `tool.edit.proposed`: An edit of an existing file is worked out. */
export interface ToolEditProposed extends Common {
  tool_call_id: string;
  patch_artifact_id: string;
  path: string;
  summary: string;
  auto_apply: boolean;
}

/** `tool.edit.applied`: An edit was written to the workspace. */
export interface ToolEditApplied extends Common {
  tool_call_id: string;
  patch_artifact_id: string;
  applied_at: Time;
  path?: string;
  result_revision?: string;
}

/** `tool.edit.reverted`: An edit was undone. */
export interface ToolEditReverted extends Common {
  patch_artifact_id: string;
  reverted_by: Word<"operator" | "agent" | "system" | "timeout" | "parent" | "policy">;
  reason: string;
  inverse_artifact_id?: string;
  path?: string;
  tool_call_id?: string;
}

/** `tool.edit.rejected`: An edit was refused. */
export interface ToolEditRejected extends Common {
  tool_call_id: string;
  patch_artifact_id: string;
  rejected_by: Word<"operator" | "agent" | "system" | "timeout" | "parent" | "policy">;
  reason: string;
}

/** `tool.multi_edit.proposed`: A batch of edits, one that stands or falls together, is worked out. */
export interface ToolMultiEditProposed extends Common {
  tool_call_id: string;
  patch_artifact_ids: string[];
  summary: string;
  auto_apply: boolean;
  paths?: string[];
}

/** `tool.multi_edit.applied`: A batch of edits was written to the workspace. */
export interface ToolMultiEditApplied extends Common {
  tool_call_id: string;
  patch_artifact_ids: string[];
  applied_at: Time;
  paths?: string[];
  result_revision?: string;
}

/** `tool.multi_edit.reverted`: A batch of edits was undone. */
export interface ToolMultiEditReverted extends Common {
  patch_artifact_ids: string[];
  reverted_by: Word<"operator" | "agent" | "system" | "timeout" | "parent" | "policy">;
  reason: string;
  inverse_artifact_id?: string;
  paths?: string[];
  tool_call_id?: string;
}

/** `tool.multi_edit.rejected`: A batch of edits was refused. */
export interface ToolMultiEditRejected extends Common {
  tool_call_id: string;
  patch_artifact_ids: string[];
  rejected_by: Word<"operator" | "agent" | "system" | "timeout" | "parent" | "policy">;
  reason: string;
  paths?: string[];
}

/** `tool.file_write.proposed`: A new file is worked out. */
export interface ToolFileWriteProposed extends Common {
  tool_call_id: string;
  patch_artifact_id: string;
  path: string;
  summary: string;
  auto_apply: boolean;
}

/** `tool.file_write.applied`: A new file was written to the workspace. */
export interface ToolFileWriteApplied extends Common {
  tool_call_id: string;
  patch_artifact_id: string;
  applied_at: Time;
  path?: string;
  result_revision?: string;
}

/** `tool.file_write.rejected`: A new file was refused. */
export interface ToolFileWriteRejected extends Common {
  tool_call_id: string;
  patch_artifact_id: string;
  rejected_by: Word<"operator" | "agent" | "system" | "timeout" | "parent" | "policy">;
  reason: string;
}

/** `tool.file.patch`: A patch, as other producers tell it. */
export interface ToolFilePatch extends Common {
  tool_call_id: string;
  path: string;
  artifact_id: string;
  artifact_status: string;
  operation?: string;
  before_existed?: boolean;
}

/** `tool.file.applied`: A patch was applied, as other producers tell it. */
export interface ToolFileApplied extends Common {
  tool_call_id: string;
  path: string;
  artifact_id: string;
  artifact_status: string;
  operation?: string;
  before_existed?: boolean;
}

/** `tool.file.reverted`: A patch was undone, as other producers tell it. */
export interface ToolFileReverted extends Common {
  tool_call_id: string;
  path: string;
  artifact_id: string;
  artifact_status: string;
  operation?: string;
  before_existed?: boolean;
}

/** `tool.file_read.completed`: A file was read. */
export interface ToolFileReadCompleted extends Common {
  tool_call_id: string;
  path: string;
  size_bytes: number;
  lines: number;
  snippet_artifact_id?: string;
  start_line?: number;
  end_line?: number;
}

/** `tool.glob.completed`: Paths were matched against a pattern. */
export interface ToolGlobCompleted extends Common {
  tool_call_id: string;
  pattern: string;
  /** At most 1,000. */
  matches: string[];
  match_count: number;
  truncated: boolean;
}

/** `tool.grep.completed`: Files were searched. */
export interface ToolGrepCompleted extends Common {
  tool_call_id: string;
  pattern: string;
  files_searched: number;
  /** At most 500. */
  matches: { path: string; line: number; text: string; }[];
  match_count: number;
  truncated: boolean;
}

/** `tool.todo_write.updated`: The list of things to do, whole. */
export interface ToolTodoWriteUpdated extends Common {
  tool_call_id: string;
  todos: ({ content: string; status: Word<"pending" | "in_progress" | "completed">; })[];
}

/** `tool.http.requested`: A request is about to be sent. */
export interface ToolHttpRequested extends Common {
  tool_call_id: string;
  method: string;
  /** Without user and password. */
  url: string;
  /** Names only: values may be secret. */
  header_keys: string[];
}

/** `tool.http.response`: An answer came. */
export interface ToolHttpResponse extends Common {
  tool_call_id: string;
  status: number;
  duration_ms: number;
  body_truncated: boolean;
  body_artifact_id?: string;
  redirects?: string[];
}

/** `tool.web_fetch.requested`: A page is about to be fetched. */
export interface ToolWebFetchRequested extends Common {
  tool_call_id: string;
  method: string;
  /** Without user and password. */
  url: string;
  /** Names only: values may be secret. */
  header_keys: string[];
}

/** `tool.web_fetch.response`: A page came. */
export interface ToolWebFetchResponse extends Common {
  tool_call_id: string;
  status: number;
  duration_ms: number;
  body_truncated: boolean;
  body_artifact_id?: string;
  redirects?: string[];
  extracted_text_artifact_id?: string;
}

/** `tool.web_search.requested`: A search of the web is about to be made. */
export interface ToolWebSearchRequested extends Common {
  tool_call_id: string;
  query: string;
  provider: string;
}

/** `tool.web_search.response`: Results of a search of the web. */
export interface ToolWebSearchResponse extends Common {
  tool_call_id: string;
  status: number;
  duration_ms: number;
  /** At most 50. */
  hits: { title: string; url: string; snippet: string; }[];
  results_artifact_id?: string;
}

/** `approval.requested`: A call needs a person; shows exactly what will run. */
export interface ApprovalRequested extends Common {
  approval_id: string;
  kind: Word<"shell" | "git" | "edit" | "multi_edit" | "file_read" | "file_write" | "glob" | "grep" | "todo_write" | "http" | "web_fetch" | "web_search" | "mcp" | "agent" | "memory" | "builtin" | "external" | "gate" | "soft_pass" | "ac_rewrite" | "critical_note" | "consent">;
  summary: string;
  policy_reason: string;
  /** BLAKE3 of the tool's name and its canonical input. */
  subject_hash: string;
  expires_at: Time | null;
  scopes: (Word<"once" | "session" | "always">)[];
  tool_call_id?: string;
  tool_name?: string;
  input?: Record<string, unknown>;
  argv?: string[];
  cwd?: string;
  patch_artifact_ids?: string[];
  approver?: Word<"any" | "human">;
  options?: Record<string, unknown>[];
}

/** `approval.resolved`: Someone decided, or the run ended first. */
export interface ApprovalResolved extends Common {
  approval_id: string;
  decision: Word<"approved" | "rejected" | "cancelled">;
  by: Word<"operator" | "agent" | "system" | "timeout" | "parent" | "policy">;
  comment: string;
  scope?: Word<"once" | "session" | "always">;
  /** Whether the approver changed the input. */
  edited?: boolean;
  /** What runs instead, if so. */
  edited_input?: Record<string, unknown>;
  grant?: Record<string, unknown>;
}

/** `approval.timed_out`: Nobody answered. */
export interface ApprovalTimedOut extends Common {
  approval_id: string;
  after_seconds: number;
}

/** `artifact.created`: An artifact exists; its body was durable before this event. */
export interface ArtifactCreated extends Common {
  artifact_id: string;
  kind: Word<"patch" | "file_snapshot" | "command_output" | "fetched_resource" | "search_results" | "image" | "tool_result_blob" | "commit" | "skill">;
  size_bytes: number;
  summary: string;
  created_by_event_id: string;
  /** `blake3:` and hex. */
  digest: string;
  sha256: string;
  mime?: string;
  status?: Word<"created" | "proposed" | "applied" | "rejected">;
  name?: string;
  path?: string;
  tool_call_id?: string;
  /** Whether a body that is never rewritten seems to hold a secret. */
  contains_secrets?: boolean;
  /** What else is known of it, by kind. */
  metadata?: Record<string, unknown>;
  /** What a patch starts from and makes: all that applying and reverting it needs. */
  patch?: Record<string, unknown>;
}

/** `artifact.referenced`: An event uses an artifact. */
export interface ArtifactReferenced extends Common {
  artifact_id: string;
  by_event_id: string;
  relation: Word<"consumed" | "produced" | "attached" | "reverts">;
}

/** `artifact.updated`: A step in an artifact's life. */
export interface ArtifactUpdated extends Common {
  artifact_id: string;
  field: Word<"status" | "applied_at" | "rejected_at" | "reverted_at" | "pinned">;
  old_value: unknown;
  new_value: unknown;
  by?: Word<"operator" | "agent" | "system" | "timeout" | "parent" | "policy">;
}

/** `cost.tick`: What was used so far; after each turn and each child's end. */
export interface CostTick extends Common {
  cumulative_input_tokens: number;
  cumulative_output_tokens: number;
  cumulative_cost_micros_usd: number;
  task_budget_micros_usd?: number;
  task_budget_remaining_micros_usd?: number;
  run_cost_micros_usd?: number;
}

/** `cost.budget_warning`: A share of the budget is used up; once per threshold. */
export interface CostBudgetWarning extends Common {
  threshold_pct: number;
  cumulative_cost_micros_usd: number;
  task_budget_micros_usd: number;
  limit?: Word<"usd" | "input_tokens" | "output_tokens" | "turns" | "wall_clock">;
}

/** `policy.tool_blocked`: A rule refused a call; this closes it. */
export interface PolicyToolBlocked extends Common {
  tool_call_id: string;
  tool_name: string;
  reason: string;
  policy_id?: string;
  kind?: Word<"shell" | "git" | "edit" | "multi_edit" | "file_read" | "file_write" | "glob" | "grep" | "todo_write" | "http" | "web_fetch" | "web_search" | "mcp" | "agent" | "memory" | "builtin" | "external">;
  mcp_server?: string;
  mcp_tool?: string;
  result?: Word<"blocked">;
}

/** `policy.tool_allowed`: A rule or a grant let a call pass that would have been asked for. */
export interface PolicyToolAllowed extends Common {
  tool_call_id: string;
  tool_name: string;
  reason: string;
  policy_id?: string;
  grant_approval_id?: string;
}

/** `policy.model_rewrote`: Another model than the one asked for answers. */
export interface PolicyModelRewrote extends Common {
  from_model: string;
  to_model: string;
  reason: string;
  policy_id?: string;
}

/** `error.tool_unavailable`: A tool cannot be used. */
export interface ErrorToolUnavailable extends Common {
  tool_name: string;
  reason: string;
}

/** `error.model_capability_missing`: A model cannot do what was asked. */
export interface ErrorModelCapabilityMissing extends Common {
  model: string;
  missing_capability: string;
  fallback_strategy: string;
}

/** `error.upstream`: A request to a provider failed. */
export interface ErrorUpstream extends Common {
  provider: string;
  /** 0 without an HTTP answer. */
  status: number;
  message: string;
  retriable: boolean;
  attempt: number;
  max_attempts: number;
}

/** `gap.events_pruned`: The first events of the run are gone. Never stored: made from the record of the pruning. */
export interface GapEventsPruned extends Common {
  first_pruned_sequence: number;
  last_pruned_sequence: number;
  pruned_at: Time;
  reason: string;
  /** Merkle root of the events that are gone. */
  root?: string;
  graph?: Record<string, unknown>;
}

/** `gap.run_disconnected`: The run's worker was gone for a while. */
export interface GapRunDisconnected extends Common {
  since_sequence: number;
  since_at: Time;
  reason: Word<"worker_lease_expired" | "recorder_lost" | "store_recovered">;
  worker_id?: string;
  action?: Word<"requeued" | "paused" | "failed">;
}

/** `gap.artifact_capped`: A body was cut or refused. */
export interface GapArtifactCapped extends Common {
  kind: Word<"patch" | "file_snapshot" | "command_output" | "fetched_resource" | "search_results" | "image" | "tool_result_blob" | "commit" | "skill">;
  limit_bytes: number;
  actual_bytes: number;
  kept: Word<"head" | "head_tail" | "none">;
  artifact_id?: string;
}

/** `lane.created`: A lane opened. */
export interface LaneCreated extends Omit<Common, "lane_id"> {
  lane_id: string;
  kind: Word<"main" | "lobe" | "tool" | "mission_task" | "router">;
  label: string;
  started_at: Time;
  parent_lane_id?: string;
  lobe_name?: string;
  tool_call_id?: string;
  task_id?: string;
  run_id?: string;
}

/** `lane.status`: A lane is doing otherwise than before. */
export interface LaneStatus extends Omit<Common, "lane_id"> {
  lane_id: string;
  status: Word<"pending" | "running" | "blocked" | "done" | "errored" | "cancelled">;
  prev_status: Word<"pending" | "running" | "blocked" | "done" | "errored" | "cancelled">;
  reason_code: string;
  reason: string;
  ended_at?: Time;
}

/** `lane.killed`: Someone stopped a lane. */
export interface LaneKilled extends Omit<Common, "lane_id"> {
  lane_id: string;
  reason: string;
  by: Word<"operator" | "agent" | "system" | "timeout" | "parent" | "policy">;
  parent_lane_id?: string;
}

/** `lane.pin_changed`: A lane was pinned or let go. */
export interface LanePinChanged extends Omit<Common, "lane_id"> {
  lane_id: string;
  pinned: boolean;
  by: Word<"operator" | "agent" | "system" | "timeout" | "parent" | "policy">;
}

/** `lane.delta`: A view on what a lane says. R1 never logs it. */
export interface LaneDelta extends Common {
  delta_seq?: number;
  content_block?: Record<string, unknown>;
  [other: string]: unknown;
}

/** `lane.cost`: A view on what a lane costs. R1 never logs it. */
export interface LaneCost extends Common {
  tokens_in?: number;
  tokens_out?: number;
  cached_tokens?: number;
  cost_micros_usd?: number;
  [other: string]: unknown;
}

/** `lane.note`: A view on a note of a lane. R1 never logs it. */
export interface LaneNote extends Common {
  note_id?: string;
  severity?: string;
  kind?: string;
  summary?: string;
  [other: string]: unknown;
}

/** `cortex.note`: A lobe noticed something. */
export interface CortexNote extends Common {
  note_id: string;
  lobe: string;
  severity: Word<"info" | "advice" | "warning" | "critical">;
  title: string;
  body: string;
  tags: string[];
  /** The note that this one closes. */
  resolves?: string;
  round?: number;
}

/** `cortex.note_pinned`: A note was pinned or let go. */
export interface CortexNotePinned extends Common {
  note_id: string;
  pinned: boolean;
  by: Word<"operator" | "agent" | "system" | "timeout" | "parent" | "policy">;
}

/** `cortex.note_overridden`: The exchange ended although a critical note is open. */
export interface CortexNoteOverridden extends Common {
  note_id: string;
  by: Word<"operator" | "agent" | "system" | "timeout" | "parent" | "policy">;
}

/** `cortex.round_closed`: A round ended: these notes go into the next step, those came late. */
export interface CortexRoundClosed extends Common {
  round: number;
  drained: string[];
  late: string[];
}

/** `cortex.routed`: A message in the middle of an exchange was dealt with. */
export interface CortexRouted extends Common {
  message_id: string;
  decision: Word<"interrupt" | "steer" | "queue_mission" | "just_chat">;
  detail?: Record<string, unknown>;
}

/** `cortex.lobe_state`: A lobe was paused, resumed or cannot work. */
export interface CortexLobeState extends Common {
  lobe: string;
  state: Word<"running" | "paused" | "unavailable">;
  by: Word<"operator" | "agent" | "system" | "timeout" | "parent" | "policy">;
}

/** `cortex.lobe_failed`: A lobe failed. */
export interface CortexLobeFailed extends Common {
  lobe: string;
  error: string;
  /** How often in a row. */
  failures: number;
}

/** `note.published`: `cortex.note` by the name that other producers give it. */
export interface NotePublished extends Common {
  note_id: string;
  lobe: string;
  severity: Word<"info" | "advice" | "warning" | "critical">;
  title: string;
  body: string;
  tags: string[];
  resolves?: string;
  round?: number;
}

/** `mission.created`: A mission was accepted. */
export interface MissionCreated extends Common {
  mission_id: string;
  title: string;
  task_count: number;
  priority?: string;
}

/** `mission.phase`: A mission went on to another phase. */
export interface MissionPhase extends Common {
  mission_id: string;
  from: string;
  to: string;
  reason?: string;
}

/** `mission.task`: A task of a mission is in another state. */
export interface MissionTask extends Common {
  mission_id: string;
  task_id: string;
  state: string;
  attempt?: number;
  child_run_id?: string;
  worktree_id?: string;
}

/** `worktree.created`: A worktree exists. */
export interface WorktreeCreated extends Common {
  worktree_id: string;
  path: string;
  branch: string;
  base_commit: string;
}

/** `worktree.merged`: A worktree's work went into its base. */
export interface WorktreeMerged extends Common {
  worktree_id: string;
  strategy: string;
  commit: string;
}

/** `worktree.cleaned`: A worktree is gone. */
export interface WorktreeCleaned extends Common {
  worktree_id: string;
  archive_ref?: string;
}

/** `verify.completed`: A worktree was built, tested or linted. */
export interface VerifyCompleted extends Common {
  worktree_id: string;
  what: Word<"build" | "test" | "lint">;
  passed: boolean;
  exit_code: number;
  duration_ms: number;
  log_artifact_id?: string;
}

/** `plan.updated`: The plan changed. */
export interface PlanUpdated extends Common {
  changes: Record<string, unknown>[];
  by: Word<"operator" | "agent" | "system" | "timeout" | "parent" | "policy">;
}

/** `api.consent`: A person allowed a client to do something. */
export interface ApiConsent extends Common {
  client: string;
  caps: string[];
  tool: string;
  mode: string;
}

/** `api.denied`: A client lacked a capability. */
export interface ApiDenied extends Common {
  tool: string;
  need: string;
  have: string[];
}

/** `memory.read`: Something was looked up. */
export interface MemoryRead extends Common {
  tier: Word<"L0" | "L1" | "L2" | "L3">;
  store: string;
  key: string;
  by: Word<"agent" | "runtime" | "operator">;
  hit: boolean;
  fingerprint?: string;
  value?: unknown;
  call_id?: string;
}

/** `memory.write`: Something was remembered or forgotten. */
export interface MemoryWrite extends Common {
  tier: Word<"L0" | "L1" | "L2" | "L3">;
  store: string;
  key: string;
  by: Word<"agent" | "runtime" | "operator">;
  op: Word<"set" | "delete">;
  diff_hash: string;
  fingerprint?: string;
  prior_fingerprint?: string;
  value?: unknown;
  call_id?: string;
}

/** `phase.transition`: A task went on to another phase. */
export interface PhaseTransition extends Common {
  task_id: string;
  round: number;
  from: string;
  to: Word<"PLAN" | "EXECUTE" | "VERIFY" | "COMMIT" | "END">;
  preset: string;
  preset_hash: string;
  /** Gates that had to pass. */
  required: string[];
}

/** `phase.transition_refused`: A task may not go on to another phase. */
export interface PhaseTransitionRefused extends Common {
  task_id: string;
  round: number;
  from: string;
  to: string;
  /** Gates that did not pass. */
  missing: string[];
}

/** `gate.decision`: A gate looked and decided. */
export interface GateDecision extends Common {
  task_id: string;
  round: number;
  gate_id: string;
  transition: string;
  phase: string;
  boundary: Word<"entry" | "exit">;
  gate_version: string;
  verdict: Word<"allow" | "block" | "escalate">;
  reason_code: string;
  threshold: number;
  blocker: boolean;
  preset: string;
  preset_hash: string;
  inputs_hash: string;
  duration_ms: number;
  score?: number;
  evidence_hash?: string;
  command?: string;
  exit_code?: number;
  excluded?: string[];
}

/** `gate.override`: A person overrode a gate. */
export interface GateOverride extends Omit<Common, "actor"> {
  /** The decision's id in the receipt. */
  of: string;
  actor: { kind: Word<"operator" | "agent" | "system">; id?: string; client?: string; via?: Word<"mcp" | "http" | "ws" | "web" | "tui" | "cli" | "stdin">; };
  reason: string;
  approval_id?: string;
}

/** `skill.authoring_decision`: A step in the making of a skill. */
export interface SkillAuthoringDecision extends Common {
  wizard_id: string;
  step: number;
  stage: string;
  question_id: string;
  mode: string;
  answer: string;
  interpretation: string;
  /** 0 to 1000. */
  confidence: number;
  path: string;
  confirmed: boolean;
  revision_of?: string;
}

/** `beacon.event`: Something happened at a beacon. */
export interface BeaconEvent extends Common {
  beacon_id: string;
  kind: string;
  operator_id: string;
  device_id: string;
  /** Digests of certificates and tokens, the leaf's first. */
  chain: string[];
  bridge: string;
  detail: Record<string, unknown>;
}

/** `stoke.plan.ready`: A plan is ready. */
export interface StokePlanReady extends Common {
  mission_id: string;
  sow_title: string;
  total_sessions: number;
  estimated_cost_micros_usd: number;
  session_ids: string[];
  total_tasks: number;
}

/** `stoke.session.start`: A session of a plan began. */
export interface StokeSessionStart extends Common {
  title: string;
  task_count: number;
  plan_session_id?: string;
  child_session_id?: string;
}

/** `stoke.session.end`: A session of a plan ended. */
export interface StokeSessionEnd extends Common {
  outcome: string;
  cost_micros_usd: number;
  duration_ms: number;
  plan_session_id?: string;
  tasks_passed?: number;
  tasks_failed?: number;
}

/** `stoke.task.start`: A task of a plan began. */
export interface StokeTaskStart extends Common {
  task_id: string;
  title: string;
  attempt: number;
  plan_session_id?: string;
  child_session_id?: string;
}

/** `stoke.task.end`: A task of a plan ended. */
export interface StokeTaskEnd extends Common {
  task_id: string;
  outcome: string;
  duration_ms: number;
  tool_calls: number;
  cost_micros_usd: number;
  receipt_digest?: string;
}

/** `stoke.ac.result`: An acceptance criterion was checked. */
export interface StokeAcResult extends Common {
  ac_id: string;
  passed: boolean;
  /** At most 2 KiB. */
  output: string;
  task_id?: string;
  output_truncated?: boolean;
}

/** `stoke.cost`: What was spent. */
export interface StokeCost extends Common {
  cost_micros_usd: number;
  input_tokens: number;
  output_tokens: number;
}

/** `stoke.descent.start`: A criterion that did not hold is being worked on. */
export interface StokeDescentStart extends Common {
  ac_id: string;
  criterion_description: string;
}

/** `stoke.descent.tier`: The work on a criterion went to another tier. */
export interface StokeDescentTier extends Common {
  ac_id: string;
  from_tier: string;
  to_tier: string;
  reason: string;
}

/** `stoke.descent.resolve`: The work on a criterion ended. */
export interface StokeDescentResolve extends Common {
  ac_id: string;
  outcome: string;
  tier_reached: string;
  category: string;
  reason: string;
}

/** `stoke.delegation.verify`: Delegated work was checked. */
export interface StokeDelegationVerify extends Common {
  contract_id: string;
  ac_id: string;
  outcome: string;
  tier_reached: string;
}

/** `stoke.delegation.settle`: Delegated work was settled. */
export interface StokeDelegationSettle extends Common {
  contract_id: string;
  settlement_id?: string;
}

/** `redaction.applied`: Payloads are erased, after this event. */
export interface RedactionApplied extends Common {
  run_id: string;
  sequences: number[];
  by: Word<"operator" | "agent" | "system" | "timeout" | "parent" | "policy">;
  reason: string;
  detector?: string;
  nodes?: Record<string, unknown>[];
}

/** `source.attached`: A source of this run's events. */
export interface SourceAttached extends Common {
  /** Number of the source in its run. */
  n: number;
  agent: string;
  surface: string;
  version?: string;
  session_id?: string;
  path?: string;
  argv?: string[];
  endpoint?: string;
  generation?: number;
}

/** `source.evidence`: Bytes of a source are kept; announced before the events that cite them. */
export interface SourceEvidence extends Common {
  n: number;
  off: number;
  len: number;
  records: number;
  digest: string;
  /** The pieces that give the bytes back. */
  rope?: unknown;
}

/** `source.detached`: A source went away. */
export interface SourceDetached extends Common {
  n: number;
  reason?: string;
}

/** `turn.usage`: A later record raised what a turn used. */
export interface TurnUsage extends Common {
  turn_id: string;
  usage: Record<string, unknown>;
}

/** `turn.interrupted`: A turn was stopped from outside. */
export interface TurnInterrupted extends Common {
  turn_id?: string;
  reason?: string;
}

/** `run.interrupt_requested`: Someone asked the agent to stop. */
export interface RunInterruptRequested extends Common {
  by?: string;
  reason?: string;
}

/** `hook.completed`: A hook of the agent ran. */
export interface HookCompleted extends Common {
  event: string;
  name?: string;
  outcome?: string;
  exit_code?: number;
  duration_ms?: number;
}

/** `redaction.applied_at_capture`: Secrets were replaced before anything was kept. */
export interface RedactionAppliedAtCapture extends Common {
  n: number;
  off: number;
  spans: unknown;
  kinds: unknown;
}

/** `process.output`: What a process said of which nothing more is known. */
export interface ProcessOutput extends Common {
  stream: Word<"stdout" | "stderr">;
  data: string;
  byte_offset: number;
  encoding?: Word<"base64">;
}

/** `opaque.record`: A record that R1 does not understand; its evidence is complete. */
export interface OpaqueRecord extends Common {
  agent: string;
  surface: string;
  record_type?: string;
  size?: number;
}

/** `source.reconciled`: Two sources of a run were compared. */
export interface SourceReconciled extends Common {
  n: number;
  [other: string]: unknown;
}

/** `context.injected`: The agent itself put text into the context. */
export interface ContextInjected extends Common {
  [other: string]: unknown;
}

/** `run.rolled_back`: The agent's conversation was taken back. */
export interface RunRolledBack extends Common {
  [other: string]: unknown;
}

/** `model.request`: An exact request to a model. */
export interface ModelRequest extends Common {
  [other: string]: unknown;
}

/** `model.response`: An exact answer of a model. */
export interface ModelResponse extends Common {
  [other: string]: unknown;
}

/** `policy.context`: Under which rules the agent works. */
export interface PolicyContext extends Common {
  [other: string]: unknown;
}

/** `finding.*`: Something about a recording that a person should know. */
export interface Finding extends Common {
  severity?: string;
  [other: string]: unknown;
}

/** `agent.*`: A record of a foreign agent. */
export interface Agent extends Common {
  [other: string]: unknown;
}

/** `external.*`: Appended through the API. */
export interface External extends Common {
  [other: string]: unknown;
}

/** What events say in runs of R1's own, by type. */
export interface OwnData {
  "run.queued": RunQueued;
  "run.released": RunReleased;
  "run.throttled": RunThrottled;
  "run.started": RunStarted;
  "run.handed_over": RunHandedOver;
  "run.branched_from": RunBranchedFrom;
  "run.checkpoint_saved": RunCheckpointSaved;
  "run.child_started": RunChildStarted;
  "run.child_finished": RunChildFinished;
  "task.updated": TaskUpdated;
  "run.resumed_from_event": RunResumedFromEvent;
  "run.resumed": RunResumed;
  "run.side_effect": RunSideEffect;
  "run.context_truncated": RunContextTruncated;
  "run.finished": RunFinished;
  "run.failed": RunFailed;
  "run.cancelled": RunCancelled;
  "turn.started": TurnStarted;
  "turn.completed": TurnCompleted;
  "turn.failed": TurnFailed;
  "assistant.thinking_complete": AssistantThinkingComplete;
  "user.message": UserMessage;
  "tool.invoked": ToolInvoked;
  "tool.completed": ToolCompleted;
  "tool.failed": ToolFailed;
  "tool.cancelled": ToolCancelled;
  "tool.timed_out": ToolTimedOut;
  "cost.budget_exceeded": CostBudgetExceeded;
  "assistant.text_delta": AssistantTextDelta;
  "assistant.text_complete": AssistantTextComplete;
  "assistant.thinking_delta": AssistantThinkingDelta;
  "assistant.tool_call_proposed": AssistantToolCallProposed;
  "assistant.image_block": AssistantImageBlock;
  "assistant.final_answer": AssistantFinalAnswer;
  "user.attachment": UserAttachment;
  "session.interrupted": SessionInterrupted;
  "assistant.tool_call_input_delta": AssistantToolCallInputDelta;
  "tool.started": ToolStarted;
  "tool.shell.command": ToolShellCommand;
  "tool.shell.output_chunk": ToolShellOutputChunk;
  "tool.shell.exited": ToolShellExited;
  "tool.git.completed": ToolGitCompleted;
  "tool.edit.proposed": ToolEditProposed;
  "tool.edit.applied": ToolEditApplied;
  "tool.edit.reverted": ToolEditReverted;
  "tool.edit.rejected": ToolEditRejected;
  "tool.multi_edit.proposed": ToolMultiEditProposed;
  "tool.multi_edit.applied": ToolMultiEditApplied;
  "tool.multi_edit.reverted": ToolMultiEditReverted;
  "tool.multi_edit.rejected": ToolMultiEditRejected;
  "tool.file_write.proposed": ToolFileWriteProposed;
  "tool.file_write.applied": ToolFileWriteApplied;
  "tool.file_write.rejected": ToolFileWriteRejected;
  "tool.file.patch": ToolFilePatch;
  "tool.file.applied": ToolFileApplied;
  "tool.file.reverted": ToolFileReverted;
  "tool.file_read.completed": ToolFileReadCompleted;
  "tool.glob.completed": ToolGlobCompleted;
  "tool.grep.completed": ToolGrepCompleted;
  "tool.todo_write.updated": ToolTodoWriteUpdated;
  "tool.http.requested": ToolHttpRequested;
  "tool.http.response": ToolHttpResponse;
  "tool.web_fetch.requested": ToolWebFetchRequested;
  "tool.web_fetch.response": ToolWebFetchResponse;
  "tool.web_search.requested": ToolWebSearchRequested;
  "tool.web_search.response": ToolWebSearchResponse;
  "approval.requested": ApprovalRequested;
  "approval.resolved": ApprovalResolved;
  "approval.timed_out": ApprovalTimedOut;
  "artifact.created": ArtifactCreated;
  "artifact.referenced": ArtifactReferenced;
  "artifact.updated": ArtifactUpdated;
  "cost.tick": CostTick;
  "cost.budget_warning": CostBudgetWarning;
  "policy.tool_blocked": PolicyToolBlocked;
  "policy.tool_allowed": PolicyToolAllowed;
  "policy.model_rewrote": PolicyModelRewrote;
  "error.tool_unavailable": ErrorToolUnavailable;
  "error.model_capability_missing": ErrorModelCapabilityMissing;
  "error.upstream": ErrorUpstream;
  "gap.events_pruned": GapEventsPruned;
  "gap.run_disconnected": GapRunDisconnected;
  "gap.artifact_capped": GapArtifactCapped;
  "lane.created": LaneCreated;
  "lane.status": LaneStatus;
  "lane.killed": LaneKilled;
  "lane.pin_changed": LanePinChanged;
  "lane.delta": LaneDelta;
  "lane.cost": LaneCost;
  "lane.note": LaneNote;
  "cortex.note": CortexNote;
  "cortex.note_pinned": CortexNotePinned;
  "cortex.note_overridden": CortexNoteOverridden;
  "cortex.round_closed": CortexRoundClosed;
  "cortex.routed": CortexRouted;
  "cortex.lobe_state": CortexLobeState;
  "cortex.lobe_failed": CortexLobeFailed;
  "note.published": NotePublished;
  "mission.created": MissionCreated;
  "mission.phase": MissionPhase;
  "mission.task": MissionTask;
  "worktree.created": WorktreeCreated;
  "worktree.merged": WorktreeMerged;
  "worktree.cleaned": WorktreeCleaned;
  "verify.completed": VerifyCompleted;
  "plan.updated": PlanUpdated;
  "api.consent": ApiConsent;
  "api.denied": ApiDenied;
  "memory.read": MemoryRead;
  "memory.write": MemoryWrite;
  "phase.transition": PhaseTransition;
  "phase.transition_refused": PhaseTransitionRefused;
  "gate.decision": GateDecision;
  "gate.override": GateOverride;
  "skill.authoring_decision": SkillAuthoringDecision;
  "beacon.event": BeaconEvent;
  "stoke.plan.ready": StokePlanReady;
  "stoke.session.start": StokeSessionStart;
  "stoke.session.end": StokeSessionEnd;
  "stoke.task.start": StokeTaskStart;
  "stoke.task.end": StokeTaskEnd;
  "stoke.ac.result": StokeAcResult;
  "stoke.cost": StokeCost;
  "stoke.descent.start": StokeDescentStart;
  "stoke.descent.tier": StokeDescentTier;
  "stoke.descent.resolve": StokeDescentResolve;
  "stoke.delegation.verify": StokeDelegationVerify;
  "stoke.delegation.settle": StokeDelegationSettle;
  "redaction.applied": RedactionApplied;
  "source.attached": SourceAttached;
  "source.evidence": SourceEvidence;
  "source.detached": SourceDetached;
  "turn.usage": TurnUsage;
  "turn.interrupted": TurnInterrupted;
  "run.interrupt_requested": RunInterruptRequested;
  "hook.completed": HookCompleted;
  "redaction.applied_at_capture": RedactionAppliedAtCapture;
  "process.output": ProcessOutput;
  "opaque.record": OpaqueRecord;
  "source.reconciled": SourceReconciled;
  "context.injected": ContextInjected;
  "run.rolled_back": RunRolledBack;
  "model.request": ModelRequest;
  "model.response": ModelResponse;
  "policy.context": PolicyContext;
  [type: `finding.${string}`]: Finding;
  [type: `agent.${string}`]: Agent;
  [type: `external.${string}`]: External;
}

/** The fields of each type that are there whoever wrote the event. */
export interface Identity {
  "run.queued": never;
  "run.released": never;
  "run.throttled": never;
  "run.started": never;
  "run.handed_over": never;
  "run.branched_from": "from_run_id" | "from_sequence";
  "run.checkpoint_saved": "checkpoint_id";
  "run.child_started": "child_run_id";
  "run.child_finished": "child_run_id";
  "task.updated": never;
  "run.resumed_from_event": "from_run_id" | "from_sequence";
  "run.resumed": "at_sequence";
  "run.side_effect": "name";
  "run.context_truncated": never;
  "run.finished": never;
  "run.failed": never;
  "run.cancelled": never;
  "turn.started": never;
  "turn.completed": never;
  "turn.failed": never;
  "assistant.thinking_complete": never;
  "user.message": never;
  "tool.invoked": "tool_call_id";
  "tool.completed": "tool_call_id";
  "tool.failed": "tool_call_id";
  "tool.cancelled": "tool_call_id";
  "tool.timed_out": "tool_call_id";
  "cost.budget_exceeded": never;
  "assistant.text_delta": never;
  "assistant.text_complete": never;
  "assistant.thinking_delta": never;
  "assistant.tool_call_proposed": "tool_call_id";
  "assistant.image_block": "artifact_id";
  "assistant.final_answer": never;
  "user.attachment": "artifact_id";
  "session.interrupted": never;
  "assistant.tool_call_input_delta": "tool_call_id";
  "tool.started": "tool_call_id";
  "tool.shell.command": "tool_call_id";
  "tool.shell.output_chunk": "tool_call_id";
  "tool.shell.exited": "tool_call_id";
  "tool.git.completed": "tool_call_id";
  "tool.edit.proposed": "tool_call_id" | "patch_artifact_id";
  "tool.edit.applied": "tool_call_id" | "patch_artifact_id";
  "tool.edit.reverted": "patch_artifact_id";
  "tool.edit.rejected": "tool_call_id" | "patch_artifact_id";
  "tool.multi_edit.proposed": "tool_call_id" | "patch_artifact_ids";
  "tool.multi_edit.applied": "tool_call_id" | "patch_artifact_ids";
  "tool.multi_edit.reverted": "patch_artifact_ids";
  "tool.multi_edit.rejected": "tool_call_id" | "patch_artifact_ids";
  "tool.file_write.proposed": "tool_call_id" | "patch_artifact_id";
  "tool.file_write.applied": "tool_call_id" | "patch_artifact_id";
  "tool.file_write.rejected": "tool_call_id" | "patch_artifact_id";
  "tool.file.patch": "tool_call_id" | "path" | "artifact_id";
  "tool.file.applied": "tool_call_id" | "path" | "artifact_id";
  "tool.file.reverted": "tool_call_id" | "path" | "artifact_id";
  "tool.file_read.completed": "tool_call_id";
  "tool.glob.completed": "tool_call_id";
  "tool.grep.completed": "tool_call_id";
  "tool.todo_write.updated": "tool_call_id";
  "tool.http.requested": "tool_call_id";
  "tool.http.response": "tool_call_id";
  "tool.web_fetch.requested": "tool_call_id";
  "tool.web_fetch.response": "tool_call_id";
  "tool.web_search.requested": "tool_call_id";
  "tool.web_search.response": "tool_call_id";
  "approval.requested": "approval_id";
  "approval.resolved": "approval_id";
  "approval.timed_out": "approval_id";
  "artifact.created": "artifact_id";
  "artifact.referenced": "artifact_id";
  "artifact.updated": "artifact_id";
  "cost.tick": never;
  "cost.budget_warning": never;
  "policy.tool_blocked": "tool_call_id";
  "policy.tool_allowed": "tool_call_id";
  "policy.model_rewrote": never;
  "error.tool_unavailable": never;
  "error.model_capability_missing": never;
  "error.upstream": never;
  "gap.events_pruned": "first_pruned_sequence" | "last_pruned_sequence";
  "gap.run_disconnected": never;
  "gap.artifact_capped": never;
  "lane.created": "lane_id";
  "lane.status": "lane_id";
  "lane.killed": "lane_id";
  "lane.pin_changed": "lane_id";
  "lane.delta": never;
  "lane.cost": never;
  "lane.note": never;
  "cortex.note": "note_id";
  "cortex.note_pinned": "note_id";
  "cortex.note_overridden": "note_id";
  "cortex.round_closed": "round";
  "cortex.routed": "message_id";
  "cortex.lobe_state": "lobe";
  "cortex.lobe_failed": "lobe";
  "note.published": "note_id";
  "mission.created": "mission_id";
  "mission.phase": "mission_id";
  "mission.task": "mission_id" | "task_id";
  "worktree.created": "worktree_id";
  "worktree.merged": "worktree_id";
  "worktree.cleaned": "worktree_id";
  "verify.completed": "worktree_id";
  "plan.updated": never;
  "api.consent": never;
  "api.denied": never;
  "memory.read": "tier" | "store" | "key";
  "memory.write": "tier" | "store" | "key";
  "phase.transition": "task_id" | "round";
  "phase.transition_refused": "task_id" | "round";
  "gate.decision": "task_id" | "round" | "gate_id";
  "gate.override": "of";
  "skill.authoring_decision": "wizard_id" | "step";
  "beacon.event": "beacon_id";
  "stoke.plan.ready": "mission_id";
  "stoke.session.start": never;
  "stoke.session.end": never;
  "stoke.task.start": "task_id";
  "stoke.task.end": "task_id";
  "stoke.ac.result": "ac_id";
  "stoke.cost": never;
  "stoke.descent.start": "ac_id";
  "stoke.descent.tier": "ac_id";
  "stoke.descent.resolve": "ac_id";
  "stoke.delegation.verify": "contract_id";
  "stoke.delegation.settle": "contract_id";
  "redaction.applied": "run_id" | "sequences";
  "source.attached": "n";
  "source.evidence": "n" | "off" | "len";
  "source.detached": "n";
  "turn.usage": "turn_id";
  "turn.interrupted": never;
  "run.interrupt_requested": never;
  "hook.completed": never;
  "redaction.applied_at_capture": "n" | "off";
  "process.output": never;
  "opaque.record": never;
  "source.reconciled": "n";
  "context.injected": never;
  "run.rolled_back": never;
  "model.request": never;
  "model.response": never;
  "policy.context": never;
  [type: `finding.${string}`]: never;
  [type: `agent.${string}`]: never;
  [type: `external.${string}`]: never;
}

/** Every known type. */
export const eventTypes = [
  "run.queued",
  "run.released",
  "run.throttled",
  "run.started",
  "run.handed_over",
  "run.branched_from",
  "run.checkpoint_saved",
  "run.child_started",
  "run.child_finished",
  "task.updated",
  "run.resumed_from_event",
  "run.resumed",
  "run.side_effect",
  "run.context_truncated",
  "run.finished",
  "run.failed",
  "run.cancelled",
  "turn.started",
  "turn.completed",
  "turn.failed",
  "assistant.thinking_complete",
  "user.message",
  "tool.invoked",
  "tool.completed",
  "tool.failed",
  "tool.cancelled",
  "tool.timed_out",
  "cost.budget_exceeded",
  "assistant.text_delta",
  "assistant.text_complete",
  "assistant.thinking_delta",
  "assistant.tool_call_proposed",
  "assistant.image_block",
  "assistant.final_answer",
  "user.attachment",
  "session.interrupted",
  "assistant.tool_call_input_delta",
  "tool.started",
  "tool.shell.command",
  "tool.shell.output_chunk",
  "tool.shell.exited",
  "tool.git.completed",
  "tool.edit.proposed",
  "tool.edit.applied",
  "tool.edit.reverted",
  "tool.edit.rejected",
  "tool.multi_edit.proposed",
  "tool.multi_edit.applied",
  "tool.multi_edit.reverted",
  "tool.multi_edit.rejected",
  "tool.file_write.proposed",
  "tool.file_write.applied",
  "tool.file_write.rejected",
  "tool.file.patch",
  "tool.file.applied",
  "tool.file.reverted",
  "tool.file_read.completed",
  "tool.glob.completed",
  "tool.grep.completed",
  "tool.todo_write.updated",
  "tool.http.requested",
  "tool.http.response",
  "tool.web_fetch.requested",
  "tool.web_fetch.response",
  "tool.web_search.requested",
  "tool.web_search.response",
  "approval.requested",
  "approval.resolved",
  "approval.timed_out",
  "artifact.created",
  "artifact.referenced",
  "artifact.updated",
  "cost.tick",
  "cost.budget_warning",
  "policy.tool_blocked",
  "policy.tool_allowed",
  "policy.model_rewrote",
  "error.tool_unavailable",
  "error.model_capability_missing",
  "error.upstream",
  "gap.events_pruned",
  "gap.run_disconnected",
  "gap.artifact_capped",
  "lane.created",
  "lane.status",
  "lane.killed",
  "lane.pin_changed",
  "lane.delta",
  "lane.cost",
  "lane.note",
  "cortex.note",
  "cortex.note_pinned",
  "cortex.note_overridden",
  "cortex.round_closed",
  "cortex.routed",
  "cortex.lobe_state",
  "cortex.lobe_failed",
  "note.published",
  "mission.created",
  "mission.phase",
  "mission.task",
  "worktree.created",
  "worktree.merged",
  "worktree.cleaned",
  "verify.completed",
  "plan.updated",
  "api.consent",
  "api.denied",
  "memory.read",
  "memory.write",
  "phase.transition",
  "phase.transition_refused",
  "gate.decision",
  "gate.override",
  "skill.authoring_decision",
  "beacon.event",
  "stoke.plan.ready",
  "stoke.session.start",
  "stoke.session.end",
  "stoke.task.start",
  "stoke.task.end",
  "stoke.ac.result",
  "stoke.cost",
  "stoke.descent.start",
  "stoke.descent.tier",
  "stoke.descent.resolve",
  "stoke.delegation.verify",
  "stoke.delegation.settle",
  "redaction.applied",
  "source.attached",
  "source.evidence",
  "source.detached",
  "turn.usage",
  "turn.interrupted",
  "run.interrupt_requested",
  "hook.completed",
  "redaction.applied_at_capture",
  "process.output",
  "opaque.record",
  "source.reconciled",
  "context.injected",
  "run.rolled_back",
  "model.request",
  "model.response",
  "policy.context",
] as const;

/** What the names of open families begin with. */
export const eventFamilies = ["finding.", "agent.", "external."] as const;

/** The types that this file knows. */
export type EventType = keyof OwnData;

/**
 * What an event of this type says, whoever wrote it: only the fields that say what it is about are sure,
 * because a foreign source, or a log of an older format, may not have told the others.
 */
export type DataOf<Type extends EventType> = Pick<OwnData[Type], Identity[Type] & keyof OwnData[Type]> &
  Partial<OwnData[Type]>;

/** An event of one type. */
export type EventOf<Type extends EventType> = Omit<Envelope, "type" | "data"> & { type: Type; data: DataOf<Type> };

/** An event of one type in a run of R1's own, where every field that R1 promises is there. */
export type OwnEventOf<Type extends EventType> = Omit<Envelope, "type" | "data"> & { type: Type; data: OwnData[Type] };

/** An event of a type that this file knows: `switch` on its `type`. */
export type KnownEvent = { [Type in EventType]: EventOf<Type> }[EventType];

const known: ReadonlySet<string> = new Set<string>(eventTypes);

/** Whether an event's payload was erased. */
export function isErased(event: Envelope): event is Envelope & { data: ErasedData & Record<string, unknown> } {
  return event.data["erased"] === true;
}

/** Whether an event is reasoning that was not asked for. */
export function isHidden(event: Envelope): event is Envelope & { data: HiddenData & Record<string, unknown> } {
  return event.data["hidden"] === true && event.type.startsWith("assistant.thinking_");
}

/**
 * Whether an event is of a known type and says what that type says. Show all others as they are: new types
 * come without a new version of the protocol.
 */
export function isKnownEvent(event: Envelope): event is Envelope & KnownEvent {
  const { type } = event;
  const isKnown = known.has(type) || eventFamilies.some((family) => type.startsWith(family));
  return isKnown && !isErased(event) && !isHidden(event);
}
