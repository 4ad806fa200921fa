// Sends requests with the official SDKs for Node: node sdks.mjs FOLDER_WITH_NODE_MODULES < requests > results
// Each line of the input is {"sdk", "base", "model", "body", "stream", "retries"}. Each line of the output is what the
// SDK makes of the response: {"calls": [[name, arguments]], "text"}, or {"error", "status"}.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(`${process.argv[2]}/package.json`);
const { OpenAI, AzureOpenAI } = require("openai");
const { Anthropic } = require("@anthropic-ai/sdk");
const { AnthropicBedrock } = require("@anthropic-ai/bedrock-sdk");
const { GoogleGenAI } = require("@google/genai");
const bedrock = require("@aws-sdk/client-bedrock-runtime");
const { CohereClientV2 } = require("cohere-ai");
const { Ollama } = require("ollama");

console.log = console.error; // Ollama's SDK logs
const parsed = (text) => (text ? JSON.parse(text) : {});

async function chat(client, { body, stream }) {
  const response = await client.chat.completions.create(body);
  if (!stream) {
    const { content, tool_calls } = response.choices[0].message;
    return { text: content ?? "", calls: (tool_calls ?? []).map((c) => [c.function.name, parsed(c.function.arguments)]) };
  }
  let text = "";
  const calls = [];
  for await (const chunk of response) {
    const delta = chunk.choices[0]?.delta ?? {};
    text += delta.content ?? "";
    for (const part of delta.tool_calls ?? []) {
      const call = (calls[part.index] ??= ["", ""]);
      call[0] += part.function.name ?? "";
      call[1] += part.function.arguments ?? "";
    }
  }
  return { text, calls: calls.map(([name, written]) => [name, parsed(written)]) };
}

async function messages(client, { body, stream }) {
  const message = await (stream ? client.messages.stream(body).finalMessage() : client.messages.create(body));
  const ofType = (type) => message.content.filter((block) => block.type === type);
  return { text: ofType("text").map((b) => b.text).join(""), calls: ofType("tool_use").map((b) => [b.name, b.input]) };
}

const SDKS = {
  "openai.chat": (request) => chat(new OpenAI(options(request)), request),
  "azure.chat": ({ base, body, ...request }) =>
    chat(new AzureOpenAI({ ...options(request), baseURL: undefined, endpoint: base, apiVersion: "2024-10-21" }), { body, ...request }),
  async "openai.responses"(request) {
    const client = new OpenAI(options(request));
    let response = await client.responses.create(request.body);
    if (request.stream) {
      let last;
      for await (const event of response) last = event;
      if (last?.type !== "response.completed") throw new Error(`the last event is ${last?.type}`);
      response = last.response;
    }
    const calls = response.output.filter((item) => item.type === "function_call");
    const said = response.output.filter((item) => item.type === "message").flatMap((item) => item.content);
    return { text: said.map((part) => part.text).join(""), calls: calls.map((c) => [c.name, parsed(c.arguments)]) };
  },
  "anthropic.messages": (request) => messages(new Anthropic(options(request)), request),
  "bedrock.messages": ({ base, retries, body: { model, stream, ...body }, ...request }) =>
    messages(
      new AnthropicBedrock({ baseURL: base, maxRetries: retries, awsRegion: "us-east-1", apiKey: "a-key" }),
      { body: { model: request.model, ...body }, stream },
    ),
  async "google.gemini"({ base, body, model, stream }) {
    const client = new GoogleGenAI({ apiKey: "a-key", httpOptions: { baseUrl: base } });
    const { contents, generationConfig, ...config } = body;
    const request = { model, contents, config: { ...config, ...generationConfig } };
    const read = [];
    if (stream) for await (const chunk of await client.models.generateContentStream(request)) read.push(chunk);
    else read.push(await client.models.generateContent(request));
    const parts = read.flatMap((chunk) => chunk.candidates?.[0].content?.parts ?? []);
    const calls = parts.filter((part) => part.functionCall).map(({ functionCall: c }) => [c.name, c.args ?? {}]);
    return { text: parts.map((part) => (part.thought ? "" : (part.text ?? ""))).join(""), calls };
  },
  async "google.interactions"({ base, body, stream }) {
    const client = new GoogleGenAI({ apiKey: "a-key", httpOptions: { baseUrl: base } });
    const response = await client.interactions.create(body);
    let steps = response.steps;
    if (stream) {
      steps = [];
      let completed = false;
      for await (const event of response) {
        if (event.event_type === "step.start") steps[event.index] = { ...event.step, written: "", content: event.step.content ?? [] };
        const step = steps[event.index];
        if (event.event_type === "step.delta" && event.delta.type === "text") step.content.push({ text: event.delta.text });
        if (event.event_type === "step.delta" && event.delta.type === "arguments_delta") step.written += event.delta.arguments;
        completed ||= event.event_type === "interaction.completed";
      }
      if (!completed) throw new Error("the stream has no last event");
      for (const step of steps) if (step.written) step.arguments = parsed(step.written);
    }
    const calls = steps.filter((step) => step.type === "function_call").map((step) => [step.name, step.arguments ?? {}]);
    const said = steps.filter((step) => step.type === "model_output").flatMap((step) => step.content);
    return { text: said.map((part) => part.text ?? "").join(""), calls };
  },
  async "bedrock.converse"({ base, body, model, stream, retries }) {
    const client = new bedrock.BedrockRuntimeClient({
      endpoint: base, region: "us-east-1", maxAttempts: retries + 1, token: { token: "a-key" }, authSchemePreference: ["httpBearerAuth"],
    });
    const Command = stream ? bedrock.ConverseStreamCommand : bedrock.ConverseCommand;
    const response = await client.send(new Command({ modelId: model, ...body }));
    if (!stream) {
      const content = response.output.message.content;
      const calls = content.filter((block) => block.toolUse).map(({ toolUse }) => [toolUse.name, toolUse.input]);
      return { text: content.map((block) => block.text ?? "").join(""), calls };
    }
    let text = "";
    let stopped = false;
    const calls = [];
    for await (const event of response.stream) {
      const start = event.contentBlockStart?.start?.toolUse;
      if (start) calls.push([start.name, ""]);
      const delta = event.contentBlockDelta?.delta ?? {};
      text += delta.text ?? "";
      if (delta.toolUse) calls.at(-1)[1] += delta.toolUse.input;
      stopped ||= Boolean(event.messageStop);
    }
    if (!stopped) throw new Error("the stream has no last event");
    return { text, calls: calls.map(([name, written]) => [name, parsed(written)]) };
  },
  async "cohere.chat"({ base, body, stream, retries }) {
    const client = new CohereClientV2({ token: "a-key", environment: base, maxRetries: retries });
    const { stream: _, tools, messages: sent, ...rest } = body;
    const request = { ...rest, tools, messages: sent.map(camel) };
    if (!stream) {
      const { message } = await client.chat(request, { maxRetries: retries });
      const calls = (message.toolCalls ?? []).map((c) => [c.function.name, parsed(c.function.arguments)]);
      return { text: (message.content ?? []).map((part) => part.text ?? "").join(""), calls };
    }
    let text = "";
    let ended = false;
    const calls = [];
    for await (const event of await client.chatStream(request, { maxRetries: retries })) {
      if (event.type === "content-delta") text += event.delta?.message?.content?.text ?? "";
      if (event.type === "tool-call-start") calls.push([event.delta.message.toolCalls.function.name, ""]);
      if (event.type === "tool-call-delta") calls.at(-1)[1] += event.delta.message.toolCalls.function.arguments;
      ended ||= event.type === "message-end";
    }
    if (!ended) throw new Error("the stream has no last event");
    return { text, calls: calls.map(([name, written]) => [name, parsed(written)]) };
  },
  async "ollama.chat"({ base, body, stream }) {
    const client = new Ollama({ host: base });
    const read = [];
    if (stream) for await (const part of await client.chat(body)) read.push(part);
    else read.push(await client.chat(body));
    if (!read.at(-1)?.done) throw new Error("the stream has no last line");
    const calls = read.flatMap((part) => part.message.tool_calls ?? []);
    return { text: read.map((part) => part.message.content).join(""), calls: calls.map((c) => [c.function.name, c.function.arguments]) };
  },
};

function options({ base, retries }) {
  return { baseURL: base, apiKey: "a-key", maxRetries: retries, timeout: 20_000 };
}

function camel(value) {
  if (Array.isArray(value)) return value.map(camel);
  if (value === null || typeof value !== "object") return value;
  const name = (key) => key.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [name(key), camel(inner)]));
}

class Expired extends Error {}

function expired() {
  return new Promise((_, reject) => setTimeout(() => reject(new Expired("no result after 10 seconds")), 10_000).unref());
}

async function result(request) {
  try {
    return await Promise.race([SDKS[request.sdk](request), expired()]);
  } catch (error) {
    const status = error.status ?? error.statusCode ?? error.status_code ?? error.$metadata?.httpStatusCode ?? null;
    return { error: error.constructor.name, status, message: String(error.message).slice(0, 200) };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await result(JSON.parse(line)))}\n`);
}
