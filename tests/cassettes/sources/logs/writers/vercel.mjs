// Plays conversations with the AI SDK of Vercel, and writes its spans as OTLP JSON: OPENAI_BASE ANTHROPIC_BASE TARGET.
import { writeFileSync } from "node:fs";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { JsonTraceSerializer } from "@opentelemetry/otlp-transformer";
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const [openaiBase, anthropicBase, target] = process.argv.slice(2);
const exporter = new InMemorySpanExporter();
new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register();
const openai = createOpenAI({ baseURL: openaiBase, apiKey: "any" });
const anthropic = createAnthropic({ baseURL: `${anthropicBase}/v1`, apiKey: "any" });
const weather = { description: "Weather.", inputSchema: z.object({ city: z.string() }), execute: async () => "dry" };
const options = {
  tools: { get_weather: tool(weather) },
  prompt: "Where is it dry in Portugal?",
  stopWhen: stepCountIs(5),
  experimental_telemetry: { isEnabled: true },
};
const steps = (await generateText({ ...options, model: openai.responses("gpt-5-mini") })).steps;
const streamed = streamText({ ...options, model: anthropic("claude-sonnet-4-5") });
await streamed.consumeStream();
steps.push(...(await streamed.steps));
const lines = exporter.getFinishedSpans().map((span) => JsonTraceSerializer.serializeRequest([span]));
writeFileSync(target, lines.map((line) => `${new TextDecoder().decode(line)}\n`).join(""));
console.log(steps.length, steps.flatMap((step) => step.toolCalls).length);
