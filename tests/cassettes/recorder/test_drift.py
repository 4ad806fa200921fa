"""Drift between real and emulated responses: each kind of difference, and none between equal responses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.support.traffic import row, write_rows
from toolparity.cassettes.library import RECORDED
from toolparity.cassettes.recorder.drift import MemberDrift, compared_surfaces, drift
from toolparity.cassettes.sources import Exchange, read
from toolparity.cli import main


def _plain(**changes: Any) -> Exchange:
    choice = {"index": 0, "message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}
    body = {"id": "chatcmpl-4f8a2c", "object": "chat.completion", "created": 1, "choices": [choice], **changes}
    return _exchange(body=json.dumps(body).encode())


def _exchange(**members: Any) -> Exchange:
    return Exchange(**{"source": "x#1", "provider": "openai", "wire": "openai.chat", "status": 200, **members})


def _streamed(*events: dict[str, Any]) -> Exchange:
    body = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    return _exchange(body=body, stream=True)


def _one(live: list[Exchange], emulated: list[Exchange], **options: float) -> MemberDrift:
    (found,) = drift(live, emulated, **options)
    return found


def test_equal_responses_with_other_ids_texts_arguments_and_schemas_do_not_differ() -> None:
    assert drift([_plain(id="chatcmpl-99ab12")], [_plain(created=2)]) == []
    calls = [{"arguments": {"city": "Lisbon"}}, {"arguments": {"day": 1}}]
    assert drift([_plain(calls=calls[:1])], [_plain(calls=calls[1:])]) == []


def test_a_member_of_one_side_becomes_a_proposal() -> None:
    found = _one([_plain(service_tier="default")], [_plain()])
    assert (found.difference, found.kind, found.path) == ("only live", "body", "service_tier")
    assert found.proposal == (
        'cassettes/emulated/openai_chat.py: add `service_tier` in body (string, such as "default"): '
        "1 of 1 live messages have it"
    )
    found = _one([_plain(), _plain()], [_plain(warning="x")])
    assert (found.difference, found.path) == ("only emulated", "warning")
    assert "check whether `warning` in body still exists" in found.proposal


def test_samples_are_the_live_responses_that_could_have_the_member() -> None:
    usage = {"usage": {"total_tokens": 3}}
    found = _one([_plain(**usage), _plain(), _plain()], [_plain(usage={"total_tokens": 3, "cost": 1})])
    assert (found.path, found.samples) == ("usage.cost", 1)
    opened, pinged = {"type": "opened"}, {"type": "ping"}
    found = _one([_streamed(opened, opened), _streamed(opened)], [_streamed(opened, pinged)])
    assert (found.kind, found.difference, found.samples) == ("event ping", "only emulated", 2)
    found = _one([_streamed(opened, opened)], [_streamed({**opened, "at": 1})])
    assert (found.path, found.samples) == ("at", 1)


def test_types_and_classes_of_values_are_compared() -> None:
    for name, live, emulated, expected in (
        ("created", 1, "1", ("type", "number", "string")),
        ("created", None, 1, ("type", "null", "number")),
        ("created", 1.5, 1, ("values", "number with a fraction", "number")),
        ("id", "chatcmpl-4f8a2c", "resp_4f8a2c", ("values", "id chatcmpl-…", "id resp_…")),
        ("object", "chat.completion", "chat", ("values", '"chat.completion"', '"chat"')),
        ("id", "", "chatcmpl-4f8a2c", ("values", "empty string", "id chatcmpl-…")),
    ):
        found = _one([_plain(**{name: live})], [_plain(**{name: emulated})])
        assert (found.difference, found.live, found.emulated) == expected


def test_the_outermost_missing_member_is_reported_and_a_rare_one_on_request() -> None:
    usage = {"prompt_tokens": 1, "completion_tokens_details": {"reasoning_tokens": 0}}
    assert _one([_plain(usage=usage)], [_plain()]).path == "usage"
    live = [_plain(), _plain(), _plain(), _plain(service_tier="flex")]
    assert drift(live, [_plain()]) == []
    assert _one(live, [_plain()], at_least=0.2).share == 0.25


def test_events_are_compared_by_their_kind_and_errors_and_unknown_providers_left_out() -> None:
    live = [_streamed({"type": "ping"}, {"type": "delta", "text": "a"})]
    found = _one(live, [_streamed({"type": "delta", "text": "b"})])
    assert (found.kind, found.path, found.difference) == ("event ping", "", "only live")
    others = [_exchange(provider="nobody", body=b"{}"), _exchange(status=500, body=b"{}")]
    assert compared_surfaces([*others, _plain()], [_plain(), _plain()]) == {"openai.chat": (1, 2)}


def test_recorded_and_emulated_responses_of_grpc_are_compared(recordings: Path) -> None:
    wire = "xai.grpc"
    real, made = (
        [item for item in read(path) if isinstance(item, Exchange)]
        for path in (recordings / f"{wire}.jsonl.gz", RECORDED / "xai" / wire)
    )
    found = compared_surfaces(real, made)[wire]
    assert (found[0] > 20, found[1] > 100) == (True, True)
    assert len(drift(real, made)) <= 10  # the emulated providers show most of what is usual
    assert len(drift(real, made, at_least=0.0)) > len(drift(real, made))


def _drift(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["cassettes", "drift", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def test_the_command_prints_differences_proposals_and_json(tmp_path: Path) -> None:
    live, emulated = tmp_path / "live.jsonl", tmp_path / "emulated.jsonl"
    for file, exchange in ((live, _plain(service_tier="default")), (emulated, _plain())):
        write_rows(file, row((exchange.body or b"").decode(), request=None))
    code, shown, _ = _drift(live, emulated)
    assert code == 1
    assert "openai.chat: 1 live and 1 emulated responses, 1 members differ" in shown
    assert "only live  body: service_tier: string (1 of 1)" in shown
    assert "openai_chat.py: add `service_tier`" in _drift(live, emulated, "--proposals")[1]
    data = json.loads(_drift(live, emulated, "--json")[1])
    assert data["surfaces"] == {"openai.chat": {"live": 1, "emulated": 1}}
    assert data["drifts"][0]["share"] == 1.0
    assert _drift(live, live)[0] == 0


PARALLEL = RECORDED / "openai" / "openai.chat" / "parallel-three.yaml"


def _claimed(path: Path, origin: str) -> Path:
    """A shipped cassette without the marks of its responses, and with this origin in its provenance."""
    text = PARALLEL.read_text().replace("x-toolparity-origin", "x-other")
    path.write_text(text.replace("origin: emulated", f"origin: {origin}"))
    return path


@pytest.mark.thorough
def test_responses_are_compared_with_those_of_the_shipped_library(tmp_path: Path) -> None:
    shown = _drift(_claimed(tmp_path / "live.yaml", "live"))[1]
    assert re.search(r"openai.chat: 2 live and \d{3} emulated responses", shown)


def test_emulated_responses_are_never_taken_as_live(tmp_path: Path) -> None:
    code, _, errors = _drift(PARALLEL, PARALLEL)
    assert (code, "2 emulated responses are not compared as LIVE" in errors) == (5, True)
    assert _drift(_claimed(tmp_path / "a.yaml", "emulated"), PARALLEL)[0] == 5  # the provenance says so, too
    live = _claimed(tmp_path / "b.yaml", "live")
    assert _drift(live, PARALLEL)[0] == 0
    code, _, errors = _drift(live, live)
    assert (code, "2 responses of real providers are not compared as EMULATED" in errors) == (5, True)


def test_input_that_has_nothing_to_compare_or_cannot_be_read_has_an_exit_code(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    assert _drift(path, PARALLEL)[0] == 4, "missing"
    path.write_text("a: [")
    assert _drift(path, PARALLEL)[0] == 4, "not YAML"
    nameless = tmp_path / "one.json"  # of no known provider
    nameless.write_bytes(_plain().body or b"")
    code, _, errors = _drift(nameless, PARALLEL)
    assert (code, "nothing to compare" in errors) == (5, True)
