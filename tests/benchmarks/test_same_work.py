"""What the benchmarks compare is the same work: every reader finds the same calls in the same bytes."""

from __future__ import annotations

import json

import pytest

from benchmarks import traffic, writing
from benchmarks.cases import MEMBERS, SIZE, STREAM_GOALS, cases
from toolparity import normalize

pytest.importorskip("xai_sdk")
pytestmark = pytest.mark.page("benchmarks")
CASES = {f"{case.wire} {case.what}": case for case in cases()}
WIRES = [*traffic.JSON_WIRES, "xai.grpc"]


def test_every_wire_has_a_body_and_a_stream():
    of_json = [f"{wire} {what}" for wire in traffic.JSON_WIRES for what in ("body", "stream")]
    assert sorted(CASES) == sorted([*of_json, "xai.grpc body"])
    assert sorted(STREAM_GOALS) == sorted(traffic.JSON_WIRES)
    assert sorted(writing.GOALS) == sorted(WIRES)


@pytest.mark.parametrize("name", CASES)
def test_each_reader_finds_the_three_calls(name):
    case = CASES[name]
    expected = [tuple(call) for call in traffic.expected(case.what == "stream")]
    for reader in case.ours:
        assert [(call.id, call.name, call.arguments) for call in case.jobs[reader]().calls] == expected, reader
    if case.base == MEMBERS:
        _, calls, *_ = case.jobs[MEMBERS]()
        assert [(id, name, json.loads(text)) for id, name, text, *_ in calls] == expected


@pytest.mark.parametrize("wire", WIRES)
def test_a_stream_has_three_hundred_events(wire):
    frames = traffic.frames(wire)
    assert traffic.EVENTS <= len(frames) <= traffic.EVENTS + 3
    if wire in traffic.JSON_WIRES:
        payloads = traffic.payloads(b"".join(frames))
        assert all(isinstance(json.loads(payload), dict) for payload in payloads)
        assert len(traffic.events(b"".join(frames))) == len(frames)


@pytest.mark.parametrize("wire", traffic.JSON_WIRES)
def test_the_pieces_of_a_stream_are_the_stream(wire):
    stream = traffic.JSON_WIRES[wire][1]()
    pieces = traffic.pieces(stream, SIZE)
    assert b"".join(pieces) == stream
    assert {len(piece) for piece in pieces[:-1]} == {SIZE}


@pytest.mark.parametrize("name", CASES)
def test_the_normalizer_has_nothing_to_report_on_clean_traffic(name):
    case = CASES[name]
    for reader in case.ours:
        response = case.jobs[reader]()
        assert response.findings == ()
        assert response.complete
        assert response.choices[0].stop.reason == "tool_calls"
        assert response.usage is not None


def test_a_body_is_as_whole_as_the_provider_sends_it():
    response = normalize(traffic.JSON_WIRES["anthropic.messages"][0](), "anthropic.messages")
    assert response.text == "I'll check the weather in all three cities."
    assert [call.caller for call in response.calls] == [{"type": "direct"}] * 3
