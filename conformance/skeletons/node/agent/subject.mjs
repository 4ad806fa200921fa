// {{name}} as a subject of the suite: an agent, which asks a model and runs the tools that it calls. Each line on standard
// input is a JSON object, and the program prints one JSON object for it. Print nothing else on standard output; standard
// error is for your messages.

import { createInterface } from "node:readline";
import * as agent from "./agent.mjs";

const HELLO = { name: "{{name}}", version: "0.1", input: "base_url", wires: ["openai.chat"], claims: ["runs"] };

/** Run the agent on one response, and report what ran, in order. Replace `agent.run` by your agent. */
async function read({ base_url, functions = [] }) {
  const runs = [];
  const tool = ({ name, description, parameters }) => ({
    name,
    description,
    parameters,
    run(args) {
      runs.push({ name, arguments: args });
      return `result ${runs.length} of ${name}`;
    },
  });
  try {
    await agent.run(base_url, functions.map(tool));
  } catch (error) {
    return { runs, error: String(error) };
  }
  return { runs };
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  console.log(JSON.stringify(message.op === "hello" ? HELLO : await read(message)));
}
