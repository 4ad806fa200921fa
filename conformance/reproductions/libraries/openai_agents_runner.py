"""The Runner of the OpenAI Agents SDK."""

from __future__ import annotations

from ..code import AGENT, Ask, Code
from .openai_agents import ADDRESSES, MODELS


def code(ask: Ask) -> Code:
    """Return the code that asks this library."""
    name = MODELS[ask.wire]
    imports = [
        "import asyncio",
        f"from agents import Agent, {name}, Runner, function_tool",
        "from agents.tool_context import ToolContext",
        "from openai import AsyncOpenAI",
    ]
    lines = [
        f'client = AsyncOpenAI(api_key="none", base_url="{ADDRESSES[ask.provider]}", http_client=http)',
        "def run(context: ToolContext): ran.append([context.tool_name, context.tool_arguments])",
        f"tools = [function_tool(run, name_override=name, strict_mode=False) for name in {list(ask.tools)}]",
        f'agent = Agent("agent", model={name}("m", client), tools=tools)',
    ]
    if ask.stream:
        lines += [
            'async def ask(): return [event async for event in Runner.run_streamed(agent, "Hello").stream_events()]',
            "asyncio.run(ask())",
        ]
    else:
        lines += ['asyncio.run(Runner.run(agent, "Hello"))']
    return Code(["openai-agents"], imports, lines, AGENT, server="agent-transport")
