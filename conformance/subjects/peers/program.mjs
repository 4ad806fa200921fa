// Code that the programs for Node share: the line protocol, and a local server that sends the response. It uses only
// Node itself. program.py is the same for Python.

import { createServer } from "node:http";
import { createInterface } from "node:readline";

const write = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr); // keep the libraries' output out of the answers

for (const name of Object.keys(process.env)) if (/_proxy$/i.test(name)) delete process.env[name];

/** Starts a server on a free port that sends the loaded response to every request. Returns it with its `url`. */
async function loopback() {
  const loaded = { pieces: [], status: 200, stream: false, url: "" };
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      const streamed = loaded.stream && loaded.status < 400;
      response.writeHead(loaded.status, { "content-type": streamed ? "text/event-stream" : "application/json" });
      for (const piece of loaded.pieces) response.write(piece);
      response.end();
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  loaded.url = `http://127.0.0.1:${server.address().port}`;
  server.unref();
  return loaded;
}

/** Declared if the case has no tools: a caller that gets calls has declared tools, and libraries depend on that. */
const SOME = { name: "some_tool", description: "A tool.", parameters: { type: "object", properties: {} } };

/** The functions among the declared tools of any wire, at least one: {name, description, parameters}. */
export function functions(ask) {
  const found = [];
  for (const tool of ask.tools) {
    const held = tool.function ?? tool;
    const parameters = held.parameters ?? held.input_schema;
    const { name, description = "" } = held;
    if (name && parameters !== null && typeof parameters === "object") found.push({ name, description, parameters });
  }
  return found.length ? found : [SOME];
}

/**
 * Answers line by line until the input ends. `read(ask, server)` returns the answer; an exception becomes an answer
 * with an error.
 */
export async function serve({ name, version, claims, wires, providers = null, stop_words = null }, read) {
  const server = await loopback();
  const answer = async (ask) => {
    Object.assign(server, { pieces: ask.pieces.map((piece) => Buffer.from(piece, "base64")) });
    Object.assign(server, { status: ask.status, stream: ask.stream });
    try {
      return await read(ask, server);
    } catch (error) {
      return { error: describe(error) };
    }
  };
  for await (const line of createInterface({ input: process.stdin, terminal: false })) {
    const ask = JSON.parse(line);
    write(`${JSON.stringify(ask.op === "hello" ? { name, version, claims, wires, providers, stop_words } : await answer(ask))}\n`);
  }
}

/** An error in one line: its name, its message, and those of its cause. */
export function describe(error) {
  const text = `${error?.name ?? "Error"}: ${error?.message ?? JSON.stringify(error)}`.slice(0, 1000);
  return error?.cause ? `${text}; ${describe(error.cause)}` : text;
}
