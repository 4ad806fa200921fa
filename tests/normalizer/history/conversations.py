"""Conversations: builders of their messages, and a strategy with calls of every state and results of every form."""

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
    ToolCall,
    Wire,
)
from toolparity.normalizer.wires.registry import spec

PROVIDERS = {wire: spec(wire).owner for wire in WIRES}
#: Providers of a wire whose rules or members differ from those of its owner.
_OTHERS = ("mistral", "xai", "deepseek", "groq", "openrouter", "ollama")
TARGETS = [*PROVIDERS.items(), ("openai.responses", "xai"), *(("openai.chat", provider) for provider in _OTHERS)]
IMAGE = MediaPart("image", "image/png", data="AAAA")


def user(text: str = "hi") -> User:
    return User([TextPart(text)])


CONTINUED = user("continue")


def call(id: str, name: str = "f", **more: Any) -> ToolCall:
    return ToolCall(id, name, {}, "{}", **more)


def response(
    *blocks: Block, wire: Any = "openai.chat", id: str | None = None, provider: str | None = "", **more: Any
) -> Response:
    """A response of the wire's owner, or of another provider."""
    owner = PROVIDERS[wire] if provider == "" else provider
    return Response(wire, owner, id, "m", [Choice(0, list(blocks), Stop("tool_calls"))], **more)


def answer(*blocks: Block, **more: Any) -> Assistant:
    return Assistant(response(*blocks, **more))


def result(id: str, text: str = "ok", **more: Any) -> ToolResult:
    return ToolResult(id, [TextPart(text)], **more)


def results(*of: str | ToolResult, **more: Any) -> ToolResults:
    return ToolResults([result(one) if isinstance(one, str) else one for one in of], **more)


_texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
_names = st.sampled_from(["get_weather", "f", "mcp.search", "web_search", "a b", "n" * 70])
_ids = st.sampled_from(["call_1", "toolu_01", "functions.f:0", "call.0", "call:0", "x" * 80, "call_2", "ab cd"])
_values = st.dictionaries(_texts, st.none() | st.booleans() | st.integers(-9, 9) | _texts, max_size=2)


@st.composite
def _calls(draw: st.DrawFn, id: str) -> ToolCall:
    state: Any = draw(st.sampled_from(["complete", "complete", "complete", "invalid", "truncated"]))
    name = draw(_names)
    if state == "complete":
        arguments = draw(_values)
        return ToolCall(id, name, arguments, json.dumps(arguments, ensure_ascii=False))
    return ToolCall(id, name, None, '{"x": ' if state == "truncated" else "[1]", state)


def _served(wire: Wire, text: str) -> list[Block]:
    """Return a search of the provider, with its result as a response of the wire has it."""
    raw: dict[str, Any] = {"content": text}
    if wire == "google.interactions":
        raw = {"type": "google_search_result", "call_id": "srv_1", "result": [{"search_suggestions": text}]}
    if wire == "bedrock.converse":
        raw = {"toolResult": {"toolUseId": "srv_1", "content": [{"text": text}], "type": "web_search_tool_result"}}
    if wire == "google.gemini":
        raw = {"toolResponse": {"id": "srv_1", "toolType": "GOOGLE_SEARCH_WEB", "response": {"result": text}}}
    called = ServerToolCall("srv_1", "web_search", "web_search", "{}", "completed")
    return [called, ServerToolResult("srv_1", "web_search", False, raw)]


def _thought(wire: Wire, text: str, sealed: bool) -> list[Block]:
    seal: dict[str, Any] = {"signature": "sig"} if wire == "anthropic.messages" else {"encrypted": "enc"}
    return [Reasoning(text, **(seal if sealed else {}))]


def _before_calls(wire: Wire) -> st.SearchStrategy[list[Block]]:
    nothing: st.SearchStrategy[list[Block]] = st.just([])
    thought = st.builds(_thought, st.just(wire), _texts, st.booleans())
    text = _texts.map(lambda text: [Text(text)])
    refusal = _texts.map(lambda text: [Refusal(text)])
    served = _texts.map(lambda text: _served(wire, text))
    parts: Any = st.tuples(thought | nothing, text | nothing, served | nothing | nothing, text | refusal | nothing)
    blocks: st.SearchStrategy[list[Block]] = parts.map(lambda given: [block for part in given for block in part])
    return blocks


def _results(call: ToolCall) -> st.SearchStrategy[ToolResult]:
    text = _texts.map(lambda text: [TextPart(text)])
    several = st.tuples(_texts, _texts).map(lambda texts: [TextPart(text) for text in texts])
    data = _values.map(lambda value: [JsonPart(value)])
    image = _texts.map(lambda text: [TextPart(text), IMAGE])
    parts: Any = st.just([]) | text | text | several | data | image
    return st.builds(lambda given, failed: ToolResult(call.id, given, failed, call.name), parts, st.booleans())


@st.composite
def _rounds(draw: st.DrawFn, wire: Wire) -> list[Message]:
    """One message of the user, the answer, and the results of its calls."""
    before = draw(_before_calls(wire))
    calls = [draw(_calls(id)) for id in draw(st.lists(_ids, max_size=3, unique=True))]
    stop = Stop("tool_calls" if calls else "end_turn")
    response = Response(wire, PROVIDERS[wire], None, "m", [Choice(0, [*before, *calls], stop)])
    asked: list[Any] = [TextPart(draw(_texts)), *([IMAGE] if draw(st.booleans()) else [])]
    turns: list[Message] = [User(asked, plain=len(asked) == 1), Assistant(response)]
    if calls:
        turns.append(ToolResults(draw(st.permutations([draw(_results(call)) for call in calls]))))
    return turns


@st.composite
def conversations(draw: st.DrawFn, *wires: str, most: int = 4) -> list[list[Message]]:
    """Rounds in order, each of any of the wires."""
    opening: list[list[Message]] = [[System([TextPart(draw(_texts))])]] if draw(st.booleans()) else []
    number = draw(st.integers(1, most))
    return opening + [draw(_rounds(draw(st.sampled_from(wires or WIRES)))) for _ in range(number)]
