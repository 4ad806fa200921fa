// {{name}} as a subject of the suite: it gets an address, and fetches the response with its own client. Each line on
// standard input is a JSON object, and the program prints one JSON object for it. Print nothing else on standard output;
// standard error is for your messages.

import { createInterface } from "node:readline";
import * as openaiChat from "./openai_chat.mjs";

const HELLO = { name: "{{name}}", version: "0.1", input: "base_url", wires: ["openai.chat"], claims: ["stream"] };

/** The calls of one response. Replace `fetch` and `openaiChat.read` by your client. */
async function read({ base_url, stream, request }) {
  const response = await fetch(`${base_url}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...request, stream }),
  });
  if (!response.ok) return { error: `HTTP status ${response.status}` };
  return openaiChat.read(Buffer.from(await response.arrayBuffer()), stream);
}

async function answer(message) {
  if (message.op === "hello") return HELLO;
  try {
    return await read(message);
  } catch (error) {
    return { error: String(error) };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await answer(JSON.parse(line))));
}
