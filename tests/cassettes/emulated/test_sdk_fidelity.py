"""Emulated traffic of Anthropic and of xAI's gRPC service has the shape of real traffic.

Anthropic's: no member that neither a recording nor the SDK's types hold. On gRPC there are no other members than those
of the SDK's messages, so there every one has to be in a recording. What does not is listed in sdk_fidelity.toml: an
exception holds for its path and all below it.
"""

from __future__ import annotations

import json
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from anthropic.types import Message, RawMessageStreamEvent
from anthropic.types.shared import ErrorResponse
from google.protobuf.json_format import MessageToDict
from xai_sdk.proto import chat_pb2

from tests.cassettes.emulated.fidelity import (
    FREE,
    Coverage,
    Shape,
    coverage,
    pairs,
    real,
    recorded,
    shape,
    strange,
    typed,
)
from tests.cassettes.emulated.library import LIBRARY
from tests.normalizer.recorded.rows import Row, rows
from tests.support.sdk_types import models, tags
from toolparity.cassettes.emulated import anthropic_messages, xai_grpc
from toolparity.cassettes.emulated.script_player import ConnectionReset, Play, ProviderRefusal, StoredAnswers, play
from toolparity.cassettes.recorder.script_driver import opening
from toolparity.cassettes.scripts import Script, scripts
from toolparity.cassettes.surfaces import SURFACES, Surface
from toolparity.normalizer.requests import write_request

PLAYED: dict[str, Script] = {**scripts(), **LIBRARY}
EXCEPTIONS = tomllib.loads((Path(__file__).parent / "sdk_fidelity.toml").read_text())["allowed"]
ANTHROPIC, XAI = SURFACES["anthropic.messages"], SURFACES["xai.grpc"]
#: What a model writes into a call is its own.
UNREAD = FREE | {"input"}

#: What requests say besides, so that answers contain all they can.
MODELS = {"anthropic.messages": ("claude-haiku-4-5", "claude-sonnet-5"), "xai.grpc": ("grok-4-fast", "grok-4.6")}
THINKING = {
    "claude-haiku-4-5": {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4096},
    "claude-sonnet-5": {"thinking": {"type": "adaptive"}},
}
FIRST_TOOL = {"type": "code_execution_20250522", "name": "code_execution"}
#: Tools of a request that scripts can play.
_PLAYABLE = {None, "custom", "web_search_20250305", "code_execution_20250522", "code_execution_20250825"}


def plays(surface: Surface) -> Iterator[Play]:
    """Each round of each script that the surface plays, as several callers ask for it."""
    for script in PLAYED.values():
        for model in MODELS[surface.name] if surface.plays(script) else ():
            body = write_request(opening(script, surface, stream=True, model=model)).body
            for asked in _askings(surface, body):
                first = script.rounds[0].fault
                if first is not None and first.after is None:
                    continue
                found = play(surface, asked, StoredAnswers(), PLAYED)
                yield from (found._replace(number=n, round=round) for n, round in enumerate(script.rounds))


def _askings(surface: Surface, body: Any) -> Iterator[Any]:
    if surface is ANTHROPIC:
        tools = body.get("tools", [])
        older = [FIRST_TOOL if tool["name"] == "code_execution" else tool for tool in tools]
        for thinking in ({}, THINKING[body["model"]]):
            yield {**body, **thinking}
            yield {**body, **thinking, **({"tools": older} if tools else {})}
        return
    yield body
    more = chat_pb2.GetCompletionsRequest()
    more.CopyFrom(body)
    more.include.extend([1, 2, 3])
    more.use_encrypted_content = True
    more.max_tokens = 500
    more.reasoning_effort = chat_pb2.EFFORT_LOW
    more.tool_choice.mode = chat_pb2.TOOL_MODE_AUTO
    for tool in more.tools:
        if tool.HasField("web_search"):
            tool.web_search.enable_image_understanding = False
        elif tool.HasField("x_search"):
            tool.x_search.enable_image_understanding = tool.x_search.enable_video_understanding = False
        else:
            more.tool_choice.function_name = tool.function.name
    yield more


def bodies(found: Play) -> Iterator[tuple[bytes, bool]]:
    yield json.dumps(anthropic_messages.answer(found)).encode(), False
    pieces = []
    try:
        pieces.extend(anthropic_messages.events(found))
    except ConnectionReset:
        return
    yield b"".join(pieces), True


@cache
def emulated_messages() -> Shape:
    return shape((body for found in plays(ANTHROPIC) for body in bodies(found)), UNREAD)


def message_shape(messages: Iterable[tuple[str, Any]]) -> Shape:
    """The pairs of protobuf messages, each with "body" or "chunk"."""
    found: Shape = defaultdict(set)
    for event, message in messages:
        found[event].update(pairs(MessageToDict(message, preserving_proto_field_name=True)))
    return dict(found)


def messages(found: Play) -> Iterator[tuple[str, Any]]:
    yield "body", xai_grpc.answer(found)
    chunks = xai_grpc.events(found)
    while True:
        try:
            yield "chunk", next(chunks)
        except (StopIteration, ProviderRefusal, ConnectionReset):
            return


@cache
def emulated_chunks() -> Shape:
    return message_shape(one for found in plays(XAI) for one in messages(found))


def frames(found: Iterable[Row]) -> Iterator[tuple[str, Any]]:
    for row in found:
        kind = chat_pb2.GetChatCompletionChunk if row.stream else chat_pb2.GetChatCompletionResponse
        for frame in row.messages:
            yield "chunk" if row.stream else "body", kind.FromString(frame)


def sdk_messages() -> dict[str, Any]:
    events = {tag: model for model in models(RawMessageStreamEvent) for tag in tags(model)}
    return {"body": Message, "error": ErrorResponse, **events}


def unexplained(surface: Surface, found: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    return [one for one in found if not any(stands_for(exception, surface, one) for exception in EXCEPTIONS)]


def stands_for(exception: dict[str, Any], surface: Surface, found: tuple[str, str, str]) -> bool:
    event, path, _ = found
    return (
        exception["surface"] == surface.name
        and event in exception["events"]
        and (path == exception["path"] or path.startswith(exception["path"] + "."))
    )


def strangers(recordings: Path, surface: Surface) -> list[tuple[str, str, str]]:
    if surface is ANTHROPIC:
        known = real(recorded(recordings, surface.wire, surface.provider), UNREAD)
        return strange(emulated_messages(), known, typed(sdk_messages(), UNREAD))
    return strange(emulated_chunks(), message_shape(frames(rows(recordings, surface.wire))))


here = pytest.mark.parametrize("surface", [ANTHROPIC, XAI], ids=lambda surface: surface.name)


@pytest.mark.thorough(keep=1)
@here
def test_every_member_is_a_real_one(recordings: Path, surface: Surface) -> None:
    assert unexplained(surface, strangers(recordings, surface)) == []


def test_no_exception_is_stale(recordings: Path) -> None:
    found = [(surface, one) for surface in (ANTHROPIC, XAI) for one in strangers(recordings, surface)]
    stale = [e for e in EXCEPTIONS if not any(stands_for(e, surface, one) for surface, one in found)]
    assert stale == []


def test_refusals_have_the_shape_of_recorded_ones(recordings: Path) -> None:
    told: Shape = defaultdict(set)
    for row in rows(recordings, ANTHROPIC.wire):
        if row.provider == "anthropic" and row.failed and (row.body or "").startswith("{"):
            told["error"].update(pairs(json.loads(row.data)))
    made: Shape = defaultdict(set)
    for kind in ("invalid_request", "authentication", "not_found", "rate_limit", "overloaded", "server_error"):
        made["error"].update(pairs(anthropic_messages.error(ProviderRefusal(kind, "no"))[2]))
    assert strange(made, told, typed({"error": ErrorResponse})) == []


def playable(row: Row) -> bool:
    """Whether scripts can produce what the tools of the request bring; of Anthropic's only newest models with calls.

    What Claude Code asks for beside the tools, a report on the managed context, is left out.
    """
    request = row.request or {}
    tools = request.get("tools") or ()
    if row.wire == XAI.wire:
        asked = json.dumps(request)
        return not any(f'"{what}"' in asked for what in ("collections_search", "mcp", "file", "image_url"))
    model = request.get("model") or ""
    newest = any(name in model for name in ("-4-5", "-4-6", "-4-7", "-4-8", "-5"))
    return (
        newest
        and "tool_use" in (row.body or "")
        and {tool.get("type") for tool in tools} <= _PLAYABLE
        and "mcp_servers" not in request
        and '"context_management":{' not in (row.body or "")
    )


def covered(recordings: Path, surface: Surface) -> tuple[int, Coverage]:
    if surface is ANTHROPIC:
        found = [row for row in recorded(recordings, surface.wire, surface.provider) if playable(row)]
        return len(found), coverage(emulated_messages(), real(found, UNREAD))
    found = [row for row in rows(recordings, surface.wire) if playable(row)]
    return len(found), coverage(emulated_chunks(), message_shape(frames(found)))


#: The share of real pairs that emulated traffic has to show at least.
FLOOR = {"anthropic.messages": 0.95, "xai.grpc": 0.9}


@here
def test_nearly_all_of_what_real_answers_hold_is_shown(
    recordings: Path, surface: Surface, capsys: pytest.CaptureFixture[str]
) -> None:
    count, found = covered(recordings, surface)
    with capsys.disabled():
        print(
            f"\n{surface.name}: {found.covered} of {found.total} (path, type) pairs of {count} real exchanges whose "
            f"tools scripts can play are emulated ({found.share:.1%})"
        )
    assert count
    assert found.share >= FLOOR[surface.name], found.missing
