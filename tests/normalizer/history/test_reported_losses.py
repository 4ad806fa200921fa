"""Item 10: whatever a request says arrives at its target or is reported as a loss."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from google.protobuf.json_format import MessageToDict

from tests.normalizer.history.full_requests import REQUESTS
from tests.support.wires import WIRES
from toolparity import Choice, Response, ToolCall
from toolparity.normalizer.conversation import (
    Assistant,
    Encoded,
    JsonPart,
    MediaPart,
    OpaquePart,
    Request,
    TextPart,
    ToolResult,
    ToolResults,
    User,
)
from toolparity.normalizer.errors import ToolparityError
from toolparity.normalizer.model import Stop
from toolparity.normalizer.requests import check_request, read_request, write_request
from toolparity.normalizer.wires.model_owners import vendor_of, vendors
from toolparity.normalizer.wires.registry import spec

PROVIDERS = {wire: spec(wire).owner for wire in WIRES}
Path = tuple[str | int, ...]


def members(value: Any, path: Path = ()) -> Iterator[Path]:
    """The path of every member and every item inside a JSON value, outer ones first."""
    if isinstance(value, (dict, list)):
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*path, step)
            yield from members(inner, (*path, step))


def without(body: dict[str, Any], path: Path) -> dict[str, Any]:
    """The body without one member."""
    changed = copy.deepcopy(body)
    inner: Any = changed
    for step in path[:-1]:
        inner = inner[step]
    del inner[path[-1]]
    return changed


def written(body: dict[str, Any], source: str, target: str) -> tuple[Any, list[str]]:
    """The target's body and the losses on the way to it."""
    request = read_request(body, source, provider=PROVIDERS[source])
    encoded: Encoded = write_request(request, target, provider=PROVIDERS[target])
    said = encoded.body
    if target == "xai.grpc":
        said = MessageToDict(said, preserving_proto_field_name=True)
    return said, sorted(f"{loss.code}: {loss.message}" for loss in encoded.losses)


def silent(source: str, target: str) -> set[str]:
    """The members that make no difference at the target: neither to its body nor to what is reported.

    What is inside of something that was reported as lost as a whole is lost with it.
    """
    body = REQUESTS[source]
    said, losses = written(body, source, target)
    reported: list[Path] = []
    found: set[str] = set()
    for path in members(body):
        if any(path[: len(outer)] == outer for outer in reported):
            continue
        try:
            said_without, losses_without = written(without(body, path), source, target)
        except ToolparityError:
            continue  # without it, it is not a request: it counts
        if said_without == said and losses_without == losses:
            found.add(".".join("*" if isinstance(step, int) else step for step in path))
        elif said_without == said:
            reported.append(path)
    return found


#: Members that may be left out without a difference, and why none of them says anything.
NOTHING = {
    "type": "the members beside it say what it is",
    "id": "ids of items are the books of their own wire",
    "status": "how far an item came is the books of its own wire",
    "index": "the calls of a history have an order",
    "tool_name": "the call that is answered has this name",
    "tool_call_id": "an answer without an id is the next open call's, and the body answers in order",
}
#: The same for single places.
PLACES = {
    "input.*.content.*.detail": "the image itself is known to its own provider alone, and a note stands in its place",
    "tools.*.strict": "False is what a missing member means at the target",
    "tools.*.function.parameters": "an object without properties is what a missing schema means",
    "messages.*.content.*.image.format": "the first bytes of the image say it",
    "messages.*.content.*.toolResult.content.*.image.format": "the first bytes of the image say it",
    "messages.*.content.*.source.media_type": "the first bytes of the image say it",
    "messages.*.content.*.content.*.source.media_type": "the first bytes of the image say it",
    "input.*.content.*.mime_type": "the first bytes of the image say it",
    "input.*.result.*.mime_type": "the first bytes of the image say it",
    "contents.*.parts.*.inlineData.mimeType": "the first bytes of the image say it",
    "contents.*.parts.*.functionResponse.parts.*.inlineData.mimeType": "the first bytes of the image say it",
    "input.*.name": "a result has the name of its call",
    "contents.*.parts.*.functionResponse.name": "a result has the name of its call",
    "generationConfig.responseMimeType": "a schema for the response asks for JSON",
    "contents.*.role": "contents without a role are the user's",
    "messages.*.reasoning_content": "the thought is lost as one block with what is sealed beside it",
    "messages.*.encrypted_content": "the thought is lost as one block with its words",
}
#: The same for single places at one target.
AT_TARGET = {
    ("google.gemini", "stream"): "the method in the address says it",
    ("bedrock.converse", "stream"): "the operation says it",
    ("ollama.chat", "messages.*.content.*.document.format"): "a note that names the document stands in its place",
}


@pytest.mark.thorough(keep=4)
@pytest.mark.parametrize("target", REQUESTS)
@pytest.mark.parametrize("source", REQUESTS)
def test_item_10_every_member_arrives_or_is_reported(source: str, target: str) -> None:
    found = {place for place in silent(source, target) if place not in PLACES and (target, place) not in AT_TARGET}
    assert {place for place in found if place.rpartition(".")[2] not in NOTHING} == set()


def test_item_10_a_request_of_every_wire_is_walked() -> None:
    assert REQUESTS.keys() == set(WIRES)


@pytest.mark.parametrize("wire", REQUESTS)
def test_item_10_a_request_goes_back_to_its_provider_without_a_loss(wire: str) -> None:
    assert written(REQUESTS[wire], wire, wire)[1] == []


# The instances that were found


def losses(encoded: Encoded) -> list[str]:
    return [loss.code for loss in encoded.losses]


def _searched(result: ToolResult) -> Encoded:
    call = ToolCall("call_1", "tool_search", {"goal": "x"}, '{"goal":"x"}', kind="tool_search")
    said = Assistant(Response("openai.responses", "openai", "r", "m", [Choice(0, [call], Stop("tool_calls"))]))
    turns = [User([TextPart("Go.")]), said, ToolResults([result])]
    return write_request(Request("openai.responses", "m", turns, provider="openai"), provider="openai")


@pytest.mark.parametrize("is_error", [False, True])
def test_item_10_the_text_result_of_a_tool_search_follows_in_a_message(is_error: bool) -> None:
    encoded = _searched(ToolResult("call_1", [TextPart("no such tool")], is_error, kind="tool_search"))
    assert losses(encoded) == ["order"]
    output, note = encoded.body["input"][-2:]
    assert (output["type"], output["call_id"], output["tools"]) == ("tool_search_output", "call_1", [])
    assert note["role"] == "user"
    assert note["content"] == ("[tool_error] no such tool" if is_error else "no such tool")
    assert check_request(encoded.body, "openai.responses", provider="openai") == []


def test_item_10_tools_returned_by_a_tool_search_become_its_output() -> None:
    tools = [{"type": "function", "name": "found", "parameters": {}}]
    encoded = _searched(ToolResult("call_1", [JsonPart(tools)], kind="tool_search"))
    assert losses(encoded) == []
    assert encoded.body["input"][-1]["tools"] == tools


@pytest.mark.parametrize("kind", ["apply_patch", "local_shell", "shell", "tool_search"])
def test_item_10_media_in_a_text_only_output_are_reported(kind: str) -> None:
    call = ToolCall("call_1", kind, {}, "{}", kind=kind)
    said = Assistant(Response("openai.responses", "openai", "r", "m", [Choice(0, [call], Stop("tool_calls"))]))
    result = ToolResult("call_1", [MediaPart("image", url="https://x.test/a.png"), OpaquePart("video", {})], kind=kind)
    request = Request(
        "openai.responses", "m", [User([TextPart("Go.")]), said, ToolResults([result])], provider="openai"
    )
    assert {"media", "opaque"} <= set(losses(write_request(request, provider="openai")))


@pytest.mark.parametrize("target", ["openai.chat", "anthropic.messages", "xai.grpc"])
def test_item_10_the_phase_of_a_message_is_reported(target: str) -> None:
    _, found = written(REQUESTS["openai.responses"], "openai.responses", target)
    assert any(loss.startswith("extra:") and "phase" in loss for loss in found)


@pytest.mark.thorough(keep=1, per="{target}")
@pytest.mark.parametrize("source", ["openai.chat", "xai.grpc"])
@pytest.mark.parametrize("name", ["weather", "thermometer"])
@pytest.mark.parametrize("target", REQUESTS)
def test_item_10_a_tool_message_s_own_name_is_reported(source: str, name: str, target: str) -> None:
    """The name of its tool says nothing new; any other one does."""
    body = copy.deepcopy(REQUESTS[source])
    roles = ("tool", "ROLE_TOOL")
    (message, *_) = (message for message in body["messages"] if message["role"] in roles)
    without_name = written({**body, "messages": [_nameless(m) for m in body["messages"]]}, source, target)
    message["name"] = name
    body["messages"] = [m if m is message else _nameless(m) for m in body["messages"]]
    said, found = written(body, source, target)
    if target == source:
        assert name in str(said["messages"][-2 if source == "xai.grpc" else -3]["name"])
        assert found == []
    else:
        assert (len(found) > len(without_name[1])) == (name == "thermometer")


def _nameless(message: dict[str, Any]) -> dict[str, Any]:
    return {member: value for member, value in message.items() if member != "name"}


def test_item_10_a_default_token_limit_is_reported() -> None:
    request = Request("openai.chat", "claude-opus-4-5", [User([TextPart("Go.")])], provider="openai")
    encoded = write_request(request, "anthropic.messages", provider="anthropic")
    assert encoded.body["max_tokens"] > 0
    assert losses(encoded) == ["default"]
    limited = msgspec.structs.replace(request, params={"max_tokens": 9})
    assert losses(write_request(limited, "anthropic.messages", provider="anthropic")) == []


@pytest.mark.parametrize("target", WIRES)
def test_item_10_one_of_two_different_token_limits_is_reported(target: str) -> None:
    source = "openai.chat" if target != "openai.chat" else "openai.responses"
    other = "max_completion_tokens" if source == "openai.chat" else "max_output_tokens"
    request = Request(source, None, [User([TextPart("Go.")])], params={"max_tokens": 100, other: 200})
    assert losses(write_request(request, target)) == ["param"]
    same = msgspec.structs.replace(request, params={"max_tokens": 100, other: 100})
    assert losses(write_request(same, target)) == []


MODELS = {
    "openai": "gpt-4o",
    "anthropic": "claude-sonnet-4-5",
    "xai": "grok-4",
    "google": "models/gemini-2.5-pro",
    "deepseek": "deepseek-chat",
    "mistral": "mistral-large-latest",
    "cohere": "command-r",
    "bedrock": "us.amazon.nova-pro-v1:0",
}


@pytest.mark.thorough(keep=2, per="{target}")
@pytest.mark.parametrize("owner", MODELS)
@pytest.mark.parametrize("target", REQUESTS)
def test_item_10_a_model_of_another_provider_is_reported(owner: str, target: str) -> None:
    source = "openai.chat" if target != "openai.chat" else "openai.responses"
    request = Request(source, MODELS[owner], [User([TextPart("Go.")])], params={"max_tokens": 100})
    encoded = write_request(request, target, provider=PROVIDERS[target])
    hosts_any = PROVIDERS[target] not in vendors()  # Ollama's library has models of all of them
    assert losses(encoded) == ([] if hosts_any or owner == PROVIDERS[target] else ["model"])
    for harmless in ("my-model", "glm-4.6", None):
        encoded = write_request(msgspec.structs.replace(request, model=harmless), target, provider=PROVIDERS[target])
        assert losses(encoded) == []


def test_item_10_the_vendor_of_every_model_family_is_recognized() -> None:
    assert {vendor_of(model) for model in MODELS.values()} == set(vendors())
    assert [vendor_of(model) for model in ("o3-mini", "o1", "codestral-2501", "pixtral-12b", "openai/gpt-5")] == [
        "openai",
        "openai",
        "mistral",
        "mistral",
        "openai",
    ]
    assert vendor_of("olmo-3") is None
