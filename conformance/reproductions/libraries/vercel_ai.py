"""The AI SDK by Vercel."""

from __future__ import annotations

import json

from ..code import Ask, Code

#: Provider -> the package, the function that creates it, and the models of the wires.
PROVIDERS = {
    "openai": ("@ai-sdk/openai", "createOpenAI"),
    "anthropic": ("@ai-sdk/anthropic", "createAnthropic"),
    "xai": ("@ai-sdk/xai", "createXai"),
}
MODELS = {
    "openai.chat": 'provider.chat("m")',
    "openai.responses": 'provider.responses("m")',
    "anthropic.messages": 'provider("m")',
}
_VALUES = {
    "calls": "await answer.toolCalls",
    "pairs": "(await answer.toolCalls).map(({ toolName, input }) => [toolName, input])",
    "names": "(await answer.toolCalls).map(({ toolName }) => toolName)",
    "text": "await answer.text",
    "stop": "[await answer.finishReason, await answer.rawFinishReason]",
    "usage": "await answer.usage",
}


def code(ask: Ask) -> Code:
    """Return the code that asks this library."""
    package, create = PROVIDERS.get(ask.provider, PROVIDERS["openai"])
    imports = [
        f'import {{ {create} }} from "{package}";',
        f'import {{ {"streamText" if ask.stream else "generateText"}, jsonSchema, tool }} from "ai";',
    ]
    lines = [
        f'const provider = {create}({{ apiKey: "none", baseURL }});',
        'const tools = {}, inputSchema = jsonSchema({ type: "object" });',
        f"for (const name of {json.dumps(list(ask.tools))}) tools[name] = tool({{ inputSchema }});",
        f'const options = {{ model: {MODELS[ask.wire]}, prompt: "Hello", tools, maxRetries: 0 }};',
    ]
    if ask.stream:
        lines += [
            "const answer = streamText(options); // it prints the error parts of the stream",
            "await answer.consumeStream();",
        ]
    else:
        lines += ["const answer = await generateText(options);"]
    return Code(["ai", package], imports, lines, _VALUES, server="node")
