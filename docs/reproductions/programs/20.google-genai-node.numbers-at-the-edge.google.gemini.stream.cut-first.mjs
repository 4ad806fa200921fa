// npm install @google/genai@3.3.0
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { GoogleGenAI } from "@google/genai";

const server = createServer((_, response) => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(readFileSync("numbers-at-the-edge.google.gemini.stream.cut-first.sse"));
}).listen(0);
const baseURL = `http://127.0.0.1:${server.address().port}/v1`;

const { models } = new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: baseURL.slice(0, -3) } });
const responses = await models.generateContentStream({ model: "m", contents: "Hello" });
let calls = [], text = "", last;
for await (last of responses) {
  calls.push(...(last.functionCalls ?? [])), (text += last.text ?? "");
}
console.log(JSON.stringify({ calls: calls }));
process.exit();
// expected: ledger({"account":100000000000000000000,"exact":9007199254740993...)
