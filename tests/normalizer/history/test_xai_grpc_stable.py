"""The same conversation is the same bytes, in every process; closed messages stay as they are while it grows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.normalizer.history.processes import printed_under_any_hash_seed
from tests.normalizer.history.talks import WIRES, conversations
from tests.support.thoroughness import examples
from toolparity.normalizer.conversation import Message, Request
from toolparity.normalizer.requests import read_request, write_request

WIRE = "xai.grpc"


def messages(turns: list[Message], source: str) -> list[bytes]:
    """Each message's bytes."""
    body = write_request(Request(source, "m", turns), WIRE).body
    return [message.SerializeToString(deterministic=True) for message in body.messages]


@given(conversations(), st.sampled_from(WIRES))
@examples(60)
def test_a_conversation_that_grows_keeps_the_messages_of_its_closed_rounds(
    talk: list[list[Message]], source: str
) -> None:
    before: list[bytes] = []
    turns: list[Message] = []
    for more in talk:
        turns = [*turns, *more]
        now = messages(turns, source)
        assert now[: len(before)] == before
        assert messages(turns, source) == now
        before = now


@given(conversations(WIRE))
@examples(60)
def test_what_was_written_is_written_again_the_same_after_reading(talk: list[list[Message]]) -> None:
    turns = [turn for part in talk for turn in part]
    once = write_request(Request(WIRE, "m", turns)).body
    again = write_request(read_request(once.SerializeToString(), WIRE)).body
    assert again.SerializeToString(deterministic=True) == once.SerializeToString(deterministic=True)


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
encoded = write_request(Request("anthropic.messages", "m", turns, tools, params={"top_k": 1, "x": 2}), "xai.grpc")
data = encoded.body.SerializeToString(deterministic=True)
print(hashlib.sha256(data).hexdigest(), [(l.code, l.message) for l in encoded.losses], encoded.ids, encoded.names)
"""


@pytest.mark.thorough
@pytest.mark.parametrize("optimized", [[], ["-O"]], ids=["", "-O"])
def test_every_process_writes_the_same_whatever_its_hash_seed(optimized: list[str]) -> None:
    line = printed_under_any_hash_seed(PROGRAM, optimized)
    assert "'call 0'" in line
    assert "'web_search'" in line
