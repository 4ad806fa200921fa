// The official OpenAI SDK for JavaScript: plain responses, and the final objects of its streaming helpers.

import { figures, functions, responseAnswer, serve, stopOf, version } from "./program.mjs";

import OpenAI from "openai";

/** The calls of a message: functions, custom tools, and the deprecated function_call. */
function callsOf({ tool_calls: calls, function_call: legacy }) {
  const made = (calls ?? []).map(({ id, type, function: called, custom }) => ({
    id,
    name: (type === "custom" ? custom : called).name ?? "",
    arguments_text: (type === "custom" ? custom.input : called.arguments) ?? "",
  }));
  return legacy ? [...made, { name: legacy.name, arguments_text: legacy.arguments }] : made;
}

async function chat(client, ask) {
  const tools = functions(ask).map((each) => ({ type: "function", function: each }));
  const request = { model: "model", messages: [{ role: "user", content: "Hello" }], tools };
  const completion = ask.stream
    ? await client.chat.completions.stream(request).finalChatCompletion()
    : await client.chat.completions.create(request);
  const calls = completion.choices.flatMap(({ message }) => callsOf(message));
  const { message, finish_reason: word } = completion.choices[0] ?? {};
  return {
    calls,
    text: message?.content ?? "",
    stop: stopOf(word, { calls: message ? callsOf(message) : [], refusal: message?.refusal }),
    complete: word ? true : null,
    usage: figures(completion.usage, "prompt", "completion"),
  };
}

async function responses(client, ask) {
  const tools = functions(ask).map((each) => ({ type: "function", ...each }));
  const request = { model: "model", input: "Hello", tools };
  return responseAnswer(
    ask.stream ? await client.responses.stream(request).finalResponse() : await client.responses.create(request),
  );
}

/** Leaves out the ids that are not in the response: the SDK made them. */
function withoutMadeIds(answer, server) {
  const body = Buffer.concat(server.pieces).toString();
  return { ...answer, calls: answer.calls.map((call) => ({ ...call, id: body.includes(call.id) ? call.id : null })) };
}

async function read(ask, server) {
  const client = new OpenAI({ apiKey: "none", baseURL: `${server.url}/v1`, maxRetries: 0 });
  return withoutMadeIds(await (ask.wire === "openai.chat" ? chat : responses)(client, ask), server);
}

await serve(
  {
    name: "openai-node",
    version: version("openai"),
    claims: ["stream", "text", "stop", "usage"],
    wires: ["openai.chat", "openai.responses"],
    providers: ["openai"],
  },
  read,
);
