"""A replay fails with its reason if the cassette and the scenario do not fit; verify reports the same reasons."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.wires import PLAYED_WIRES as WIRES
from toolparity.cassettes.errors import InvalidProvenance, ReplayFailed, UnreadableCassette
from toolparity.cassettes.library import files, writing
from toolparity.cassettes.recorder.replay import replay
from toolparity.cassettes.recorder.sdks import openai_chat
from toolparity.cassettes.scripts import Script, scripts

SINGLE = scripts()["single-call"]
IMPORTED: dict[str, Any] = {"origin": "imported", "scenario": None, "scenario_hash": None}

Edit = Callable[[list[dict[str, Any]]], object]


def edited(tmp_path: Path, surface: str, edit: Edit | None = None, *, stream: bool = False, **members: Any) -> Path:
    """A shipped cassette with its interactions, or its provenance, changed."""
    loaded = files.load(files.path_for(surface, "single-call", stream))
    interactions = msgspec.json.decode(msgspec.json.encode(loaded.interactions))
    if edit is not None:
        edit(interactions)
    path = tmp_path / "edited.yaml"
    writing.save(path, interactions, msgspec.structs.replace(loaded.provenance, **members))
    return path


def swap(half: str, old: str, new: str) -> Edit:
    def edit(interactions: list[dict[str, Any]]) -> None:
        holder, member = interactions[0][half], "body"
        if half == "response":
            holder, member = holder["body"], "string"
        assert old in holder[member]
        holder[member] = holder[member].replace(old, new)

    return edit


def failure(path: Path, script: Script | None = None) -> str:
    with pytest.raises(ReplayFailed) as raised:
        replay(path, script)
    assert str(path) in raised.value.where
    return str(raised.value)


@pytest.mark.thorough(keep=4)
@pytest.mark.parametrize("surface", WIRES)
def test_an_unchanged_copy_replays(tmp_path: Path, surface: str) -> None:
    replay(edited(tmp_path, surface))


@pytest.mark.parametrize(
    "surface", ["openai.chat", "openai.responses", "anthropic.messages", "xai.chat", "xai.responses"]
)
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
def test_a_request_with_another_field_than_the_recorded_one_is_refused(
    tmp_path: Path, surface: str, stream: bool
) -> None:
    text = failure(edited(tmp_path, surface, swap("request", '"city"', '"town"'), stream=stream))
    assert "round 1: POST https://api." in text
    assert "properties.town: removed" in text
    assert "properties.city: added" in text


@pytest.mark.parametrize(
    ("surface", "edit", "reasons"),
    [
        ("xai.grpc", swap("request", '"model": "', '"model": "not-'), ['message.model: "not-']),
        ("openai.chat", lambda interactions: interactions.append(interactions[-1]), ["3 of 3 was not played"]),
        ("openai.chat", lambda interactions: interactions.pop(), ["round 2", "messages[2]: added"]),
        ("anthropic.messages", swap("response", "Lisbon", "Porto"), ['input.city: "Lisbon" -> "Porto"']),
        ("openai.chat", swap("response", "{", "no JSON"), ["cannot be decoded"]),
    ],
    ids=["a changed gRPC request", "an interaction too many", "a missing round", "a changed answer", "not an answer"],
)
def test_a_cassette_with_other_interactions_fails_with_its_reason(
    tmp_path: Path, surface: str, edit: Edit, reasons: list[str]
) -> None:
    text = failure(edited(tmp_path, surface, edit))
    assert [reason for reason in reasons if reason not in text] == []


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
def test_an_sdk_that_returns_other_data_than_was_recorded_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    sent = openai_chat.sent

    def changed(*arguments: Any) -> Any:
        for one in sent(*arguments):
            yield one.model_copy(update={"id": "another"})

    path = edited(tmp_path, "openai.chat", stream=stream)
    monkeypatch.setattr(openai_chat, "sent", changed)
    assert 'round 1: through the SDK id is "another", and the recorded bytes say "chatcmpl-' in failure(path)


def test_a_changed_or_unknown_scenario_fails(tmp_path: Path) -> None:
    text = failure(edited(tmp_path, "openai.chat"), msgspec.structs.replace(SINGLE, system="Be brief."))
    assert "the scenario has changed since the recording" in text
    assert "toolparity record --rerecord single-call" in text
    assert "unknown scenario: 'gone'" in failure(edited(tmp_path, "openai.chat", scenario="gone"))


def test_an_imported_cassette_has_no_scenario_and_must_be_readable(tmp_path: Path) -> None:
    replay(edited(tmp_path, "openai.chat", **IMPORTED))
    broken = edited(tmp_path, "openai.chat", swap("response", "{", "no JSON"), **IMPORTED)
    assert "cannot be decoded" in failure(broken)


def test_a_cassette_without_provenance_and_a_missing_file_are_not_played(tmp_path: Path) -> None:
    path = tmp_path / "plain.yaml"
    path.write_bytes(writing.text_of(files.load(files.path_for("openai.chat", "single-call", False)).interactions, {}))
    with pytest.raises(InvalidProvenance):
        replay(path)
    with pytest.raises(UnreadableCassette, match="the cassette does not exist"):
        replay(tmp_path / "gone.yaml")


def test_the_environment_does_not_change_the_target_of_a_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "HTTPS_PROXY", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment-0123456789")
    for surface in ("openai.chat", "anthropic.messages"):
        path = tmp_path / surface
        shutil.copy(files.path_for(surface, "single-call", False), path)
        replay(path)
