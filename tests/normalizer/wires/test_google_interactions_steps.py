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
    step_delta,
    step_start,
    step_stop,
)
from toolparity import (
    Opaque,
    Reasoning,
    Response,
    ServerToolCall,
    ServerToolResult,
    StreamDecoder,
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
from toolparity.normalizer.model import Stop

WIRE = "google.interactions"
SIGNED = "c2lnbmVk"
CITATION = {"type": "url_citation", "url": "https://x.test", "start_index": 0, "end_index": 2}

#: Step -> the deltas that bring everything which its start event lacks, and that start event.
STEPS: list[tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]] = [
    (
        {"type": "thought", "signature": SIGNED, "summary": [{"type": "text", "text": "Two cities."}]},
        {"type": "thought"},
        [
            {"type": "thought_summary", "content": {"type": "text", "text": "Two "}},
            {"type": "thought_signature", "signature": ""},
            {"type": "thought_summary", "content": {"type": "text", "text": "cities."}},
            {"type": "thought_signature", "signature": SIGNED},
        ],
    ),
    (
        {
            "type": "model_output",
            "content": [
                {"type": "text", "text": "So.", "annotations": [CITATION]},
                {"type": "image", "data": "AAAA", "mime_type": "image/png"},
                {"type": "text", "text": "Done."},
            ],
        },
        {"type": "model_output"},
        [
            {"type": "text", "text": "So"},
            {"type": "text", "text": "."},
            {"type": "text_annotation_delta", "annotations": [CITATION]},
            {"type": "image", "data": "AAAA", "mime_type": "image/png"},
            {"type": "text", "text": "Done."},
        ],
    ),
    (
        {"type": "function_call", "id": "c", "name": "f", "arguments": {"city": "Oslo"}},
        {"type": "function_call", "id": "c", "name": "f", "arguments": {}},
        [
            {"type": "arguments_delta", "arguments": '{"city":'},
            {"type": "arguments_delta", "arguments": '"Oslo"}'},
        ],
    ),
    *(
        (
            {"type": f"{tool}_call", "id": "s", "arguments": given, "signature": SIGNED, **more},
            {"type": f"{tool}_call", "id": "s", "signature": "", "arguments": {}},
            [{"type": f"{tool}_call", "arguments": given, "signature": SIGNED, **more}],
        )
        for tool, given, more in [
            ("code_execution", {"code": "1", "language": "python"}, {}),
            ("google_search", {"queries": ["q"]}, {}),
            ("google_maps", {"queries": ["q"]}, {}),
            ("retrieval", {"queries": ["q"]}, {"retrieval_type": "rag_store"}),
            ("tool_search", {"function_names": ["f"]}, {}),
            ("url_context", {"urls": ["https://x.test"]}, {}),
        ]
    ),
    *(
        (
            {"type": f"{tool}_call", "id": "s", "signature": SIGNED},
            {"type": f"{tool}_call", "id": "s"},
            [{"type": f"{tool}_call", "signature": SIGNED}],
        )
        for tool in ("file_search", "processing")
    ),
    (
        {"type": "mcp_server_tool_call", "id": "s", "name": "n", "server_name": "m", "arguments": {"a": 1}},
        {"type": "mcp_server_tool_call", "id": "s", "name": "n", "server_name": "m", "arguments": {}},
        [{"type": "mcp_server_tool_call", "name": "n", "server_name": "m", "arguments": {"a": 1}}],
    ),
    *(
        (
            {"type": f"{tool}_result", "call_id": "s", "result": result, "is_error": False, "signature": SIGNED},
            {"type": f"{tool}_result", "call_id": "s", "signature": ""},
            [{"type": f"{tool}_result", "result": result, "is_error": False, "signature": SIGNED}],
        )
        for tool, result in [
            ("code_execution", "1"),
            ("file_search", [{}]),
            ("google_maps", [{"places": []}]),
            ("google_search", [{"search_suggestions": "s"}]),
            ("processing", None),
            ("retrieval", None),
            ("tool_search", [{"type": "function", "name": "f"}]),
            ("url_context", [{"url": "https://x.test", "status": "success"}]),
            ("mcp_server_tool", {"text": "r"}),
        ]
    ),
]
EVERY_STEP = pytest.mark.parametrize(("step", "start", "deltas"), STEPS, ids=[step["type"] for step, _, _ in STEPS])


def whole(*steps: dict[str, Any], status: str = "completed", **more: Any) -> Response:
    return normalize(json.dumps(interaction(status, steps=steps, **more)), WIRE)


def streamed(*steps: tuple[dict[str, Any], list[dict[str, Any]]], status: str = "completed") -> Response:
    frames = [INTERACTION_CREATED]
    for index, (start, deltas) in enumerate(steps):
        frames.append(step_start(index, start))
        frames += [{"index": index, "delta": delta, "event_type": "step.delta"} for delta in deltas]
        frames.append(step_stop(index))
    return decoded(WIRE, [sse(*frames, interaction_completed(status)), INTERACTION_DONE])


def test_every_type_of_step_that_the_sdk_knows_is_tried_here() -> None:
    known = {tag for model in sdk_types.models(interactions.Step) for tag in sdk_types.tags(model)}
    assert known - {step["type"] for step, _, _ in STEPS} <= {"UNKNOWN", "user_input", "function_result"}


@pytest.mark.thorough(keep=6)
@EVERY_STEP
def test_a_step_is_the_same_whole_and_streamed_and_never_opaque(
    step: dict[str, Any], start: dict[str, Any], deltas: list[dict[str, Any]]
) -> None:
    response, other = whole(step), streamed((start, deltas))
    blocks, others = response.choices[0].blocks, other.choices[0].blocks
    assert not any(isinstance(block, Opaque) for block in blocks)
    assert [_by_value(block) for block in blocks] == [_by_value(block) for block in others]
    assert "unknown-event" not in codes(other)
    assert set(codes(response)) | set(codes(other)) <= {"stop-disagrees"}


def _by_value(block: Any) -> Any:
    if isinstance(block, (ToolCall, ServerToolCall)):
        return replace(block, arguments_text=json.dumps(json.loads(block.arguments_text or "{}")))
    return replace(block, raw=_present(block.raw)) if isinstance(block, ServerToolResult) else block


def _present(raw: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in raw.items() if value is not None}


@pytest.mark.thorough(keep=6)
@EVERY_STEP
def test_a_step_goes_back_unchanged(step: dict[str, Any], start: dict[str, Any], deltas: list[dict[str, Any]]) -> None:
    request = Request(WIRE, "gemini-3", [User([TextPart("x")]), Assistant(whole(step))], provider="google")
    written = write_request(request).body["input"][1:]
    expected = _present(step)
    assert [step_of for step_of in written if step_of["type"] == step["type"]] == [expected]
    again = write_request(read_request(json.dumps({"model": "m", "input": written}), WIRE)).body["input"]
    assert [_present(one) for one in again if one["type"] == step["type"]] == [expected]


def test_only_function_calls_run() -> None:
    response = whole(*(step for step, _, _ in STEPS), status="requires_action")
    assert [ref.name for ref in select(response).kept] == ["f"]
    assert response.choices[0].stop == Stop("tool_calls", "requires_action")


def test_a_function_call_with_its_result_in_the_same_interaction_has_run() -> None:
    call = {"type": "function_call", "id": "c", "name": "f", "arguments": {"x": 1}}
    result = {"type": "function_result", "call_id": "c", "name": "f", "result": "r"}
    response = whole(call, result, {"type": "model_output", "content": [{"type": "text", "text": "So."}]})
    assert response.calls == []
    assert [type(block) for block in response.choices[0].blocks] == [ServerToolCall, ServerToolResult, Text]
    assert codes(response) == ["answered-call"]


def test_the_input_of_a_fetched_interaction_is_kept_beside_the_answer() -> None:
    asked = {"type": "user_input", "content": [{"type": "text", "text": "Weather?"}]}
    response = whole(asked, {"type": "model_output", "content": [{"type": "text", "text": "Fine."}]})
    assert (response.text, response.extra["steps"]) == ("Fine.", [asked])


def test_an_interaction_in_progress_is_not_complete() -> None:
    call = {"type": "function_call", "id": "c", "name": "f", "arguments": {}}
    response = whole(call, status="in_progress")
    assert not response.complete
    assert not select(response).kept


def test_an_error_of_an_output_is_the_error_of_the_response() -> None:
    response = whole({"type": "model_output", "error": {"code": 13, "message": "internal"}})
    assert response.error is not None
    assert (response.error.message, response.choices[0].stop.reason) == ("internal", "error")


def test_usage_counts_thoughts_as_output_and_tool_use_as_input() -> None:
    figures = {"total_input_tokens": 9, "total_output_tokens": 13, "total_thought_tokens": 207}
    usage = whole(usage={**figures, "total_tool_use_tokens": 5, "total_cached_tokens": 2}).usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens, usage.cached_input_tokens) == (
        14,
        220,
        207,
        2,
    )


OLD = [
    {"type": "thought", "signature": SIGNED},
    {"type": "text", "text": "Let me look."},
    {"type": "function_call", "id": "c", "name": "f", "arguments": {"city": "Oslo"}},
]
OLD_BLOCKS = [Reasoning("", SIGNED), Text("Let me look."), ToolCall("c", "f", {"city": "Oslo"}, '{"city": "Oslo"}')]


def test_the_outputs_of_the_api_until_june_2026_are_read() -> None:
    response = normalize(json.dumps(interaction("requires_action", outputs=OLD)))
    assert response.choices[0].blocks == OLD_BLOCKS
    assert response.findings == ()


def test_the_events_of_the_api_until_june_2026_are_read() -> None:
    events = [{"event_type": "interaction.start", "interaction": interaction("in_progress")}]
    starts: list[Any] = [{"type": "thought"}, {"type": "text", "text": ""}, {"type": "function_call"}]
    deltas: list[list[Any]] = [
        [{"type": "thought_signature", "signature": SIGNED}],
        [{"type": "text", "text": "Let me "}, {"type": "text", "text": "look."}],
        [OLD[2]],
    ]
    for index, (start, brought) in enumerate(zip(starts, deltas, strict=True)):
        events.append({"event_type": "content.start", "index": index, "content": start})
        events += [{"event_type": "content.delta", "index": index, "delta": delta} for delta in brought]
        events.append({"event_type": "content.stop", "index": index})
    events.append({"event_type": "interaction.complete", "interaction": interaction("requires_action")})
    response = decoded(WIRE, [sse(*events), INTERACTION_DONE])
    assert response.choices[0].blocks == OLD_BLOCKS
    assert response.findings == ()


def test_arguments_under_the_index_of_another_step_run_no_call() -> None:
    call = {"type": "function_call", "id": "c", "name": "f", "arguments": {}}
    frames = [INTERACTION_CREATED, step_start(0, {"type": "model_output"}), step_start(1, call)]
    frames += [step_delta(0, "arguments_delta", arguments='{"x":1}'), step_stop(0), step_stop(1)]
    response = decoded(WIRE, [sse(*frames, interaction_completed("requires_action")), INTERACTION_DONE])
    assert {"delta-misplaced", "arguments-misplaced"} <= set(codes(response))
    assert not select(response).kept


def test_a_call_that_only_the_last_event_has_is_not_lost() -> None:
    call = {"type": "function_call", "id": "c", "name": "f", "arguments": {}}
    frames = [
        INTERACTION_CREATED,
        step_start(0, {"type": "model_output"}),
        step_delta(0, "text", text="So."),
        step_stop(0),
    ]
    response = decoded(WIRE, [sse(*frames, interaction_completed("requires_action", steps=[call])), INTERACTION_DONE])
    assert [call.id for call in response.calls] == ["c"]
    assert "output-disagrees" in codes(response)


def test_a_stored_interaction_may_end_with_a_status() -> None:
    frames = [
        INTERACTION_CREATED,
        step_start(0, {"type": "model_output"}),
        step_delta(0, "text", text="So."),
        step_stop(0),
    ]
    status = {"event_type": "interaction.status_update", "interaction_id": "r1", "status": "completed"}
    assert decoded(WIRE, [sse(*frames, status), INTERACTION_DONE]).complete
    assert not decoded(WIRE, [sse(*frames, status)]).complete


# Requests


def conversation(**more: Any) -> Request:
    call = {"type": "function_call", "id": "c", "name": "f", "arguments": {"x": 1}}
    response = whole({"type": "thought", "signature": SIGNED}, call, status="requires_action")
    tools = [ToolDefinition("f", "F.", {"type": "object", "properties": {"x": {"type": "integer"}}})]
    messages = [
        System([TextPart("Be brief.")]),
        User([TextPart("Hi")]),
        *answer(response, select(response), {"c": "r"}),
    ]
    return replace(Request(WIRE, "gemini-3", messages, tools, provider="google"), **more)


def test_a_result_has_the_name_of_its_call() -> None:
    written = write_request(conversation())
    assert written.body["input"][-1] == {"type": "function_result", "call_id": "c", "name": "f", "result": "r"}
    assert written.losses == []
    assert check_request(written.body, WIRE) == []


def test_of_a_stored_history_only_the_new_steps_and_the_instruction_are_sent() -> None:
    body = write_request(conversation(previous_response_id="v1_1")).body
    assert body["previous_interaction_id"] == "v1_1"
    assert body["system_instruction"] == "Be brief."
    assert body["input"] == [{"type": "function_result", "call_id": "c", "name": "f", "result": "r"}]
    assert check_request(body, WIRE) == []


def test_an_item_of_a_turn_with_a_type_that_is_no_text_is_kept() -> None:
    turn = {"role": "model", "content": [{"type": []}]}
    request = read_request({"model": "m", "input": [{"role": "user", "content": "a"}, turn]}, "google.interactions")
    assert request.messages[1] == RawItem("google.interactions", turn)


def test_a_history_in_turns_is_handed_over_and_continued_in_turns() -> None:
    text = {"type": "text", "text": "and Rome?"}
    call = {"type": "function_call", "id": "c", "name": "f", "arguments": {"x": 1}}
    done = {"type": "function_result", "call_id": "c", "name": "f", "result": "warm"}
    turns: list[dict[str, Any]] = [
        {"role": "user", "content": "hi"},
        {"role": "model", "content": [{"type": "text", "text": "hello"}, call]},
        {"role": "user", "content": [done, text]},
        {"role": "model", "content": "cold"},
        {"role": "user", "content": [text, {"type": "image", "uri": "https://x.test/a.png"}]},
    ]
    body = {
        "model": "m",
        "input": turns,
        "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}}],
    }
    request = read_request(body, WIRE, provider="google")
    assert write_request(request).body == body
    assert check_request(body, WIRE) == []
    chat = write_request(request, "openai.chat", provider="openai")
    assert [(message["role"], message["content"]) for message in chat.body["messages"][:5]] == [
        ("user", "hi"),
        ("assistant", "hello"),
        ("tool", "warm"),
        ("user", "and Rome?"),
        ("assistant", "cold"),
    ]
    assert chat.losses == []
    response = normalize({"id": "i", "status": "requires_action", "steps": [call]}, WIRE)
    messages = [*request.messages, *answer(response, select(response), {"c": "hot"})]
    continued = write_request(replace(request, messages=messages)).body["input"]
    assert continued[:-2] == turns
    assert [(turn["role"], [each["type"] for each in turn["content"]]) for turn in continued[-2:]] == [
        ("model", ["function_call"]),
        ("user", ["function_result"]),
    ]


def test_the_generation_config_is_split_into_parameters_and_put_together_again() -> None:
    body = {"model": "m", "input": "x", "generation_config": {"temperature": 0.5, "seed": 1, "tool_choice": "any"}}
    body["tools"] = [{"type": "function", "name": "f"}]
    request = read_request(body, WIRE)
    assert request.params == {"temperature": 0.5, "seed": 1}
    assert request.tool_choice is not None
    assert request.tool_choice.mode == "required"
    assert write_request(request).body["generation_config"] == body["generation_config"]
    assert write_request(request, "openai.chat").body["temperature"] == 0.5


REFUSED: dict[str, dict[str, Any]] = {
    "model-present": {"input": "x"},
    "input-present": {"model": "m"},
    "step-type": {"model": "m", "input": [{"role": "assistant", "content": "x"}]},
    "part-type": {"model": "m", "input": [{"type": "user_input", "content": ["x"]}]},
    "media-source": {"model": "m", "input": [{"type": "image"}]},
    "call-form": {"model": "m", "input": [{"type": "function_call", "id": "c", "name": "f", "arguments": "{}"}]},
    "result-form": {"model": "m", "input": [{"type": "function_result", "call_id": "c", "result": "r"}]},
    "member-known": {
        "model": "m",
        "input": [{"type": "function_result", "call_id": "c", "id": "c", "name": "f", "result": ""}],
    },
    "result-asked-for": {
        "model": "m",
        "input": [{"type": "function_result", "call_id": "c", "name": "f", "result": ""}],
    },
    "call-answered": {"model": "m", "input": [{"type": "function_call", "id": "c", "name": "f", "arguments": {}}]},
    "answered-once": {
        "model": "m",
        "input": [
            {"type": "function_call", "id": "c", "name": "f", "arguments": {}},
            *[{"type": "function_result", "call_id": "c", "name": "f", "result": ""}] * 2,
        ],
    },
    "choice-declared": {
        "model": "m",
        "input": "x",
        "generation_config": {"tool_choice": {"allowed_tools": {"tools": ["f"]}}},
    },
    "stored": {"model": "m", "input": "x", "store": False, "background": True},
    "tool-schema": {"model": "m", "input": "x", "tools": [{"type": "function", "name": "a b"}]},
    "tool-choice": {"model": "m", "input": "x", "generation_config": {"tool_choice": "any"}},
}


@pytest.mark.parametrize("rule", REFUSED)
def test_a_rule_refuses_what_the_api_refuses(rule: str) -> None:
    assert rule in {violation.rule for violation in check_request(REFUSED[rule], WIRE)}


def test_every_rule_is_tried_here() -> None:
    from toolparity.normalizer.wires.google_interactions.rules import RULES

    assert {rule.id for rule in RULES} == set(REFUSED)


@pytest.mark.parametrize("stream", [False, True])
def test_a_summary_in_pieces_is_one_text_with_its_other_members(stream: bool) -> None:
    more = [{}, {"note": None}, {"note": "kept"}]
    contents = [{"type": "text", "text": text, **other} for text, other in zip("abc", more, strict=True)]
    if stream:
        events: list[dict[str, Any]] = [
            {"event_type": "interaction.created", "interaction": {"id": "v1", "status": "in_progress"}},
            {"event_type": "step.start", "index": 0, "step": {"type": "thought"}},
            *(
                {"event_type": "step.delta", "index": 0, "delta": {"type": "thought_summary", "content": content}}
                for content in contents
            ),
            {"event_type": "step.stop", "index": 0},
            {"event_type": "interaction.completed", "interaction": {"id": "v1", "status": "completed"}},
        ]
        decoder = StreamDecoder("google.interactions")
        decoder.feed(sse(*events))
        response = decoder.finish()
    else:
        whole = {"type": "text", "text": "abc", "note": "kept", "other": None}
        steps = [{"type": "thought", "summary": [whole]}]
        response = normalize({"id": "v1", "status": "completed", "steps": steps}, "google.interactions")
    assert response.choices[0].blocks == [Reasoning("abc", extra={"summary": {"note": "kept"}})]
    body = write_request(Request("google.interactions", "m", [Assistant(response)])).body
    assert body["input"] == [
        {"type": "thought", "summary": [{"type": "text", "text": "abc", "note": "kept"}]},
    ]
