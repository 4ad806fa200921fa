"""A replay fails, with a reason a person understands, wherever the cassette and the scenario do not fit."""

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

Edit = Callable[[list[dict[str, Any]]], object]


def edited(tmp_path: Path, surface: str, edit: Edit, *, stream: bool = False, **told: Any) -> Path:
    """A shipped cassette with its interactions, or its provenance, changed."""
    loaded = files.load(files.path_for(surface, "single-call", stream))
    interactions = msgspec.json.decode(msgspec.json.encode(loaded.interactions))
    edit(interactions)
    path = tmp_path / "edited.yaml"
    writing.save(path, interactions, msgspec.structs.replace(loaded.provenance, **told))
    return path


def nothing(interactions: list[dict[str, Any]]) -> None:
    """Change nothing."""


def swap(half: str, old: str, new: str) -> Edit:
    def edit(interactions: list[dict[str, Any]]) -> None:
        body = interactions[0][half]["body"]
        text = body if half == "request" else body["string"]
        assert old in text
        if half == "request":
            interactions[0][half]["body"] = text.replace(old, new)
        else:
            body["string"] = text.replace(old, new)

    return edit


def failure(path: Path, script: Script | None = None) -> str:
    with pytest.raises(ReplayFailed) as raised:
        replay(path, script)
    assert str(path) in raised.value.where
    return str(raised.value)


@pytest.mark.thorough(keep=4)
@pytest.mark.parametrize("surface", WIRES)
def test_an_unchanged_copy_replays(tmp_path: Path, surface: str) -> None:
    replay(edited(tmp_path, surface, nothing))


@pytest.mark.parametrize(
    "surface", ["openai.chat", "openai.responses", "anthropic.messages", "xai.chat", "xai.responses"]
)
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
def test_a_request_that_has_a_field_more_than_the_recorded_one_is_refused(
    tmp_path: Path, surface: str, stream: bool
) -> None:
    path = edited(tmp_path, surface, swap("request", '"city"', '"town"'), stream=stream)
    text = failure(path)
    assert "round 1: POST https://api." in text
    assert "properties.town: removed" in text
    assert "properties.city: added" in text


def test_a_grpc_request_that_changed_is_refused(tmp_path: Path) -> None:
    path = edited(tmp_path, "xai.grpc", swap("request", '"model": "', '"model": "not-'))
    assert 'message.model: "not-' in failure(path)


def test_an_interaction_that_nobody_asks_for_is_missed(tmp_path: Path) -> None:
    path = edited(tmp_path, "openai.chat", lambda interactions: interactions.append(interactions[-1]))
    assert "interaction 3 of 3 was not played" in failure(path)


def test_a_round_that_was_not_recorded_is_named(tmp_path: Path) -> None:
    path = edited(tmp_path, "openai.chat", lambda interactions: interactions.pop())
    text = failure(path)
    assert "round 2" in text
    assert "messages[2]: added" in text


def test_an_answer_that_changed_sends_the_next_request_astray(tmp_path: Path) -> None:
    path = edited(tmp_path, "anthropic.messages", swap("response", "Lisbon", "Porto"))
    assert 'input.city: "Lisbon" -> "Porto"' in failure(path)


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
def test_an_sdk_that_hands_on_less_than_was_recorded_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    sent = openai_chat.sent

    def less(*arguments: Any) -> Any:
        for one in sent(*arguments):
            yield one.model_copy(update={"id": "another"})

    path = edited(tmp_path, "openai.chat", nothing, stream=stream)
    monkeypatch.setattr(openai_chat, "sent", less)
    assert 'round 1: through the SDK id is "another", and the recorded bytes say "chatcmpl-' in failure(path)


def test_an_answer_that_is_no_answer_is_said(tmp_path: Path) -> None:
    path = edited(tmp_path, "openai.chat", swap("response", "{", "no JSON"))
    assert "cannot be decoded" in failure(path)


def test_a_scenario_that_changed_is_said(tmp_path: Path) -> None:
    path = edited(tmp_path, "openai.chat", nothing)
    changed = msgspec.structs.replace(SINGLE, system="Be brief.")
    assert "the scenario has changed since the recording" in failure(path, changed)
    assert "toolparity record --rerecord single-call" in failure(path, changed)


def test_a_scenario_that_is_gone_is_said(tmp_path: Path) -> None:
    path = edited(tmp_path, "openai.chat", nothing, scenario="gone")
    assert "unknown scenario: 'gone'" in failure(path)


def test_an_imported_cassette_has_to_be_readable_and_has_no_scenario_to_play(tmp_path: Path) -> None:
    told = {"origin": "imported", "scenario": None, "scenario_hash": None}
    replay(edited(tmp_path, "openai.chat", nothing, **told))
    broken = edited(tmp_path, "openai.chat", swap("response", "{", "no JSON"), **told)
    assert "cannot be decoded" in failure(broken)


def test_a_cassette_without_provenance_is_not_played(tmp_path: Path) -> None:
    path = tmp_path / "bare.yaml"
    path.write_bytes(writing.text_of(files.load(files.path_for("openai.chat", "single-call", False)).interactions, {}))
    with pytest.raises(InvalidProvenance):
        replay(path)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UnreadableCassette, match="the cassette does not exist"):
        replay(tmp_path / "gone.yaml")


def test_the_environment_does_not_lead_a_replay_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "HTTPS_PROXY", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment-0123456789")
    for surface in ("openai.chat", "anthropic.messages"):
        path = tmp_path / surface
        shutil.copy(files.path_for(surface, "single-call", False), path)
        replay(path)
