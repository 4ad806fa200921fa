"""A wire that the caller does not name is detected; what fits none or several, or no option, is an error by name."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.support.decoding import feed
from tests.support.emit import LOOKUP, emit_body, emit_stream
from tests.support.events import MESSAGE_START, chat_call, delta_chunk
from tests.support.wires import BYTE_WIRES, SSE_WIRES
from toolparity import StreamDecoder, normalize
from toolparity.cassettes.scripts import Say
from toolparity.normalizer.detect import detect_body, detect_event
from toolparity.normalizer.errors import AmbiguousBody, MalformedBody, UnknownWire

wires = pytest.mark.parametrize("wire", SSE_WIRES)


@wires
def test_a_whole_body_is_detected_and_a_stream_by_its_first_event_also_as_a_body(wire: str) -> None:
    body = emit_body(wire, [Say("I look."), LOOKUP])
    assert detect_body(body) == detect_body(b"\n  " + body) == wire
    assert normalize(body) == normalize(body, wire)
    frames = emit_stream(wire, [Say("I look."), LOOKUP])
    body = b"".join(frames)
    assert detect_body(body) == wire
    assert feed(wire, frames) == feed(None, frames)  # type: ignore[arg-type]
    response = normalize(body)
    assert (response.wire, [call.id for call in response.calls]) == (wire, ["call_a"])
    assert "stream-body" in [finding.code for finding in response.findings]


@pytest.mark.parametrize(
    ("event", "wire"),
    [
        (delta_chunk({"content": "hi"}), "openai.chat"),
        ({"object": "chat.completion.chunk"}, "openai.chat"),
        ({"type": "response.created", "response": {}}, "openai.responses"),
        ({"type": "response.some.future.event"}, "openai.responses"),
        ({"type": "error", "sequence_number": 3, "message": "boom"}, "openai.responses"),
        (MESSAGE_START, "anthropic.messages"),
        ({"type": "ping"}, "anthropic.messages"),
        ({"type": "error", "error": {"type": "overloaded_error"}}, "anthropic.messages"),
    ],
)
def test_events_are_detected_by_what_only_their_wire_has(event: dict[str, Any], wire: str) -> None:
    assert detect_event(json.dumps(event).encode()) == wire
    assert detect_event(b"[DONE]") == "openai.chat"


@pytest.mark.parametrize("read", [normalize, lambda body: StreamDecoder().feed(b"data: " + body + b"\n\n")])
def test_an_error_body_that_fits_several_wires_names_them(read: Any) -> None:
    named = rf"fits several wires: {re.escape(', '.join(BYTE_WIRES))} \(pass wire="
    with pytest.raises(AmbiguousBody, match=named) as caught:
        read(b'{"error": {"message": "no such model", "type": "invalid_request_error"}}')
    assert caught.value.candidates == BYTE_WIRES


def test_a_body_that_fits_two_wires_is_an_error_that_names_both() -> None:
    bodies: list[tuple[dict[str, Any], str]] = [({"output": []}, "openai.responses")]
    for body, other in (*bodies, ({"type": "message", "content": []}, "anthropic.messages")):
        with pytest.raises(AmbiguousBody, match=f": openai.chat, {other}") as caught:
            normalize(body | {"choices": []})
        assert caught.value.candidates == ("openai.chat", other)
        assert detect_body(json.dumps(body | {"choices": [], "object": "chat.completion"}).encode()) == "openai.chat"


@wires
def test_a_body_that_is_neither_an_answer_nor_an_error_of_its_wire_is_an_error_that_keeps_it(wire: str) -> None:
    for body in ({}, {"a": 1}, {"error": None}, {"level": "INFO", "msg": "ready"}, {"message": "a", "time": 1}):
        response = normalize(body, wire)
        assert response.error is not None
        assert response.error.type == "no_answer"
        assert response.error.message == f"the body is neither a response nor an error of {wire}"
        assert response.error.raw["body"] == body
        assert response.choices == []
    for other in set(SSE_WIRES) - {wire}:
        with pytest.raises(MalformedBody, match=f"{wire} .it looks like {other}."):
            normalize(emit_body(other, [Say("I look."), LOOKUP]), wire)


@wires
@pytest.mark.parametrize("body", [{"error": "boom"}, {"message": "boom"}, {"detail": "boom"}, {"code": 5}])
def test_an_error_body_is_an_error(wire: str, body: dict[str, Any]) -> None:
    assert normalize(body, wire).error is not None
    assert normalize({}, wire, status=502).error is not None


def test_a_body_that_fits_no_wire_is_an_error_without_candidates_and_other_bytes_are_a_typed_error() -> None:
    for body in (b"{}", b'{"hello": "world"}', b'{"type": "message"}', b'{"type": "future"}'):
        with pytest.raises(AmbiguousBody, match="fits no known wire") as ambiguous:
            normalize(body)
        assert ambiguous.value.candidates == ()
    for body in (b"hello", b"data: hello\n\n", b"data: [1]\n\n", b"[1, 2]"):
        with pytest.raises(MalformedBody) as malformed:
            normalize(body)
        assert malformed.value.body is not None


def test_an_empty_stream_without_a_wire_is_a_typed_error_and_with_one_incomplete() -> None:
    with pytest.raises(MalformedBody, match="contains no event"):
        StreamDecoder().finish()
    response = StreamDecoder("openai.chat").finish()
    assert (response.complete, response.choices) == (False, [])


def test_an_error_of_google_names_its_wire_and_that_of_another_api_does_not() -> None:
    error: dict[str, Any] = {"code": 400, "message": "Bad.", "status": "INVALID_ARGUMENT"}
    body = json.dumps({"error": error}).encode()
    decoder = StreamDecoder()
    decoder.feed(body)
    for response in (normalize(body), decoder.finish()):
        assert (response.wire, response.error and response.error.type) == ("google.gemini", "INVALID_ARGUMENT")
    with pytest.raises(AmbiguousBody, match="several wires"):
        normalize({"error": {"code": 400, "message": "Bad."}})


LOOKUP_TOOL = {"type": "function", "function": {"name": "lookup"}}
SEARCH = {"type": "web_search_20250305", "name": "web_search"}


def undeclared(name: str, request: Any) -> bool:
    body = {"choices": [{"index": 0, "message": {"tool_calls": [chat_call("a", name, "{}")]}}]}
    return "unknown-tool" in [finding.code for finding in normalize(body, "openai.chat", request=request).findings]


def test_tools_are_declared_by_their_definitions_or_their_names() -> None:
    named = {"name": "lookup", "input_schema": {}}
    for request in (
        [LOOKUP_TOOL],
        (LOOKUP_TOOL,),
        ["lookup"],
        {"lookup"},
        ["other", LOOKUP_TOOL],
        [named],
        iter([LOOKUP_TOOL]),
    ):
        assert not undeclared("lookup", request)
    assert undeclared("search", [LOOKUP_TOOL])


@pytest.mark.parametrize("request_", [5, 1.5, object(), [5], ["lookup", None], b"5"])
def test_another_value_as_a_request_is_a_typed_error(request_: Any) -> None:
    with pytest.raises(MalformedBody, match="request has an unsupported type"):
        undeclared("lookup", request_)


@pytest.mark.parametrize(
    ("tool", "declared"),
    [
        (SEARCH, False),
        ({"type": "code_execution_20250825", "name": "web_search"}, False),
        ({"type": "bash_20250124", "name": "web_search"}, True),
        ({"type": "custom", "name": "web_search"}, True),
        ({"name": "web_search", "input_schema": {}}, True),
    ],
)
def test_a_hosted_tool_of_anthropic_is_not_declared_as_one_of_the_caller(tool: Any, declared: bool) -> None:
    assert undeclared("web_search", {"tools": [tool]}) is not declared


@pytest.mark.parametrize("wire", [[], {}, 5, "", "openai.chats"])
def test_another_value_as_a_wire_is_a_typed_error_that_lists_the_wires(wire: Any) -> None:
    for use in (lambda: normalize(b"{}", wire), lambda: normalize({}, wire), lambda: StreamDecoder(wire)):
        with pytest.raises(UnknownWire, match=r"openai\.chat, openai\.responses, anthropic\.messages, xai\.grpc"):
            use()


@pytest.mark.parametrize("wire", [*BYTE_WIRES, None])
@pytest.mark.parametrize(("body", "what"), [(b"", "the body is empty"), (b" \n", "the body contains only white space")])
def test_an_empty_body_is_an_error_that_names_the_reason(wire: str | None, body: bytes, what: str) -> None:
    with pytest.raises(MalformedBody, match=what) as caught:
        normalize(body, wire)
    assert caught.value.body == body
