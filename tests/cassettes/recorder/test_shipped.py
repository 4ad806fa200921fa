"""Every shipped cassette plays its scenario through its official SDK, with the network blocked."""

from __future__ import annotations

import socket
from itertools import groupby
from operator import attrgetter

import pytest

from tests.support.thoroughness import spread
from tests.support.wires import TEXT_WIRES
from toolparity.cassettes.library import files, inventory
from toolparity.cassettes.recorder.replay import NetworkBlocked, cut_network, replay
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import SURFACES

SHIPPED = files.find()
_KIND = attrgetter("provider", "wire", "stream")
#: Some of each surface and form. `toolparity cassettes verify`, which CI runs beside the tests, replays all.
REPLAYED = [place for _, places in groupby(sorted(SHIPPED, key=_KIND), key=_KIND) for place in spread(list(places), 12)]
SURFACE_NAMES = tuple(SURFACES)
#: The wires with a member or a stop reason for a refusal.
WITH_REFUSAL = ("openai.chat", "openai.responses", "anthropic.messages")
#: The wires on which no emulated provider searches.
WITHOUT_SEARCH = ("openai.chat", "bedrock.converse", "cohere.chat", "ollama.chat")


@pytest.mark.thorough(keep=9)
@pytest.mark.parametrize("place", REPLAYED, ids=lambda place: place.shown)
def test_it_replays_through_its_sdk_with_the_network_cut(place: files.CassettePath) -> None:
    replay(place.path)


def test_there_is_one_for_every_scenario_on_every_surface_that_can_play_it_plain_and_streamed() -> None:
    there = {place.path for place in SHIPPED}
    due = {
        files.path_for(surface, script.id, stream)
        for surface in SURFACES.values()
        for script in scripts().values()
        if surface.plays(script)
        for stream in inventory.modes(script)
    }
    assert there == due
    assert len(due) >= 100


def test_every_surface_has_the_starter_scenarios_it_can_say() -> None:
    everywhere = {"empty-arguments", "error-rate-limit", "parallel-three", "single-call", "text-only", "two-rounds"}
    assert tuple(SURFACES) == SURFACE_NAMES
    for surface in SURFACES.values():
        played = {place.name for place in SHIPPED if (place.provider, place.wire) == (surface.provider, surface.wire)}
        assert everywhere <= played
        assert ("truncated-arguments" in played) == (surface.wire in TEXT_WIRES)
        assert ("refusal" in played) == (surface.wire in WITH_REFUSAL)
        searches = surface.wire not in WITHOUT_SEARCH
        assert ("server-search" in played) == ("server-search-and-call" in played) == searches


@pytest.mark.thorough(keep=20)
@pytest.mark.parametrize("place", SHIPPED, ids=lambda place: place.shown)
def test_it_is_small_and_says_that_it_is_emulated(place: files.CassettePath) -> None:
    told = files.provenance_of(place.path)
    assert place.path.stat().st_size < 200_000
    assert told.origin == "emulated"
    assert told.surface is not None
    assert (told.sdk, told.provider) == (SURFACES[told.surface].sdk, SURFACES[told.surface].provider)


def test_a_cut_network_lets_no_python_socket_out() -> None:
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
