// LangChain for JavaScript: ChatOpenAI and ChatAnthropic. Plain responses are read with generate(), which returns every
// choice; streamed ones as the sum of the message chunks.

import { functions, serve, stopOf, version } from "./program.mjs";

import { ChatAnthropic } from "@langchain/anthropic";
import { HumanMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";

import items from "./items.json" with { type: "json" };

/** The chat model of a wire. */
function model(ask, url) {
  const settings = { model: "model", apiKey: "none", maxRetries: 0 };
  if (ask.wire === "anthropic.messages") return new ChatAnthropic({ ...settings, anthropicApiUrl: url, maxTokens: 1024 });
  const configuration = { baseURL: `${url}/v1` };
  return new ChatOpenAI({ ...settings, configuration, useResponsesApi: ask.wire === "openai.responses" });
}

/** The message of each choice; for a stream, the sum of its chunks. */
async function messages(ask, url) {
  const tools = functions(ask).map((each) => ({ type: "function", function: each }));
  const prompt = [new HumanMessage("Hello")];
  if (!ask.stream) {
    const { generations } = await model(ask, url).generate([prompt], { tools });
    return generations[0].map(({ message }) => message);
  }
  let total;
  for await (const chunk of await model(ask, url).stream(prompt, { tools })) total = total ? total.concat(chunk) : chunk;
  if (!total) throw new Error("the stream gave nothing");
  return [total];
}

/** The call of an item of Responses. */
function ofItem({ call_id: id, type, name = items[type][0], [items[type][1]]: value }) {
  return { id, name, ...(type === "custom_tool_call" ? { arguments_text: value } : { arguments: value }) };
}

/**
 * The calls of a message: tool calls, a legacy function_call, and those of built-in tools. A stream has calls of the
 * computer and of custom tools twice: in tool_outputs, too.
 */
function callsOf({ tool_calls: calls, additional_kwargs: { function_call: legacy, tool_outputs: outputs = [] } }) {
  const own = outputs.filter(({ type }) => type in items);
  const made = calls.map(({ id, name, args, isCustomTool, isComputerTool }) => {
    if (isComputerTool) return { id, name: items.computer_call[0], arguments: args.action };
    if (isCustomTool) return { id, name, arguments_text: args.input };
    const twin = own.findIndex(({ call_id: other }) => other === id);
    if (twin >= 0) return ofItem(own.splice(twin, 1)[0]);
    return { id: id ?? null, name, ...(typeof args === "string" ? { arguments_text: JSON.stringify(args) } : { arguments: args }) };
  });
  if (legacy) made.push({ name: legacy.name, arguments_text: legacy.arguments });
  return [...made, ...own.map(ofItem)];
}

/** The token counts. */
function figures(stated) {
  const { input_token_details: into = {}, output_token_details: out = {} } = stated ?? {};
  return (
    stated && {
      input_tokens: stated.input_tokens,
      output_tokens: stated.output_tokens,
      cached_input_tokens: into.cache_read ?? null,
      cache_write_tokens: into.cache_creation ?? null,
      reasoning_tokens: out.reasoning ?? null,
    }
  );
}

/** The calls that the library could not parse. */
function rejectedOf({ invalid_tool_calls: invalid = [], additional_kwargs: { tool_outputs: outputs = [] } }) {
  const known = new Set(outputs.map((item) => item.call_id));
  const own = invalid.filter(({ id }) => !id || !known.has(id));
  return own.map(({ id, name, args }) => ({ id: id ?? null, name: name ?? "", arguments_text: args ?? "" }));
}

async function read(ask, server) {
  const custom = ask.tools.some(({ type }) => type === "custom");
  if (custom && ask.wire === "openai.chat") return { unsupported: "it has custom tools for the Responses API only" };
  if (ask.stream && ask.wire === "openai.chat" && /"index": ?[1-9]\d*, ?"(delta|finish_reason)"/.test(Buffer.concat(server.pieces))) {
    return { unsupported: "its stream() does not separate several choices" };
  }
  const found = await messages(ask, server.url);
  const [first] = found;
  const { text, response_metadata: metadata, additional_kwargs: beside, usage_metadata: usage } = first;
  const word =
    metadata.finish_reason ?? metadata.stop_reason ?? beside.stop_reason ?? metadata.incomplete_details?.reason ?? metadata.status;
  const approval = beside.tool_outputs?.some(({ type }) => type === "mcp_approval_request");
  const answer = {
    calls: found.flatMap(callsOf),
    rejected: found.flatMap(rejectedOf),
    text,
    stop: stopOf(word, { calls: [...callsOf(first), ...rejectedOf(first)], refusal: beside.refusal, approval }),
    complete: word ? true : null,
    usage: figures(usage),
  };
  try {
    JSON.stringify(answer);
  } catch {
    return { unsupported: "JSON.stringify does not write values that are nested so deeply" };
  }
  return answer;
}

await serve(
  {
    name: "langchain-node",
    version: version("@langchain/core"),
    claims: ["stream", "text", "stop", "usage"],
    wires: ["openai.chat", "openai.responses", "anthropic.messages"],
    providers: ["openai", "anthropic"],
  },
  read,
);
