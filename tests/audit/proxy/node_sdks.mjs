// Sends recorded requests with the official SDKs: node node_sdks.mjs FOLDER_WITH_NODE_MODULES < requests > results
// Each line of the input is {"base", "wire", "body"}; each line of the output is what the SDK makes of the response.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(`${process.argv[2]}/package.json`);
const { OpenAI } = require("openai");
const { Anthropic } = require("@anthropic-ai/sdk");

function send({ base, wire, body }) {
  const options = { baseURL: base, apiKey: "a-key", maxRetries: 0 };
  if (wire === "anthropic.messages") return new Anthropic(options).messages.create(body);
  const client = new OpenAI(options);
  return wire === "openai.chat" ? client.chat.completions.create(body) : client.responses.create(body);
}

async function result(request) {
  const read = [];
  try {
    const response = await send(request);
    if (request.body.stream) for await (const event of response) read.push(event);
    else read.push(response);
  } catch (error) {
    read.push({ refused: error.constructor.name, status: error.status });
  }
  return read;
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await result(JSON.parse(line))));
}
