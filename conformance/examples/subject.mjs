// A complete subject in another language. It reads Chat Completions and Messages, plain and streamed, and acts under the
// policies. No dependencies; Node 18 or newer.
//
//   toolparity check exec:"node subject.mjs"
//
// It answers each JSON line on standard input with one JSON line on standard output, and prints nothing else there. If
// the subject fails, the report shows its standard error. See docs/pages/subjects.md.

import { createInterface } from "node:readline";

const HELLO = {
  name: "node-example",
  version: "1",
  claims: ["stream", "select", "text"],
  wires: ["openai.chat", "anthropic.messages"],
};

// --- server-sent events -------------------------------------------------------------------------------------------

/** The JSON payloads of a stream that arrives in pieces. A character or a line may be cut in two anywhere. */
function* events(pieces) {
  const decoder = new TextDecoder();
  let text = "";
  let data = [];
  const lines = function* (last) {
    for (;;) {
      const end = text.search(/\r\n|\n|\r(?!$)/);
      if (end < 0) break;
      const line = text.slice(0, end);
      text = text.slice(end + (text.startsWith("\r\n", end) ? 2 : 1));
      yield line;
    }
    if (last && text) yield text;
  };
  const take = function* (line) {
    if (line === "" && data.length) {
      const payload = data.join("\n");
      data = [];
      if (payload !== "[DONE]") yield payload;
    } else if (line.startsWith("data:")) {
      data.push(line.slice(5).replace(/^ /, ""));
    }
  };
  for (const piece of pieces) {
    text += decoder.decode(piece, { stream: true });
    for (const line of lines(false)) yield* take(line);
  }
  text += decoder.decode();
  for (const line of lines(true)) yield* take(line);
  yield* take("");
}

// --- one reader a wire: {calls: [{id, name, arguments_text}], text, complete, dead} -------------------------------

function openaiChat(ask) {
  const calls = [];
  const slots = new Map();
  let text = "";
  let finish = null;
  let failed = ask.status >= 400;
  let refused = false;
  const values = ask.stream && !failed ? [...events(ask.pieces)].map(parsed) : [parsed(Buffer.concat(ask.pieces))];
  for (const value of values) {
    if (value === null || value.error) failed = true;
    for (const choice of value?.choices ?? []) {
      const said = choice.delta ?? choice.message ?? {};
      if (typeof said.content === "string") text += said.content;
      if (said.refusal) refused = true;
      if (choice.finish_reason) finish = choice.finish_reason;
      for (const [place, part] of (said.tool_calls ?? []).entries()) {
        const key = ask.stream ? (part.index ?? place) : place;
        let call = slots.get(key);
        if (!call || (part.id && call.id && part.id !== call.id)) {
          call = { id: part.id ?? null, name: "", arguments_text: "" };
          slots.set(key, call);
          calls.push(call);
        }
        call.id ??= part.id ?? null;
        const body = part.function ?? part.custom ?? {};
        if (body.name && !call.name) call.name = body.name;
        call.arguments_text += body.arguments ?? body.input ?? "";
        if (part.custom) call.kind = "custom";
      }
    }
  }
  const dead = failed || refused || finish === "content_filter";
  return { calls, text, complete: finish !== null, dead };
}

function anthropicMessages(ask) {
  const blocks = new Map();
  let stop = null;
  let ended = false;
  let failed = ask.status >= 400;
  if (ask.stream && !failed) {
    for (const payload of events(ask.pieces)) {
      const event = parsed(payload);
      if (event === null || event.type === "error") failed = true;
      else if (event.type === "content_block_start") blocks.set(event.index, { ...event.content_block, json: "" });
      else if (event.type === "content_block_delta") {
        const block = blocks.get(event.index) ?? {};
        if (event.delta.type === "text_delta") block.text = (block.text ?? "") + event.delta.text;
        if (event.delta.type === "input_json_delta") block.json += event.delta.partial_json;
      } else if (event.type === "message_delta") stop = event.delta.stop_reason ?? stop;
      else if (event.type === "message_stop") ended = true;
    }
  } else {
    const message = parsed(Buffer.concat(ask.pieces));
    if (message === null || message.type === "error") failed = true;
    for (const [place, block] of (message?.content ?? []).entries()) blocks.set(place, block);
    stop = message?.stop_reason ?? null;
    ended = stop !== null;
  }
  const ordered = [...blocks.entries()].sort(([a], [b]) => a - b).map(([, block]) => block);
  const calls = ordered
    .filter((block) => block.type === "tool_use") // a server_tool_use was run by the provider
    .map((block) => ({ id: block.id, name: block.name, arguments_text: block.json || JSON.stringify(block.input) }));
  const text = ordered.filter((block) => block.type === "text").map((block) => block.text).join("");
  // A plain response that was cut does not show whether its last call is complete.
  if (stop === "max_tokens" && calls.length && !ask.stream && ordered.at(-1).type === "tool_use") calls.at(-1).cut = true;
  return { calls, text, complete: ended, dead: failed || stop === "refusal" };
}

const READERS = { "openai.chat": openaiChat, "anthropic.messages": anthropicMessages };

// --- policies -----------------------------------------------------------------------------------------------------

function read(line) {
  const ask = { ...line, pieces: line.pieces.map((piece) => Buffer.from(piece, "base64")) };
  const answer = READERS[ask.wire](ask);
  const runs = (call) => call.kind === "custom" || isObject(call.arguments_text === "" ? {} : parsed(call.arguments_text));
  const can = answer.complete && !answer.dead ? answer.calls.filter((call) => call.name && !call.cut && runs(call)) : [];
  const rejected = answer.calls.filter((call) => !can.includes(call));
  const most = Math.min(ask.policy === "first" ? 1 : Infinity, ask.limit ?? Infinity);
  const kept = can.slice(0, most);
  const dropped = can.slice(most);
  const named = (calls) => calls.map((call) => call.name).join(", ");
  const warnings = dropped.length
    ? [`${answer.calls.length} calls, processing ${kept.length} (${named(kept)}), dropped ${dropped.length} (${named(dropped)})`]
    : [];
  return { policy: ask.policy, calls: kept, dropped, rejected, warnings, text: answer.text, complete: answer.complete };
}

function parsed(text) {
  try {
    return JSON.parse(text.toString());
  } catch {
    return null;
  }
}

function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  console.log(JSON.stringify(asked.op === "hello" ? HELLO : read(asked)));
}
