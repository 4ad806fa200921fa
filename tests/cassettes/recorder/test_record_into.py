"""`toolparity record`: what it selects, the folder of the user that it writes into, and its output and exit code."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from toolparity.cassettes.library import RECORDED, files
from toolparity.cassettes.recorder.sdks import Caller
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import SURFACES
from toolparity.cli import main

PROVIDERS = sorted({surface.provider for surface in SURFACES.values()})
PLAIN_XAI = ("--wire", "openai.chat", "--provider", "xai", "--plain")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def record(*arguments: str, env: dict[str, str | None] | None = None) -> Result:
    environment = {"TOOLPARITY_RAN_BY": "Tests", "TOOLPARITY_CASSETTES": None, **(env or {})}
    return CliRunner().invoke(main, ["record", *arguments], env=environment)


def recorded(*arguments: str, env: dict[str, str | None] | None = None) -> Result:
    result = record(*arguments, env=env)
    assert result.exit_code == 0, result.output
    return result


def made(root: str = "cassettes") -> list[str]:
    return [place.shown for place in files.find(root)]


def contents() -> dict[Path, bytes]:
    return {place.path: place.path.read_bytes() for place in files.find("cassettes")}


def test_a_scenario_of_a_provider_is_recorded_plain_and_streamed_into_a_local_folder(here: Path) -> None:
    shipped = {place.path: place.path.stat().st_mtime_ns for place in files.find()}
    result = recorded("single-call", "--provider", "anthropic", "--rerecord")
    plain, streamed = (f"anthropic/anthropic.messages/single-call{end}.yaml" for end in ("", ".stream"))
    assert made() == [streamed, plain]
    assert {place.path: place.path.stat().st_mtime_ns for place in files.find()} == shipped
    assert f"recording into {here / 'cassettes'}" in result.stderr
    assert f"cassettes/{plain}" in result.stderr
    assert str(here / "cassettes") in result.stdout
    assert "1/2 single-call on anthropic.messages, plain: recorded" in result.stderr
    assert "2/2 single-call on anthropic.messages, streamed: recorded" in result.stderr
    assert [line.split() for line in result.stdout.splitlines()][3:5] == [
        ["anthropic.messages", "plain", "1"],
        ["anthropic.messages", "streamed", "1"],
    ]
    provenances = [files.provenance_of(place.path) for place in files.find("cassettes")]
    assert [(one.origin, one.ran_by) for one in provenances] == [("emulated", "Tests")] * 2


def test_the_environment_variable_selects_the_library(here: Path) -> None:
    recorded("text-only", *PLAIN_XAI, env={"TOOLPARITY_CASSETTES": str(here / "mine")})
    assert (made("mine"), (here / "cassettes").exists()) == (["xai/openai.chat/text-only.yaml"], False)


def test_a_library_in_the_package_or_below_a_file_is_an_error_before_any_request(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "file").write_text("")
    below = record("text-only", *PLAIN_XAI, "--into", str(here / "file" / "below"))
    monkeypatch.chdir(RECORDED.parents[1])
    package = record("text-only", *PLAIN_XAI)
    for result, message in (
        (below, "below' cannot be written: "),
        (package, "its library is --into cassettes/recorded"),
    ):
        assert (result.exit_code, message in result.stderr) == (2, True), result.output
        assert "recording into" not in result.stderr


@pytest.mark.thorough
def test_patterns_wires_and_forms_narrow_what_is_recorded() -> None:
    recorded("server-search*", "te*-*", "tw*-r*", "--wire", "openai.responses", "--stream")
    assert made() == [
        f"{provider}/openai.responses/{name}.stream.yaml"
        for provider in ("openai", "xai")
        for name in ("server-search-and-call", "server-search", "text-only", "two-rounds")
    ]


def test_an_identical_recording_keeps_the_file_and_another_model_replaces_it(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded("text-only", *PLAIN_XAI)
    before = contents()
    monkeypatch.setattr("toolparity.cassettes.recorder.record.now", lambda: "2031-01-02T03:04:05Z")
    for arguments, status in (((), "kept"), (("--rerecord",), "same")):
        result = recorded("text-only", *PLAIN_XAI, *arguments)
        assert f"text-only on xai.chat, plain: {status}" in result.stderr
        assert all(str(here / "cassettes") in text for text in (result.stdout, result.stderr))
    assert contents() == before
    recorded("text-only", *PLAIN_XAI, "--model", "grok-x", "--rerecord")
    (path,) = before
    assert files.provenance_of(path).model == "grok-x"
    assert b'"grok-x"' in files.load(path).requests[0].body


def test_a_changed_recording_is_shown_as_a_diff(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded("single-call", *PLAIN_XAI)
    old = scripts()["single-call"]
    first = msgspec.structs.replace(old.rounds[0], parts=[old.rounds[0].parts[0]] * 2)
    monkeypatch.setitem(scripts(), "single-call", msgspec.structs.replace(old, rounds=[first, old.rounds[1]]))
    result = recorded("single-call", *PLAIN_XAI)
    assert "What changed: single-call on xai.chat, plain" in result.stdout
    assert "+ call exchange 1: get_weather (function)" in result.stdout


def test_a_failure_and_an_interrupt_are_reported_and_leave_the_old_files(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("single-call", "text-only", *PLAIN_XAI)
    recorded(*arguments)
    before = contents()
    send = Caller.send

    def broken(self: Caller, body: dict[str, list[object]]) -> object:
        if len(body["messages"]) > 2:
            raise ConnectionResetError("connection lost")
        return send(self, body)

    def interrupted(self: Caller, body: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Caller, "send", broken)
    failed = record(*arguments, "--rerecord")
    assert failed.exit_code == 4
    assert "single-call on xai.chat, plain: failed: round 2: ConnectionResetError: connection lost" in failed.stderr
    assert "text-only on xai.chat, plain: same" in failed.stderr
    assert "Not recorded; the old files are unchanged" in failed.stdout
    monkeypatch.setattr(Caller, "send", interrupted)
    ended = record(*arguments, "--rerecord")
    assert (ended.exit_code, "interrupted" in ended.stderr) == (130, True)
    assert contents() == before


def test_live_reports_all_missing_keys_at_once() -> None:
    keys = dict.fromkeys(surface.key for surface in SURFACES.values())
    result = record("text-only", "--live", env=keys)
    missing = [f"needs an API key in the environment variable {key} (set" for key in keys]
    assert (result.exit_code, [text for text in missing if text not in result.output], made()) == (2, [], [])


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
def test_an_unknown_name_is_a_usage_error(arguments: list[str], exit_code: int, message: str) -> None:
    result = record(*arguments)
    assert (result.exit_code, message in result.output, made()) == (exit_code, True, []), result.output
