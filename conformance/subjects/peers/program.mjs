// Code that the programs for Node share: the line protocol, and a local server that sends the response. It uses only
// Node itself. program.py is the same for Python.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createInterface } from "node:readline";

import items from "./items.json" with { type: "json" };
import stops from "./stops.json" with { type: "json" };

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

/** The version of a package in the folder that modules.mjs searches. Its manifest need not be among its exports. */
export function version(distribution) {
  const hook = process.execArgv.find((argument) => argument.includes("modules.mjs"));
  const folder = new URL(hook).searchParams.get("folder");
  return JSON.parse(readFileSync(new URL(`${folder}/node_modules/${distribution}/package.json`))).version;
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

/** The canonical stop reason of a provider's word, as stop_of() in stops.py. */
export function stopOf(word, { calls = [], refusal = false, approval = false } = {}) {
  const reason = stops[String(word).toLowerCase()] ?? "unknown";
  if (calls.length && (reason === "end_turn" || (reason === "unknown" && word))) return "tool_calls";
  if (reason === "end_turn" && (refusal || approval)) return refusal ? "refusal" : "pause";
  return reason;
}

/** The token counts of an object with the members of OpenAI's usage. `into`, `out`: its names for input and output. */
export function figures(counts, into, out) {
  return (
    counts && {
      input_tokens: counts[`${into}_tokens`],
      output_tokens: counts[`${out}_tokens`],
      cached_input_tokens: counts[`${into}_tokens_details`]?.cached_tokens ?? null,
      cache_write_tokens: counts[`${into}_tokens_details`]?.cache_write_tokens ?? null,
      reasoning_tokens: counts[`${out}_tokens_details`]?.reasoning_tokens ?? null,
    }
  );
}

/** The calls, text, stop reason and token counts of a Responses object. A call with its output was run by the provider. */
export function responseAnswer(response) {
  const { output, incomplete_details: details, status } = response;
  const answered = new Set(output.filter(({ type }) => type.endsWith("_output")).map((item) => item.call_id));
  const own = output.filter(({ type, call_id: id }) => type in items && !answered.has(id));
  const calls = own.map((item) => ({
    id: item.call_id ?? null,
    name: item.name || items[item.type][0],
    arguments: item[items[item.type][1]],
  }));
  const parts = output.flatMap(({ type, content }) => (type === "message" ? (content ?? []) : []));
  const ended = ["completed", "incomplete"].includes(status);
  const beside = {
    calls,
    refusal: parts.some(({ type }) => type === "refusal"),
    approval: output.some(({ type }) => type === "mcp_approval_request"),
  };
  return {
    calls,
    text: response.output_text,
    stop: ended || ["failed", "cancelled"].includes(status) ? stopOf(details?.reason ?? status, beside) : "unknown",
    complete: ended,
    usage: figures(response.usage, "input", "output"),
  };
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
    const hello = { name, version, claims, wires, providers, stop_words };
    write(`${JSON.stringify(ask.op === "hello" ? hello : await answer(ask), exact)}\n`);
  }
}

/** Keeps what JSON.stringify changes in numbers: the sign of a negative zero, and the digits of large integers. */
function exact(_, value) {
  if (Object.is(value, -0)) return JSON.rawJSON("-0.0");
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? JSON.rawJSON(String(BigInt(value))) : value;
}

/** An error in one line: its name, or that of its class, its message, and those of its cause. */
export function describe(error) {
  const named = error?.name && error.name !== "Error" ? error.name : (error?.constructor?.name ?? "Error");
  const text = `${named}: ${error?.message ?? JSON.stringify(error)}`.slice(0, 1000);
  return error?.cause ? `${text}; ${describe(error.cause)}` : text;
}
