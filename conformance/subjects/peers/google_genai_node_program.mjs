// Google's Gen AI SDK for JavaScript on generateContent: its responses, also those of a stream. It has no accumulator.

import { serve, stopOf, version } from "./program.mjs";

import { GoogleGenAI } from "@google/genai";

async function read(ask, server) {
  const array = Buffer.concat(server.pieces).toString().trimStart().startsWith("[");
  if (ask.stream && array) return { unsupported: "it requests streams with alt=sse, which are never arrays" };
  const { models } = new GoogleGenAI({ apiKey: "none", vertexai: false, httpOptions: { baseUrl: server.url } });
  const request = { model: "model", contents: "Hello" };
  const responses = ask.stream ? await models.generateContentStream(request) : [await models.generateContent(request)];
  const calls = [];
  let text = "";
  let called = false;
  let word, usage;
  for await (const response of responses) {
    called ||= response.functionCalls !== undefined; // those of the first candidate
    const parts = (response.candidates ?? []).flatMap(({ content }) => content?.parts ?? []);
    for (const { functionCall: call } of parts.filter(({ functionCall }) => functionCall)) {
      if (call.partialArgs || call.willContinue) return { unsupported: "it passes on arguments that arrive by value" };
      calls.push({ id: call.id ?? null, name: call.name, arguments: call.args ?? {} });
    }
    text += response.text ?? "";
    word = response.candidates?.[0]?.finishReason ?? response.promptFeedback?.blockReason ?? word;
    usage = response.usageMetadata ?? usage;
  }
  return { calls, text, stop: stopOf(word, { calls: called ? calls : [] }), complete: word ? true : null, usage: usage ? figures(usage) : null };
}

/** The token counts. The SDK's figures have thoughts and tool use apart. */
function figures({ promptTokenCount, toolUsePromptTokenCount, candidatesTokenCount, thoughtsTokenCount, ...counts }) {
  return {
    input_tokens: promptTokenCount === undefined ? null : promptTokenCount + (toolUsePromptTokenCount ?? 0),
    output_tokens: candidatesTokenCount === undefined ? null : candidatesTokenCount + (thoughtsTokenCount ?? 0),
    cached_input_tokens: counts.cachedContentTokenCount ?? null,
    reasoning_tokens: thoughtsTokenCount ?? null,
  };
}

await serve(
  {
    name: "google-genai-node",
    version: version("@google/genai"),
    claims: ["stream", "text", "stop", "usage"],
    wires: ["google.gemini"],
  },
  read,
);
