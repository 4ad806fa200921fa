"""What the benchmarks compare is the same work: every reader finds the same calls in the same bytes."""

from __future__ import annotations

import json

import pytest

from benchmarks import readers, traffic, writing
from benchmarks.cases import SDK, SIZES, STREAM_GOALS, cases
from toolparity import normalize

pytest.importorskip("xai_sdk")
pytestmark = pytest.mark.page("benchmarks")
CASES = {f"{case.wire} {case.what}": case for case in cases()}
WIRES = [*traffic.JSON_WIRES, "xai.grpc"]


def test_every_wire_has_a_body_and_a_stream():
    assert sorted(CASES) == sorted(f"{wire} {what}" for wire in WIRES for what in ("body", "stream"))
    assert sorted(STREAM_GOALS) == sorted(traffic.JSON_WIRES)
    assert sorted(writing.GOALS) == sorted(WIRES)


@pytest.mark.parametrize(
    ("name", "reader"),
    [(name, reader) for name, case in CASES.items() for reader in case.jobs if reader.startswith(("ours", "official"))],
)
def test_each_reader_finds_the_three_calls(name, reader):
    case = CASES[name]
    calls = traffic.expected(case.wire, case.what == "stream")
    if case.wire == "ollama.chat" and reader == SDK:
        calls = [call._replace(id="") for call in calls]
    assert readers.calls(case.jobs[reader]()) == [tuple(call) for call in calls]


@pytest.mark.parametrize("wire", traffic.JSON_WIRES)
def test_a_stream_has_three_hundred_events_of_json(wire):
    payloads = traffic.payloads(traffic.JSON_WIRES[wire][1]())
    assert len(payloads) == traffic.EVENTS
    assert all(isinstance(json.loads(payload), dict) for payload in payloads)


def test_a_stream_of_xai_has_three_hundred_messages():
    assert len(traffic.grpc_stream()) == traffic.EVENTS


@pytest.mark.parametrize("wire", traffic.JSON_WIRES)
@pytest.mark.parametrize("size", SIZES)
def test_the_pieces_of_a_stream_are_the_stream(wire, size):
    stream = traffic.JSON_WIRES[wire][1]()
    pieces = traffic.pieces(stream, size)
    assert b"".join(pieces) == stream
    assert {len(piece) for piece in pieces[:-1]} == {size}


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
