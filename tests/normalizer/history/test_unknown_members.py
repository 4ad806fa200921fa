"""Members that only their own wire knows: on every other one each is reported as lost, with its place."""

from __future__ import annotations

from typing import Any

import pytest

from tests.normalizer.history.conversations import IMAGE, PROVIDERS
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
from toolparity.normalizer.model import Choice, Response, Stop, Text, ToolCall, Wire
from toolparity.normalizer.requests import read_request, write_request

TARGETS = ("openai.responses", "anthropic.messages", "xai.grpc", "bedrock.converse")
MARK: dict[str, Any] = {"mark": 1}
#: A place of extra members -> the index of its message.
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
}
#: Members that a wire keeps for its own use.
INTERNAL: list[tuple[str, dict[str, Any]]] = [
    ("call", {"id": "shared", "index": 0, "member": "action", "status": "completed"}),
    ("result", {"tool_call_id": "a", "content": None, "status": "completed"}),
    ("results", {"behind": 2}),
    ("tool", {"legacy_functions": True}),
]


def conversation(place: str, extra: dict[str, Any], target: Wire) -> Request:
    """A conversation of openai.chat with extra members in one place."""

    def at(here: str) -> dict[str, Any]:
        return extra if here == place else {}

    # Converse does not load images from URLs.
    image = {"media_type": "image/png", "data": "AAAA"} if target == "bedrock.converse" else {"url": "https://x.test/a"}
    call = ToolCall("a", "f", {}, "{}", extra=at("call"))
    blocks: list[Any] = [Text("t", [], at("text")), call]
    turns: Any = [
        System([TextPart("s")], extra=at("system")),
        User([TextPart("u", at("part"))], extra=at("user")),
        User([MediaPart("image", **image, extra=at("image"))], plain=False),
        Assistant(Response("openai.chat", None, None, "m", [Choice(0, blocks, Stop("tool_calls"))]), at("assistant")),
        ToolResults([ToolResult("a", [TextPart("r")], extra=at("result"))], at("results")),
    ]
    tools = [ToolDefinition("f", parameters={"type": "object", "properties": {}}, extra=at("tool"))]
    return Request("openai.chat", "m", turns, tools, params={"max_tokens": 99})


@pytest.mark.parametrize("target", TARGETS)
def test_a_member_that_the_target_does_not_know_is_reported_with_its_place(target: Wire) -> None:
    for place, message in {**PLACES, "tool": None}.items():
        losses = write_request(conversation(place, MARK, target), target, provider=PROVIDERS[target]).losses
        assert [(loss.code, loss.message_index) for loss in losses] == [("extra", message)], place
        assert "mark" in losses[0].message


@pytest.mark.parametrize("target", TARGETS)
def test_a_member_that_a_wire_keeps_for_its_own_use_is_not_reported(target: Wire) -> None:
    for place, extra in INTERNAL:
        assert write_request(conversation(place, extra, target), target, provider=PROVIDERS[target]).losses == []


@pytest.mark.parametrize(
    ("extra", "detail", "number", "losses"),
    [
        ({"image_url": {"detail": "high"}}, "high", 3, []),
        ({"detail": "low"}, "low", 2, []),
        ({"detail": "DETAIL_HIGH"}, "high", 3, []),
        ({}, "auto", 1, []),
        ({"detail": "original"}, "auto", 1, [("extra", 2)]),
    ],
)
def test_the_detail_of_an_image_is_carried_or_reported(
    extra: dict[str, Any], detail: str, number: int, losses: list[Any]
) -> None:
    responses, xai = (
        write_request(conversation("image", extra, target), target, provider=PROVIDERS[target])
        for target in ("openai.responses", "xai.grpc")
    )
    assert responses.body["input"][2]["content"][0]["detail"] == detail
    assert xai.body.messages[2].content[0].image_url.detail == number
    for encoded in (responses, xai):
        assert [(loss.code, loss.message_index) for loss in encoded.losses] == losses


def test_an_error_that_returned_only_an_image_states_this_and_labels_the_image() -> None:
    request = conversation("", {}, "anthropic.messages")
    request.messages[-1] = ToolResults([ToolResult("a", [IMAGE], is_error=True, name="f", plain=False)])
    written = write_request(request, "anthropic.messages", provider="anthropic")
    *_, result, image = written.body["messages"]
    assert result["content"][0]["content"] == "The tool failed; what it returned follows."
    assert image["content"][0] == {"type": "text", "text": "Returned by f:"}
    assert [loss.code for loss in written.losses] == ["order"]


ASKED = {"messages": [{"role": "user", "content": "u"}]}
FREE_TEXT = {"name": "f", "format": {"type": "text"}}
SAYS = {"role": "user", "content": [{"text": "u"}]}
THINKS = [{"reasoningContent": {"reasoningText": {"text": "r"}, **MARK}}, {"text": "t"}]
MARKED: dict[str, tuple[Any, dict[str, Any]]] = {
    "a message of the user in Cohere's version 1": (
        "cohere.chat",
        {
            "message": "u",
            "chat_history": [{"role": "USER", "message": "u", **MARK}, {"role": "CHATBOT", "message": "t"}],
        },
    ),
    "an answer in Cohere's version 1": (
        "cohere.chat",
        {"message": "u", "chat_history": [{"role": "CHATBOT", "message": "t", **MARK}]},
    ),
    "reasoning": ("bedrock.converse", {"messages": [SAYS, {"role": "assistant", "content": THINKS}, SAYS]}),
    "a custom tool": ("openai.chat", {**ASKED, "tools": [{"type": "custom", "custom": {**FREE_TEXT, **MARK}}]}),
    "beside a custom tool": ("openai.chat", {**ASKED, "tools": [{"type": "custom", "custom": FREE_TEXT, **MARK}]}),
}


@pytest.mark.parametrize("place", MARKED)
def test_a_member_that_its_wire_does_not_know_goes_back_to_it_and_is_lost_elsewhere(place: str) -> None:
    wire, body = MARKED[place]
    request = read_request({"model": "m", **body}, wire, provider=PROVIDERS[wire])
    assert str(MARK)[1:-1] in str(write_request(request).body)
    for target in ("openai.responses", "anthropic.messages"):
        encoded = write_request(request, target, provider=PROVIDERS[target])
        assert {loss.code for loss in encoded.losses} & {"extra", "reasoning"}, target
