// npm install ai@7.0.173 @ai-sdk/openai@4.0.118
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createOpenAI } from "@ai-sdk/openai";
import { streamText, jsonSchema, tool } from "ai";

const server = createServer((_, response) => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(readFileSync("empty-data.openai.chat.stream.sse"));
}).listen(0);
const baseURL = `http://127.0.0.1:${server.address().port}/v1`;
const provider = createOpenAI({ apiKey: "none", baseURL });
const tools = {}, inputSchema = jsonSchema({ type: "object" });
for (const name of ["switch_light"]) tools[name] = tool({ inputSchema });
const options = { model: provider.chat("m"), prompt: "Hello", tools, maxRetries: 0 };
const answer = streamText(options); // it prints the error parts of the stream
await answer.consumeStream();
console.log(JSON.stringify({ stop: [await answer.finishReason, await answer.rawFinishReason] }));
process.exit();
// expected: tool_calls
