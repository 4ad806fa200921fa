"""Conversations made by hypothesis: of any wire's making, with calls of every state and answers of every form."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from tests.support.wires import WIRES
from toolparity.normalizer.conversation import (
    Assistant,
    JsonPart,
    MediaPart,
    Message,
    System,
    TextPart,
    ToolResult,
    ToolResults,
    User,
)
from toolparity.normalizer.model import (
    Block,
    Choice,
    Reasoning,
    Refusal,
    Response,
    ServerToolCall,
    ServerToolResult,
    Stop,
    Text,
)
from toolparity.normalizer.model import ToolCall as Call
from toolparity.normalizer.wires.registry import spec

PROVIDERS = {wire: spec(wire).owner for wire in WIRES}
words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
names = st.sampled_from(["get_weather", "f", "mcp.search", "web_search", "a b", "n" * 70])
ids = st.sampled_from(["call_1", "toolu_01", "functions.f:0", "call.0", "call:0", "x" * 80, "call_2", "ab cd"])
values = st.dictionaries(words, st.none() | st.booleans() | st.integers(-9, 9) | words, max_size=2)


@st.composite
def calls(draw: st.DrawFn, id: str) -> Call:
    state = draw(st.sampled_from(["complete", "complete", "complete", "invalid", "truncated"]))
    name = draw(names)
    if state == "complete":
        given = draw(values)
        return Call(id, name, given, json.dumps(given, ensure_ascii=False))
    return Call(id, name, None, '{"x": ' if state == "truncated" else "[1]", state)  # type: ignore[arg-type]


def served_raw(wire: str, text: str) -> dict[str, Any]:
    """The result of a search as a response of the wire has it."""
    if wire == "google.interactions":
        return {"type": "google_search_result", "call_id": "srv_1", "result": [{"search_suggestions": text}]}
    if wire == "bedrock.converse":
        return {"toolResult": {"toolUseId": "srv_1", "content": [{"text": text}], "type": "web_search_tool_result"}}
    if wire == "google.gemini":
        return {"toolResponse": {"id": "srv_1", "toolType": "GOOGLE_SEARCH_WEB", "response": {"result": text}}}
    return {"content": text}


def said_before_calls(wire: str) -> st.SearchStrategy[list[Block]]:
    think: st.SearchStrategy[list[Block]] = st.builds(
        lambda text, sealed: [
            Reasoning(
                text,
                "sig" if sealed and wire == "anthropic.messages" else None,
                "enc" if sealed and wire != "anthropic.messages" else None,
            )
        ],
        words,
        st.booleans(),
    )
    speak: st.SearchStrategy[list[Block]] = words.map(lambda text: [Text(text)])
    refuse: st.SearchStrategy[list[Block]] = words.map(lambda text: [Refusal(text)])
    served: st.SearchStrategy[list[Block]] = words.map(
        lambda text: [
            ServerToolCall("srv_1", "web_search", "web_search", "{}", "completed"),
            ServerToolResult("srv_1", "web_search", False, served_raw(wire, text)),
        ]
    )
    nothing: st.SearchStrategy[list[Block]] = st.just([])
    parts = st.tuples(think | nothing, speak | nothing, served | nothing | nothing, speak | refuse | nothing)
    return parts.map(lambda given: [block for part in given for block in part])


def answers(call: Call) -> st.SearchStrategy[ToolResult]:
    text = words.map(lambda said: [TextPart(said)])
    several = st.tuples(words, words).map(lambda said: [TextPart(part) for part in said])
    data = values.map(lambda value: [JsonPart(value)])
    seen = words.map(lambda said: [TextPart(said), MediaPart("image", "image/png", data="AAAA")])
    parts: Any = st.just([]) | text | text | several | data | seen
    return st.builds(lambda given, failed: ToolResult(call.id, given, failed, call.name), parts, st.booleans())


@st.composite
def rounds(draw: st.DrawFn, wire: str) -> list[Message]:
    """One user's turn, the answer, and the answers to its calls."""
    blocks = list(draw(said_before_calls(wire)))
    called = [draw(calls(id)) for id in draw(st.lists(ids, max_size=3, unique=True))]
    blocks += called
    reason: Any = "tool_calls" if called else "end_turn"
    response = Response(wire, PROVIDERS[wire], None, "m", [Choice(0, blocks, Stop(reason))])
    asked: list[Message] = [User([TextPart(draw(words))])]
    if draw(st.booleans()):
        asked = [User([TextPart(draw(words)), MediaPart("image", "image/png", data="AAAA")], plain=False)]
    turns = [*asked, Assistant(response)]
    if called:
        turns.append(ToolResults(draw(st.permutations([draw(answers(call)) for call in called]))))
    return turns


@st.composite
def conversations(draw: st.DrawFn, *wires: str, most: int = 4) -> list[list[Message]]:
    """Rounds in order, each of any of the wires; the last one may end with an open call's answer missing."""
    opening: list[list[Message]] = [[System([TextPart(draw(words))])]] if draw(st.booleans()) else []
    number = draw(st.integers(1, most))
    return opening + [draw(rounds(draw(st.sampled_from(wires or WIRES)))) for _ in range(number)]
