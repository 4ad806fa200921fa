// The AI SDK by Vercel: generateText() and streamText() with tools that have no execute function, so that it returns
// the calls.

import { describe, functions, serve } from "./program.mjs";

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createXai } from "@ai-sdk/xai";
import * as library from "ai";
import manifest from "ai/package.json" with { type: "json" };

globalThis.AI_SDK_LOG_WARNINGS = false;

/** The first releases of version 7 do not have the class StreamProviderError. */
const { StreamProviderError, generateText, jsonSchema, streamText, tool } = library;

/** The library's finish reasons -> the canonical stop reasons. "interrupted" is the reason of a stream without an end. */
const STOPS = {
  stop: "end_turn",
  length: "max_tokens",
  "tool-calls": "tool_calls",
  "content-filter": "content_filter",
  error: "error",
};
/** Words of the providers, which the library returns as rawFinishReason -> canonical stop reasons that it has no word for. */
const RAW_STOPS = {
  stop_sequence: "stop_sequence",
  refusal: "refusal",
  pause_turn: "pause",
  compaction: "compaction",
  malformed_function_call: "malformed_call",
  model_context_window_exceeded: "context_window",
};
/** Built-in tools that the client runs -> their arguments on the wire, from the library's own form of them. */
const BUILT_IN = {
  local_shell: ({ action }) => action,
  shell: ({ action: { commands, timeoutMs = null, maxOutputLength = null } }) => ({
    commands,
    timeout_ms: timeoutMs,
    max_output_length: maxOutputLength,
  }),
  apply_patch: ({ operation }) => operation,
  computer: ({ actions }) => (actions.length === 1 ? actions[0] : actions),
};

/** The provider object and the model of a wire. */
function model(ask, url) {
  const settings = { apiKey: "none", baseURL: `${url}/v1` };
  if (ask.wire === "anthropic.messages") {
    const anthropic = createAnthropic(settings);
    return [anthropic, anthropic("model")];
  }
  const provider = ask.provider === "xai" ? createXai(settings) : createOpenAI(settings);
  return [provider, ask.wire === "openai.chat" ? provider.chat("model") : provider.responses("model")];
}

/**
 * The declared tools: functions, free-text tools, and the built-in tools that the provider package has. If the case
 * declares none, the functions that the response names: to the library, a call of another one is invalid.
 */
function tools(ask, provider, names) {
  const declared = {};
  for (const { name, description, parameters } of functions(ask)) {
    declared[name] = tool({ description, inputSchema: jsonSchema(parameters) });
  }
  if (!ask.tools.length) for (const name of names) declared[name] ??= tool({ inputSchema: jsonSchema({ type: "object" }) });
  for (const name of freeText(ask)) declared[name] = provider.tools.customTool({});
  for (const { type } of ask.tools) {
    const factory = provider.tools?.[type?.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase())];
    const key = type in declared ? `hosted_${type}` : type; // a function can have the name of a built-in tool
    if (factory) declared[key] = factory({ vectorStoreIds: ["vs"], serverLabel: "s", serverUrl: "http://s" });
  }
  return declared;
}

/** The names of the declared free-text tools. */
function freeText(ask) {
  return ask.tools.filter(({ type }) => type === "custom").map(({ name, custom }) => name ?? custom?.name);
}

/** Why the caller of the library cannot get such a response, as its documentation says; or "". */
function outOfScope(ask, body) {
  const xai = ask.provider === "xai";
  if (hasChoices(body)) return "the library has no setting for several choices";
  if (/"function_call": ?\{/.test(body)) return "its requests have tools, and not the deprecated functions";
  if (xai && ask.wire === "openai.chat") return "since AI SDK 7 the xAI provider uses the Responses API only";
  if (freeText(ask).length && (xai || ask.wire === "openai.chat")) {
    return "it declares free-text tools (customTool) for OpenAI's Responses API only";
  }
  return "";
}

/** Whether a response of Chat Completions has several choices. */
function hasChoices(body) {
  return [body, ...body.split("\n")].some((text) => {
    try {
      return JSON.parse(text.replace(/^data: ?/, "")).choices.some(({ index }) => index > 0);
    } catch {
      return false; // not a body, or not an event with choices
    }
  });
}

/**
 * The members of the library's result. An error part of a stream does not end it: the caller gets the part, and the
 * members of the result, unless their promises reject. `failed`: whether there was such a part. It is raised if the
 * provider sent the error, because the response failed, and if the caller gets nothing else.
 */
async function result(ask, url, body) {
  const [provider, asked] = model(ask, url);
  const names = [...body.matchAll(/"name": ?"([^"\\]+)"/g)].map(([, name]) => name);
  const options = { model: asked, prompt: "Hello", tools: tools(ask, provider, names), maxRetries: 0 };
  if (!ask.stream) return await generateText(options);
  const streamed = streamText({ ...options, onError() {} });
  const errors = [];
  for await (const part of streamed.stream) if (part.type === "error") errors.push(part.error);
  const members = ["toolCalls", "content", "finishReason", "rawFinishReason", "usage"];
  const found = await Promise.all(members.map(async (name) => [name, await streamed[name]])).catch((error) => {
    throw errors.length ? asError(errors[0]) : error; // the rejection states only that the output is missing
  });
  const values = Object.fromEntries(found);
  const sent = errors.find((error) => StreamProviderError?.isInstance(error));
  if (sent || (errors.length && !values.content.length)) throw sent ?? asError(errors[0]);
  return { ...values, failed: errors.length > 0 };
}

/** An error part's content, which can be text or an object, as an error. */
function asError(error) {
  return error instanceof Error ? error : new Error(describe(error));
}

/** A call in the suite's format. An id that is not in the response was generated by the library. */
function call({ toolCallId, toolName, input, invalid, error }, body, texts) {
  const id = body.includes(JSON.stringify(toolCallId).slice(1, -1)) ? toolCallId : null;
  const made = { id, name: toolName };
  const text = invalid ? (error?.toolInput ?? input) : texts.has(toolName) ? input : undefined;
  if (typeof text === "string") return { ...made, arguments_text: text };
  const held = texts.has(toolName) || !BUILT_IN[toolName] ? input : BUILT_IN[toolName](input);
  return typeof held === "string" ? { ...made, arguments_text: JSON.stringify(held) } : { ...made, arguments: held };
}

/** Whether a part of the content is text. A summary of Anthropic's compaction is marked as such. */
function isText({ type, providerMetadata }) {
  return type === "text" && providerMetadata?.anthropic?.type !== "compaction";
}

async function read(ask, server) {
  const body = Buffer.concat(server.pieces).toString();
  const unsupported = outOfScope(ask, body);
  if (unsupported) return { unsupported };
  const { toolCalls, content, finishReason, rawFinishReason, usage, failed = false } = await result(ask, server.url, body);
  const texts = new Set(freeText(ask));
  const own = toolCalls.filter((one) => !one.providerExecuted);
  const stop = RAW_STOPS[rawFinishReason?.toLowerCase()] ?? STOPS[finishReason] ?? "unknown";
  // Its caller sees the calls beside the reason: they decide between a plain end and calls.
  const plain = ["end_turn", "tool_calls"].includes(stop) || (stop === "unknown" && rawFinishReason !== undefined);
  return {
    calls: own.filter((one) => !one.invalid).map((one) => call(one, body, texts)),
    rejected: own.filter((one) => one.invalid).map((one) => call(one, body, texts)),
    text: content.filter(isText).map(({ text }) => text).join(""),
    stop: plain && own.length ? "tool_calls" : stop === "tool_calls" ? "end_turn" : stop,
    failed,
    complete: finishReason === "interrupted" ? false : finishReason === "other" && !rawFinishReason ? null : true,
    usage: {
      input_tokens: usage.inputTokens ?? null,
      output_tokens: usage.outputTokens ?? null,
      cached_input_tokens: usage.inputTokenDetails.cacheReadTokens ?? null,
      cache_write_tokens: usage.inputTokenDetails.cacheWriteTokens ?? null,
      reasoning_tokens: usage.outputTokenDetails.reasoningTokens ?? null,
    },
  };
}

await serve(
  {
    name: "vercel-ai",
    version: manifest.version,
    claims: ["stream", "text", "stop", "usage"],
    wires: ["openai.chat", "openai.responses", "anthropic.messages"],
    providers: ["openai", "anthropic", "xai"],
    stop_words: "openai.chat", // it converts the words of all wires to its own, which have the same meanings
  },
  read,
);
