"""The official SDKs of OpenAI, Anthropic and Google for JavaScript, and LangChain."""

from __future__ import annotations

import json

from ..code import Ask, Code

_PAIRS = "({ name, arguments: text }) => [name, JSON.parse(text || '{}')]"


def openai(ask: Ask) -> Code:
    """Return the code that asks OpenAI's SDK."""
    chat = ask.wire == "openai.chat"
    api, last = ("chat.completions", "finalChatCompletion") if chat else ("responses", "finalResponse")
    request = '{ model: "m", messages: [] }' if chat else '{ model: "m", input: "" }'
    calls = "answer.choices[0].message.tool_calls.map((call) => call.function)"
    if not chat:
        calls = 'answer.output.filter(({ type }) => type === "function_call")'
    values = {
        "calls": "answer.choices.map(({ message }) => message)" if chat else "answer.output",
        "text": "answer.choices[0].message.content" if chat else "answer.output_text",
        "stop": "answer.choices[0].finish_reason" if chat else "[answer.status, answer.incomplete_details]",
        "usage": "answer.usage",
        "pairs": f"{calls}.map({_PAIRS})",
        "names": f"{calls}.map(({{ name }}) => name)",
    }
    client = 'const client = new OpenAI({ apiKey: "none", baseURL, maxRetries: 0 });'
    asked = f"client.{api}.stream({request}).{last}()" if ask.stream else f"client.{api}.create({request})"
    lines = [client, f"const answer = await {asked};"]
    return Code(["openai"], ['import OpenAI from "openai";'], lines, values, server="node")


def anthropic(ask: Ask) -> Code:
    """Return the code that asks Anthropic's SDK."""
    calls = 'answer.content.filter(({ type }) => type === "tool_use")'
    values = {
        "calls": "answer.content",
        "text": "answer.content",
        "string": 'answer.content.map(({ text }) => text ?? "").join("")',
        "stop": "answer.stop_reason",
        "usage": "answer.usage",
        "pairs": f"{calls}.map(({{ name, input }}) => [name, input])",
        "names": f"{calls}.map(({{ name }}) => name)",
    }
    request = '{ model: "m", max_tokens: 1, messages: [] }'
    asked = f"stream({request}).finalMessage()" if ask.stream else f"create({request})"
    lines = [
        'const client = new Anthropic({ apiKey: "none", baseURL: baseURL.slice(0, -3), maxRetries: 0 });',
        f"const answer = await client.messages.{asked};",
    ]
    imports = ['import Anthropic from "@anthropic-ai/sdk";']
    return Code(["@anthropic-ai/sdk"], imports, lines, values, server="node")


def google_genai(ask: Ask) -> Code:
    """Return the code that asks Google's SDK."""
    values = {
        "calls": "calls",
        "text": "text",
        "stop": "last?.candidates?.[0]?.finishReason",
        "usage": "last?.usageMetadata",
        "pairs": "calls.map(({ name, args }) => [name, args])",
        "names": "calls.map(({ name }) => name)",
    }
    request = '{ model: "m", contents: "Hello" }'
    responses = f"await models.generateContentStream({request})"
    lines = [
        'const { models } = new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: baseURL.slice(0, -3) } });',
        f"const responses = {responses if ask.stream else f'[await models.generateContent({request})]'};",
        'let calls = [], text = "", last;',
        "for await (last of responses) {",
        '  calls.push(...(last.functionCalls ?? [])), (text += last.text ?? "");',
        "}",
    ]
    imports = ['import { GoogleGenAI } from "@google/genai";']
    return Code(["@google/genai"], imports, lines, values, server="node")


def langchain(ask: Ask) -> Code:
    """Return the code that asks a chat model of LangChain."""
    anthropic = ask.wire == "anthropic.messages"
    name, package = ("ChatAnthropic", "anthropic") if anthropic else ("ChatOpenAI", "openai")
    at = "anthropicApiUrl: baseURL.slice(0, -3), maxTokens: 64" if anthropic else "configuration: { baseURL }"
    option = ", useResponsesApi: true" * (ask.wire == "openai.responses")
    listed = [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
        for name in ask.tools or ["some_tool"]
    ]
    lines = [
        f'const settings = {{ model: "m", apiKey: "none", maxRetries: 0, {at}{option} }};',
        f"const model = new {name}(settings);",
        f"const tools = {json.dumps(listed)};",
    ]
    if ask.stream:
        lines += [
            "let answer;",
            'const stream = await model.stream("Hello", { tools });',
            "for await (const chunk of stream) answer = answer?.concat(chunk) ?? chunk;",
        ]
    else:
        lines.append('const answer = await model.invoke("Hello", { tools });')
    values = {
        "calls": "[...answer.tool_calls, ...(answer.additional_kwargs.tool_outputs ?? [])]",
        "text": "answer.text",
        "stop": "[answer.response_metadata, answer.additional_kwargs.stop_reason]",
        "usage": "answer.usage_metadata",
        "pairs": "answer.tool_calls.map(({ name, args }) => [name, args])",
        "names": "answer.tool_calls.map(({ name }) => name)",
    }
    imports = [f'import {{ {name} }} from "@langchain/{package}";']
    return Code(["@langchain/core", f"@langchain/{package}"], imports, lines, values, server="node")
