"""The Agent of Pydantic AI."""

from __future__ import annotations

from ..code import AGENT, Ask, Code
from .pydantic_ai import MODELS, settings


def code(ask: Ask) -> Code:
    """Return the code that asks this library."""
    extra, model, path = MODELS[ask.wire]
    lines = [
        settings(extra, path),
        "def tool(name):",
        "    return Tool(lambda **arguments: ran.append([name, arguments]), name=name)",
        f"agent = Agent({model}, tools=[tool(name) for name in {list(ask.tools)}])",
    ]
    if ask.stream:
        lines += [
            "async def read(context, events): _ = [event async for event in events]",
            'agent.run_sync("Hello", event_stream_handler=read)',
        ]
    else:
        lines += ['agent.run_sync("Hello")']
    return Code(
        [f"pydantic-ai-slim[{extra}]"], ["import os", "from pydantic_ai import Agent, Tool"], lines, AGENT, "agent"
    )
