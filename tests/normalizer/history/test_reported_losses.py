"""Losses are reported: of results, names, limits and models. For each member see `test_every_member.py`."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from google.protobuf.json_format import MessageToDict

from tests.normalizer.history.conversations import IMAGE, PROVIDERS
from tests.support.wires import WIRES
from toolparity.normalizer.conversation import (
    Assistant,
    Encoded,
    MediaPart,
    OpaquePart,
    Request,
    System,
    TextPart,
    ToolDefinition,
    ToolResult,
    ToolResults,
    User,
)
from toolparity.normalizer.model import Choice, Response, Stop, Text, ToolCall, Wire
from toolparity.normalizer.requests import check_request, read_request, write_request
from toolparity.normalizer.wires.model_owners import vendor_of, vendors

#: A request of each wire with nearly every documented member.
REQUESTS: dict[Wire, Any] = json.loads(Path(__file__).with_name("full_requests.json").read_text("utf-8"))


def written(body: dict[str, Any], source: Wire, target: Wire) -> tuple[Any, list[str]]:
    """Return the target's body and the losses."""
    request = read_request(body, source, provider=PROVIDERS[source])
    encoded: Encoded = write_request(request, target, provider=PROVIDERS[target])
    result = encoded.body
    if target == "xai.grpc":
        result = MessageToDict(result, preserving_proto_field_name=True)
    return result, sorted(f"{loss.code}: {loss.message}" for loss in encoded.losses)


def codes(encoded: Encoded) -> list[str]:
    return [loss.code for loss in encoded.losses]


def answered(kind: str, parts: list[Any], is_error: bool = False) -> Encoded:
    """Write a call of a kind of tool and its result on the Responses API."""
    call = ToolCall("call_1", kind, {"goal": "x"}, '{"goal":"x"}', kind=kind)
    turn = Assistant(Response("openai.responses", "openai", "r", "m", [Choice(0, [call], Stop("tool_calls"))]))
    results = ToolResults([ToolResult("call_1", parts, is_error, kind=kind)])
    request = Request("openai.responses", "m", [User([TextPart("Go.")]), turn, results], provider="openai")
    return write_request(request, provider="openai")


@pytest.mark.parametrize("is_error", [False, True])
def test_the_text_result_of_a_tool_search_follows_in_a_message(is_error: bool) -> None:
    encoded = answered("tool_search", [TextPart("no such tool")], is_error)
    assert codes(encoded) == ["order"]
    output, note = encoded.body["input"][-2:]
    assert (output["type"], output["call_id"], output["tools"]) == ("tool_search_output", "call_1", [])
    assert (note["role"], note["content"]) == ("user", "[tool_error] no such tool" if is_error else "no such tool")
    assert check_request(encoded.body, "openai.responses", provider="openai") == []


def test_media_in_a_text_only_output_are_reported() -> None:
    media = [MediaPart("image", url="https://x.test/a.png"), OpaquePart("video", {})]
    for kind in ("apply_patch", "local_shell", "shell", "tool_search"):
        assert {"media", "opaque"} <= set(codes(answered(kind, media))), kind


@pytest.mark.thorough(keep=1, per="{target}")
@pytest.mark.parametrize("source", ["openai.chat", "xai.grpc"])
@pytest.mark.parametrize("target", REQUESTS)
def test_a_name_of_a_result_that_is_not_the_name_of_its_tool_is_reported(source: Wire, target: Wire) -> None:
    arrived = []
    names: list[dict[str, str]] = [{}, {"name": "weather"}, {"name": "thermometer"}]
    for name in names:
        body = copy.deepcopy(REQUESTS[source])
        for message in body["messages"]:
            message.pop("name", None)
            if message.get("tool_call_id") == "call_1":
                message.update(name)
        arrived.append(written(body, source, target))
    (_, unnamed), (_, same_name), (result, other_name) = arrived
    if target == source:
        assert "thermometer" in str(result)
        assert other_name == []
    else:
        assert len(same_name) == len(unnamed) < len(other_name)


def test_a_default_token_limit_is_reported() -> None:
    request = Request("openai.chat", "claude-opus-4-5", [User([TextPart("Go.")])], provider="openai")
    encoded = write_request(request, "anthropic.messages", provider="anthropic")
    assert encoded.body["max_tokens"] > 0
    assert codes(encoded) == ["default"]
    limited = msgspec.structs.replace(request, params={"max_tokens": 9})
    assert codes(write_request(limited, "anthropic.messages", provider="anthropic")) == []


def test_one_of_two_different_token_limits_is_reported() -> None:
    for target in WIRES:
        source = "openai.chat" if target != "openai.chat" else "openai.responses"
        other = "max_completion_tokens" if source == "openai.chat" else "max_output_tokens"
        for limit, lost in ((200, ["param"]), (100, [])):
            params = {"max_tokens": 100, other: limit}
            assert codes(write_request(Request(source, None, [User([TextPart("Go.")])], params=params), target)) == lost


MODELS = {
    "openai": "gpt-4o o3-mini o1 openai/gpt-5",
    "anthropic": "claude-sonnet-4-5",
    "xai": "grok-4",
    "google": "models/gemini-2.5-pro",
    "deepseek": "deepseek-chat",
    "mistral": "mistral-large-latest codestral-2501 pixtral-12b",
    "cohere": "command-r",
    "bedrock": "us.amazon.nova-pro-v1:0",
    None: "my-model glm-4.6 olmo-3",
}


@pytest.mark.parametrize("target", REQUESTS)
def test_a_model_of_another_provider_is_reported(target: Wire) -> None:
    assert MODELS.keys() - {None} == set(vendors())
    source = "openai.chat" if target != "openai.chat" else "openai.responses"
    hosts_any = PROVIDERS[target] not in vendors()  # Ollama's library has models of all of them
    for owner, models in MODELS.items():
        for model in models.split():
            assert vendor_of(model) == owner
            request = Request(source, model, [User([TextPart("Go.")])], params={"max_tokens": 100})
            lost = owner is not None and owner != PROVIDERS[target] and not hosts_any
            assert codes(write_request(request, target, provider=PROVIDERS[target])) == ["model"] * lost, model


TARGETS = ("openai.responses", "anthropic.messages", "xai.grpc", "bedrock.converse")
MARK: dict[str, Any] = {"mark": 1}
#: A place of extra members -> the index of its message.
PLACES = {"system": 0, "user": 1, "part": 1, "image": 2, "assistant": 3, "text": 3, "call": 3, "result": 4}
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
    for place, message in {**PLACES, "results": 4, "tool": None}.items():
        losses = write_request(conversation(place, MARK, target), target, provider=PROVIDERS[target]).losses
        assert [(loss.code, loss.message_index) for loss in losses] == [("extra", message)], place
        assert "mark" in losses[0].message


@pytest.mark.parametrize("target", TARGETS)
def test_a_member_that_a_wire_keeps_for_its_own_use_is_not_reported(target: Wire) -> None:
    for place, extra in INTERNAL:
        assert write_request(conversation(place, extra, target), target, provider=PROVIDERS[target]).losses == []


def test_the_detail_of_an_image_is_carried_or_reported() -> None:
    for extra, detail, number, losses in (
        ({"image_url": {"detail": "high"}}, "high", 3, []),
        ({"detail": "low"}, "low", 2, []),
        ({"detail": "DETAIL_HIGH"}, "high", 3, []),
        ({}, "auto", 1, []),
        ({"detail": "original"}, "auto", 1, [("extra", 2)]),
    ):
        responses, xai = (
            write_request(conversation("image", extra, target), target, provider=PROVIDERS[target])
            for target in TARGETS[::2]
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
