// The official Anthropic SDK for JavaScript: plain messages, and the final message of its streaming helper.

import { serve, stopOf, version } from "./program.mjs";

import Anthropic from "@anthropic-ai/sdk";

async function read(ask, server) {
  const client = new Anthropic({ apiKey: "none", baseURL: server.url, maxRetries: 0 });
  const request = { model: "model", max_tokens: 1024, messages: [{ role: "user", content: "Hello" }] };
  const { content, stop_reason: word, usage } = ask.stream
    ? await client.messages.stream(request).finalMessage()
    : await client.messages.create(request);
  const calls = content
    .filter(({ type }) => type === "tool_use")
    .map(({ id, name, input }) => ({ id, name, ...(typeof input === "string" ? { arguments_text: JSON.stringify(input) } : { arguments: input }) }));
  const { cache_read_input_tokens: cached, cache_creation_input_tokens: written } = usage;
  return {
    calls,
    text: content.map(({ type, text }) => (type === "text" ? text : "")).join(""),
    stop: stopOf(word, { calls }),
    complete: word ? true : null,
    // The SDK's input tokens do not include those that a cache reads or writes.
    usage: {
      input_tokens: usage.input_tokens + (cached ?? 0) + (written ?? 0),
      output_tokens: usage.output_tokens,
      cached_input_tokens: cached ?? null,
      cache_write_tokens: written ?? null,
      reasoning_tokens: usage.output_tokens_details?.thinking_tokens ?? null,
    },
  };
}

await serve(
  {
    name: "anthropic-node",
    version: version("@anthropic-ai/sdk"),
    claims: ["stream", "text", "stop", "usage"],
    wires: ["anthropic.messages"],
  },
  read,
);
