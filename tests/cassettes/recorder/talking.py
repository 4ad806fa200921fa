"""Conversations for the tests: a script through the SDK, synchronous or not, object by object."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from toolparity.cassettes.recorder.script_driver import conversation, play
from toolparity.cassettes.recorder.sdks import AsyncCaller, Link, Received
from toolparity.cassettes.scripts import Script
from toolparity.cassettes.surfaces import Surface
from toolparity.normalizer.model import Response


def talk(script: Script, at: Surface, link: Link, *, stream: bool) -> list[Received]:
    """What the SDK gives in each round."""
    return list(play(script, at, link, stream=stream))


async def talk_async(script: Script, at: Surface, link: Link, *, stream: bool) -> list[Received]:
    """The same through the asynchronous client."""
    received: list[Received] = []
    requests = conversation(script, at, stream=stream)
    async with AsyncCaller(at, link, stream) as caller:
        body = next(requests)
        while True:
            received.append(await caller.send(body))
            try:
                body = requests.send(received[-1].response)
            except StopIteration:
                return received


def compared(received: list[Received]) -> list[list[Any]]:
    """The SDK's objects as they can be compared: their class, and all that they hold."""
    return [[(type(one).__name__, _plain(one)) for one in answer.objects] for answer in received]


def _plain(one: Any) -> Any:
    """All that an SDK's object holds, without the members of boto3 and google-genai about the connection."""
    if isinstance(one, dict):
        return {name: member for name, member in one.items() if name != "ResponseMetadata"}
    if hasattr(one, "proto"):
        return one.proto.SerializeToString(deterministic=True)
    return one.model_dump(warnings=False, exclude={"sdk_http_response"})


def without_connection(one: Received) -> Response:
    """The response without boto3's data about the connection: its headers, and the id that one of them has."""
    response = one.response
    extra = {name: member for name, member in response.extra.items() if name != "ResponseMetadata"}
    return replace(response, extra=extra, id=None if response.wire == "bedrock.converse" else response.id)
