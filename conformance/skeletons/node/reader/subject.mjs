// {{name}} as a subject of the suite: it gets the bytes of a response. Each line on standard input is a JSON object, and
// the program prints one JSON object for it. Print nothing else on standard output; standard error is for your messages.

import { createInterface } from "node:readline";
import * as openaiChat from "./openai_chat.mjs";

const HELLO = { name: "{{name}}", version: "0.1", wires: ["openai.chat"], claims: ["stream"] };

/** The calls of one response. Replace `openaiChat.read` by your library. */
function read({ status, stream, pieces }) {
  if (status >= 400) return { error: `HTTP status ${status}` };
  return openaiChat.read(Buffer.concat(pieces.map((piece) => Buffer.from(piece, "base64"))), stream);
}

function answer(message) {
  if (message.op === "hello") return HELLO;
  try {
    return read(message);
  } catch (error) {
    return { error: String(error) };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(answer(JSON.parse(line))));
}
