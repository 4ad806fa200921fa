"""What the benchmarks compare is the same work: every reader finds the same calls, and requests are written whole."""

from __future__ import annotations

import json

import pytest

from benchmarks import traffic, writing
from benchmarks.cases import MEMBERS, SIZE, STREAM_GOALS, cases
from tests.normalizer.history.views import of_kind
from toolparity import normalize
from toolparity.normalizer.requests import check_request

pytest.importorskip("xai_sdk")
pytestmark = pytest.mark.page("benchmarks")
CASES = {f"{case.wire} {case.what}": case for case in cases()}
WRITTEN = {case.wire: case for case in writing.cases()}
WIRES = [*traffic.JSON_WIRES, "xai.grpc"]


def test_every_wire_has_a_body_and_a_stream():
    of_json = [f"{wire} {what}" for wire in traffic.JSON_WIRES for what in ("body", "stream")]
    assert sorted(CASES) == sorted([*of_json, "xai.grpc body"])
    assert sorted(STREAM_GOALS) == sorted(traffic.JSON_WIRES)
    assert sorted(writing.GOALS) == sorted(WIRES)


@pytest.mark.parametrize("name", CASES)
def test_each_reader_finds_the_three_calls_and_has_nothing_to_report(name):
    case = CASES[name]
    expected = [tuple(call) for call in traffic.expected(case.what == "stream")]
    for reader in case.ours:
        response = case.jobs[reader]()
        assert [(call.id, call.name, call.arguments) for call in response.calls] == expected, reader
        assert (response.findings, response.complete, response.choices[0].stop.reason) == ((), True, "tool_calls")
        assert response.usage is not None
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


def test_a_body_is_as_whole_as_the_provider_sends_it():
    response = normalize(traffic.JSON_WIRES["anthropic.messages"][0](), "anthropic.messages")
    assert response.text == "I'll check the weather in all three cities."
    assert [call.caller for call in response.calls] == [{"type": "direct"}] * 3


pytest.importorskip("xai_sdk")


@pytest.mark.parametrize("wire", writing.PROVIDERS)
def test_fifty_rounds_of_two_calls_are_written_whole(wire: str) -> None:
    case = WRITTEN[wire]
    assert case.ours
    for name in case.ours:
        encoded = case.jobs[name]()
        assert [loss.code for loss in encoded.losses] == []
        assert check_request(encoded.body, wire, provider=writing.PROVIDERS[wire]) == []
        calls, results = (of_kind(wire, encoded.body, kind) for kind in ("call", "result"))
        assert [one.id for one in calls] == [one.id for one in results]
        assert len(calls) == 2 * writing.ROUNDS
