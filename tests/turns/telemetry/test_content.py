"""The content of spans has the form of the conventions' JSON schemas for messages, instructions and tools."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.turns.playing import WIRES, Counting, Emulated, Say, Think, at_once, call, script
from toolparity import Response
from toolparity.normalizer.conversation import (
    JsonPart,
    MediaPart,
    OpaquePart,
    RawItem,
    Request,
    System,
    TextPart,
    ToolDefinition,
    ToolResult,
    ToolResults,
    User,
)
from toolparity.normalizer.model import (
    ApprovalRequest,
    Choice,
    Opaque,
    Reasoning,
    Refusal,
    ServerToolCall,
    ServerToolResult,
    Stop,
)
from toolparity.turns import Turn
from toolparity.turns.telemetry.content import request_content, response_content, result_content

from .measuring import Measured, attributes

#: Type of a part -> its required members besides ``type``. Other types may have any members. Source: the ``required``
#: members in `gen-ai-input-messages.json` of open-telemetry/semantic-conventions-genai.
REQUIRED = {
    "text": {"content"},
    "tool_call": {"name"},
    "tool_call_response": {"response"},
    "server_tool_call": {"name", "server_tool_call"},
    "server_tool_call_response": {"server_tool_call_response"},
    "blob": {"modality", "content"},
    "file": {"modality", "file_id"},
    "uri": {"modality", "uri"},
    "reasoning": {"content"},
}
ROLES = {"system", "user", "assistant", "tool"}


def assert_parts(parts: list[dict[str, Any]]) -> None:
    for part in parts:
        assert isinstance(part["type"], str)
        assert REQUIRED.get(part["type"], set()) <= part.keys(), part
        for details in ("server_tool_call", "server_tool_call_response"):
            assert "type" in part.get(details, {"type": ""})


def assert_messages(text: str) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = json.loads(text)
    for message in messages:
        assert message["role"] in ROLES
        assert_parts(message["parts"])
    return messages


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
def test_the_messages_of_a_turn_have_the_form_of_the_conventions_on_every_wire(wire: str) -> None:
    kept = Measured(content=True)
    played = script([Think("Hm."), Say("Let me look."), call("look", city="Ulm")], [Say("Done.")])
    turn = Turn(Emulated(wire, played), Counting().tools(), telemetry=kept.telemetry)
    at_once(turn.run("Go."))
    _, first, tool, last = kept.spans
    sent = assert_messages(attributes(last)["gen_ai.input.messages"])
    assert [message["role"] for message in sent] == ["user", "assistant", "tool"]
    [answer] = assert_messages(attributes(first)["gen_ai.output.messages"])
    [request] = [part for part in answer["parts"] if part["type"] == "tool_call"]
    assert (request["name"], request["arguments"]) == ("look", {"city": "Ulm"})
    [result] = sent[-1]["parts"]
    assert (result["response"], result["id"]) == ("look ran", request["id"])
    assert json.loads(attributes(tool)["gen_ai.tool.call.arguments"]) == {"city": "Ulm"}
    assert json.loads(attributes(tool)["gen_ai.tool.call.result"]) == "look ran"
    definitions = json.loads(attributes(last)["gen_ai.tool.definitions"])
    assert {"type", "name"} <= definitions[0].keys()
    assert "Done." in attributes(kept.spans[0])["gen_ai.output.messages"]


def test_every_kind_of_part_block_and_message_has_a_form() -> None:
    media = [
        MediaPart("image", "image/png", data="iVBO"),
        MediaPart("image", url="https://x.example/a.png"),
        MediaPart("document", file_id="file-1"),
    ]
    parts = [TextPart("a"), JsonPart({"b": 1}), OpaquePart("video_url", {"c": 2}), *media]
    blocks = [
        Reasoning("hm"),
        Refusal("no"),
        ServerToolCall("s", "web_search", "web_search_20250305", '{"query":"Ulm"}'),
        ServerToolResult("s", "web_search", raw=[1]),
        ApprovalRequest("a", "files", "read"),
        Opaque("new", {"x": 1}),
    ]
    messages = [
        System([TextPart("Be nice.")]),
        User(parts),
        ToolResults([ToolResult("c", parts), ToolResult("d", [JsonPart([1])])]),
        RawItem("openai.responses", {"type": "item_reference"}),
    ]
    sent = request_content(Request("", None, messages, [ToolDefinition("search", kind="custom")]))
    _, results, raw = assert_messages(sent["gen_ai.input.messages"])
    assert results["parts"][1]["response"] == [1]
    assert raw["parts"][0]["content"] == {"type": "item_reference"}
    assert_parts(json.loads(sent["gen_ai.system_instructions"]))
    assert "iVBO" not in sent["gen_ai.input.messages"]
    response = Response("openai.chat", None, None, None, [Choice(0, list(blocks), Stop("end_turn", "stop"))])
    [answer] = assert_messages(response_content(response)["gen_ai.output.messages"])
    assert answer["finish_reason"] == "stop"
    assert json.loads(result_content(ToolResult("c", [TextPart("a")]))["gen_ai.tool.call.result"]) == "a"


def test_content_that_json_cannot_express_is_left_out_and_the_turn_continues(caplog: pytest.LogCaptureFixture) -> None:
    class Numbers:
        """A value that JSON has no form for."""

    kept = Measured(content=True)
    request = Request("", None, [RawItem("openai.chat", Numbers())])
    with kept.tracer_provider.get_tracer("t").start_as_current_span("s") as span:
        kept.telemetry.record(span, request_content, request)
    assert "gen_ai.input.messages" not in attributes(kept.span("s"))
    assert "a span lacks content" in caplog.text
