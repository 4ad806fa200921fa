"""One cassette for all SDKs: HTTP and gRPC, synchronous and asynchronous, plain and streamed, recorded and replayed."""

from __future__ import annotations

import asyncio
import socket
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.support.thoroughness import is_thorough
from tests.support.wires import PLAYED_WIRES as WIRES
from toolparity.cassettes.emulated.servers import running
from toolparity.cassettes.library import files, writing
from toolparity.cassettes.recorder.record import Connection, emulated
from toolparity.cassettes.recorder.replay import cut_network
from toolparity.cassettes.recorder.sdks import Link, Received
from toolparity.cassettes.recorder.vcr import playing, recording
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import SURFACES

from .talking import compared, talk, talk_async, without_connection

pytestmark = pytest.mark.service("cassettes/recorder", "cassettes/emulated")

SPEAKERS = [SURFACES[name] for name in WIRES]
SCRIPT = scripts()["parallel-three"]

#: Surface, "sync" or "async", and "plain" or "streamed" -> what the SDK returned.
Answers = dict[tuple[str, str, str], list[Received]]


def answers_of_every_sdk(links: dict[str, Link]) -> Answers:
    """The whole conversation of every SDK: in both ways, plain and streamed, or in the plain run in two of the four."""
    answers: Answers = {}
    for number, at in enumerate(SPEAKERS):
        streamed_way = "async" if number % 2 and not at.by_messages else "sync"
        for way, form in product(("sync", "async"), ("plain", "streamed")):
            if is_thorough() or (way == streamed_way) == (form == "streamed"):
                stream, link = form == "streamed", links[at.name]
                answers[at.name, way, form] = (
                    talk(SCRIPT, at, link, stream=stream)
                    if way == "sync"
                    else asyncio.run(talk_async(SCRIPT, at, link, stream=stream))
                )
    return answers


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Answers]:
    """The cassette, and the answers while it was recorded. The servers are down when a test begins."""
    path = tmp_path_factory.mktemp("mixed") / "mixed.yaml"
    with running() as servers:
        ways: dict[str, Connection] = {at.name: emulated(at, servers.base(at)) for at in SPEAKERS}
        places = {here: there for way in ways.values() for here, there in way.addresses.items()}
        with recording(places) as cassette:
            answers = answers_of_every_sdk({name: way.link for name, way in ways.items()})
        path.write_bytes(writing.text_of([writing.interaction(*pair) for pair in cassette.data], {}))
    return path, answers


def test_every_sdk_returns_the_recorded_objects_while_the_servers_are_down(mixed: tuple[Path, Answers]) -> None:
    path, answers = mixed
    with playing(path) as cassette, cut_network():
        again = answers_of_every_sdk({at.name: Link(at.base, "no key") for at in SPEAKERS})
        assert cassette.all_played
        assert len(cassette) == sum(map(len, answers.values()))
    forms: dict[str, list[Any]] = {}
    for key, received in answers.items():
        assert compared(again[key]) == compared(received), key
        assert [*map(without_connection, again[key])] == [*map(without_connection, received)], key
        assert received[0].response.calls, key
        assert all((len(answer.objects) > 3) == (key[2] == "streamed") for answer in received), key
        found = [([(c.name, c.arguments) for c in one.response.calls], one.response.text) for one in received]
        forms.setdefault(key[0], []).append(found)
    for at in SPEAKERS:
        assert forms[at.name] == [forms[at.name][0]] * (4 if is_thorough() else 2), "the forms agree"


def test_vcrpy_reads_the_cassette_which_has_no_local_address_and_no_key(mixed: tuple[Path, Answers]) -> None:
    import vcr

    path, _ = mixed
    with vcr.use_cassette(str(path), record_mode="none", match_on=["method", "uri"]) as cassette:
        assert len(cassette) == len(files.load(path).requests)
    text = path.read_text("ascii").lower()
    assert not any(word in text for word in ("127.0.0.1", "emulated-key", "authorization"))


def test_a_replay_of_grpc_opens_no_connection(mixed: tuple[Path, Answers], tmp_path: Path) -> None:
    """gRPC's core opens sockets that Python does not see, so the test listens at the address."""
    path, answers = mixed
    at = SURFACES["xai.grpc"]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        moved = tmp_path / "moved.yaml"
        moved.write_text(path.read_text("ascii").replace("grpc://api.x.ai/", f"grpc://{address}/"), "ascii")
        link = Link(address, "no key", secure=False, timeout=1)
        with playing(moved):
            received = talk(SCRIPT, at, link, stream=True)
        assert compared(received) == compared(answers["xai.grpc", "sync", "streamed"])
        with pytest.raises(BlockingIOError):
            listener.accept()
        assert talk(SCRIPT, at, link, stream=True)[0].response.error is not None  # without the cassette, it connects
        listener.accept()[0].close()
