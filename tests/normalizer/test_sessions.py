"""Sessions over WebSocket: no call is lost, nothing interrupted runs, and the pieces of messages do not matter."""

from __future__ import annotations

import json
import random
import re
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
import yaml

from toolparity import Response, select
from toolparity.cassettes.sources import Exchange, read
from toolparity.cassettes.sources.decoding import response_of
from toolparity.normalizer.sessions import SESSIONS, CallsCancelled, Session
from toolparity.normalizer.sessions.table import format_of


def _realtime(id: str, status: str, arguments: str) -> list[dict[str, Any]]:
    """A response with one call, whose arguments arrive in pieces."""
    call = {"id": "i", "type": "function_call", "name": "f", "call_id": "c", "arguments": "", "status": "in_progress"}
    done = call | {"arguments": arguments, "status": "completed" if status == "completed" else "incomplete"}
    body = {"object": "realtime.response", "id": id, "status": "in_progress", "output": []}
    events = [
        ("output_item.added", {"item": call}),
        *(("function_call_arguments.delta", {"delta": piece}) for piece in arguments),
        ("output_item.done", {"item": done}),
    ]
    return [
        {"type": "response.created", "response": body},
        *({"type": f"response.{kind}", "response_id": id, "output_index": 0, **more} for kind, more in events),
        {"type": "response.done", "response": body | {"status": status, "output": [done]}},
    ]


CUT, WHOLE = _realtime("r", "cancelled", '{"x":'), _realtime("s", "completed", '{"x":1}')
LIVE = [
    {"toolCall": {"functionCalls": [{"id": id, "name": "f", "args": {"x": 1}} for id in "ab"]}},
    {"toolCallCancellation": {"ids": ["b"]}},
    {"serverContent": {"outputTranscription": {"text": "Hé"}}, "usageMetadata": {"promptTokenCount": 1}},
    {"serverContent": {"interrupted": True}},
    {"serverContent": {"turnComplete": True}},
]


def _session(name: str, messages: list[Any], seed: int | None = None) -> Session:
    """Decode messages, those of the server or with their direction: each whole, or their bytes in any pieces."""
    session, draw = Session(name, kept=True), random.Random(seed)
    tagged = (each if isinstance(each, tuple) else ("received", each) for each in messages)
    for side, group in groupby(tagged, itemgetter(0)):
        whole = [m if isinstance(m, bytes) else json.dumps(m, ensure_ascii=False).encode() for _, m in group]
        for data in whole if seed is None else [b"".join(whole)]:
            start = 0
            while start < len(data):
                width = len(data) if seed is None else draw.choice((1, 3, 80, 5000))
                (session.sent if side == "sent" else session.received)(data[start : start + width])
                start += width
    session.finish()
    return session


def _summary(response: Response) -> Any:
    return response.id, response.text, [(call.id, call.arguments) for call in response.calls], response.usage


@pytest.mark.recorded
def test_recorded_sessions_lose_no_call_in_any_pieces(recordings: Path) -> None:
    for path in sorted(recordings.parent.glob(f"{recordings.name}*/realtime/*.yaml")):
        items = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)["interactions"]
        messages = [(one["direction"], one["data"]) for one in items if one.get("kind") == "message"]
        if (name := next(filter(None, (format_of(message) for _, message in messages)), None)) is None:
            continue  # it has only the offers of WebRTC
        session = _session(name, messages)
        calls = set(re.findall(r"(?:call_id: |- id: |  id: )((?:function-)?call[-_][-\w]+)", path.read_text()))
        assert {call.id for response in session.responses for call in response.calls} == calls, path.name
        codes = {finding.code for each in (session, *session.responses) for finding in each.findings}
        assert (codes <= {"index-reused"}, all(each.complete for each in session.responses)) == (True, True), path.name
        assert _session(name, messages, 1).responses == session.responses, path.name
        exchanges = [response_of(each, SESSIONS[name].wire) for each in read(path) if isinstance(each, Exchange)]
        assert list(map(_summary, exchanges)) == list(map(_summary, session.responses)), path.name


def test_nothing_interrupted_runs_beside_a_response_that_loses_no_call() -> None:
    for end in range(1, len(CUT) + 1):
        messages = [*WHOLE[:4], *CUT[:end], *WHOLE[4:]]
        session = _session("openai.realtime", messages)
        by_id = {response.id: response for response in session.responses}
        assert ([ref.id for ref in select(by_id["s"]).kept], select(by_id["r"]).kept) == (["c"], [])
        assert end < len(CUT) or by_id["r"].choices[0].stop.reason == "error"
        pieces = _session("openai.realtime", messages, end)
        assert (pieces.responses, pieces.findings) == (session.responses, session.findings)


def test_a_cancelled_call_is_reported_and_gets_no_result() -> None:
    session = Session("google.live")
    events = [event.event for message in LIVE for event in session.received(message)]
    assert CallsCancelled(["b"]) in events
    calls, text = (event for event in events if isinstance(event, Response))
    assert (text.text, [each.stop.reason for each in text.choices]) == ("Hé", ["error"])
    (sent,) = session.results(calls, {"a": "yes", "b": "no"})
    assert [each["id"] for each in sent["toolResponse"]["functionResponses"]] == ["a"]
    assert [call.id for call in session.open_calls] == ["a"]
    assert _session("google.live", LIVE, 1).responses == _session("google.live", LIVE).responses


ENDS, INTERRUPTED = ({"serverContent": {word: True}} for word in ("turnComplete", "interrupted"))
NAMELESS = {"toolCall": {"functionCalls": [{"name": "f", "args": {}}]}}
RESULT = ("sent", {"toolResponse": {"functionResponses": [{"id": "a", "name": "f", "response": {}}]}})
OUTPUT = {"type": "response.completed", "response": {"id": "r", "output": [WHOLE[-2]["item"]]}}


def test_requests_share_the_history_and_do_not_change() -> None:
    """Responses overlap, items are added anywhere and deleted, and calls are cancelled."""
    words = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}
    items: list[Any] = [{"type": "conversation.item.create", "item": {**words, "id": id}} for id in "uv"]
    first = {**items[0], "previous_item_id": "root"}
    aside = {"type": "response.create", "response": {"conversation": "none"}}
    deleted = {"type": "conversation.item.deleted", "item_id": "v"}
    turn = {"clientContent": {"turns": [{"role": "user", "parts": [{"text": "Hi"}]}]}}
    sessions: list[tuple[str, list[Any]]] = [
        ("openai.realtime", [*items, WHOLE[0], items[1], *CUT, *WHOLE[1:], aside, deleted, *WHOLE, first]),
        ("google.live", [turn, LIVE[0], RESULT[1], LIVE[2], ENDS, LIVE[0], LIVE[1], LIVE[2], ENDS]),
    ]
    for name, messages in sessions:
        session = Session(name, kept=True)
        requests: list[dict[str, Any]] = []
        for message in messages * 2:
            sent = message in (*items, first, aside, turn, RESULT[1])
            (session.sent if sent else session.received)(message)
            requests += [each.request for each in session.exchanges[len(requests) :]]
            assert [each.request for each in session.exchanges] == requests
        assert len({id(each.asked.history) for each in session.exchanges}) < len(requests)


def test_unusual_messages_neither_lose_nor_revive_calls() -> None:
    rows: list[tuple[list[Any], int, list[str]]] = [
        ([LIVE[0], {**INTERRUPTED, **LIVE[0]}, ENDS, RESULT, LIVE[0]], 4, ["response-interrupted"]),
        ([LIVE[2], INTERRUPTED, LIVE[0], ENDS, {"toolCall": []}], 0, ["response-interrupted", "wrong-type"]),
        ([b'{"toolCall":{"functi', NAMELESS, NAMELESS], 2, ["undecodable-event", *["id-missing"] * 2]),
        ([OUTPUT, {"type": []}], 1, ["event-unmatched"]),
    ]
    for messages, kept, codes in rows:
        session = _session("openai.responses" if OUTPUT in messages else "google.live", messages)
        chosen = [select(response) for response in session.responses]
        found = [finding.code for finding in session.findings]
        assert (sum(len(each.kept) for each in chosen), found) == (kept, codes)
        assert len({call.id for each in chosen for call in each.calls}) == len(session.open_calls)
        assert all(select(one).kept or not session.results(one, {}) for one in session.responses)
