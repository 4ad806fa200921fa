// npm install ai@7.0.173 @ai-sdk/xai@5.0.12
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { createXai } from "@ai-sdk/xai";
import { generateText, isStepCount, jsonSchema, tool } from "ai";
const ran = [], sent = [];
const server = createServer(async (request, response) => {
  sent.push(await json(request));
  response.writeHead(sent.length === 1 ? 200 : 400, { "content-type": "application/json" });
  response.end(readFileSync("blank-ids.xai.responses.plain.json"));
}).listen(0);
const baseURL = `http://127.0.0.1:${server.address().port}/v1`;
const provider = createXai({ apiKey: "none", baseURL }), tools = {};
for (const name of ["roll_dice"])
  tools[name] = tool({ inputSchema: jsonSchema({ type: "object" }), execute: (input) => ran.push([name, input]) });
const options = { model: provider.responses("m"), prompt: "Hello", tools, stopWhen: isStepCount(2) };
try { await generateText(options); } catch {} // the second request fails
console.log(JSON.stringify({ ran: ran, sent: sent[1] }));
process.exit();
