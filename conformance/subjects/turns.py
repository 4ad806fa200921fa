"""This project's turns as a subject: an agent that runs the suite's tools."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from typing import Any

import anthropic
import grpc
import openai
from msgspec.structs import replace

from toolparity import __version__
from toolparity.normalizer.decoder import normalize
from toolparity.turns import Outcome, Tool, Turn
from toolparity.turns.clients import client
from toolparity.turns.clients.xai_grpc import Client as XaiClient
from toolparity.turns.request import opening

from . import tools as offered
from .interface import SubjectExchange

_SDKS: dict[str, Callable[..., Any]] = {
    "openai.chat": openai.AsyncOpenAI,
    "openai.responses": openai.AsyncOpenAI,
    "anthropic.messages": anthropic.AsyncAnthropic,
}
#: The ends of a turn that are not errors: it waits for a decision, too.
_ENDED = (None, "natural_completion", "refused", "max_rounds_reached")


class TurnsAgent:
    """Runs one turn for each response. A turn never raises for a response: its outcome says how it ended."""

    name = "turns"
    version = __version__
    claims = frozenset(("runs", "stream", "select"))
    wires = frozenset((*_SDKS, "xai.grpc", "cohere.chat", "google.gemini", "google.interactions", "ollama.chat"))
    input = "base_url"

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._sdks: dict[str, Any] = {}

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        """Run a turn against the address of the response."""
        log = logging.getLogger("toolparity")
        disabled, log.disabled = log.disabled, True  # the warnings about dropped calls are not judged here
        try:
            outcome = self._runner.run(self._run(exchange))
        finally:
            log.disabled = disabled
        ended = outcome.termination in _ENDED
        return {} if ended else {"error": outcome.error.message if outcome.error else str(outcome.termination)}

    def close(self) -> None:
        """Close the connections and the event loop."""
        for sdk in self._sdks.values():
            self._runner.run(sdk.close())
        self._runner.close()

    async def _run(self, exchange: SubjectExchange) -> Outcome:
        async with self._provider(exchange) as provider:
            request = opening("Hello", provider)
            if exchange.wire != "xai.grpc":  # there, another method streams
                request = replace(request, params={**request.params, "stream": exchange.stream})
            tools = [_tool(tool) for tool in exchange.tools]
            return await Turn(provider, tools, policy=exchange.policy, limit=exchange.limit, backoff=None).run(request)

    def _provider(self, exchange: SubjectExchange) -> Any:
        """Return a client with the address of the response."""
        wire = exchange.wire
        if wire == "xai.grpc":
            make = XaiClient if exchange.stream else _PlainXai
            return make("model", api_key="none", api_host=exchange.base_url, use_insecure_channel=True)
        if wire == "cohere.chat":  # its SDK has no copy of a client with another address
            return client(wire, "model", api_key="none", base_url=exchange.base_url, max_retries=0)
        if wire in ("google.gemini", "google.interactions"):
            unchecked = {"verify": False}  # without TLS, certificates need not be loaded for each response
            http = {"base_url": exchange.base_url, "client_args": unchecked, "async_client_args": unchecked}
            return client(wire, "model", provider=exchange.provider, api_key="none", http_options=http)
        if wire == "ollama.chat":
            return client(wire, "model", host=exchange.base_url, verify=False)
        if wire not in self._sdks:
            self._sdks[wire] = _SDKS[wire](api_key="none", base_url=exchange.base_url, max_retries=0)
        sdk = self._sdks[wire].with_options(base_url=exchange.base_url)
        return client(wire, "model", provider=exchange.provider, sdk=sdk)


def _tool(tool: offered.Tool) -> Tool:
    async def function(arguments: dict[str, Any]) -> str:
        return tool(arguments)

    return Tool(
        name=tool.name, function=function, description=tool.description, parameters=tool.parameters, mapping=True
    )


class _PlainXai(XaiClient):
    """Sends plain requests. The client of this wire always streams."""

    async def ask(self, body: Any) -> AsyncGenerator[Any, None]:
        """Send one request and yield the decoded response."""
        try:
            yield normalize(await self._sdk().chat._stub.GetCompletion(body), self.wire, provider=self.name)
        except grpc.RpcError as error:
            yield self._error(error, answered=False)
