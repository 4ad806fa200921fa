"""Recorded requests of generateContent, read and written back, say what they said, and are legal where they were."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.normalizer.history.google_gemini_meaning import erased, meaning
from tests.normalizer.history.handing import assert_the_sdk_takes_it
from tests.normalizer.recorded.rows import Row, rows
from toolparity import normalize
from toolparity.normalizer.conversation import Assistant, Request, TextPart, ToolResults, User
from toolparity.normalizer.requests import check_request, read_request, write_request

WIRE = "google.gemini"
#: Calls whose result is a text of the user instead of a function response. They get a result that says so.
UNANSWERED = "tool-round-trip-2"
#: Calls in two contents of the model, with both results after the second one. The results go to their calls.
DIVIDED = "test-cross-provider-capability-replay-google-gemini-3-flash-preview-op."


def told(recordings: Path) -> list[Row]:
    """The exchanges with a request."""
    return [row for row in rows(recordings, WIRE) if row.request is not None]


@pytest.mark.parametrize("how", ["as read", "erased"])
def test_recorded_requests_mean_the_same_when_read_and_written(
    recordings: Path, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = told(recordings)
    missed: list[str] = []
    for row in given:
        request = read_request(row.request, WIRE, provider=row.provider)
        written = write_request(erased(request) if how == "erased" else request)
        if meaning(written.body) == meaning(row.request):
            assert {loss.code for loss in written.losses} <= {"order"}, row.id
        else:
            missed.append(row.id)
    with capsys.disabled():
        share = (len(given) - len(missed)) / len(given)
        print(f"\n  {WIRE}: {len(given) - len(missed)} of {len(given)} requests equal ({share:.2%}), {how}", end="")
    assert [id for id in missed if UNANSWERED not in id and DIVIDED not in id] == []
    assert share >= 0.98


def signatures(value: Any) -> list[str]:
    found: list[str] = []
    for part in value if isinstance(value, list) else value.values() if isinstance(value, dict) else ():
        if isinstance(part, dict):
            found += [part[name] for name in ("thoughtSignature", "thought_signature") if part.get(name)]
        found += signatures(part)
    return found


def test_signatures_go_back_byte_for_byte_and_in_order(recordings: Path) -> None:
    counted = 0
    for row in told(recordings):
        if UNANSWERED in row.id:
            continue
        written = write_request(read_request(row.request, WIRE)).body
        assert signatures(written["contents"]) == signatures(row.request["contents"]), row.id
        counted += len(signatures(row.request["contents"]))
    assert counted > 250


#: google-genai writes base64 with the characters that are safe in URLs.
_STANDARD = str.maketrans("-_", "+/")


def call_parts(content: Any) -> list[dict[str, Any]]:
    """The parts of a content with calls, without ids and empty members: call, arguments and signature."""
    found = []
    for part in content.get("parts") or ():
        if isinstance(part, dict) and (call := part.get("functionCall") or part.get("function_call")):
            signature = part.get("thoughtSignature") or part.get("thought_signature")
            signature = signature and signature.translate(_STANDARD)
            found.append({"name": call["name"], "args": call.get("args") or {}, "signature": signature})
    return found


def test_a_response_goes_back_as_the_next_recorded_request_carried_it(
    recordings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Calls without ids are found again by their names and arguments. Some clients leave signatures out."""
    cassettes: dict[str | None, list[Row]] = defaultdict(list)
    for row in rows(recordings, WIRE):
        cassettes[row.source.get("path")].append(row)
    total = signed = 0
    for recorded in cassettes.values():
        for place, row in enumerate(recorded):
            if row.failed or not row.data:
                continue
            response = normalize(row.data, WIRE, request=row.request)
            if not response.calls:
                continue
            request = Request(WIRE, None, [User([TextPart("hi")]), Assistant(response)])
            mine = call_parts(write_request(request).body["contents"][-1])
            later = [
                content for other in recorded[place + 1 :] for content in (other.request or {}).get("contents", [])
            ]
            theirs = [parts for parts in map(call_parts, later) if unsigned(parts) == unsigned(mine)]
            if not theirs:
                continue
            total += 1
            signed += any(part["signature"] for parts in theirs for part in parts)
            assert any(map(partial(same_signatures, mine), theirs)), row.id
    with capsys.disabled():
        print(f"\n  {WIRE}: {total} responses with calls go back as recorded, {signed} with signatures", end="")
    assert total >= 100
    assert signed >= 50


def same_signatures(mine: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> bool:
    """Whether every signature that the client kept is ours. RubyLLM repeats the first one on the calls without one."""
    ours = {part["signature"] for part in mine}
    return all(
        other["signature"] in (None, one["signature"]) or (one["signature"] is None and other["signature"] in ours)
        for one, other in zip(mine, theirs, strict=True)
    )


def unsigned(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"name": part["name"], "args": part["args"]} for part in parts]


def test_argument_texts_are_those_of_the_request() -> None:
    body = (
        b'{"contents": [{"role": "user", "parts": [{"text": "hi"}]},'
        b' {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"x":  1.0}}}]}]}'
    )
    (turn,) = [turn for turn in read_request(body, WIRE).messages if isinstance(turn, Assistant)]
    assert turn.response.calls[0].arguments_text == '{"x":  1.0}'


def test_answered_requests_keep_the_rules_before_and_after(recordings: Path) -> None:
    kept = taken = 0
    for row in told(recordings):
        if row.failed:
            continue
        assert check_request(row.request, WIRE, provider=row.provider) == [], row.id
        body = write_request(read_request(row.request, WIRE, provider=row.provider)).body
        assert check_request(body, WIRE, provider=row.provider) == [], row.id
        if sdk_takes(row.request):
            assert_the_sdk_takes_it(WIRE, body)
            taken += 1
        kept += 1
    assert kept > 1200
    assert taken > 1000


def sdk_takes(body: Any) -> bool:
    """Whether the SDK's types take a recorded body: data that recorders left out and numbers of enums do not fit."""
    try:
        assert_the_sdk_takes_it(WIRE, body)
    except (ValueError, AttributeError):
        return False
    return True


#: Recorded refusals that depend on the model, the key or the size of the request, which no rule can know.
BEYOND_RULES = ("API key", "JSON mode", "response modalities", "token count")


def test_the_rules_foresee_the_recorded_refusals(recordings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts: Counter[str] = Counter()
    for row in told(recordings):
        if row.status == 400 and not any(words in (row.body or "") for words in BEYOND_RULES):
            violations = check_request(row.request, WIRE, provider=row.provider)
            counts["foreseen" if violations else row.id] += 1
    with capsys.disabled():
        print(f"\n  {WIRE}: {counts['foreseen']} of {counts.total()} refusals foreseen", end="")
    assert counts == {"foreseen": 2}


@pytest.mark.parametrize("form", [dict, str, bytes], ids=["parsed", "text", "bytes"])
def test_every_form_of_a_request_is_read_alike(form: type) -> None:
    body = {
        "model": "gemini-2.5-flash",
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": {"type": "object"}}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"x": 1}}, "thoughtSignature": "c2ln"}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "ok"}}}]},
        ],
        "generationConfig": {"temperature": 0.5, "topK": 3},
    }
    text = json.dumps(body)
    given = body if form is dict else text if form is str else text.encode()
    assert write_request(read_request(given, WIRE)).body == body


def body_with(*contents: dict[str, Any]) -> dict[str, Any]:
    return {"contents": [{"role": "user", "parts": [{"text": "hi"}]}, *contents]}


def called(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "model", "parts": [{"functionCall": part} for part in parts]}


def answered(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "parts": [{"functionResponse": part} for part in parts]}


def test_results_without_ids_belong_to_the_calls_of_their_name_in_order() -> None:
    calls = [{"name": "f", "args": {"x": 1}}, {"name": "g", "args": {}}, {"name": "f", "args": {"x": 2}}]
    results = [
        {"name": name, "response": {"output": text}} for name, text in (("f", "one"), ("f", "two"), ("g", "three"))
    ]
    request = read_request(body_with(called(*calls), answered(*results)), WIRE)
    ids = [call.id for turn in request.messages if isinstance(turn, Assistant) for call in turn.response.calls]
    (turn,) = [turn for turn in request.messages if isinstance(turn, ToolResults)]
    assert [result.call_id for result in turn.results] == [ids[0], ids[2], ids[1]]
    written = write_request(request).body["contents"][-1]["parts"]
    assert [part["functionResponse"]["response"]["output"] for part in written] == ["one", "three", "two"]
    assert not any("id" in part["functionResponse"] for part in written)


def test_calls_of_different_contents_have_different_synthetic_ids() -> None:
    one = (called({"name": "f", "args": {}}), answered({"name": "f", "response": {"output": "ok"}}))
    request = read_request(body_with(*one, *one), WIRE)
    ids = [call.id for turn in request.messages if isinstance(turn, Assistant) for call in turn.response.calls]
    assert len(set(ids)) == 2


@pytest.mark.parametrize(
    "response", [{"output": "a"}, {"result": {"a": 1}}, {"error": "broke"}, {"city": "Oslo", "error": None}, {}]
)
def test_every_form_of_a_function_response_comes_back(response: dict[str, Any]) -> None:
    body = body_with(called({"name": "f", "args": {}}), answered({"name": "f", "response": response}))
    assert write_request(read_request(body, WIRE)).body == body


def test_an_error_is_marked() -> None:
    body = body_with(called({"name": "f", "args": {}}), answered({"name": "f", "response": {"error": "broke"}}))
    (turn,) = [turn for turn in read_request(body, WIRE).messages if isinstance(turn, ToolResults)]
    assert turn.results[0].is_error


def test_a_schema_in_openapi_is_a_json_schema_elsewhere_and_comes_back_unchanged() -> None:
    schema = {"type": "OBJECT", "properties": {"city": {"type": "STRING", "nullable": True, "enum": ["a"]}}}
    body = {**body_with(), "tools": [{"functionDeclarations": [{"name": "f", "parameters": schema}]}]}
    request = read_request(body, WIRE)
    city = {"type": ["string", "null"], "enum": ["a", None]}
    assert request.tools[0].parameters == {"type": "object", "properties": {"city": city}}
    assert write_request(request).body == body


def test_calls_of_another_model_get_the_signature_that_gemini_accepts() -> None:
    chat = {
        "model": "gpt-5",
        "messages": [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "tool_calls": [
                    {"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id in ("a", "b")
                ],
            },
            *({"role": "tool", "tool_call_id": id, "content": "ok"} for id in ("a", "b")),
        ],
    }
    encoded = write_request(read_request(chat, "openai.chat"), WIRE)
    parts = encoded.body["contents"][1]["parts"]
    assert [part.get("thoughtSignature") is not None for part in parts] == [True, False]
    assert [loss.code for loss in encoded.losses] == ["model"]


def test_parameters_that_all_wires_have_go_to_another_wire() -> None:
    config = {"temperature": 0.5, "topP": 0.9, "maxOutputTokens": 7, "stopSequences": ["."], "topK": 3}
    encoded = write_request(read_request({**body_with(), "generationConfig": config}, WIRE), "anthropic.messages")
    assert {k: encoded.body[k] for k in ("temperature", "top_p", "max_tokens", "stop_sequences", "top_k")} == {
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 7,
        "stop_sequences": ["."],
        "top_k": 3,
    }
    assert encoded.losses == []
