"""The OpenAI Agents SDK: its Runner, plain and streamed."""

from __future__ import annotations

from functools import cache
from typing import Any

from agent import Function, serve  # type: ignore[import-not-found]  # isort: skip

from agents import (  # type: ignore[import-not-found,unused-ignore]
    Agent,
    FunctionTool,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from agents.tool_context import ToolContext  # type: ignore[import-not-found,unused-ignore]
from openai import AsyncOpenAI

set_tracing_disabled(True)


@cache
def client() -> AsyncOpenAI:
    """Return the client that all responses share; each has another address."""
    return AsyncOpenAI(api_key="none", base_url="http://127.0.0.1", max_retries=0)


def tool(function: Function) -> FunctionTool:
    """Return a tool of `function_tool`, which parses the arguments and answers invalid ones with an error."""

    async def run(context: ToolContext[Any]) -> str:
        result: str = function.run(context.tool_arguments or {})
        return result

    made: FunctionTool = function_tool(
        run, name_override=function.name, description_override=function.description, strict_mode=False
    )
    made.params_json_schema = function.parameters
    return made


async def act(ask: dict[str, Any], functions: list[Function]) -> None:
    """Run an agent until its final output."""
    make = OpenAIChatCompletionsModel if ask["wire"] == "openai.chat" else OpenAIResponsesModel
    model = make(model="model", openai_client=client().with_options(base_url=ask["base_url"]))
    agent = Agent(name="agent", model=model, tools=[tool(function) for function in functions])
    if not ask["stream"]:
        await Runner.run(agent, "Hello")
        return
    async for _ in Runner.run_streamed(agent, "Hello").stream_events():
        pass


serve("openai-agents-runner", "openai-agents", ["openai.chat", "openai.responses"], act)
