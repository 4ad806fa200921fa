// npm install ai@7.0.173 @ai-sdk/xai@5.0.12
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { createXai } from "@ai-sdk/xai";
import { streamText, isStepCount, jsonSchema, tool } from "ai";
const ran = [], sent = [];
const server = createServer(async (request, response) => {
  sent.push(await json(request));
  response.writeHead(sent.length === 1 ? 200 : 400, { "content-type": "text/event-stream" });
  response.end(readFileSync("control-token-in-name.xai.responses.stream.sse"));
}).listen(0);
const baseURL = `http://127.0.0.1:${server.address().port}/v1`;
const provider = createXai({ apiKey: "none", baseURL }), tools = {};
for (const name of ["list_files"])
  tools[name] = tool({ inputSchema: jsonSchema({ type: "object" }), execute: (input) => ran.push([name, input]) });
const options = { model: provider.responses("m"), prompt: "Hello", tools, stopWhen: isStepCount(2) };
try { await streamText(options).consumeStream(); } catch {} // the second request fails
console.log(JSON.stringify({ ran: ran, sent: sent[1] }));
process.exit();
