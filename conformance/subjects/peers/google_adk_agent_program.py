"""Google's Agent Development Kit: its Runner with an Agent, plain and with SSE streaming, and its model for Gemini."""

from __future__ import annotations

from typing import Any

from agent import Function, OutOfScope, serve  # type: ignore[import-not-found]  # isort: skip

from google.adk.agents import Agent, RunConfig
from google.adk.agents.run_config import StreamingMode
from google.adk.models import Gemini
from google.adk.runners import InMemoryRunner
from google.adk.tools import BaseTool
from google.genai import types

#: What errors say about forms of a response that only other requests get.
_NOT_REQUESTED = ("Raw response: [", "'int' object has no attribute 'upper'")


class Tool(BaseTool):  # type: ignore[misc,no-any-unimported,unused-ignore]
    """A tool with the declared schema."""

    def __init__(self, function: Function) -> None:
        super().__init__(name=function.name, description=function.description or "A tool.")
        self.function = function

    def _get_declaration(self) -> Any:
        schema = self.function.parameters
        return types.FunctionDeclaration(name=self.name, description=self.description, parameters_json_schema=schema)

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        """Run the function."""
        return {"result": self.function.run(args)}


async def act(ask: dict[str, Any], functions: list[Function]) -> tuple[None, bool]:
    """Run an agent. Return whether its last event has a finish reason; raise RuntimeError if it has an error code."""
    model = Gemini(model="gemini-2.5-flash", base_url=ask["base_url"], client_kwargs={"api_key": "none"})
    agent = Agent(name="agent", model=model, tools=[Tool(function) for function in functions])
    runner = InMemoryRunner(agent=agent, app_name="app")
    session = await runner.session_service.create_session(app_name="app", user_id="user")
    last: Any = None
    try:
        async for event in runner.run_async(
            user_id="user",
            session_id=session.id,
            new_message=types.UserContent(parts=[types.Part(text="Hello")]),
            run_config=RunConfig(streaming_mode=StreamingMode.SSE if ask["stream"] else StreamingMode.NONE),
        ):
            last = event
    except Exception as error:
        if any(sign in str(error) for sign in _NOT_REQUESTED):
            raise OutOfScope("it requests neither an array for a stream nor numbers for enumerations") from error
        raise
    if last is not None and last.error_code:
        raise RuntimeError(f"{last.error_code}: {last.error_message}")
    return None, last is not None and last.finish_reason is not None


serve("google-adk-agent", "google-adk", ["google.gemini"], act, providers=["google"])
