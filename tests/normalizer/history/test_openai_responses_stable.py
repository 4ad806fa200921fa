"""The same conversation is the same Responses body, in every process; closed items stay as they are while it grows."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import ResponseInputItemParam
from pydantic import TypeAdapter

from tests.normalizer.history.processes import printed_under_any_hash_seed
from tests.normalizer.history.talks import PROVIDERS, WIRES, conversations
from tests.support.thoroughness import examples
from toolparity.normalizer.conversation import Message, Request
from toolparity.normalizer.requests import check_request, read_request, write_request

WIRE = "openai.responses"
_items: TypeAdapter[Any] = TypeAdapter(list[ResponseInputItemParam])


def items(turns: list[Message], source: str, provider: str) -> list[bytes]:
    """Each item's bytes."""
    request = Request(source, "m", turns, provider=PROVIDERS[source])
    return [msgspec.json.encode(item) for item in write_request(request, WIRE, provider=provider).body["input"]]


@given(conversations(), st.sampled_from(WIRES), st.sampled_from(["openai", "xai"]))
@examples(60)
def test_a_conversation_that_grows_keeps_the_items_of_its_closed_rounds(
    talk: list[list[Message]], source: str, provider: str
) -> None:
    before: list[bytes] = []
    turns: list[Message] = []
    for more in talk:
        turns = [*turns, *more]
        now = items(turns, source, provider)
        assert now[: len(before)] == before
        assert items(turns, source, provider) == now
        before = now


@given(conversations(WIRE))
@examples(60)
def test_what_was_written_is_written_again_the_same_after_reading(talk: list[list[Message]]) -> None:
    turns = [turn for part in talk for turn in part]
    once = write_request(Request(WIRE, "m", turns, provider="openai")).body
    again = write_request(read_request(once, WIRE, provider="openai")).body
    assert msgspec.json.encode(again) == msgspec.json.encode(once)


@given(conversations(), st.sampled_from(WIRES), st.sampled_from(["openai", "xai"]))
@examples(100)
def test_whatever_is_written_keeps_the_rules_of_the_provider(
    talk: list[list[Message]], source: str, provider: str
) -> None:
    turns = [turn for part in talk for turn in part]
    request = Request(source, "m", turns, provider=PROVIDERS[source])
    assert check_request(write_request(request, WIRE, provider=provider).body, WIRE, provider=provider) == []


@given(conversations("openai.chat", "anthropic.messages", "xai.grpc"))
@examples(60)
def test_what_comes_from_other_wires_is_typed_as_the_sdk_types_it(talk: list[list[Message]]) -> None:
    turns = [turn for part in talk for turn in part]
    body = write_request(Request("openai.chat", "m", turns, provider="openai"), WIRE).body
    _items.validate_python(body["input"], strict=True)


PROGRAM = """
import hashlib, json, sys
from toolparity.normalizer.conversation import Assistant, Request, TextPart, ToolDefinition
from toolparity.normalizer.conversation import ToolResult, ToolResults, User
from toolparity.normalizer.model import Choice, Response, Stop, ToolCall
from toolparity.normalizer.requests import write_request
called = (("call 0" * 20, "web_search"), ("call:0" * 20, "a b"))
calls = [ToolCall(id, name, {"b": 1, "a": 2}, '{"b":1,"a":2}') for id, name in called]
turns = [
    User([TextPart("hi", {"cache": 1, "mark": 2})]),
    Assistant(Response("anthropic.messages", "anthropic", None, "m", [Choice(0, calls, Stop("tool_calls"))])),
    ToolResults([ToolResult(call.id, [TextPart("ok")]) for call in calls]),
]
schema = {"type": "object", "properties": {"z": {}, "a": {}}}
tools = [ToolDefinition(name, parameters=schema) for name in ("web_search", "a b")]
request = Request("anthropic.messages", "m", turns, tools, params={"top_k": 1, "x": 2})
encoded = write_request(request, "openai.responses", provider="xai")
data = json.dumps(encoded.body).encode()
print(hashlib.sha256(data).hexdigest(), [(l.code, l.message) for l in encoded.losses], encoded.ids, encoded.names)
"""


@pytest.mark.thorough
@pytest.mark.parametrize("optimized", [[], ["-O"]], ids=["", "-O"])
def test_every_process_writes_the_same_whatever_its_hash_seed(optimized: list[str]) -> None:
    line = printed_under_any_hash_seed(PROGRAM, optimized)
    assert "call 0call 0" in line
    assert "'web_search'" in line
