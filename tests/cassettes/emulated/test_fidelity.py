"""Emulated answers have the members of real ones, and the SDKs' types accept them. What real answers hold and emulated
ones lack is compared by `toolparity cassettes drift`."""

from __future__ import annotations

import json
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from anthropic.types import Message, RawMessageStreamEvent
from anthropic.types.shared import ErrorResponse
from google.protobuf.json_format import MessageToDict
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from xai_sdk.proto import chat_pb2

from tests.cassettes.emulated.fidelity import Shape, foreign, paths, payloads, shape
from tests.cassettes.emulated.script_library import LIBRARY
from tests.normalizer.recorded.rows import rows
from tests.support.sdk_types import models, tags
from toolparity.cassettes.emulated import anthropic_messages
from toolparity.cassettes.emulated.script_player import ConnectionReset, Play, ProviderRefusal, StoredAnswers, play
from toolparity.cassettes.recorder.script_driver import opening
from toolparity.cassettes.scripts import Script, scripts
from toolparity.cassettes.surfaces import SURFACES, Surface
from toolparity.normalizer.requests import write_request

#: Without the script whose arguments are a list, which no API sends.
PLAYED = {id: script for id, script in {**scripts(), **LIBRARY}.items() if id != "no-object"}
FOLDER = Path(__file__).parent
ALLOWED = tomllib.loads((FOLDER / "fidelity.toml").read_text())["allowed"]
EXCEPTIONS = tomllib.loads((FOLDER / "lacking.toml").read_text())
#: The models that are asked, by surface: answers differ by generation.
MODELS = {
    "openai.chat": ("gpt-5-mini", "gpt-4.1"),
    "openai.responses": ("gpt-5-mini", "gpt-5.4", "gpt-5.6", "gpt-4.1"),
    "xai.chat": ("grok-4-fast", "grok-3-mini"),
    "xai.responses": ("grok-4-fast", "grok-4.3"),
    "anthropic.messages": ("claude-haiku-4-5", "claude-sonnet-5"),
    "xai.grpc": ("grok-4-fast", "grok-4.6"),
}
COMPARED = [SURFACES[name] for name in MODELS]
#: Members of bodies that only some models send, by surface, and models that do or do not.
VARYING = {
    "google.gemini": (
        "candidates[].avgLogprobs candidates[].finishMessage candidates[].index usageMetadata.candidatesTokensDetails"
        " usageMetadata.serviceTier candidates[].content.parts[].thoughtSignature",
        ("gemini-2.0-flash", "gemini-2.5-flash", "gemini-3-flash-preview"),
    ),
    "openai.responses": (
        "output[]<message>.phase reasoning.context reasoning.mode tool_usage",
        ("gpt-4o-mini", "gpt-5-nano", "gpt-5.4-nano", "gpt-5.6-terra"),
    ),
    "openai.chat": ("choices[].logprobs", ("gpt-5-mini", "gpt-4o-mini")),
    "bedrock.converse": (
        "usage.serverToolUsage usage.cacheReadInputTokens usage.cacheReadInputTokenCount",
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "us.amazon.nova-2-lite-v1:0"),
    ),
}
THINKING: dict[str, dict[str, Any]] = {
    "claude-haiku-4-5": {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4096},
    "claude-sonnet-5": {"thinking": {"type": "adaptive"}},
}
_FORMAT = {"type": "json_schema", "name": "answer", "schema": {"type": "object", "properties": {}}, "strict": False}
#: What requests of the Responses API ask for besides, so that answers contain all they can.
RESPONSES_OPTIONS: list[dict[str, Any]] = [
    {
        "include": [
            "reasoning.encrypted_content",
            "web_search_call.action.sources",
            "code_interpreter_call.outputs",
        ],
        "reasoning": {"summary": "auto", "effort": "low"},
        "instructions": "Be brief.",
    },
    {"max_output_tokens": 4000, "text": {"format": _FORMAT}, "prompt_cache_retention": "24h", "temperature": 0},
]


def requests(surface: Surface, script: Script, body: Any) -> Iterator[Any]:
    """The request that begins a script, and the same with more options."""
    yield body
    if surface.wire == "openai.responses":
        choice: list[Any] = [{"type": tool.kind, "name": tool.name} for tool in script.tools[:1]] or ["auto"]
        yield from ({**body, "tool_choice": choice[0], **more} for more in RESPONSES_OPTIONS)
    elif surface.wire == "anthropic.messages":
        older = {"type": "code_execution_20250522", "name": "code_execution"}
        tools = [older if tool["name"] == "code_execution" else tool for tool in body.get("tools", [])]
        yield {**body, **THINKING[body["model"]], **({"tools": tools} if tools else {})}
    elif surface.wire == "xai.grpc":
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


def plays(surface: Surface) -> Iterator[Play]:
    """Each round of each script that the surface plays, for each request that begins it."""
    for script in PLAYED.values():
        for model in MODELS[surface.name] if surface.plays(script) else ():
            body = write_request(opening(script, surface, stream=True, model=model)).body
            for asked in requests(surface, script, body):
                if script.rounds[0].fault is not None and script.rounds[0].fault.after is None:
                    continue
                first = play(surface, asked, StoredAnswers(), PLAYED)
                for number, round in enumerate(script.rounds):
                    found = first._replace(number=number, round=round)
                    if number and surface.wire == "openai.responses" and asked is not body:
                        later = msgspec.structs.replace(first.request, previous_response_id="resp_1")
                        found = found._replace(request=later)
                    yield found


def events(surface: Surface, found: Play) -> Iterator[Any]:
    """The parts of a stream until its script breaks it off."""
    with suppress(ConnectionReset, ProviderRefusal):
        yield from surface.emulation.events(found)


def answers(surface: Surface) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every emulated answer of a surface: "body", or the type of an event, and its JSON."""
    for found in plays(surface):
        if surface.by_messages:
            messages = [("body", surface.emulation.answer(found)), *(("chunk", one) for one in events(surface, found))]
            yield from ((event, MessageToDict(one, preserving_proto_field_name=True)) for event, one in messages)
        else:
            yield "body", surface.emulation.answer(found)
            yield from payloads(b"".join(events(surface, found)))


def recorded(recordings: Path, surface: Surface) -> Shape:
    """The paths of the answers of the real provider."""
    found = [row for row in rows(recordings, surface.wire) if row.provider == surface.provider or surface.by_messages]
    if not surface.by_messages:
        return shape((row.data, row.stream) for row in found if not row.failed and row.body is not None)
    real: Shape = defaultdict(set)
    for row in found:
        kind = chat_pb2.GetChatCompletionChunk if row.stream else chat_pb2.GetChatCompletionResponse
        for frame in row.messages:
            message = MessageToDict(kind.FromString(frame), preserving_proto_field_name=True)
            real["chunk" if row.stream else "body"].update(paths(message))
    return real


def sdk_models(surface: Surface) -> dict[str, Any]:
    """The SDK's type of each event, of "chunk" if events have no type, and of "body"."""
    if surface.wire == "openai.chat":
        return {"body": ChatCompletion, "chunk": ChatCompletionChunk}
    union: Any = RawMessageStreamEvent if surface.provider == "anthropic" else ResponseStreamEvent
    events = {tag: model for model in models(union) for tag in tags(model)}
    if surface.provider == "anthropic":
        return {"body": Message, "error": ErrorResponse, **events}
    return {"body": Response, **events}


def unknown_members(recordings: Path, surface: Surface) -> set[tuple[str, str]]:
    """The emulated members that are neither in a recording nor in the types of the SDK, which accept all others."""
    real, types = recorded(recordings, surface), {} if surface.by_messages else sdk_models(surface)
    unknown: set[tuple[str, str]] = set()
    for event, payload in answers(surface):
        members = paths(payload)
        if event in types:  # no SDK has a type for a ping
            if surface.provider != "anthropic" and payload.get("error"):  # that of a refusal, in mid-stream
                members = foreign(types[event].model_construct(**payload))
            else:
                members = foreign(types[event].model_validate(completed(surface, event, payload)))
        unknown.update((event, path) for path in members if path not in real.get(event, ()))
    return unknown


def excuses(exception: dict[str, Any], surface: Surface, found: tuple[str, str]) -> bool:
    """Whether an exception is about this member, or one below those it names."""
    event, path = found
    if surface.name not in exception["surfaces"] or event not in exception.get("events", [event]):
        return False
    return any(path == top or path.startswith((f"{top}.", f"{top}<")) for top in exception["below"])


def objects(value: Any, path: str) -> Iterator[dict[str, Any]]:
    """The objects at a path, "*" being every item of a list."""
    step, _, rest = path.partition(".")
    if not path and isinstance(value, dict):
        yield value
    elif step == "*" and isinstance(value, list):
        for item in value:
            yield from objects(item, rest)
    elif path and isinstance(value, dict) and step in value:
        yield from objects(value[step], rest)


def completed(surface: Surface, event: str, payload: dict[str, Any]) -> dict[str, Any]:
    """The payload with the members that the real wire lacks, too, and without those that the types do not know."""
    whole = payload.get("response", payload)
    for lacking in EXCEPTIONS["lacking"]:
        if surface.name in lacking["surfaces"] and lacking.get("event") in (None, event):
            for place in objects(payload if "event" in lacking else whole, lacking["at"]):
                if place.get("type") == lacking.get("type", place.get("type")):
                    place.setdefault(lacking["member"], lacking["give"])
    for other in EXCEPTIONS["foreign"]:
        above, _, member = other["at"].rpartition(".")
        for place in objects(whole, above) if surface.name in other["surfaces"] else ():
            if isinstance(place.get(member), list):
                place[member] = [one for one in place[member] if one.get("type") != other["type"]]
    return payload


def test_the_sdks_types_accept_every_answer_whose_members_are_in_them_or_in_a_recording(recordings: Path) -> None:
    used = []
    for surface in COMPARED:
        for found in unknown_members(recordings, surface):
            excused = [one for one in ALLOWED if excuses(one, surface, found)]
            assert excused, (surface.name, found)
            used += excused
    assert [one for one in ALLOWED if one not in used] == []


def test_members_of_some_models_occur_together_in_a_recording_of_the_model(recordings: Path) -> None:
    script = scripts()["words-in-every-round"]
    for name, (listed, asked_models) in VARYING.items():
        surface, varying = SURFACES[name], {*listed.split()}
        plain = [row for row in rows(recordings, surface.wire) if row.provider == surface.provider and not row.stream]
        for model in asked_models:
            bodies = [json.loads(row.data) for row in plain if row.model == model and not row.failed]
            real = [varying.intersection(paths(body)) for body in bodies]
            asked = write_request(opening(script, surface, stream=False, model=model)).body
            first = play(surface, asked, StoredAnswers(), PLAYED)
            for number, round in enumerate(script.rounds):
                made = surface.emulation.answer(first._replace(number=number, round=round))
                assert varying.intersection(paths(made)) in real, (name, model, number)


def test_refusals_have_the_members_of_recorded_ones(recordings: Path) -> None:
    real: set[str] = set()
    for row in rows(recordings, "anthropic.messages"):
        if row.provider == "anthropic" and row.failed and (row.body or "").startswith("{"):
            real.update(paths(json.loads(row.data)))
    for kind in ("invalid_request", "authentication", "not_found", "rate_limit", "overloaded", "server_error"):
        body = anthropic_messages.error(ProviderRefusal(kind, "no"))[2]
        assert {*foreign(ErrorResponse.model_validate(body))} <= real
