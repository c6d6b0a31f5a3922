// A small frontend: tells what an event says, and shows what it does not know as it is.

import type { ApiErrorBody, List, NewTask, Run } from "../src/api.js";
import { type Envelope, type EventOf, type KnownEvent, type OwnEventOf, isErased, isHidden, isKnownEvent } from "../src/events.js";

/** An event in a line. */
export function tell(event: Envelope): string {
  if (isErased(event)) return `erased (${event.data.payload_size} bytes)`;
  if (isHidden(event)) return "thought about something";
  return isKnownEvent(event) ? tellKnown(event) : `${event.type} ${JSON.stringify(event.data)}`;
}

function tellKnown(event: KnownEvent): string {
  switch (event.type) {
    case "turn.started":
      return `asks ${event.data.model ?? "a model"}`;
    case "tool.shell.exited":
      return `${event.data.tool_call_id} exited with ${event.data.exit_code ?? "something"}`;
    case "approval.requested":
      return `asks for ${event.data.approval_id}: ${event.data.summary ?? ""}`;
    case "tool.grep.completed":
      return (event.data.matches ?? []).map((match) => `${match.path}:${match.line}`).join(" ");
    case "lane.created":
      return `lane ${event.data.lane_id}`;
    case "run.failed":
      return (event.data.code satisfies string | undefined) ?? "failed";
    default:
      return event.type;
  }
}

/** In runs of R1's own everything that R1 promises is there. */
export function cost(turn: OwnEventOf<"turn.completed">): number {
  return turn.data.cost_micros_usd;
}

/** Of any other producer's event only what identifies it. */
export function callOf(event: EventOf<"tool.completed">): string {
  // @ts-expect-error: it may not have been told
  const summary: string = event.data.summary;
  void summary;
  // @ts-expect-error: there is no such field
  void event.data.nonsense;
  return event.data.tool_call_id;
}

/** Words are suggested, and others allowed. */
export const stopped: OwnEventOf<"run.cancelled">["data"]["by"][] = ["operator", "a word of tomorrow"];

/** Names of open families are known types too. */
export const external: EventOf<`external.${string}`>["type"] = "external.ci.failed";

export const wanted: NewTask = { prompt: "fix the tests", budget: { micros_usd: 1_000_000 } };

// @ts-expect-error: there is no such kind
export const unwanted: NewTask = { kind: "magic" };

/** Objects have all their keys, always. */
export function titles(answer: List<Run> | ApiErrorBody): (string | null)[] {
  return "error" in answer ? [answer.error.message] : answer.data.map((run) => run.task_id ?? run.title);
}
