"""Strands Agents: its Agent, with the models for OpenAI and Anthropic.

The models for Responses and Messages ask for streams only. The one for Chat Completions can ask for plain responses.
"""

from __future__ import annotations

from typing import Any

from agent import Function, OutOfScope, serve  # type: ignore[import-not-found]  # isort: skip

from strands import Agent  # type: ignore[import-not-found,unused-ignore]
from strands.models.anthropic import AnthropicModel  # type: ignore[import-not-found,unused-ignore]
from strands.models.openai import OpenAIModel  # type: ignore[import-not-found,unused-ignore]
from strands.models.openai_responses import OpenAIResponsesModel  # type: ignore[import-not-found,unused-ignore]
from strands.tools import PythonAgentTool  # type: ignore[import-not-found,unused-ignore]


def model(ask: dict[str, Any]) -> Any:
    """Return the model object of a wire."""
    client = {"api_key": "none", "base_url": ask["base_url"], "max_retries": 0}
    if ask["wire"] == "openai.chat":
        return OpenAIModel(client_args=client, model_id="model", stream=ask["stream"])
    if not ask["stream"]:
        raise OutOfScope("its models for Responses and Messages ask for streams only")
    if ask["wire"] == "openai.responses":
        return OpenAIResponsesModel(client_args=client, model_id="model")
    return AnthropicModel(client_args=client, model_id="model", max_tokens=1024)


def tool(function: Function) -> Any:
    """Return a tool with the declared schema."""

    async def run(use: dict[str, Any], **_: Any) -> dict[str, Any]:
        result = function.run(use["input"])
        return {"toolUseId": use["toolUseId"], "status": "success", "content": [{"text": result}]}

    schema = {"json": function.parameters}
    description = function.description or "A tool."
    spec = {"name": function.name, "description": description, "inputSchema": schema}
    return PythonAgentTool(function.name, spec, run)


async def act(ask: dict[str, Any], functions: list[Function]) -> tuple[list[dict[str, Any]], bool]:
    """Run an agent until its final message. Return the calls in that message, and whether it has a stop reason."""
    tools = [tool(function) for function in functions]
    try:
        agent = Agent(
            model(ask), tools=tools, callback_handler=None, retry_strategy=None, load_tools_from_directory=False
        )
    except ValueError as error:
        if "already exists as" in str(error):
            raise OutOfScope("it refuses tools whose names differ in hyphens and underscores only") from error
        raise
    result = await agent.invoke_async("Hello")
    uses = [block["toolUse"] for block in result.message["content"] if "toolUse" in block]
    returned = [{"id": use["toolUseId"], "name": use["name"], "arguments": use["input"]} for use in uses]
    return returned, result.stop_reason is not None


serve(
    "strands-agent",
    "strands-agents",
    ["openai.chat", "openai.responses", "anthropic.messages"],
    act,
    providers=["openai", "anthropic"],
)
