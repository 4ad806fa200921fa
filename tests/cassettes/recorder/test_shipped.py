"""Every shipped cassette plays its scenario through its official SDK, with the network blocked."""

from __future__ import annotations

import socket
from itertools import groupby
from operator import attrgetter

import pytest

from tests.support.thoroughness import sampled, spread
from toolparity.cassettes.library import files, inventory
from toolparity.cassettes.recorder.replay import NetworkBlocked, cut_network, replay
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import SURFACES

SHIPPED = files.find()
_KIND = attrgetter("provider", "wire", "stream")
#: Some of each surface and form. `toolparity cassettes verify`, which CI runs beside the tests, replays all.
REPLAYED = [place for _, places in groupby(sorted(SHIPPED, key=_KIND), key=_KIND) for place in spread(list(places), 12)]


@pytest.mark.thorough(keep=9)
@pytest.mark.parametrize("place", REPLAYED, ids=lambda place: place.shown)
def test_a_shipped_cassette_replays_through_its_sdk_without_a_network(place: files.CassettePath) -> None:
    replay(place.path)


def test_each_scenario_has_a_cassette_for_each_surface_and_form_that_can_play_it() -> None:
    expected = {
        files.path_for(surface, script.id, stream)
        for surface in SURFACES.values()
        for script in scripts().values()
        if surface.plays(script)
        for stream in inventory.modes(script)
    }
    assert {place.path for place in SHIPPED} == expected
    assert len(expected) >= 100


def test_each_shipped_cassette_is_small_and_marked_emulated() -> None:
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
