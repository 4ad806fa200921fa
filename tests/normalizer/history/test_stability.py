"""The same conversation is the same bytes, in every process; closed messages do not change while it grows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.normalizer.history.conversations import CONTINUED, PROVIDERS, TARGETS, answer, conversations, user
from tests.support.thoroughness import examples, is_thorough
from tests.support.wires import WIRES
from toolparity.normalizer.conversation import Message, Request, User
from toolparity.normalizer.json_codec import encode
from toolparity.normalizer.model import Text, Wire
from toolparity.normalizer.requests import read_request, write_request


def items(body: Any) -> list[bytes]:
    """Return each message of a body as bytes."""
    if not isinstance(body, dict):
        return [message.SerializeToString(deterministic=True) for message in body.messages]
    return [encode(item) for item in body[next(name for name in ("input", "contents", "messages") if name in body)]]


def closed(turns: list[Message], source: Wire, wire: Wire, provider: str | None) -> list[bytes]:
    """Return the messages that the user's next message follows, as bytes."""
    request = Request(source, "m", [*turns, CONTINUED], provider=PROVIDERS[source], params={"max_tokens": 9})
    return items(write_request(request, wire, provider=provider).body)[:-1]


@given(conversations(), st.sampled_from(WIRES), st.sampled_from(TARGETS))
@example([[user("a"), answer(Text("b "))], [user("c")]], "openai.chat", ("anthropic.messages", "anthropic"))
@examples(300)
def test_a_growing_conversation_keeps_its_closed_messages(
    talk: list[list[Message]], source: Wire, target: tuple[Wire, str]
) -> None:
    before: list[bytes] = []
    turns: list[Message] = []
    for more in talk:
        turns = [*turns, *more]
        now = closed(turns, source, *target)
        if isinstance(turns[-1], User):  # merged with the user's next message, on some wires
            continue
        assert now[: len(before)] == before
        assert closed(turns, source, *target) == now
        before = now


@given(st.data(), st.sampled_from(TARGETS))
@examples(300)
def test_a_written_request_is_written_the_same_after_reading(data: st.DataObject, target: tuple[Wire, str]) -> None:
    wire, provider = target
    turns = [turn for part in data.draw(conversations(wire)) for turn in part]
    once = write_request(Request(wire, "m", turns, provider=provider), wire, provider=provider).body
    given = json.dumps(once) if isinstance(once, dict) else once.SerializeToString(deterministic=True)
    again = write_request(read_request(given, wire, provider=provider)).body
    assert again == once
    if wire in ("anthropic.messages", "openai.responses"):  # the members of the others may change their order
        assert items(again) == items(once)


PROGRAM = """
import hashlib, sys
from toolparity.normalizer.conversation import Assistant, Request, TextPart, ToolDefinition
from toolparity.normalizer.conversation import ToolResult, ToolResults, User
from toolparity.normalizer.json_codec import text
from toolparity.normalizer.model import Choice, Response, ServerToolCall, ServerToolResult, Stop, Text, ToolCall
from toolparity.normalizer.requests import write_request
called = (("call 0" * 20, "web_search"), ("call:0" * 20, "a b"))
calls = [ToolCall(id, name, {"b": 1, "a": 2}, '{"b":1,"a":2}', extra={"y": 1, "x": 2}) for id, name in called]
served = [ServerToolCall(id, "web_search", "web_search") for id in ("srvtoolu_1", "srvtoolu_2", "srvtoolu_3")]
found = [ServerToolResult("srvtoolu_2", "web_search", raw={"type": "web_search_tool_result"})]
end = Stop("end_turn")
turns = [
    User([TextPart("hi", {"cache": 1, "mark": 2})]),
    Assistant(Response("openai.chat", "openai", None, "m", [Choice(0, calls, Stop("tool_calls"))])),
    ToolResults([ToolResult(call.id, [TextPart("ok")]) for call in calls]),
    Assistant(Response("anthropic.messages", None, None, "m", [Choice(0, [*served, *found, Text("a")], end)])),
    User([TextPart("bye")]),
]
schema = {"type": "object", "properties": {"z": {}, "a": {}}}
tools = [ToolDefinition(name, parameters=schema) for name in ("web_search", "a b")]
request = Request("third", "m", turns, tools, params={"user": "u", "seed": 2, "n": 1, "top_k": 1, "x": 2})
for target in sys.argv[1:]:
    wire, provider = target.split("/")
    encoded = write_request(request, wire, provider=provider)
    body = encoded.body
    print(text(body) if isinstance(body, dict) else body.SerializeToString(deterministic=True))
    print([(l.code, l.message) for l in encoded.losses], encoded.ids, encoded.names)
"""


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("optimized", [[], ["-O"]], ids=["", "-O"])
def test_every_process_writes_the_same_bytes_whatever_its_hash_seed(optimized: list[str]) -> None:
    printed = {
        subprocess.run(
            [sys.executable, *optimized, "-c", PROGRAM, *("/".join(target) for target in TARGETS)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[3],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in (("0", "1", "4242") if is_thorough() else ("0", "4242"))
    }
    assert len(printed) == 1
    assert printed.pop().count("web_search") > len(TARGETS)
