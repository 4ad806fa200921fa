// Prints what the AI SDK runs of one response: BODY WIRE PROVIDER stream|plain TOOL...

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createXai } from "@ai-sdk/xai";
import { generateText, jsonSchema, streamText, tool } from "ai";

const [body, wire, provider, mode, ...names] = process.argv.slice(2);
const type = mode === "stream" ? "text/event-stream" : "application/json";
const server = createServer((_, answer) => answer.writeHead(200, { "content-type": type }).end(readFileSync(body)));
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const make = { openai: createOpenAI, anthropic: createAnthropic, xai: createXai }[provider];
const maker = make({ apiKey: "none", baseURL: `http://127.0.0.1:${server.address().port}/v1` });
const model = wire === "openai.chat" ? maker.chat("m") : wire === "openai.responses" ? maker.responses("m") : maker("m");
const inputSchema = jsonSchema({ type: "object", properties: {} });
const run = (name) => tool({ inputSchema, execute: (input) => console.log("ran", name, JSON.stringify(input)) });
const options = { model, prompt: "Hello", tools: Object.fromEntries(names.map((name) => [name, run(name)])), maxRetries: 0 };
if (mode === "plain") await generateText(options);
else for await (const _ of streamText(options).stream);
process.exit();
