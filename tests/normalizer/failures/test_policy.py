"""Failures of classes policy and tool-choice: another call is executed, or another choice sent."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.normalizer.failures.conversations import (
    EVERY_WIRE,
    FLAGGED,
    PROVIDERS,
    WIRES,
    call,
    codes,
    parts,
    request,
    respond,
    user,
    written,
)
from tests.normalizer.history.views import calls, of_kind
from tests.support.decoding import FORMS
from tests.support.decoding import respond as received
from toolparity import Choice, Reasoning, Response, Stop, Text, select
from toolparity.normalizer.answers import answer
from toolparity.normalizer.conversation import Request, ToolChoice, ToolDefinition
from toolparity.normalizer.requests import check_request, read_request, with_policy, write_request

#: The wires whose requests cannot turn parallel calls off.
WITHOUT_SWITCH = ("google.gemini", "google.interactions", "bedrock.converse", "ollama.chat", "cohere.chat")
EVERY_FORM = pytest.mark.parametrize(("wire", "streamed"), FORMS)
POLICIES = pytest.mark.parametrize("policy", ["first", "all", "batch"])
GIVEN = [("a", "f", '{"x":1}'), ("b", "g", '{"y":2}'), ("c", "f", '{"z":3}')]


@EVERY_FORM
def test_PAR_02_HIST_02_HIST_06_GEM_01_first_keeps_one_call_and_reports_others(wire: str, streamed: bool) -> None:
    single = write_request(with_policy(request([user()], wire), "first"))
    assert codes(single) == ["parallel"] * (wire in WITHOUT_SWITCH)
    response = received(wire, streamed, GIVEN, provider=PROVIDERS[wire])
    selection = select(response, "first")
    assert ([ref.id for ref in selection.kept], [ref.id for ref in selection.dropped]) == (["a"], ["b", "c"])
    assert [finding.code for finding in selection.findings] == ["dropped-call", "dropped-call"]
    body = written([user(), *answer(response, selection, {"a": "done"})], wire, names=("f", "g")).body
    made = [part for part in parts(wire, body) if part.kind != "user"]
    assert [(part.kind, part.id) for part in made] == [
        *(("call", id) for id in "abc"),
        *(("result", id) for id in "abc"),
    ]
    assert [part.failed for part in made[3:]] == [False, *[wire in FLAGGED] * 2]
    if wire == "google.gemini":
        assert [content["role"] for content in body["contents"]] == ["user", "model", "user"]
    reason = "This call was not executed: policy first keeps one call."
    assert [part.text.removeprefix("[tool_error] ") for part in made[3:]] == ["done", reason, reason]


@EVERY_WIRE
def test_EXT_01_MULTI_01_the_selection_is_the_same_for_a_stream_and_a_body(wire: str) -> None:
    for policy, count in (("first", 3), ("all", 3), ("batch", 3), ("all", 1)):
        whole, streamed = (select(received(wire, form, GIVEN[:count]), policy) for form in (False, True))
        assert whole == streamed
        assert [ref.id for ref in whole.kept] == ["a", "b", "c"][: 1 if policy == "first" else count]


@POLICIES
def test_CHOICE_02_FIRST_02_calls_are_found_by_their_type_and_only_in_the_selected_choice(policy: str) -> None:
    found = select(respond(Reasoning("hm"), Text("so"), call("a"), call("b")), policy)
    assert [ref.id for ref in found.kept] == ["a", "b"][: 1 if policy == "first" else 2]
    other = Choice(1, [call("x", "delete_customer_data")], Stop("tool_calls"))
    response = Response("openai.chat", "openai", "r", "m", [Choice(0, [Text("no")], Stop("end_turn")), other])
    selection = select(response, policy)
    assert (selection.kept, selection.rejected) == ([], [])
    assert [(ref.name, ref.choice, ref.reason) for ref in selection.dropped] == [
        ("delete_customer_data", 1, "choice 0 was selected")
    ]
    assert calls("openai.chat", written([user(), *answer(response, selection, {})], "openai.chat").body) == []


@EVERY_WIRE
def test_HITL_01_RES_07_a_call_that_raises_gets_an_error_result_and_the_other_call_runs(wire: str) -> None:
    response = respond(call("a", "delete"), call("b", "read"), wire=wire)
    outcomes: dict[str, Any] = {"a": PermissionError("the user declined"), "b": "text"}
    body = written([user(), *answer(response, select(response), outcomes)], wire, names=("delete", "read")).body
    denied, ran = of_kind(wire, body, "result")
    assert (denied.id, denied.failed, ran.id, ran.text) == ("a", wire in FLAGGED, "b", "text")
    assert "PermissionError: the user declined" in denied.text


MODES = [ToolChoice("auto"), ToolChoice("none"), ToolChoice("required"), ToolChoice("named", "f")]
GEMINI = [{"mode": "AUTO"}, {"mode": "NONE"}, {"mode": "ANY"}, {"mode": "ANY", "allowedFunctionNames": ["f"]}]
#: Wire -> the choice in each mode; None where it is left out. cohere_chat cannot force one tool.
WRITTEN: dict[str, list[Any]] = {
    "openai.chat": ["auto", "none", "required", {"type": "function", "function": {"name": "f"}}],
    "openai.responses": ["auto", "none", "required", {"type": "function", "name": "f"}],
    "anthropic.messages": [{"type": "auto"}, {"type": "none"}, {"type": "any"}, {"type": "tool", "name": "f"}],
    "cohere.chat": [None, "NONE", "REQUIRED", "REQUIRED"],
    "google.interactions": ["auto", "none", "any", {"allowed_tools": {"mode": "any", "tools": ["f"]}}],
    "google.gemini": [{"functionCallingConfig": mode} for mode in GEMINI],
    "bedrock.converse": [{"auto": {}}, None, {"any": {}}, {"tool": {"name": "f"}}],
    "xai.grpc": [("mode", 1), ("mode", 2), ("mode", 3), ("function_name", "f")],
    "ollama.chat": [None] * 4,
}
#: The modes that a wire lacks. Without a tool none can be called.
LACKING = {"ollama.chat": ("none", "required", "named"), "cohere.chat": ("named",), "bedrock.converse": ("none",)}


def choice_in(wire: str, body: Any) -> Any:
    """The tool choice of a request."""
    if wire == "xai.grpc":
        field = body.tool_choice.WhichOneof("tool_choice")
        return field and (field, getattr(body.tool_choice, field))
    if wire == "bedrock.converse":
        return body.get("toolConfig", {}).get("toolChoice")
    if wire == "google.gemini":
        return body.get("toolConfig")
    return body.get("generation_config", body).get("tool_choice")


@pytest.mark.parametrize("number", range(4), ids=[choice.mode for choice in MODES])
@EVERY_WIRE
def test_TC_01_every_tool_choice_mode_is_translated_to_every_wire(wire: str, number: int) -> None:
    choice = MODES[number]
    params = {"max_tokens": 100} if wire == "anthropic.messages" else {}
    for source in WIRES:
        asked = request([user()], source, tool_choice=choice, params=params)
        encoded = write_request(asked, wire, provider=PROVIDERS[wire])
        assert choice_in(wire, encoded.body) == WRITTEN[wire][number]
        is_lacking = choice.mode in LACKING.get(wire, ())
        assert codes(encoded) == ["tool-choice"] * is_lacking
        if WRITTEN[wire][number] is None:
            assert "toolConfig" not in encoded.body
        elif not is_lacking:
            read = read_request(encoded.body, wire, provider=PROVIDERS[wire]).tool_choice
            assert read is not None
            assert (read.mode, read.name) == (choice.mode, choice.name)


HOSTED = ToolDefinition("web_search", kind="hosted", wire="other", raw={"type": "web_search"})
OWN = ToolDefinition("f", parameters={"type": "object", "properties": {}})


@EVERY_WIRE
def test_TC_01_a_choice_that_the_target_lacks_or_of_a_missing_tool_is_free_and_reported(wire: Any) -> None:
    source = "openai.responses" if wire == "openai.chat" else "openai.chat"
    allowed = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}
    for tools, choice, is_free, lost in (
        ([OWN], ToolChoice("raw", raw=allowed), wire != "openai.chat", ["tool-choice"]),
        *(([HOSTED, OWN], ToolChoice("named", name), True, ["tool-choice"]) for name in ("web_search", None)),
        ([HOSTED], ToolChoice("required"), False, ["tool-choice"]),
        ([HOSTED], ToolChoice("named", "web_search"), False, ["tool-choice"]),
        ([HOSTED], ToolChoice("auto"), False, []),
    ):
        asked = replace(request([user()], source, tool_choice=choice, params={"max_tokens": 99}), tools=tools)
        encoded = write_request(asked, wire, provider=PROVIDERS[wire])
        assert choice_in(wire, encoded.body) == (WRITTEN[wire][0] if is_free else None)
        assert [code for code in codes(encoded) if code not in ("hosted-tool", "param")] == lost
        assert check_request(encoded.body, wire, provider=PROVIDERS[wire]) == []


def test_a_choice_without_its_tools_is_left_out_on_its_own_wire() -> None:
    wrong: dict[Any, Any] = {}
    for wire, provider in PROVIDERS.items():
        for choice in (ToolChoice("auto"), ToolChoice("required"), ToolChoice("named", "f")):
            source = Request("third", "m", [user()], [OWN], choice, parallel=False, params={"max_tokens": 99})
            asked = read_request(write_request(source, wire, provider=provider).body, wire, provider=provider)
            encoded = write_request(replace(asked, tools=[]))
            forced = asked.tool_choice is not None and asked.tool_choice.mode in ("required", "named")
            found = check_request(encoded.body, wire, provider=provider)
            if found or codes(encoded) != ["tool-choice"] * forced:
                wrong[wire, choice.mode] = (found, codes(encoded))
    assert wrong == {}


def test_a_setting_that_a_provider_accepts_without_tools_remains() -> None:
    accepted: dict[str, dict[str, Any]] = {"xai": {"parallel_tool_calls": False}, "mistral": {"tool_choice": "auto"}}
    for provider, settings in accepted.items():
        body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **settings}
        assert write_request(read_request(body, "openai.chat", provider=provider)).body == body


def test_TC_01_a_forced_choice_with_thinking_violates_a_request_rule() -> None:
    more = {"model": "claude-opus-4-1", "max_tokens": 2048, "thinking": {"type": "enabled", "budget_tokens": 1024}}
    for choice, broken in (({"type": "any"}, True), ({"type": "tool", "name": "f"}, True), ({"type": "auto"}, False)):
        body = write_request(request([user()], "anthropic.messages")).body | more | {"tool_choice": choice}
        rules = [violation.rule for violation in check_request(body, "anthropic.messages", provider="anthropic")]
        assert ("claude-forced-choice-with-budget" in rules) is broken
