// npm install openai@7.59.0
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import OpenAI from "openai";

const server = createServer((_, response) => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(readFileSync("figures-in-the-middle.openai.chat.stream.sse"));
}).listen(0);
const baseURL = `http://127.0.0.1:${server.address().port}/v1`;

const client = new OpenAI({ apiKey: "none", baseURL, maxRetries: 0 });
const answer = await client.chat.completions.stream({ model: "m", messages: [] }).finalChatCompletion();

console.log(JSON.stringify({ usage: answer.usage }));
process.exit();
// expected: {"input_tokens":61,"output_tokens":38}
