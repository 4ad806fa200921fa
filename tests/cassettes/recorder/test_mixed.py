"""One cassette for all SDKs: HTTP and gRPC, synchronous and asynchronous, plain and streamed, recorded and replayed."""

from __future__ import annotations

import asyncio
import socket
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.support.thoroughness import is_thorough
from tests.support.wires import PLAYED_WIRES as WIRES
from toolparity.cassettes.emulated.servers import running
from toolparity.cassettes.library import files, writing
from toolparity.cassettes.recorder.record import Connection, emulated
from toolparity.cassettes.recorder.replay import cut_network
from toolparity.cassettes.recorder.sdks import Link, Received
from toolparity.cassettes.recorder.vcr import playing, recording
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import SURFACES, Surface
from toolparity.normalizer.model import Response

from .talking import compared, talk, talk_async

pytestmark = pytest.mark.service("cassettes/recorder", "cassettes/emulated")

SPEAKERS = [SURFACES[name] for name in WIRES]
SCRIPT = scripts()["parallel-three"]

Said = dict[tuple[str, str, str], list[Received]]


def everybody(links: dict[str, Link]) -> Said:
    """The whole conversation of every SDK: in both ways, plain and streamed, or in the plain run in two of the four."""
    said: Said = {}
    for number, at in enumerate(SPEAKERS):
        streamed_way = "async" if number % 2 and not at.by_messages else "sync"
        for way, form in product(("sync", "async"), ("plain", "streamed")):
            if is_thorough() or (way == streamed_way) == (form == "streamed"):
                stream, link = form == "streamed", links[at.name]
                said[at.name, way, form] = (
                    talk(SCRIPT, at, link, stream=stream)
                    if way == "sync"
                    else asyncio.run(talk_async(SCRIPT, at, link, stream=stream))
                )
    return said


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Said]:
    """The cassette, and what was heard while it was recorded. The servers are down when a test begins."""
    path = tmp_path_factory.mktemp("mixed") / "mixed.yaml"
    with running() as servers:
        ways: dict[str, Connection] = {at.name: emulated(at, servers.base(at)) for at in SPEAKERS}
        places = {here: there for way in ways.values() for here, there in way.addresses.items()}
        with recording(places) as cassette:
            said = everybody({name: way.link for name, way in ways.items()})
        path.write_bytes(writing.text_of([writing.interaction(*pair) for pair in cassette.data], {}))
    return path, said


def at_home(at: Surface) -> Link:
    """Where the SDK sends by default."""
    return Link(at.base, "no key")


@pytest.mark.thorough
def test_all_sdks_are_recorded_into_one_cassette(mixed: tuple[Path, Said]) -> None:
    path, said = mixed
    assert len(said) == len(SPEAKERS) * 4
    requests = files.load(path).requests
    assert len(requests) == sum(map(len, said.values())) == len(said) * 2
    bedrock = "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-haiku-4-5-20251001-v1%3A0"
    gemini = "https://generativelanguage.googleapis.com/v1/models/gemini-3-flash-preview"
    assert {request.uri for request in requests} == {
        "https://api.openai.com/v1/chat/completions",
        "https://api.openai.com/v1/responses",
        "https://api.anthropic.com/v1/messages",
        "grpc://api.x.ai/xai_api.Chat/GetCompletion",
        "grpc://api.x.ai/xai_api.Chat/GetCompletionChunk",
        f"{bedrock}/converse",
        f"{bedrock}/converse-stream",
        "https://generativelanguage.googleapis.com/v1/interactions",
        f"{gemini}:generateContent",
        f"{gemini}:streamGenerateContent?alt=sse",
        "https://api.cohere.com/v2/chat",
        "https://ollama.com/api/chat",
    }


def of_the_body(one: Received) -> Response:
    """The response without what boto3 says of the connection: its headers, and the id that one of them has."""
    response = one.response
    extra = {name: member for name, member in response.extra.items() if name != "ResponseMetadata"}
    return replace(response, extra=extra, id=None if response.wire == "bedrock.converse" else response.id)


def test_with_the_servers_down_every_sdk_hears_the_same_objects(mixed: tuple[Path, Said]) -> None:
    path, said = mixed
    with playing(path) as cassette, cut_network():
        again = everybody({at.name: at_home(at) for at in SPEAKERS})
        assert cassette.all_played
    for who, heard in said.items():
        assert compared(again[who]) == compared(heard), who
        assert [of_the_body(one) for one in again[who]] == [of_the_body(one) for one in heard], who
        assert heard[0].response.calls, who


def test_streams_are_heard_event_by_event_and_not_at_once(mixed: tuple[Path, Said]) -> None:
    _, said = mixed
    for (name, _, form), heard in said.items():
        for answer in heard:
            assert (len(answer.objects) > 3) == (form == "streamed"), name


def test_plain_and_streamed_synchronous_and_asynchronous_say_the_same(mixed: tuple[Path, Said]) -> None:
    _, said = mixed
    for at in SPEAKERS:
        forms = [heard for (name, *_), heard in said.items() if name == at.name]
        skeletons: list[Any] = [
            [([(c.name, c.arguments) for c in one.response.calls], one.response.text) for one in heard]
            for heard in forms
        ]
        assert skeletons == [skeletons[0]] * (4 if is_thorough() else 2)


def test_any_vcrpy_reads_it(mixed: tuple[Path, Said]) -> None:
    import vcr

    path, _ = mixed
    with vcr.use_cassette(str(path), record_mode="none", match_on=["method", "uri"]) as cassette:
        assert len(cassette) == len(files.load(path).requests)


def test_nothing_of_the_loopback_and_no_key_is_in_it(mixed: tuple[Path, Said]) -> None:
    text = mixed[0].read_text("ascii")
    assert "127.0.0.1" not in text
    assert "emulated-key" not in text
    assert "authorization" not in text.lower()


def test_grpc_asks_nobody_while_it_is_replayed(mixed: tuple[Path, Said], tmp_path: Path) -> None:
    """gRPC's core opens sockets where Python does not see it: who listens at the address does."""
    path, said = mixed
    at = SURFACES["xai.grpc"]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        there = tmp_path / "there.yaml"
        there.write_text(path.read_text("ascii").replace("grpc://api.x.ai/", f"grpc://{address}/"), "ascii")
        link = Link(address, "no key", secure=False, timeout=1)
        with playing(there):
            heard = talk(SCRIPT, at, link, stream=True)
        assert compared(heard) == compared(said["xai.grpc", "sync", "streamed"])
        with pytest.raises(BlockingIOError):
            listener.accept()
        # without the cassette, the same call does knock
        assert talk(SCRIPT, at, link, stream=True)[0].response.error is not None
        listener.accept()[0].close()
