"""Every finding code is reported for traffic, with the severity of its table, and the page of codes is current."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.decoding import feed
from tests.support.events import (
    anthropic_body,
    anthropic_stream,
    block_start,
    block_stop,
    chat_body,
    chat_call,
    chunk,
    function_call,
    grpc_body,
    grpc_call,
    grpc_chunk,
    item_events,
    json_delta,
    piece,
    responses_body,
    responses_events,
    sse,
    text_delta,
    tool_start,
)
from toolparity import Finding, Response, normalize, select
from toolparity.normalizer.findings import CODES
from toolparity.normalizer.sessions import SESSIONS, Session
from toolparity.normalizer.textmode import read_response, report

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Case:
    """Traffic, and the options of the caller. ``streamed``: through StreamDecoder; ``policy``: what is selected of it;
    ``text``: how its text is read for calls. A wire that is a format of sessions has a list of messages as body.
    """

    wire: str
    body: Any
    streamed: bool = False
    policy: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    text: Callable[[Response], Response] | None = None

    def findings(self) -> list[Finding]:
        if isinstance(self.body, list) and self.wire in SESSIONS and not self.streamed:
            session = Session(self.wire)
            for message in self.body:
                session.received(message)
            return session.findings
        response = self._decoded()
        response = response if self.text is None else self.text(response)
        selected = select(response, self.policy).findings if self.policy else ()
        return [*response.findings, *selected]

    def _decoded(self) -> Response:
        if not self.streamed:
            return normalize(self.body, self.wire, **self.options)
        pieces = self.body if isinstance(self.body, list) else [self.body]
        return feed(self.wire, pieces, **self.options)[0]


def plain(*calls: dict[str, Any], wire: str = "openai.chat", policy: str | None = None, **options: Any) -> Case:
    """A whole body of openai.chat with these calls."""
    return Case(wire, json.dumps(chat_body(*calls)).encode(), policy=policy, options=options)


def arguments(text: str) -> Case:
    """A whole body of openai.chat with one call that has these arguments."""
    return plain(chat_call("a", "f", text))


def chunks(*events: dict[str, Any], finish: str | None = "tool_calls", done: bool = True) -> Case:
    """A stream of openai.chat."""
    end = [] if finish is None else [chunk(finish=finish)]
    whole = [event if "choices" in event or "error" in event else chunk(event) for event in events]
    return Case("openai.chat", sse(*whole, *end, done=done), True)


def items(*events: dict[str, Any], end: dict[str, Any] | None = None) -> Case:
    """A stream of openai.responses."""
    return Case("openai.responses", sse(*responses_events(*events, end=end)), True)


def ended(stop: str | None, wire: str = "openai.chat") -> Case:
    """A body of text alone with this stop reason."""
    if wire == "anthropic.messages":
        return Case(wire, anthropic_body({"type": "text", "text": "Hi."}, stop=stop or ""))
    body = chat_body(content="Hi.", finish=stop or "")
    return Case(wire, json.dumps(body).encode())


def written(text: str, dialect: str | None = "tool-xml", **how: Any) -> Case:
    """A body of text alone, read for the calls that are in it."""
    body = json.dumps(chat_body(content=text, finish="stop")).encode()
    return Case("openai.chat", body, text=lambda response: read_response(response, dialect, **how))


TOOL = "<tool:f><param:x>1</param:x></tool:f>"
CALL = chat_call("a", "f", "{}")
TEXT = sse(chunk(content="Hi."))
END = sse(chunk(finish="stop"), done=True)
ITEM = function_call("a", "f", '{"x":1}', id="fc_1")
OTHER = function_call("a", "f", '{"x":2}', id="fc_1")
APPROVAL = {"type": "mcp_approval_request", "id": "m", "name": "f", "arguments": "{}", "server_label": "s"}
MISPLACED = anthropic_stream(
    block_start(0, type="text", text=""), tool_start(1, "a", "f"), json_delta(0, '{"x":1}'), block_stop(1)
)
ERROR = {"error": {"type": "server_error", "message": "Down."}}

CASES: dict[str, Case] = {
    "response-unfinished": Case("openai.responses", responses_body() | {"status": "queued"}),
    "stream-incomplete": chunks(piece(0, "a", "f", "{}"), finish=None, done=False),
    "stream-error": chunks(chunk(content="Hi."), ERROR),
    "undecodable-event": Case("openai.chat", TEXT + b"data: {not json\n\n" + END, True),
    "raw-text-in-stream": Case("openai.chat", TEXT + b"<html>Bad gateway</html>\n\n" + END, True),
    "keepalive-in-data": Case("openai.chat", TEXT + b"data: : keep-alive\n\n" + END, True),
    "empty-event": Case("openai.chat", TEXT + b"data: \n\n" + END, True),
    "unterminated-event": Case("openai.chat", TEXT + sse(chunk(finish="stop")).rstrip(), True),
    "events-not-separated": Case("openai.chat", (TEXT + END).replace(b"\n\n", b"\n"), True),
    "plain-body": Case("openai.chat", json.dumps(chat_body(CALL)).encode(), True),
    "stream-body": Case("openai.chat", TEXT + END),
    "corrupt-text": arguments('{"x":"\ufffd"}'),
    "event-after-end": Case(
        "anthropic.messages",
        anthropic_stream(block_start(0, type="text", text=""), text_delta(0, "Hi."), stop="end_turn")
        + sse(block_start(1, type="text", text="More.")),
        True,
    ),
    "event-repeated": Case(
        "anthropic.messages", anthropic_stream(tool_start(0, "a", "f"), block_stop(0), block_stop(0)), True
    ),
    "event-missing": Case("anthropic.messages", anthropic_stream(tool_start(0, "a", "f")), True),
    "unknown-block": Case("anthropic.messages", anthropic_body({"type": "new_thing"}, stop="end_turn")),
    "call-cancelled": Case("google.live", [{"toolCallCancellation": {"ids": ["a"]}}]),
    "response-interrupted": Case(
        "google.live",
        [{"serverContent": {"modelTurn": {"parts": [{"text": "Hi"}]}}}, {"serverContent": {"interrupted": True}}],
    ),
    "event-unmatched": Case("openai.realtime", [{"type": "response.output_text.delta", "delta": "Hi"}]),
    "session-error": Case("openai.realtime", [{"type": "error", **ERROR}]),
    "unknown-event": items({"type": "response.new_thing"}),
    "unknown-member": Case("openai.chat", chat_body(CALL) | {"new_thing": 1}),
    "wrong-type": Case("openai.chat", chat_body(CALL) | {"model": 5}),
    "error-response": Case("openai.chat", ERROR),
    "provider-rejected-call": Case("openai.chat", {"error": {**ERROR["error"], "failed_generation": "<f>"}}),
    "id-missing": plain(chat_call(None, "f", "{}")),
    "id-duplicate": plain(CALL, chat_call("a", "g", "{}")),
    "id-changed": chunks(piece(0, "a", "f", '{"x":'), piece(0, "b", None, "1}")),
    "duplicate-call": plain(CALL, CALL),
    "index-missing": chunks(piece(None, "a", "f", "{}")),
    "index-reused": chunks(piece(0, "a", "f", "{}"), piece(0, "b", "g", "{}")),
    "index-changed": chunks(piece(0, "a", "f", ""), piece(1, "a", None, "{}")),
    "delta-misplaced": Case("anthropic.messages", MISPLACED, True),
    "name-split": chunks(piece(0, "a", "get_"), piece(0, None, "weather", "{}")),
    "nameless-call": chunks(piece(0, "a", None, "{}")),
    "call-unwrapped": plain({"id": "a", "name": "f", "arguments": "{}"}),
    "unknown-tool": plain(CALL, request=["g"]),
    "pseudo-parallel": plain(chat_call("a", "multi_tool_use.parallel", "{}"), request=["f"]),
    "call-type-unset": Case("xai.grpc", grpc_body(grpc_call("a", "f", "{}", kind=0))),
    "call-type-disagrees": Case("xai.grpc", grpc_body(grpc_call("a", "f", "{}", kind=4)), options={"request": ["f"]}),
    "unresolved-call": Case("xai.grpc", grpc_body(grpc_call("a", "f", "{}", kind=0)), options={"request": ["g"]}),
    "call-failed": Case("xai.grpc", grpc_body(grpc_call("a", "f", "{}", status=3))),
    "answered-call": Case(
        "openai.responses", responses_body(ITEM, {"type": "function_call_output", "call_id": "a", "output": "x"})
    ),
    "arguments-empty": arguments(""),
    "arguments-missing": Case("anthropic.messages", anthropic_stream(tool_start(0, "a", "f")), True),
    "arguments-null": arguments("null"),
    "arguments-not-object": arguments("[1]"),
    "arguments-invalid": arguments("{x}"),
    "arguments-truncated": arguments('{"x":'),
    "arguments-glued": arguments('{"x":1}{"x":2}'),
    "arguments-double-encoded": arguments('"{}"'),
    "arguments-too-deep": arguments("[" * 100_000),
    "arguments-number-too-large": arguments('{"x":1e999}'),
    "arguments-lone-surrogate": arguments('{"x":"\\ud800"}'),
    "arguments-respelled": plain(chat_call("a", "f", {"x": 1})),
    "arguments-snapshot": chunks(piece(0, "a", "f", '{"x"'), piece(0, None, None, '{"x":1}')),
    "arguments-disagree": items(*item_events(0, ITEM)[:-1], {**item_events(0, OTHER)[-1]}),
    "arguments-misplaced": Case("anthropic.messages", MISPLACED, True),
    "arguments-in-text": Case("openai.chat", json.dumps(chat_body(CALL, content='{"a":1}')).encode()),
    "call-in-text": written(TOOL),
    "dialect-detected": written(TOOL, None),
    "leaked-markup": Case("openai.chat", json.dumps(chat_body(content=TOOL, finish="stop")).encode(), text=report),
    "call-in-reasoning": written(f"<think>{TOOL}</think>"),
    "markup-in-code": written(f"```\n{TOOL}\n```"),
    "markup-malformed": written("<tool:f>words<param:x>1</param:x></tool:f>"),
    "markup-ambiguous": written("<tool:f><param:x>a</param:x>b</param:x></tool:f>"),
    "closer-missing": written('<tool_call>{"name": "f", "arguments": {}}', "hermes"),
    "closer-cut": written("<tool:f><param:x>1</param:x>", stop_sequences=["</tool:f>"]),
    "stray-markup": written(f"{TOOL}</tool:g>"),
    "parameter-mistyped": written(
        TOOL.replace("1", "one"),
        tools=[{"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "integer"}}}}],
    ),
    "tool-limit": written(TOOL + TOOL),
    "stop-disagrees": Case("openai.chat", chat_body(CALL, finish="stop")),
    "stop-missing": ended(None),
    "stop-unknown": ended("whatever"),
    "time-limit": Case("xai.grpc", grpc_body(content="Hi.", finish=5)),
    "refused": ended("content_filter"),
    "paused": ended("pause_turn", "anthropic.messages"),
    "needs-approval": Case("openai.responses", responses_body(APPROVAL)),
    "output-empty": items(*item_events(0, ITEM)),
    "output-disagrees": items(*item_events(0, ITEM), end=responses_body(function_call("b", "g", "{}"))),
    "dropped-call": plain(CALL, chat_call("b", "f", "{}"), policy="first"),
    "rejected-call": plain(chat_call("a", "f", "{x}"), policy="all"),
}


@pytest.mark.parametrize("code", CASES)
def test_the_code_is_reported_with_its_severity(code: str) -> None:
    found = [finding for finding in CASES[code].findings() if finding.code == code]
    assert found
    assert {finding.severity for finding in found} == {CODES[code].severity}
    assert all(finding.message for finding in found)


def test_each_code_has_a_case_and_clean_traffic_has_no_finding() -> None:
    assert sorted(CASES) == sorted(CODES)
    clean = [
        plain(CALL),
        chunks(piece(0, "a", "f", ""), piece(0, None, None, "{}")),
        Case("openai.responses", responses_body(ITEM)),
        items(*item_events(0, ITEM), end=responses_body(ITEM)),
        ended("end_turn", "anthropic.messages"),
        Case("xai.grpc", grpc_body(grpc_call("a", "f", "{}"))),
        Case("xai.grpc", [grpc_chunk(grpc_call("a", "f", "{}")), grpc_chunk(finish=4)], True),
    ]
    assert [[finding.code for finding in case.findings()] for case in clean] == [[]] * len(clean)


def test_a_stream_given_as_a_body_is_read_with_what_the_request_declared() -> None:
    body = sse(chunk(piece(0, "a", "f", "{}")), chunk(finish="tool_calls"), done=True)
    response = normalize(body, "openai.chat", request=["g"])
    assert [finding.code for finding in response.findings] == ["stream-body", "unknown-tool"]
