// npm install ai@7.0.173 @ai-sdk/anthropic@4.0.105
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createAnthropic } from "@ai-sdk/anthropic";
import { streamText, jsonSchema, tool } from "ai";

const server = createServer((_, response) => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(readFileSync("blank-ids.anthropic.messages.stream.sse"));
}).listen(0);
const baseURL = `http://127.0.0.1:${server.address().port}/v1`;
const provider = createAnthropic({ apiKey: "none", baseURL });
const tools = {}, inputSchema = jsonSchema({ type: "object" });
for (const name of ["roll_dice"]) tools[name] = tool({ inputSchema });
const options = { model: provider("m"), prompt: "Hello", tools, maxRetries: 0 };
const answer = streamText(options); // it prints the error parts of the stream
await answer.consumeStream();
console.log(JSON.stringify({ calls: await answer.toolCalls }));
process.exit();
// expected: {"calls":[["roll_dice",{"sides":6}],["roll_dice",{"sides":6}]],"text":"","stop":"tool_calls"}
