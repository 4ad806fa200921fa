"""Conversations for the tests: a script through the SDK, synchronous or not, object by object."""

from __future__ import annotations

import contextlib
from typing import Any

from toolparity.cassettes.recorder.script_driver import conversation
from toolparity.cassettes.recorder.sdks import AsyncCaller, Caller, Link, Received
from toolparity.cassettes.scripts import Script
from toolparity.cassettes.surfaces import Surface


def talk(script: Script, at: Surface, link: Link, *, stream: bool) -> list[Received]:
    """What the SDK gives in each round."""
    heard: list[Received] = []
    going = conversation(script, at, stream=stream)
    with Caller(at, link, stream) as caller, contextlib.suppress(StopIteration):
        body = next(going)
        while True:
            heard.append(caller.send(body))
            body = going.send(heard[-1].response)
    return heard


async def talk_async(script: Script, at: Surface, link: Link, *, stream: bool) -> list[Received]:
    """The same through the asynchronous client."""
    heard: list[Received] = []
    going = conversation(script, at, stream=stream)
    async with AsyncCaller(at, link, stream) as caller:
        with contextlib.suppress(StopIteration):
            body = next(going)
            while True:
                heard.append(await caller.send(body))
                body = going.send(heard[-1].response)
    return heard


def shown(heard: list[Received]) -> list[list[Any]]:
    """The SDK's objects as they can be compared: their class, and all that they hold."""
    return [[(type(one).__name__, plain(one)) for one in answer.objects] for answer in heard]


def plain(one: Any) -> Any:
    """All that an SDK's object holds, without what those of boto3 and google-genai hold of the connection."""
    if isinstance(one, dict):
        return {name: member for name, member in one.items() if name != "ResponseMetadata"}
    if hasattr(one, "proto"):
        return one.proto.SerializeToString(deterministic=True)
    return one.model_dump(warnings=False, exclude={"sdk_http_response"})
