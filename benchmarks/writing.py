"""Writing requests: a conversation of 50 rounds, all at once and as it grows, from its own and another wire."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import partial
from importlib.util import find_spec
from typing import Any

import msgspec
from msgspec.structs import replace

from toolparity import Choice, Response, Stop, Text, ToolCall, Wire
from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import (
    Assistant,
    Message,
    Request,
    System,
    TextPart,
    ToolDefinition,
    ToolResult,
    ToolResults,
    User,
)
from toolparity.normalizer.requests import RequestWriter, write_request
from toolparity.normalizer.wires.registry import WIRES, spec

from .cases import Case
from .measure import Job

ROUNDS = 50
PER_ROUND = 3
BASE = "msgspec.json.encode"
#: The largest ratio to the base.
GOALS = {
    "openai.chat": 3.5,
    "openai.responses": 3.5,
    "anthropic.messages": 3.5,
    "xai.grpc": 7.0,
    "cohere.chat": 3.5,
    "google.gemini": 3.5,
    "google.interactions": 3.5,
    "ollama.chat": 3.5,
    "bedrock.converse": 3.5,
}
#: The provider of each wire that has a goal.
PROVIDERS: dict[Wire, str] = {wire: spec(wire).owner for wire in WIRES if wire in GOALS}
_FOUND = (
    "The archive holds three letters of that year, and one of them names the harbour where the ship was seen last. "
)


def conversation(wire: Wire, rounds: int = ROUNDS) -> Request:
    """Return rounds of two calls each, with tool results of some hundred characters and text of the model."""
    turns: list[Message] = [System([TextPart("You look things up in the archive and quote what you find.")])]
    for number in range(rounds):
        calls = []
        for which in ("letters", "ships"):
            given: dict[str, Any] = {"query": f"{which} of {1700 + number}", "limit": 10, "exact": number % 2 == 0}
            calls.append(ToolCall(f"call_{number:04d}_{which}", f"search_{which}", given, json_codec.text(given)))
        said = Text(f"For the year {1700 + number} I look into letters and ships at once.")
        choice = Choice(0, [said, *calls], Stop("tool_calls"))
        turns.append(User([TextPart(f"What is known of the year {1700 + number}, and who wrote of it?")]))
        turns.append(Assistant(Response(wire, PROVIDERS[wire], f"r{number}", "m", [choice])))
        turns.append(ToolResults([ToolResult(call.id, [TextPart(_FOUND * 4)], name=call.name) for call in calls]))
    schema = {"type": "object", "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}}
    tools = [
        ToolDefinition(f"search_{which}", f"Searches the {which} of the archive.", schema)
        for which in ("letters", "ships")
    ]
    return Request(wire, "m", turns, tools, provider=PROVIDERS[wire], params={"max_tokens": 1000})


def cases() -> Iterator[Case]:
    """Return a case per wire. The base is msgspec encoding the resulting request as JSON."""
    for wire, provider in PROVIDERS.items():
        if wire == "xai.grpc" and find_spec("xai_sdk") is None:
            continue
        other: Wire = "anthropic.messages" if wire != "anthropic.messages" else "openai.chat"
        write = partial(write_request, wire=wire, provider=provider)
        body = as_json(write(conversation(wire)).body)
        jobs: dict[str, Job] = {
            BASE: partial(msgspec.json.encode, body),
            "ours, all at once, its own history": partial(write, conversation(wire)),
            f"ours, all at once, history of {other}": partial(write, conversation(other)),
            f"ours, one round more than the {ROUNDS - 1} written before": _one_more(wire, provider),
        }
        yield Case(wire, f"request of {ROUNDS} rounds", BASE, jobs)


def _one_more(wire: Wire, provider: str) -> Job:
    """Return a job that writes the last round after all others, each time with a copy of the same writer."""
    whole = conversation(wire)
    writer = RequestWriter(wire, provider=provider)
    writer.write(replace(whole, messages=whole.messages[:-PER_ROUND]))
    return lambda: copy(writer).write(whole)


def as_json(body: Any) -> Any:
    """Return a body, which may be a protobuf message, as parsed JSON."""
    if isinstance(body, dict):
        return body
    from google.protobuf.json_format import MessageToDict

    return MessageToDict(body, preserving_proto_field_name=True)
