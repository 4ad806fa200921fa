// npm install @anthropic-ai/sdk@1.14.0
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import Anthropic from "@anthropic-ai/sdk";

const server = createServer((_, response) => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(readFileSync("text-block-without-start.anthropic.messages.stream.sse"));
}).listen(0);
const baseURL = `http://127.0.0.1:${server.address().port}/v1`;

const client = new Anthropic({ apiKey: "none", baseURL: baseURL.slice(0, -3), maxRetries: 0 });
const answer = await client.messages.stream({ model: "m", max_tokens: 1, messages: [] }).finalMessage();

console.log(JSON.stringify({ calls: answer.content }));
process.exit();
// expected: seat_map({"train":"IC 522"}), ticket_price({"class":2})
