// Prints what the AI SDK returns for one response body: direct.mjs BODY WIRE PROVIDER stream|plain [TOOLS|-] [STATUS]

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createXai } from "@ai-sdk/xai";
import { generateText, jsonSchema, streamText, tool } from "ai";

const [body, wire, provider, mode, file = "-", status = "200"] = process.argv.slice(2);
const data = readFileSync(body);
const type = mode === "stream" && status < 400 ? "text/event-stream" : "application/json";
const server = createServer((_, answer) => answer.writeHead(Number(status), { "content-type": type }).end(data));
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const make = { openai: createOpenAI, anthropic: createAnthropic, xai: createXai }[provider];
const maker = make({ apiKey: "none", baseURL: `http://127.0.0.1:${server.address().port}/v1` });
const model = wire === "openai.chat" ? maker.chat("m") : wire === "openai.responses" ? maker.responses("m") : maker("m");
const tools = {};
for (const held of file === "-" ? [] : JSON.parse(readFileSync(file))) {
  const { name, parameters, input_schema } = held.function ?? held;
  if (parameters ?? input_schema) tools[name] = tool({ inputSchema: jsonSchema(parameters ?? input_schema) });
}
for (const [, name] of file === "-" ? String(data).matchAll(/"name": ?"([^"\\]+)"/g) : []) {
  tools[name] = tool({ inputSchema: jsonSchema({ type: "object" }) });
}
const given = { model, prompt: "Hello", tools, maxRetries: 0 };
try {
  let error;
  const told = mode === "plain" ? await generateText(given) : streamText({ ...given, onError: (event) => (error = event.error) });
  if (mode === "stream") for await (const _ of told.stream);
  if (error) throw error;
  const calls = (await told.toolCalls).filter((call) => !call.providerExecuted);
  const shown = calls.map(({ toolCallId, toolName, input }) => ({ id: toolCallId, name: toolName, arguments: input }));
  const reason = await told.finishReason;
  const end = { stop: reason === "interrupted" ? null : reason, complete: reason !== "interrupted" };
  console.log(JSON.stringify({ calls: shown, text: await told.text, ...end, usage: await told.usage }));
} catch (error) {
  console.log(JSON.stringify({ error: `${error.name}: ${error.message}` }));
}
server.close();
