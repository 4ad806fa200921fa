"""Every shipped cassette plays its scenario through its official SDK, with the network blocked; a replay fails with its
reason if the cassette and the scenario do not fit. Verify reports the same reasons."""

from __future__ import annotations

import socket
from collections.abc import Callable
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.thoroughness import sampled, spread
from toolparity.cassettes.errors import InvalidProvenance, ReplayFailed, UnreadableCassette
from toolparity.cassettes.library import files, inventory, writing
from toolparity.cassettes.recorder.replay import NetworkBlocked, cut_network, replay
from toolparity.cassettes.recorder.sdks import openai_chat
from toolparity.cassettes.scripts import Script, scripts
from toolparity.cassettes.surfaces import SURFACES

SHIPPED = files.find()
_KIND = attrgetter("provider", "wire", "stream")
#: Some of each surface and form. `toolparity cassettes verify`, which CI runs beside the tests, replays all.
REPLAYED = [place for _, places in groupby(sorted(SHIPPED, key=_KIND), key=_KIND) for place in spread(list(places), 12)]

Edit = Callable[[list[dict[str, Any]]], object]


@pytest.mark.thorough(keep=9)
@pytest.mark.parametrize("place", REPLAYED, ids=lambda place: place.shown)
def test_a_shipped_cassette_replays_through_its_sdk_without_a_network(place: files.CassettePath) -> None:
    replay(place.path)


def test_each_scenario_has_a_small_cassette_marked_emulated_for_each_surface_and_form_that_can_play_it() -> None:
    expected = {
        files.path_for(surface, script.id, stream)
        for surface in SURFACES.values()
        for script in scripts().values()
        if surface.plays(script)
        for stream in inventory.modes(script)
    }
    assert {place.path for place in SHIPPED} == expected
    assert len(expected) >= 100
    for place in sampled(SHIPPED, 20):
        provenance = files.provenance_of(place.path)
        at = SURFACES[provenance.surface or ""]
        assert place.path.stat().st_size < 200_000, place.shown
        assert (provenance.origin, provenance.sdk, provenance.provider) == ("emulated", at.sdk, at.provider)


def test_a_cut_network_lets_no_python_socket_connect() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        with cut_network():
            with pytest.raises(NetworkBlocked):
                socket.create_connection(address, timeout=5)
            with socket.socket() as plain, pytest.raises(NetworkBlocked):
                plain.connect_ex(address)
            with socket.socket(type=socket.SOCK_DGRAM) as datagram, pytest.raises(NetworkBlocked):
                datagram.sendto(b"x", address)
            with pytest.raises(NetworkBlocked):
                socket.getaddrinfo("localhost", 80)
        socket.create_connection(address, timeout=5).close()


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


RENAMED = swap("request", '"city"', '"town"')
MOVED = ["round 1: POST https://api.", "properties.town: removed", "properties.city: added"]


@pytest.mark.parametrize(
    ("surface", "stream", "edit", "reasons"),
    [
        *((name, stream, RENAMED, MOVED) for name in ("openai.responses", "xai.chat") for stream in (False, True)),
        ("anthropic.messages", True, RENAMED, MOVED),
        ("xai.grpc", False, swap("request", '"model": "', '"model": "not-'), ['message.model: "not-']),
        ("openai.chat", False, lambda each: each.append(each[-1]), ["3 of 3 was not played"]),
        ("openai.chat", False, lambda each: each.pop(), ["round 2", "messages[2]: added"]),
        ("anthropic.messages", False, swap("response", "Lisbon", "Porto"), ['input.city: "Lisbon" -> "Porto"']),
        ("openai.chat", False, swap("response", "{", "no JSON"), ["cannot be decoded"]),
    ],
)
def test_a_cassette_with_other_interactions_fails_with_its_reason(
    tmp_path: Path, surface: str, stream: bool, edit: Edit, reasons: list[str]
) -> None:
    text = failure(edited(tmp_path, surface, edit, stream=stream))
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


def test_a_changed_unknown_or_imported_scenario_and_a_file_without_provenance_are_not_played(tmp_path: Path) -> None:
    other = msgspec.structs.replace(scripts()["single-call"], system="Be brief.")
    text = failure(edited(tmp_path, "openai.chat"), other)
    assert "the scenario has changed since the recording" in text
    assert "toolparity record --rerecord single-call" in text
    assert "unknown scenario: 'gone'" in failure(edited(tmp_path, "openai.chat", scenario="gone"))
    imported: dict[str, Any] = {"origin": "imported", "scenario": None, "scenario_hash": None}
    replay(edited(tmp_path, "openai.chat", **imported))  # without a scenario, it has to be readable only
    assert "cannot be decoded" in failure(edited(tmp_path, "openai.chat", swap("response", "{", "no JSON"), **imported))
    path = tmp_path / "plain.yaml"
    path.write_bytes(writing.text_of(files.load(SHIPPED[0].path).interactions, {}))
    with pytest.raises(InvalidProvenance):
        replay(path)
    with pytest.raises(UnreadableCassette, match="the cassette does not exist"):
        replay(tmp_path / "gone.yaml")


def test_the_environment_does_not_change_the_target_of_a_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "HTTPS_PROXY", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment-0123456789")
    for surface in ("openai.chat", "anthropic.messages"):
        replay(files.path_for(surface, "single-call", False))
