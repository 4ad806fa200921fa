"""`toolparity record` selects scenarios, surfaces and a library, and reports what it did by output and exit code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from toolparity.cassettes.library import files
from toolparity.cassettes.recorder.sdks import Caller
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import SURFACES
from toolparity.cli import main

PROVIDERS = sorted({surface.provider for surface in SURFACES.values()})
PLAIN_XAI = ("--wire", "openai.chat", "--provider", "xai", "--plain")


def record(*arguments: str, into: Path, env: dict[str, str | None] | None = None) -> Result:
    environment = {"TOOLPARITY_RAN_BY": "Tests", **(env or {})}
    return CliRunner().invoke(main, ["record", *arguments, "--into", str(into)], env=environment)


def made(root: Path) -> list[str]:
    return [place.shown for place in files.find(root)]


def test_a_scenario_of_a_provider_is_recorded_plain_and_streamed(tmp_path: Path) -> None:
    result = record("single-call", "--provider", "anthropic", into=tmp_path)
    assert result.exit_code == 0, result.output
    assert made(tmp_path) == [
        "anthropic/anthropic.messages/single-call.stream.yaml",
        "anthropic/anthropic.messages/single-call.yaml",
    ]
    assert "1/2 single-call on anthropic.messages, plain: recorded" in result.stderr
    assert "2/2 single-call on anthropic.messages, streamed: recorded" in result.stderr
    assert [line.split() for line in result.stdout.splitlines()][3:5] == [
        ["anthropic.messages", "plain", "1"],
        ["anthropic.messages", "streamed", "1"],
    ]
    provenances = [files.provenance_of(place.path) for place in files.find(tmp_path)]
    assert [(one.origin, one.ran_by) for one in provenances] == [("emulated", "Tests")] * 2


@pytest.mark.thorough
def test_patterns_wires_and_forms_narrow_what_is_recorded(tmp_path: Path) -> None:
    result = record("server-search*", "te*-*", "tw*-r*", "--wire", "openai.responses", "--stream", into=tmp_path)
    assert result.exit_code == 0, result.output
    assert made(tmp_path) == [
        f"{provider}/openai.responses/{name}.stream.yaml"
        for provider in ("openai", "xai")
        for name in ("server-search-and-call", "server-search", "text-only", "two-rounds")
    ]


def test_an_existing_cassette_is_kept_and_another_model_replaces_it(tmp_path: Path) -> None:
    assert record("text-only", *PLAIN_XAI, into=tmp_path).exit_code == 0
    assert "text-only on xai.chat, plain: kept" in record("text-only", *PLAIN_XAI, into=tmp_path).stderr
    result = record("text-only", *PLAIN_XAI, "--model", "grok-x", "--rerecord", into=tmp_path)
    assert result.exit_code == 0, result.output
    (place,) = files.find(tmp_path)
    assert files.provenance_of(place.path).model == "grok-x"
    assert b'"grok-x"' in files.load(place.path).requests[0].body


def test_a_changed_recording_is_shown_as_a_diff(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert record("single-call", *PLAIN_XAI, into=tmp_path).exit_code == 0
    old = scripts()["single-call"]
    first = msgspec.structs.replace(old.rounds[0], parts=[old.rounds[0].parts[0]] * 2)
    monkeypatch.setitem(scripts(), "single-call", msgspec.structs.replace(old, rounds=[first, old.rounds[1]]))
    result = record("single-call", *PLAIN_XAI, into=tmp_path)
    assert result.exit_code == 0, result.output
    assert "What changed: single-call on xai.chat, plain" in result.stdout
    assert "+ call exchange 1: get_weather (function)" in result.stdout


def test_a_failure_and_an_interrupt_are_reported_and_leave_the_old_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("single-call", "text-only", *PLAIN_XAI)
    assert record(*arguments, into=tmp_path).exit_code == 0
    before = {place.path: place.path.read_bytes() for place in files.find(tmp_path)}
    send = Caller.send

    def broken(self: Caller, body: dict[str, list[object]]) -> object:
        if len(body["messages"]) > 2:
            raise ConnectionResetError("connection lost")
        return send(self, body)

    def interrupted(self: Caller, body: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Caller, "send", broken)
    failed = record(*arguments, "--rerecord", into=tmp_path)
    assert failed.exit_code == 4
    assert "single-call on xai.chat, plain: failed: round 2: ConnectionResetError: connection lost" in failed.stderr
    assert "text-only on xai.chat, plain: same" in failed.stderr
    assert "Not recorded; the old files are unchanged" in failed.stdout
    monkeypatch.setattr(Caller, "send", interrupted)
    ended = record(*arguments, "--rerecord", into=tmp_path)
    assert (ended.exit_code, "interrupted" in ended.stderr) == (130, True)
    assert {place.path: place.path.read_bytes() for place in files.find(tmp_path)} == before


def test_live_reports_all_missing_keys_at_once(tmp_path: Path) -> None:
    keys = dict.fromkeys(surface.key for surface in SURFACES.values())
    result = record("text-only", "--live", into=tmp_path, env=keys)
    assert result.exit_code == 2
    assert [
        key for key in keys if f"needs an API key in the environment variable {key} (set" not in result.output
    ] == []
    assert made(tmp_path) == []


@pytest.mark.parametrize(
    ("arguments", "exit_code", "message"),
    [
        (["singel-call"], 2, "unknown scenario: 'singel-call'; did you mean single-call?"),
        (["--provider", "nobody"], 2, f"unknown provider: 'nobody'; known: {', '.join(PROVIDERS)}"),
        (["--wire", "smoke"], 2, "unknown wire: 'smoke'; known:"),
        (["--live", "--emulate"], 2, "No such option"),
        (["server-search", "--wire", "openai.chat"], 5, "nothing to record"),
    ],
    ids=["scenario", "provider", "wire", "option", "a scenario that no selected surface plays"],
)
def test_an_unknown_name_is_a_usage_error(tmp_path: Path, arguments: list[str], exit_code: int, message: str) -> None:
    result: Any = record(*arguments, into=tmp_path)
    assert (result.exit_code, message in result.output) == (exit_code, True), result.output
    assert made(tmp_path) == []
