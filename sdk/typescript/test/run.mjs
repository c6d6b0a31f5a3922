// Reads every golden event with the compiled consumer: node run.mjs COMPILED FIXTURES

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [compiled, fixtures] = process.argv.slice(2).map((path) => resolve(path));
const load = (file) => import(pathToFileURL(join(compiled, file)));
const { tell } = await load("test/consumer.js");
const { eventFamilies, eventTypes, isKnownEvent } = await load("src/events.js");

const lines = (name) => readFileSync(join(fixtures, "events", name), "utf8").trimEnd().split("\n");
const own = ["most.ndjson", "least.ndjson"].flatMap(lines).map((line) => JSON.parse(line));
for (const event of own) {
  assert.ok(isKnownEvent(event), event.type);
  assert.ok(tell(event).length > 0, event.type);
}
const seen = new Set(own.map((event) => event.type));
assert.deepEqual(eventTypes.filter((type) => !seen.has(type)), [], "types without a golden event");
for (const family of eventFamilies) assert.ok([...seen].some((type) => type.startsWith(family)), family);

const foreign = ["turn", "model_call"].flatMap((dialect) => {
  const folder = join(fixtures, "hecate", dialect);
  return readdirSync(folder).flatMap((file) => JSON.parse(readFileSync(join(folder, file), "utf8")));
});
for (const event of foreign) {
  const isOtherDialect = event.type.startsWith("model.call.");
  assert.equal(isKnownEvent(event), !isOtherDialect, event.type);
  assert.ok(tell(event).length > 0, event.type);
}

const envelope = own[0];
const unknown = { ...envelope, type: "tomorrow.came", data: { some: ["thing"] } };
assert.equal(tell(unknown), 'tomorrow.came {"some":["thing"]}');
const erased = { ...envelope, type: "user.message", data: { erased: true, payload_hash: "ab", payload_size: 7 } };
assert.equal(tell(erased), "erased (7 bytes)");
const hidden = { ...envelope, type: "assistant.thinking_complete", data: { hidden: true, turn_index: 0 } };
assert.equal(tell(hidden), "thought about something");

console.log(`read ${own.length + foreign.length} events of ${seen.size} types`);
