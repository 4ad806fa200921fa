"""Members that only the wire they came from knows: on every other one each is given as lost, where it was."""

from __future__ import annotations

from typing import Any

import pytest

from tests.normalizer.history.conversations import PROVIDERS
from toolparity.normalizer.conversation import (
    Assistant,
    MediaPart,
    Request,
    System,
    TextPart,
    ToolDefinition,
    ToolResult,
    ToolResults,
    User,
)
from toolparity.normalizer.model import Choice, Response, Stop, Text, ToolCall
from toolparity.normalizer.requests import read_request, write_request

TARGETS = ("openai.responses", "anthropic.messages", "xai.grpc", "bedrock.converse")
WITHOUT_URLS = ("bedrock.converse",)
MARK: dict[str, Any] = {"mark": 1}


def conversation(place: str, extra: dict[str, Any], wire: str, *, loads_urls: bool = True) -> Request:
    """A conversation of another wire with members in one place. ``loads_urls``: the target loads images from URLs."""

    def at(here: str) -> dict[str, Any]:
        return extra if here == place else {}

    image = {"url": "https://example.invalid/a.png"} if loads_urls else {"media_type": "image/png", "data": "AAAA"}
    call = ToolCall("a", "f", {}, "{}", extra=at("call"))
    response = Response(wire, None, None, "m", [Choice(0, [Text("t", [], at("text")), call], Stop("tool_calls"))])
    turns: Any = [
        System([TextPart("s")], extra=at("system")),
        User([TextPart("u", at("part"))], extra=at("user")),
        User([MediaPart("image", **image, extra=at("image"))], plain=False),
        Assistant(response, at("assistant")),
        ToolResults([ToolResult("a", [TextPart("r")], extra=at("result"))], at("results")),
    ]
    tools = [ToolDefinition("f", parameters={"type": "object", "properties": {}}, extra=at("tool"))]
    return Request(wire, "m", turns, tools, params={"max_tokens": 99})


PLACES = {
    "system": 0,
    "user": 1,
    "part": 1,
    "image": 2,
    "assistant": 3,
    "text": 3,
    "call": 3,
    "result": 4,
    "results": 4,
    "tool": None,
}


@pytest.mark.thorough(keep=1, per="{target}")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("place", PLACES)
def test_a_member_that_the_target_does_not_know_is_told_where_it_stood(place: str, target: str) -> None:
    request = conversation(place, MARK, "openai.chat", loads_urls=target not in WITHOUT_URLS)
    losses = write_request(request, target, provider=PROVIDERS[target]).losses
    assert [(loss.code, loss.message_index) for loss in losses] == [("extra", PLACES[place])]
    assert "mark" in losses[0].message


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("place", "extra"),
    [
        ("call", {"id": "shared", "index": 0, "member": "action", "status": "completed"}),
        ("result", {"tool_call_id": "a", "content": None, "status": "completed"}),
        ("results", {"behind": 2}),
        ("tool", {"legacy_functions": True}),
    ],
)
def test_what_a_wire_keeps_for_its_own_books_is_no_loss(place: str, extra: dict[str, Any], target: str) -> None:
    request = conversation(place, extra, "openai.chat", loads_urls=target not in WITHOUT_URLS)
    assert write_request(request, target, provider=PROVIDERS[target]).losses == []


@pytest.mark.parametrize(
    ("extra", "carried"),
    [
        ({"image_url": {"detail": "high"}}, ("high", 3)),
        ({"detail": "low"}, ("low", 2)),
        ({"detail": "DETAIL_HIGH"}, ("high", 3)),
        ({}, ("auto", 1)),
    ],
)
def test_how_closely_an_image_is_to_be_looked_at_goes_along(extra: dict[str, Any], carried: tuple[str, int]) -> None:
    written = write_request(conversation("image", extra, "openai.chat"), "openai.responses", provider="openai")
    assert written.body["input"][2]["content"][0]["detail"] == carried[0]
    assert written.losses == []
    message = write_request(conversation("image", extra, "openai.chat"), "xai.grpc", provider="xai")
    assert message.body.messages[2].content[0].image_url.detail == carried[1]
    assert message.losses == []


@pytest.mark.parametrize("target", ["openai.responses", "xai.grpc"])
def test_a_detail_that_the_target_does_not_know_is_told(target: str) -> None:
    losses = write_request(conversation("image", {"detail": "original"}, "openai.chat"), target).losses
    assert [(loss.code, loss.message_index) for loss in losses] == [("extra", 2)]


def test_an_error_that_returned_an_image_alone_says_so_and_labels_it() -> None:
    request = conversation("", {}, "openai.chat")
    image = MediaPart("image", "image/png", data="AAAA")
    turns = [*request.messages[:-1], ToolResults([ToolResult("a", [image], is_error=True, name="f", plain=False)])]
    given = Request("openai.chat", "m", turns, request.tools, params={"max_tokens": 99})
    written = write_request(given, "anthropic.messages", provider="anthropic")
    *_, answer, beside = written.body["messages"]
    assert answer["content"][0]["content"] == "The tool failed; what it returned follows."
    assert beside["content"][0] == {"type": "text", "text": "Returned by f:"}
    assert [loss.code for loss in written.losses] == ["order"]


MARKED: dict[str, tuple[Any, dict[str, Any]]] = {
    "cohere's history": (
        "cohere.chat",
        {
            "message": "u",
            "chat_history": [{"role": "USER", "message": "u", **MARK}, {"role": "CHATBOT", "message": "t"}],
        },
    ),
    "cohere's answer": ("cohere.chat", {"message": "u", "chat_history": [{"role": "CHATBOT", "message": "t", **MARK}]}),
    "reasoning": (
        "bedrock.converse",
        {
            "messages": [
                {"role": "user", "content": [{"text": "u"}]},
                {
                    "role": "assistant",
                    "content": [{"reasoningContent": {"reasoningText": {"text": "r"}, **MARK}}, {"text": "t"}],
                },
                {"role": "user", "content": [{"text": "u"}]},
            ]
        },
    ),
    "custom tool": (
        "openai.chat",
        {
            "messages": [{"role": "user", "content": "u"}],
            "tools": [{"type": "custom", "custom": {"name": "f", "format": {"type": "text"}, **MARK}}],
        },
    ),
    "outside of a custom tool": (
        "openai.chat",
        {
            "messages": [{"role": "user", "content": "u"}],
            "tools": [{"type": "custom", "custom": {"name": "f", "format": {"type": "text"}}, **MARK}],
        },
    ),
}


@pytest.mark.parametrize("place", MARKED)
def test_a_member_that_its_wire_does_not_know_goes_back_to_it_and_is_lost_elsewhere(place: str) -> None:
    wire, body = MARKED[place]
    request = read_request({"model": "m", **body}, wire, provider=PROVIDERS[wire])
    assert str(MARK)[1:-1] in str(write_request(request).body)
    for target in ("openai.responses", "anthropic.messages"):
        encoded = write_request(request, target, provider=PROVIDERS[target])
        assert {loss.code for loss in encoded.losses} & {"extra", "reasoning"}, target
