"""The same conversation is the same bytes, in every process; closed messages stay as they are while it grows.

And whatever was said, on whichever wire: what is written is legal at the provider it is written for.
"""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.normalizer.history.processes import printed_under_any_hash_seed
from tests.normalizer.history.talks import WIRES, conversations
from tests.support.thoroughness import examples
from toolparity.normalizer.conversation import Assistant, Message, Request, TextPart, ToolChoice, ToolDefinition, User
from toolparity.normalizer.requests import check_request, read_request, write_request

WIRE = "openai.chat"
PROVIDERS = (None, "openai", "mistral", "xai", "deepseek", "groq", "openrouter", "ollama")


def messages(turns: list[Message], source: str, provider: str | None) -> list[bytes]:
    """Each message's bytes, as the user continues (without the user's words)."""
    body = write_request(Request(source, "m", [*turns, User([TextPart("go on")])]), WIRE, provider=provider).body
    return [msgspec.json.encode(message) for message in body["messages"][:-1]]


@given(conversations(), st.sampled_from(WIRES), st.sampled_from(PROVIDERS))
@examples(50)
def test_a_conversation_that_grows_keeps_the_messages_of_its_closed_rounds(
    talk: list[list[Message]], source: str, provider: str | None
) -> None:
    before: list[bytes] = []
    turns: list[Message] = []
    for more in talk:
        turns = [*turns, *more]
        now = messages(turns, source, provider)
        assert now[: len(before)] == before
        assert messages(turns, source, provider) == now
        before = now


@given(conversations(), st.sampled_from(WIRES), st.sampled_from(PROVIDERS))
@examples(100)
def test_whatever_was_said_on_any_wire_is_legal_where_it_is_sent(
    talk: list[list[Message]], source: str, provider: str | None
) -> None:
    turns = [turn for part in talk for turn in part]
    called = {call.name for turn in turns if isinstance(turn, Assistant) for call in turn.response.calls}
    tools = [ToolDefinition(name) for name in sorted(called)] + [ToolDefinition("sql", kind="custom")]
    asked = Request(source, "m", [*turns, User([TextPart("go on")])], tools, ToolChoice("auto"), False)
    encoded = write_request(asked, WIRE, provider=provider)
    assert check_request(encoded.body, WIRE, provider=provider) == []
    if provider is None:
        assert check_request(encoded.body, WIRE, provider="openai") == []


@given(conversations(), st.sampled_from(PROVIDERS))
@examples(50)
def test_every_call_and_result_is_there_once_under_ids_and_names_that_lead_back(
    talk: list[list[Message]], provider: str | None
) -> None:
    turns = [turn for part in talk for turn in part]
    encoded = write_request(Request("anthropic.messages", "m", turns), WIRE, provider=provider)
    asked = [
        [(call.id, call.name) for call in turn.response.calls]
        for turn in turns
        if isinstance(turn, Assistant) and turn.response.calls
    ]
    told, answered = [], []
    for message in encoded.body["messages"]:
        if message.get("tool_calls"):
            calls = [
                (c["id"], next(c[k] for k in ("function", "custom") if k in c)["name"]) for c in message["tool_calls"]
            ]
            told.append([(encoded.ids.get(id, id), encoded.names.get(name, name)) for id, name in calls])
            answered.append([])
        elif message["role"] == "tool":
            answered[-1].append(encoded.ids.get(message["tool_call_id"], message["tool_call_id"]))
    assert told == asked
    assert answered == [[id for id, _ in calls] for calls in asked]


@given(conversations(WIRE), st.sampled_from(PROVIDERS))
@examples(50)
def test_what_was_written_is_written_again_the_same_after_reading(
    talk: list[list[Message]], provider: str | None
) -> None:
    turns = [turn for part in talk for turn in part]
    once = write_request(Request(WIRE, "m", turns), WIRE, provider=provider).body
    again = write_request(read_request(json.dumps(once), WIRE, provider=provider)).body
    assert again == once


PROGRAM = """
import hashlib, json, sys
from toolparity.normalizer.conversation import Assistant, Request, TextPart, ToolDefinition
from toolparity.normalizer.conversation import ToolResult, ToolResults, User
from toolparity.normalizer.model import Choice, Response, Stop, ToolCall
from toolparity.normalizer.requests import write_request
called = (("call 0", "web_search"), ("call:0", "a b"))
calls = [ToolCall(id, name, {"b": 1, "a": 2}, '{"b":1,"a":2}') for id, name in called]
turns = [
    User([TextPart("hi", {"cache": 1, "mark": 2})]),
    Assistant(Response("anthropic.messages", "anthropic", None, "m", [Choice(0, calls, Stop("tool_calls"))])),
    ToolResults([ToolResult(call.id, [TextPart("ok")]) for call in calls]),
]
schema = {"type": "object", "properties": {"z": {}, "a": {}}}
tools = [ToolDefinition(name, parameters=schema) for name in ("web_search", "a b")]
request = Request("anthropic.messages", "m", turns, tools, params={"top_k": 1, "x": 2})
for provider in ("openai", "mistral", "xai"):
    encoded = write_request(request, "openai.chat", provider=provider)
    losses = [(l.code, l.message) for l in encoded.losses]
    print(json.dumps(encoded.body), losses, list(encoded.ids.items()), list(encoded.names.items()))
"""


@pytest.mark.thorough
@pytest.mark.parametrize("optimized", [[], ["-O"]], ids=["", "-O"])
def test_every_process_writes_the_same_whatever_its_hash_seed(optimized: list[str]) -> None:
    assert "'web_search'" in printed_under_any_hash_seed(PROGRAM, optimized)
