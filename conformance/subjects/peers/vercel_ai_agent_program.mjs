// The AI SDK by Vercel as an agent: generateText() and streamText() with tools that they run, and several steps.

import { createInterface } from "node:readline";

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createXai } from "@ai-sdk/xai";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import manifest from "ai/package.json" with { type: "json" };

globalThis.AI_SDK_LOG_WARNINGS = false;
const write = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr); // keep the library's output out of the answers
/** The most steps of an agent. The suite's second response ends the loop. */
const STEPS = 5;
/** How long tools that still run after the agent returned are awaited, in milliseconds. */
const SETTLE = 20;

/** The model of a wire. */
function model({ wire, provider, base_url }) {
  if (wire === "anthropic.messages") return createAnthropic({ apiKey: "none", baseURL: `${base_url}/v1` })("model");
  const made = (provider === "xai" ? createXai : createOpenAI)({ apiKey: "none", baseURL: base_url });
  return wire === "openai.chat" ? made.chat("model") : made.responses("model");
}

/** The declared functions as tools that record their runs. */
function tools(functions, runs) {
  const made = {};
  for (const { name, description, parameters } of functions) {
    const execute = (input) => {
      runs.push({ name, arguments: input });
      return `result ${runs.length} of ${name}`;
    };
    made[name] = tool({ description, inputSchema: jsonSchema(parameters), execute });
  }
  return made;
}

/** Runs an agent to its end. Returns its result. An error in a stream, which is a part, is raised. */
async function act(ask, runs) {
  const options = {
    model: model(ask),
    prompt: "Hello",
    tools: tools(ask.functions ?? [], runs),
    stopWhen: stepCountIs(STEPS),
    maxRetries: 0,
  };
  if (!ask.stream) return generateText(options);
  let failure;
  const result = streamText({ ...options, onError() {} });
  for await (const part of result.stream) {
    if (part.type === "error") failure ??= part.error;
  }
  if (failure) throw failure instanceof Error ? failure : new Error(JSON.stringify(failure));
  return result;
}

/** The calls that the caller gets without a result: the library did not run them. */
function notRun(content) {
  const ended = content.filter(({ type }) => type === "tool-result" || type === "tool-error");
  const ids = new Set(ended.map(({ toolCallId }) => toolCallId));
  const open = content.filter(({ type, toolCallId }) => type === "tool-call" && !ids.has(toolCallId));
  return open.map(({ toolCallId, toolName, input }) => ({ id: toolCallId, name: toolName, arguments: input }));
}

async function read(ask) {
  if (ask.provider === "xai" && ask.wire === "openai.chat") {
    return { unsupported: "since AI SDK 7 the xAI provider uses the Responses API only" };
  }
  const runs = [];
  const answer = { runs };
  try {
    const result = await act(ask, runs);
    answer.rejected = notRun(await result.content);
    const reason = await result.finishReason; // "other" is also a missing reason
    answer.complete = reason !== "interrupted" && (reason !== "other" || Boolean(await result.rawFinishReason));
  } catch (error) {
    answer.error = `${error?.name}: ${error?.message}`.slice(0, 2000);
  }
  await new Promise((done) => setTimeout(done, SETTLE));
  return answer;
}

const hello = {
  name: "vercel-ai-agent",
  version: manifest.version,
  claims: ["runs", "stream"],
  wires: ["openai.chat", "openai.responses", "anthropic.messages"],
  providers: ["openai", "anthropic", "xai"],
  input: "base_url",
};
/** The answer as JSON. Node cannot write values that are nested too deep, although it reads them. */
function text(answer) {
  try {
    return JSON.stringify(answer);
  } catch (error) {
    return JSON.stringify({ unsupported: `the arguments of a run cannot be reported: ${error.message}` });
  }
}

for await (const line of createInterface({ input: process.stdin, terminal: false })) {
  const ask = JSON.parse(line);
  write(`${text(ask.op === "hello" ? hello : await read(ask))}\n`);
}
