"""Recorded answers served as if they came from the providers: the SDKs read what was recorded, however it is cut."""

from __future__ import annotations

import base64
import json
import signal
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import openai
import pytest
from click.testing import CliRunner

from tests.cassettes.library.making import made, rewritten
from tests.cassettes.recorder.talking import talk
from tests.support.programs import interruptible
from toolparity.cassettes.chunking import CHUNKINGS
from toolparity.cassettes.cli.serve import command
from toolparity.cassettes.emulated.servers import Servers, serving
from toolparity.cassettes.errors import RequestNotRecorded
from toolparity.cassettes.library import load, path_for
from toolparity.cassettes.recorder.record import emulated
from toolparity.cassettes.recorder.sdks import Link
from toolparity.cassettes.replay.http import application
from toolparity.cassettes.replay.response_index import ResponseIndex
from toolparity.cassettes.replay.rpc import ReplayedChat
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import SURFACES
from toolparity.cli import main

pytestmark = pytest.mark.service("cassettes/cli/serve.py", "cassettes/replay")

SCRIPT = scripts()["parallel-three"]


@pytest.fixture(scope="module")
def deck() -> ResponseIndex:
    return ResponseIndex()


@pytest.fixture(scope="module")
def served(deck: ResponseIndex) -> Iterator[Servers]:
    with serving(application(deck), ReplayedChat(deck)) as servers:
        yield servers


@pytest.mark.thorough(keep=6)
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("name", SURFACES)
def test_an_sdk_reads_the_recorded_conversation(served: Servers, name: str, stream: bool) -> None:
    surface = SURFACES[name]
    received = talk(SCRIPT, surface, emulated(surface, served.base(surface)).link, stream=stream)
    recorded = load(path_for(name, SCRIPT.id, stream)).exchanges
    assert len(received) == len(recorded) == 2
    assert [call.name for call in received[0].response.calls] == ["get_weather", "get_weather", "list_events"]
    assert received[1].response.choices[0].text == SCRIPT.rounds[1].parts[0].text  # type: ignore[union-attr]


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("chunking", CHUNKINGS)
def test_a_streamed_body_is_the_recorded_one_however_it_is_cut(deck: ResponseIndex, chunking: str) -> None:
    (first, *_) = load(path_for("openai.chat", SCRIPT.id, stream=True)).interactions
    with serving(application(deck, chunking=chunking), ReplayedChat(deck)) as servers:
        url = servers.base(SURFACES["openai.chat"]) + "/chat/completions"
        request = urllib.request.Request(url, first["request"]["body"].encode(), {"content-type": "application/json"})
        with urllib.request.urlopen(request) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            body = response.read()
    recorded = first["response"]["body"]["string"]
    assert body == (recorded if isinstance(recorded, bytes) else recorded.encode())


@pytest.mark.parametrize("how", CHUNKINGS)
@pytest.mark.parametrize("data", [b"", b"a", "data: \u00e9\u20ac\U0001f600\n\n".encode() * 5, b"no event at all"])
def test_no_way_of_cutting_loses_a_byte(how: str, data: bytes) -> None:
    assert b"".join(CHUNKINGS[how](data)) == data


def test_hostile_cuts_go_through_characters_and_events() -> None:
    data = "data: \u20ac\n\n".encode() * 4
    assert all(len(piece) == 1 for piece in CHUNKINGS["bytes"](data))
    with pytest.raises(UnicodeDecodeError):
        CHUNKINGS["utf8"](data)[0].decode()
    assert CHUNKINGS["merged"](data)[0].count(b"\n\n") == 3


def test_a_scenario_that_is_named_answers_whatever_is_asked(served: Servers) -> None:
    client = openai.OpenAI(
        base_url=served.http_url + "/scenario/parallel-three/openai/v1", api_key="any", max_retries=0
    )
    first = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "in words of my own"}])
    assert [call.function.name for call in first.choices[0].message.tool_calls or []] == [  # type: ignore[union-attr]
        "get_weather",
        "get_weather",
        "list_events",
    ]
    history: list[Any] = [
        {"role": "user", "content": "in words of my own"},
        first.choices[0].message.model_dump(exclude_none=True),
        *({"role": "tool", "tool_call_id": c.id, "content": "-"} for c in first.choices[0].message.tool_calls or []),
    ]
    second = client.chat.completions.create(model="m", messages=history)
    assert second.choices[0].message.content == SCRIPT.rounds[1].parts[0].text  # type: ignore[union-attr]


def test_a_request_that_lost_a_field_gets_no_answer_but_what_it_lacks(served: Servers) -> None:
    body = json.loads(load(path_for("openai.chat", SCRIPT.id, stream=False)).interactions[0]["request"]["body"])
    del body["tools"][1]
    url = served.base(SURFACES["openai.chat"]) + "/chat/completions"
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    with refused.value as answer:
        answered = json.loads(answer.read())["error"]
    assert answer.code == 404
    assert answered["type"] == "not_recorded"
    assert "parallel-three.yaml#1" in answered["message"]
    assert "tools[1]: removed" in answered["message"]


def test_a_miss_names_what_is_not_there(deck: ResponseIndex) -> None:
    with pytest.raises(RequestNotRecorded, match="unknown scenario: 'nowhere' \\(one of "):
        deck.find(SURFACES["openai.chat"], b"{}", stream=False, scenario="nowhere")
    with pytest.raises(RequestNotRecorded, match="cannot be read"):
        deck.find(SURFACES["openai.chat"], b"[]", stream=False, scenario="text-only")
    body = b'{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y"}]}'
    with pytest.raises(RequestNotRecorded, match="has 1 rounds"):
        deck.find(SURFACES["openai.chat"], body, stream=False, scenario="text-only")


def test_the_command_prints_its_addresses_and_serves_until_it_is_ended() -> None:
    with interruptible([sys.executable, "-m", "toolparity", "serve", "text-only"]) as process:
        assert process.stdout is not None
        answered = dict(process.stdout.readline().rstrip("\n").split("\t") for _ in SURFACES)
        assert answered.keys() == SURFACES.keys()
        assert all("127.0.0.1" in address for address in answered.values())
        received = talk(
            scripts()["text-only"], SURFACES["openai.chat"], Link(answered["openai.chat"], "any"), stream=False
        )
        assert received[0].response.choices[0].text == "The capital of Portugal is Lisbon."
        process.send_signal(signal.SIGINT)
        _, printed = process.communicate(timeout=20)
    assert process.returncode == 130
    count = len(SURFACES) * 2  # plain and streamed
    assert f"{count} recorded responses: {count} emulated; interrupt to stop" in printed


def test_the_command_serves_no_empty_library(tmp_path: Any) -> None:
    ended = CliRunner().invoke(main, ["serve", "--library", str(tmp_path)])
    assert ended.exit_code == 4
    assert "the library has no recorded response" in ended.stderr


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["text-only", "zz-typo"], "unknown scenario in the library: 'zz-typo'; known: "),
        (["--port", "65536"], "65536 is not in the range"),
        (["--port", "-1"], "-1 is not in the range"),
        (["--grpc-port", "70000"], "70000 is not in the range"),
        (["--delay", "-1"], "-1.0 is not in the range"),
        (["--delay", "inf"], "inf is not in the range"),
        (["--delay", "nan"], "the delay must be a number"),
    ],
)
def test_the_command_refuses_what_it_cannot_serve(given: list[str], message: str) -> None:
    ended = CliRunner().invoke(command, given)
    assert ended.exit_code == 2
    assert message in " ".join(ended.output.split())


def test_a_scenario_that_is_not_there_is_answered_with_those_that_are(served: Servers) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        post(served.http_url + "/scenario/nope/openai/v1/chat/completions", b"{}")
    with refused.value as answer:
        answered = json.loads(answer.read())["error"]["message"]
    assert "unknown scenario: 'nope' (one of " in answered
    assert "parallel-three" in answered


def post(url: str, body: bytes) -> Any:
    return urllib.request.urlopen(urllib.request.Request(url, body, {"content-type": "application/json"}))


@pytest.mark.parametrize("before", ["", "/scenario/text-only"])
@pytest.mark.parametrize(
    ("path", "members"),
    [
        ("/openai/v1/foo", {"error"}),
        ("/anthropic/v1/foo", {"type", "error", "request_id"}),
        ("/xai/v1/foo", {"code", "error"}),
    ],
)
def test_a_path_that_no_provider_has_is_refused_in_its_own_shape(
    served: Servers, before: str, path: str, members: set[str]
) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        post(served.http_url + before + path, b"{}")
    with refused.value as answer:
        assert (answer.code, answer.headers["content-type"]) == (404, "application/json")
        answered = json.loads(answer.read())
    assert answered.keys() <= members
    assert "error" in answered


@pytest.mark.parametrize("origin", ["live", "emulated", "imported"])
def test_every_answer_has_its_origin_and_its_cassette_in_headers(tmp_path: Path, origin: str) -> None:
    path = made(tmp_path, origin=origin)
    deck = ResponseIndex(tmp_path)
    assert deck.origins == [origin]
    with serving(application(deck), ReplayedChat(deck)) as servers:
        url = servers.base(SURFACES["openai.chat"]) + "/chat/completions"
        with post(url, load(path).interactions[0]["request"]["body"].encode()) as answer:
            assert answer.headers.get_all("x-toolparity-origin") == [origin]
            assert answer.headers["x-toolparity-cassette"] == "openai/openai.chat/single-call.yaml#1"


def test_a_cassette_without_an_origin_is_served_as_unknown(tmp_path: Path) -> None:
    rewritten(made(tmp_path), lambda content: content.pop("metadata"))
    assert ResponseIndex(tmp_path).origins == ["unknown"]


def recorded_call(stream: bool) -> bytes:
    body = load(path_for("xai.grpc", SCRIPT.id, stream=stream)).interactions[0]["request"]["body"]
    return base64.b64decode(json.loads(body)["serialized"])


@pytest.mark.parametrize(("method", "stream"), [("GetCompletion", False), ("GetCompletionChunk", True)])
def test_a_grpc_answer_has_its_origin_and_an_unknown_field_finds_none(
    served: Servers, method: str, stream: bool
) -> None:
    sent = recorded_call(stream)
    with grpc.insecure_channel(served.grpc_address) as channel:
        make = channel.unary_stream if stream else channel.unary_unary
        call = make(f"/xai_api.Chat/{method}", request_serializer=None, response_deserializer=None)

        def ask(data: bytes) -> dict[str, Any]:
            if stream:
                found = call(data, timeout=20)
                assert list(found)
            else:
                _, found = call.with_call(data, timeout=20)
            return dict(found.initial_metadata())

        answered = ask(sent)
        assert answered["x-toolparity-origin"] == "emulated"
        end = ".stream.yaml#1" if stream else ".yaml#1"
        assert answered["x-toolparity-cassette"] == f"xai/xai.grpc/{SCRIPT.id}{end}"
        with pytest.raises(grpc.RpcError) as refused:
            ask(sent + b"\xfa\x3e\x03abc")
        assert refused.value.code() is grpc.StatusCode.NOT_FOUND  # type: ignore[attr-defined]
        assert "unknown_fields" in refused.value.details()  # type: ignore[attr-defined]
