// A complete subject that reads with its own HTTP client: each input has a base_url instead of the response's bytes, and
// a server at that address returns the response. It reads Chat Completions and Messages, plain and streamed, and returns
// their calls. No dependencies; Node 18 or newer.
//
//   toolparity check exec:"node subject_client.mjs"
//
// To test a gateway or an SDK, replace `ask` by its client. See docs/pages/subjects.md.

import { createInterface } from "node:readline";

const HELLO = {
  name: "node-client-example",
  version: "1",
  input: "base_url", // without this the bytes come in the question
  claims: ["stream", "text"],
  wires: ["openai.chat", "anthropic.messages"],
};

const ENDS = { "openai.chat": "/chat/completions", "anthropic.messages": "/v1/messages" };

/** The answer to the request that belongs to the question. What it says does not matter; that it streams does. */
async function ask({ wire, base_url, stream, request }) {
  const body = JSON.stringify({ ...request, stream });
  const response = await fetch(base_url + ENDS[wire], { method: "POST", headers: { "content-type": "application/json" }, body });
  if (!response.ok) throw new Error(`HTTP ${response.status}: ${await response.text()}`);
  return response;
}

/** The JSON payloads of a stream. A character or a line may be cut in two anywhere. */
async function* events(response) {
  let text = "";
  let data = [];
  const take = (line) => {
    if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
    if (line !== "" || !data.length) return null;
    const payload = data.join("\n");
    data = [];
    return payload === "[DONE]" ? null : payload;
  };
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    text += piece;
    for (let end; (end = text.search(/\r\n|\n|\r(?!$)/)) >= 0; ) {
      const payload = take(text.slice(0, end));
      text = text.slice(end + (text.startsWith("\r\n", end) ? 2 : 1));
      if (payload !== null) yield JSON.parse(payload);
    }
  }
  take(text);
  const last = take("");
  if (last !== null) yield JSON.parse(last);
}

// --- one reader a wire: {calls, text, complete} -----------------------------------------------------------------------------

async function openaiChat(asked) {
  const response = await ask(asked);
  if (!asked.stream) {
    const { message } = (await response.json()).choices[0];
    const calls = (message.tool_calls ?? []).map(({ id, function: told }) => ({ id, name: told.name, arguments_text: told.arguments }));
    return { calls, text: message.content ?? "" };
  }
  const calls = new Map();
  let text = "";
  let complete = false; // a stream without a finish reason broke
  for await (const chunk of events(response)) {
    if (chunk.choices?.[0]?.finish_reason) complete = true;
    const delta = chunk.choices?.[0]?.delta ?? {};
    text += delta.content ?? "";
    for (const { index, id, function: told } of delta.tool_calls ?? []) {
      if (!calls.has(index)) calls.set(index, { id, name: told.name, arguments_text: "" });
      calls.get(index).arguments_text += told.arguments ?? "";
    }
  }
  return { calls: [...calls.values()], text, complete };
}

async function anthropicMessages(asked) {
  const response = await ask(asked);
  const blocks = [];
  let complete = !asked.stream; // a stream without message_stop broke
  if (asked.stream) {
    for await (const event of events(response)) {
      if (event.type === "message_stop") complete = true;
      if (event.type === "content_block_start") blocks[event.index] = { ...event.content_block, json: "" };
      if (event.type !== "content_block_delta") continue;
      const { delta } = event;
      if (delta.type === "text_delta") blocks[event.index].text += delta.text;
      if (delta.type === "input_json_delta") blocks[event.index].json += delta.partial_json;
    }
  } else blocks.push(...(await response.json()).content);
  const calls = blocks
    .filter((block) => block.type === "tool_use") // a server_tool_use was run by the provider
    .map(({ id, name, input, json }) => ({ id, name, arguments_text: json || JSON.stringify(input) }));
  const text = blocks.filter((block) => block.type === "text").map((block) => block.text).join("");
  return { calls, text, complete };
}

const READERS = { "openai.chat": openaiChat, "anthropic.messages": anthropicMessages };

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  const answer =
    asked.op === "hello" ? HELLO : await READERS[asked.wire](asked).catch((error) => ({ error: String(error) }));
  console.log(JSON.stringify(answer));
}
