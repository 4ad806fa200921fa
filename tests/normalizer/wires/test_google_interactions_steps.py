"""Interactions of Gemini: every step that the SDK knows, whole and streamed, and the API as it was until June 2026."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.genai import interactions
from msgspec.structs import replace

from tests.support import sdk_types
from tests.support.decoding import codes, decoded
from tests.support.events import (
    INTERACTION_CREATED,
    INTERACTION_DONE,
    interaction,
    interaction_completed,
    sse,
    step_start,
    step_stop,
)
from toolparity import (
    Opaque,
    Reasoning,
    Response,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    answer,
    check_request,
    normalize,
    read_request,
    select,
    write_request,
)
from toolparity.normalizer.conversation import Assistant, RawItem, Request, System, TextPart, ToolDefinition, User
from toolparity.normalizer.wires.google_interactions.rules import RULES

WIRE = "google.interactions"
SIGNED = "c2lnbmVk"
CITATION = {"type": "url_citation", "url": "https://x.test", "start_index": 0, "end_index": 2}

Step = tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _server_call(tool: str, given: Any = None, **more: Any) -> Step:
    kind = {"type": f"{tool}_call"}
    brought = ({} if given is None else {"arguments": given}) | {"signature": SIGNED, **more}
    return kind | {"id": "s"} | brought, kind | {"id": "s", "signature": ""}, [kind | brought]


def _server_result(tool: str, result: Any) -> Step:
    kind, brought = {"type": f"{tool}_result"}, {"result": result, "is_error": False, "signature": SIGNED}
    return kind | {"call_id": "s"} | brought, kind | {"call_id": "s", "signature": ""}, [kind | brought]


IMAGE = {"type": "image", "data": "AAAA", "mime_type": "image/png"}
CALL = {"type": "function_call", "id": "c", "name": "f", "arguments": {"city": "Oslo"}}
#: A step, its start event, and the deltas that bring everything which the start lacks.
STEPS: list[Step] = [
    (
        {"type": "thought", "signature": SIGNED, "summary": [_text("Two cities.")]},
        {"type": "thought"},
        [
            *({"type": "thought_summary", "content": _text("Two ")}, {"type": "thought_signature", "signature": ""}),
            {"type": "thought_summary", "content": _text("cities.")},
            {"type": "thought_signature", "signature": SIGNED},
        ],
    ),
    (
        {"type": "model_output", "content": [_text("So.") | {"annotations": [CITATION]}, IMAGE, _text("Done.")]},
        {"type": "model_output"},
        [_text("So"), _text("."), {"type": "text_annotation_delta", "annotations": [CITATION]}, IMAGE, _text("Done.")],
    ),
    (CALL, CALL | {"arguments": {}}, [{"type": "arguments_delta", "arguments": t} for t in ('{"city":', '"Oslo"}')]),
    _server_call("code_execution", {"code": "1", "language": "python"}),
    *(_server_call(tool, {"queries": ["q"]}) for tool in ("google_search", "google_maps")),
    _server_call("retrieval", {"queries": ["q"]}, retrieval_type="rag_store"),
    _server_call("tool_search", {"function_names": ["f"]}),
    _server_call("url_context", {"urls": ["https://x.test"]}),
    *map(_server_call, ("file_search", "processing")),
    _server_call("mcp_server_tool", {"a": 1}, name="n", server_name="m"),
    _server_result("code_execution", "1"),
    _server_result("file_search", [{}]),
    _server_result("google_maps", [{"places": []}]),
    _server_result("google_search", [{"search_suggestions": "s"}]),
    *(_server_result(tool, None) for tool in ("processing", "retrieval")),
    _server_result("tool_search", [{"type": "function", "name": "f"}]),
    _server_result("url_context", [{"url": "https://x.test", "status": "success"}]),
    _server_result("mcp_server_tool", {"text": "r"}),
]
EVERY_STEP = pytest.mark.parametrize(("whole_step", "start", "deltas"), STEPS, ids=[one["type"] for one, _, _ in STEPS])


def whole(*steps: dict[str, Any], status: str = "completed", **more: Any) -> Response:
    return normalize(json.dumps(interaction(status, steps=steps, **more)), WIRE)


def read(*events: dict[str, Any], end: dict[str, Any] | None = None) -> Response:
    end = end or interaction_completed("completed")
    return decoded(WIRE, [sse(INTERACTION_CREATED, *events, end), INTERACTION_DONE])


def step(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of one step."""
    grown = ({"index": index, "delta": delta, "event_type": "step.delta"} for delta in deltas)
    return [step_start(index, start), *grown, step_stop(index)]


OUTPUT = step(0, {"type": "model_output"}, _text("So."))


def test_every_type_of_step_that_the_sdk_knows_is_tried_here() -> None:
    known = {tag for model in sdk_types.models(interactions.Step) for tag in sdk_types.tags(model)}
    assert known - {one["type"] for one, _, _ in STEPS} <= {"UNKNOWN", "user_input", "function_result"}


@EVERY_STEP
def test_a_step_is_the_same_whole_and_streamed_and_goes_back_unchanged(
    whole_step: dict[str, Any], start: dict[str, Any], deltas: list[dict[str, Any]]
) -> None:
    response, other = whole(whole_step), read(*step(0, start, *deltas))
    blocks, others = response.choices[0].blocks, other.choices[0].blocks
    assert not any(isinstance(block, Opaque) for block in blocks)
    assert [_by_value(block) for block in blocks] == [_by_value(block) for block in others]
    assert set(codes(response)) | set(codes(other)) <= {"stop-disagrees"}
    request = Request(WIRE, "gemini-3", [User([TextPart("x")]), Assistant(response)], provider="google")
    written = write_request(request).body["input"][1:]
    again = write_request(read_request(json.dumps({"model": "m", "input": written}), WIRE)).body["input"]
    for steps in (written, again):
        assert [_present(one) for one in steps if one["type"] == whole_step["type"]] == [_present(whole_step)]


def _by_value(block: Any) -> Any:
    if isinstance(block, (ToolCall, ServerToolCall)):
        return replace(block, arguments_text=json.dumps(json.loads(block.arguments_text or "{}")))
    return replace(block, raw=_present(block.raw)) if isinstance(block, ServerToolResult) else block


def _present(raw: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in raw.items() if value is not None}


def test_a_function_call_with_its_result_in_the_same_interaction_has_run() -> None:
    response = whole(CALL, RESULT, {"type": "model_output", "content": [_text("So.")]})
    assert [type(block) for block in response.choices[0].blocks] == [ServerToolCall, ServerToolResult, Text]
    assert codes(response) == ["answered-call"]


def test_a_stored_interaction_may_end_with_a_status() -> None:
    status = {"event_type": "interaction.status_update", "interaction_id": "r1", "status": "completed"}
    assert read(*OUTPUT, end=status).complete
    assert not decoded(WIRE, [sse(INTERACTION_CREATED, *OUTPUT, status)]).complete


# Requests


CALL_OF_X = CALL | {"arguments": {"x": 1}}
RESULT = {"type": "function_result", "call_id": "c", "name": "f", "result": "r"}


def conversation(**more: Any) -> Request:
    response = whole({"type": "thought", "signature": SIGNED}, CALL_OF_X, status="requires_action")
    tools = [ToolDefinition("f", "F.", {"type": "object", "properties": {"x": {"type": "integer"}}})]
    begin: list[Any] = [System([TextPart("Be brief.")]), User([TextPart("Hi")])]
    messages = [*begin, *answer(response, select(response), {"c": "r"})]
    return replace(Request(WIRE, "gemini-3", messages, tools, provider="google"), **more)


def test_a_result_has_the_name_of_its_call_and_a_stored_history_is_not_sent_again() -> None:
    written = write_request(conversation())
    assert (written.body["input"][-1], written.losses) == (RESULT, [])
    assert check_request(written.body, WIRE) == []
    stored = write_request(conversation(previous_response_id="v1_1")).body
    members = ("previous_interaction_id", "system_instruction", "input")
    assert [stored[member] for member in members] == ["v1_1", "Be brief.", [RESULT]]
    assert check_request(stored, WIRE) == []


def test_an_item_of_a_turn_with_a_type_that_is_not_a_text_is_kept() -> None:
    turn = {"role": "model", "content": [{"type": []}]}
    request = read_request({"model": "m", "input": [{"role": "user", "content": "a"}, turn]}, "google.interactions")
    assert request.messages[1] == RawItem("google.interactions", turn)


def test_a_history_in_turns_is_handed_over_and_continued_in_turns() -> None:
    text = _text("and Rome?")
    turns: list[dict[str, Any]] = [
        {"role": "user", "content": "hi"},
        {"role": "model", "content": [_text("hello"), CALL_OF_X]},
        {"role": "user", "content": [RESULT, text]},
        {"role": "model", "content": "cold"},
        {"role": "user", "content": [text, {"type": "image", "uri": "https://x.test/a.png"}]},
    ]
    tool = {"type": "function", "name": "f", "parameters": {"type": "object"}}
    body = {"model": "m", "input": turns, "tools": [tool]}
    request = read_request(body, WIRE, provider="google")
    assert write_request(request).body == body
    assert check_request(body, WIRE) == []
    chat = write_request(request, "openai.chat", provider="openai")
    assert [(message["role"], message["content"]) for message in chat.body["messages"][:5]] == [
        *(("user", "hi"), ("assistant", "hello"), ("tool", "r"), ("user", "and Rome?"), ("assistant", "cold"))
    ]
    assert chat.losses == []
    response = normalize({"id": "i", "status": "requires_action", "steps": [CALL_OF_X]})
    messages = [*request.messages, *answer(response, select(response), {"c": "hot"})]
    continued = write_request(replace(request, messages=messages)).body["input"]
    assert continued[:-2] == turns
    kinds = [(turn["role"], [each["type"] for each in turn["content"]]) for turn in continued[-2:]]
    assert kinds == [("model", ["function_call"]), ("user", ["function_result"])]


def _input(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"model": "m", "input": list(steps)}


TEXT_INPUT = {"model": "m", "input": "x"}
REFUSED: dict[str, dict[str, Any]] = {
    "model-present": {"input": "x"},
    "input-present": {"model": "m"},
    "step-type": _input({"role": "assistant", "content": "x"}),
    "part-type": _input({"type": "user_input", "content": ["x"]}),
    "media-source": _input({"type": "image"}),
    "call-form": _input(CALL | {"arguments": "{}"}),
    "result-form": _input({"type": "function_result", "call_id": "c", "result": "r"}),
    "member-known": _input(RESULT | {"id": "c"}),
    "result-asked-for": _input(RESULT),
    "call-answered": _input(CALL),
    "answered-once": _input(CALL, RESULT, RESULT),
    "choice-declared": TEXT_INPUT | {"generation_config": {"tool_choice": {"allowed_tools": {"tools": ["f"]}}}},
    "stored": TEXT_INPUT | {"store": False, "background": True},
    "tool-schema": TEXT_INPUT | {"tools": [{"type": "function", "name": "a b"}]},
    "tool-choice": TEXT_INPUT | {"generation_config": {"tool_choice": "any"}},
}


def test_every_rule_refuses_what_the_api_refuses() -> None:
    assert {rule.id for rule in RULES} == set(REFUSED)
    for rule, body in REFUSED.items():
        assert rule in {violation.rule for violation in check_request(body, WIRE)}


@pytest.mark.parametrize("stream", [False, True])
def test_a_summary_in_pieces_is_one_text_with_its_other_members(stream: bool) -> None:
    more: list[dict[str, Any]] = [{}, {"note": None}, {"note": "kept"}]
    contents = [_text(text) | other for text, other in zip("abc", more, strict=True)]
    deltas = [{"type": "thought_summary", "content": content} for content in contents]
    summary = [_text("abc") | {"note": "kept", "other": None}]
    thought = {"type": "thought"}
    response = read(*step(0, thought, *deltas)) if stream else whole(thought | {"summary": summary})
    assert response.choices[0].blocks == [Reasoning("abc", extra={"summary": {"note": "kept"}})]
    body = write_request(Request(WIRE, "m", [Assistant(response)])).body
    assert body["input"] == [thought | {"summary": [_text("abc") | {"note": "kept"}]}]
