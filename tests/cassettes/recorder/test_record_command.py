"""`toolparity record`: which scenarios, from whom, into which library, and what it says and exits with."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from toolparity.cassettes.library import files
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import SURFACES
from toolparity.cli import main

PROVIDERS = sorted({surface.provider for surface in SURFACES.values()})


def record(*arguments: str, env: dict[str, str | None] | None = None) -> Result:
    return CliRunner().invoke(main, ["record", *arguments], env={"TOOLPARITY_RAN_BY": "Tests", **(env or {})})


def made(root: Path) -> list[str]:
    return [place.shown for place in files.find(root)]


def test_a_scenario_of_a_provider_is_recorded_plain_and_streamed(tmp_path: Path) -> None:
    result = record("single-call", "--provider", "anthropic", "--into", str(tmp_path))
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
    assert {files.provenance_of(place.path).origin for place in files.find(tmp_path)} == {"emulated"}
    assert {files.provenance_of(place.path).ran_by for place in files.find(tmp_path)} == {"Tests"}


@pytest.mark.thorough
def test_patterns_wires_and_forms_narrow_what_is_recorded(tmp_path: Path) -> None:
    result = record(
        "server-search*", "te*-*", "tw*-r*", "--wire", "openai.responses", "--stream", "--into", str(tmp_path)
    )
    assert result.exit_code == 0, result.output
    assert made(tmp_path) == [
        f"{provider}/openai.responses/{name}.stream.yaml"
        for provider in ("openai", "xai")
        for name in ("server-search-and-call", "server-search", "text-only", "two-rounds")
    ]


def test_what_stands_there_is_kept_until_somebody_asks(tmp_path: Path) -> None:
    arguments = ("text-only", "--wire", "openai.chat", "--provider", "xai", "--plain", "--into", str(tmp_path))
    assert record(*arguments).exit_code == 0
    (place,) = files.find(tmp_path)
    before = place.path.read_bytes()
    again = record(*arguments)
    assert again.exit_code == 0
    assert "text-only on xai.chat, plain: kept" in again.stderr
    assert place.path.read_bytes() == before
    once_more = record(*arguments, "--rerecord")
    assert "text-only on xai.chat, plain: same" in once_more.stderr


def test_another_model_is_asked_and_recorded(tmp_path: Path) -> None:
    result = record(
        "text-only",
        "--wire",
        "openai.chat",
        "--provider",
        "xai",
        "--plain",
        "--model",
        "grok-x",
        "--into",
        str(tmp_path),
    )
    assert result.exit_code == 0, result.output
    (place,) = files.find(tmp_path)
    assert files.provenance_of(place.path).model == "grok-x"
    assert b'"grok-x"' in files.load(place.path).requests[0].body


def test_what_changed_is_told_as_a_semantic_diff(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("single-call", "--wire", "openai.chat", "--provider", "openai", "--plain", "--into", str(tmp_path))
    assert record(*arguments).exit_code == 0
    old = scripts()["single-call"]
    first = msgspec.structs.replace(old.rounds[0], parts=[old.rounds[0].parts[0]] * 2)
    changed = msgspec.structs.replace(old, rounds=[first, old.rounds[1]])
    monkeypatch.setitem(scripts(), "single-call", changed)
    result = record(*arguments)
    assert result.exit_code == 0, result.output
    assert "What changed: single-call on openai.chat, plain" in result.stdout
    assert "+ call exchange 1: get_weather (function)" in result.stdout


def test_a_recording_that_fails_is_told_and_the_old_file_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from toolparity.cassettes.recorder.sdks import Caller

    arguments = (
        "single-call",
        "text-only",
        "--wire",
        "openai.chat",
        "--provider",
        "xai",
        "--plain",
        "--into",
        str(tmp_path),
    )
    assert record(*arguments).exit_code == 0
    before = {place.shown: place.path.read_bytes() for place in files.find(tmp_path)}
    ask = Caller.send

    def broken(self: Caller, body: dict[str, list[object]]) -> object:
        if len(body["messages"]) > 2:
            raise ConnectionResetError("the line went dead")
        return ask(self, body)

    monkeypatch.setattr(Caller, "send", broken)
    result = record(*arguments, "--rerecord")
    assert result.exit_code == 4
    assert "single-call on xai.chat, plain: failed: round 2: ConnectionResetError: the line went dead" in result.stderr
    assert "text-only on xai.chat, plain: same" in result.stderr
    assert "Not recorded; the old files are unchanged" in result.stdout
    (name,) = [name for name in before if "single-call" in name]
    assert (tmp_path / name).read_bytes() == before[name]


def test_an_interrupt_ends_it_and_leaves_what_stood_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from toolparity.cassettes.recorder.sdks import Caller

    arguments = ("text-only", "--wire", "openai.chat", "--provider", "xai", "--plain", "--into", str(tmp_path))
    assert record(*arguments).exit_code == 0
    (place,) = files.find(tmp_path)
    before = place.path.read_bytes()

    def interrupted(self: Caller, body: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Caller, "send", interrupted)
    result = record(*arguments, "--rerecord")
    assert result.exit_code == 130
    assert "interrupted" in result.stderr
    assert place.path.read_bytes() == before
    assert made(tmp_path) == [place.shown]


@pytest.mark.parametrize("at", SURFACES.values(), ids=list(SURFACES))
def test_live_needs_the_providers_key_and_says_so(tmp_path: Path, at: object) -> None:
    assert isinstance(at, tuple)
    name, provider, wire, *_ = at
    key = SURFACES[name].key
    result = record(
        "text-only", "--live", "--provider", provider, "--wire", wire, "--into", str(tmp_path), env={key: None}
    )
    assert result.exit_code == 2
    assert f"{name} needs an API key in the environment variable {key}" in result.output
    assert made(tmp_path) == []


def test_all_missing_keys_are_said_at_once(tmp_path: Path) -> None:
    keys = {surface.key for surface in SURFACES.values()}
    result = record("text-only", "--live", "--into", str(tmp_path), env=dict.fromkeys(keys))
    assert result.exit_code == 2
    assert all(f"environment variable {key}" in result.output for key in keys)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["singel-call"], "unknown scenario: 'singel-call'; did you mean single-call?"),
        (["--provider", "nobody"], f"unknown provider: 'nobody'; known: {', '.join(PROVIDERS)}"),
        (["--wire", "smoke"], "unknown wire: 'smoke'; known:"),
        (["--live", "--emulate"], "No such option"),
    ],
    ids=["scenario", "provider", "wire", "option"],
)
def test_a_name_that_nobody_has_is_a_mistake_of_use(tmp_path: Path, arguments: list[str], told: str) -> None:
    result = record(*arguments, "--into", str(tmp_path))
    assert result.exit_code == 2
    assert told in result.output
    assert made(tmp_path) == []


def test_nothing_that_can_be_played_is_said(tmp_path: Path) -> None:
    result = record("server-search", "--wire", "openai.chat", "--into", str(tmp_path))
    assert result.exit_code == 5
    assert "nothing to record" in result.stderr


def test_the_help_names_it() -> None:
    assert "record" in CliRunner().invoke(main, ["--help"]).output
    assert "Exit codes" in record("--help").output
