"""LangGraph: the agent of LangChain, whose ToolNode runs the tools, plain and streamed."""

from __future__ import annotations

from typing import Any

from agent import Function, serve  # type: ignore[import-not-found]  # isort: skip

from langchain.agents import create_agent  # type: ignore[import-not-found,unused-ignore]
from langchain_anthropic import ChatAnthropic  # type: ignore[import-not-found,unused-ignore]
from langchain_core.tools import StructuredTool  # type: ignore[import-not-found,unused-ignore]
from langchain_openai import ChatOpenAI  # type: ignore[import-not-found,unused-ignore]
from langchain_xai import ChatXAI  # type: ignore[import-not-found,unused-ignore]


def model(ask: dict[str, Any]) -> Any:
    """Return the chat model that LangChain documents for a provider and wire."""
    options = {"model": "model", "api_key": "none", "base_url": ask["base_url"], "max_retries": 0}
    if ask["wire"] == "anthropic.messages":
        return ChatAnthropic(max_tokens=1024, **options)
    make = ChatXAI if ask["provider"] == "xai" else ChatOpenAI
    return make(use_responses_api=ask["wire"] == "openai.responses", **options)


def tool(function: Function) -> Any:
    """Return a tool with the declared schema."""

    async def run(**arguments: Any) -> str:
        result: str = function.run(arguments)
        return result

    return StructuredTool.from_function(
        coroutine=run,
        name=function.name,
        description=function.description or "A tool.",
        args_schema=function.parameters,
    )


async def act(ask: dict[str, Any], functions: list[Function]) -> tuple[list[dict[str, Any]], bool]:
    """Run an agent until its last message.

    Return that message's invalid calls, which the library does not run, and whether its metadata have a stop reason.
    """
    agent = create_agent(model(ask), [tool(function) for function in functions])
    question = {"messages": [{"role": "user", "content": "Hello"}]}
    state: Any = None
    if ask["stream"]:  # the mode `messages` streams from the model, and `values` has the state
        async for mode, value in agent.astream(question, stream_mode=["messages", "values"]):
            state = value if mode == "values" else state
    else:
        state = await agent.ainvoke(question)
    last = state["messages"][-1]
    ended = any(last.response_metadata.get(name) for name in ("finish_reason", "stop_reason", "status"))
    invalid = last.invalid_tool_calls
    return [{"id": call["id"], "name": call["name"] or "", "arguments": call["args"]} for call in invalid], ended


serve(
    "langgraph-agent",
    "langgraph",
    ["openai.chat", "openai.responses", "anthropic.messages"],
    act,
    providers=["openai", "anthropic", "xai"],
)
