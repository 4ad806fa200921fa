"""The AI SDK by Vercel with tools that it runs."""

from __future__ import annotations

import json

from ..code import Ask, Code
from .vercel_ai import MODELS, PROVIDERS

_TOOL = (
    '  tools[name] = tool({ inputSchema: jsonSchema({ type: "object" }), '
    "execute: (input) => ran.push([name, input]) });"
)


def code(ask: Ask) -> Code:
    """Return the code that asks this library."""
    package, create = PROVIDERS.get(ask.provider, PROVIDERS["openai"])
    call = "streamText" if ask.stream else "generateText"
    imports = [
        f'import {{ {create} }} from "{package}";',
        f'import {{ {call}, isStepCount, jsonSchema, tool }} from "ai";',
    ]
    lines = [
        f'const provider = {create}({{ apiKey: "none", baseURL }}), tools = {{}};',
        f"for (const name of {json.dumps(list(ask.tools))})",
        _TOOL,
        f'const options = {{ model: {MODELS[ask.wire]}, prompt: "Hello", tools, stopWhen: isStepCount(2) }};',
        "await streamText(options).consumeStream();" if ask.stream else "await generateText(options);",
    ]
    return Code(["ai", package], imports, lines, {"ran": "ran", "sent": "sent[1]"}, server="node-agent")
