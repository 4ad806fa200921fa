// Prints what the AI SDK runs of a response, and its requests: BODY WIRE PROVIDER stream|plain TOOL...

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createXai } from "@ai-sdk/xai";
import { generateText, isStepCount, jsonSchema, streamText, tool } from "ai";

const [body, wire, provider, mode, ...names] = process.argv.slice(2);
const type = mode === "stream" ? "text/event-stream" : "application/json";
let later = false;
const server = createServer(async (request, answer) => {
  console.log("sent", await text(request));
  if (later) process.exit();
  later = true;
  answer.writeHead(200, { "content-type": type }).end(readFileSync(body));
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const make = { openai: createOpenAI, anthropic: createAnthropic, xai: createXai }[provider];
const maker = make({ apiKey: "none", baseURL: `http://127.0.0.1:${server.address().port}/v1` });
const model = wire === "openai.chat" ? maker.chat("m") : wire === "openai.responses" ? maker.responses("m") : maker("m");
const inputSchema = jsonSchema({ type: "object", properties: {} });
const run = (name) => tool({ inputSchema, execute: (input) => console.log("ran", name, JSON.stringify(input)) ?? "done" });
const tools = Object.fromEntries(names.map((name) => [name, run(name)]));
const options = { model, prompt: "Hello", tools, maxRetries: 0, stopWhen: isStepCount(5) };
if (mode === "plain") await generateText(options);
else for await (const _ of streamText(options).stream);
process.exit();
