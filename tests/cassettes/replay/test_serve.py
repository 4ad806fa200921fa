"""Recorded answers served as if they came from the providers: conversations, models, pages, and requests that miss."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import grpc
import openai
import pytest
from click.testing import CliRunner

from tests.cassettes.library.making import interaction, made, rewritten
from tests.cassettes.recorder.talking import talk
from tests.support.programs import interruptible
from tests.support.traffic import chat_body
from toolparity.cassettes.chunking import CHUNKINGS
from toolparity.cassettes.errors import RequestNotRecorded
from toolparity.cassettes.library import forget, load, path_for
from toolparity.cassettes.recorder.record import emulated
from toolparity.cassettes.recorder.sdks import Link
from toolparity.cassettes.replay.response_index import ResponseIndex
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import SURFACES
from toolparity.cli import main

from .conftest import Server, answer_body, running, sent_body
from .test_grpc import recorded_request

_SERVICE = pytest.mark.service("cassettes/cli/serve.py", "cassettes/replay")

SCRIPT = scripts()["parallel-three"]
ANSWER: str = SCRIPT.rounds[1].parts[0].text  # type: ignore[union-attr]
CALLS = ["get_weather", "get_weather", "list_events"]
CHAT = SURFACES["openai.chat"]
IMPORTED = dict.fromkeys(("surface", "sdk", "sdk_version", "scenario", "scenario_hash", "ran_by"))


@pytest.fixture(scope="module")
def served(index: ResponseIndex) -> Iterator[Server]:
    with running(index) as server:
        yield server


def imported(root: Path, provider: str, wire: str = "openai.chat") -> None:
    """A cassette of a provider that is not ours, at its place."""
    path = made(root / "made", interaction(chat_body("f")), origin="imported", provider=provider, **IMPORTED)
    into = root / "library" / provider / wire / "found.yaml"
    into.parent.mkdir(parents=True)
    path.rename(into)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    forget()
    made(tmp_path / "library")
    imported(tmp_path, "deepseek")
    imported(tmp_path, "bedrock")
    imported(tmp_path, "acme", "xai.grpc")
    return tmp_path / "library"


# Conversations


@_SERVICE
@pytest.mark.thorough(keep=6)
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("name", SURFACES)
def test_an_sdk_reads_the_recorded_conversation(served: Server, name: str, stream: bool) -> None:
    """At the base URL that is printed, and at the root, which is not that of xAI."""
    surface = SURFACES[name]
    bases = [
        served.servers.base(surface),
        *([served.url + surface.spec.base_path] if surface.provider != "xai" else []),
    ]
    for base in bases:
        received = talk(SCRIPT, surface, emulated(surface, base).link, stream=stream)
        assert len(received) == len(load(path_for(name, SCRIPT.id, stream)).exchanges) == 2
        assert [call.name for call in received[0].response.calls] == CALLS
        assert received[1].response.choices[0].text == ANSWER


@_SERVICE
@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("chunking", CHUNKINGS)
def test_a_streamed_body_is_the_recorded_one_in_any_pieces(index: ResponseIndex, chunking: str) -> None:
    with running(index, chunking=chunking) as server:
        answer = server.post("/v1/chat/completions", sent_body("openai.chat", True))
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.body == answer_body("openai.chat", True)
    for data in (b"", b"a", "data: \u00e9\u20ac\U0001f600\n\n".encode() * 5, b"no event at all"):
        assert b"".join(CHUNKINGS[chunking](data)) == data


def test_hostile_cuts_go_through_characters_and_events() -> None:
    data = "data: \u20ac\n\n".encode() * 4
    assert all(len(piece) == 1 for piece in CHUNKINGS["bytes"](data))
    with pytest.raises(UnicodeDecodeError):
        CHUNKINGS["utf8"](data)[0].decode()
    assert CHUNKINGS["merged"](data)[0].count(b"\n\n") == 3


@_SERVICE
def test_a_scenario_that_is_named_answers_any_request(served: Server) -> None:
    client = openai.OpenAI(base_url=f"{served.url}/scenario/parallel-three/openai/v1", api_key="any", max_retries=0)
    history: list[Any] = [{"role": "user", "content": "in words of my own"}]
    first = client.chat.completions.create(model="m", messages=history).choices[0].message
    calls: list[Any] = first.tool_calls or []
    assert [call.function.name for call in calls] == CALLS
    history.append(first.model_dump(exclude_none=True))
    history += [{"role": "tool", "tool_call_id": call.id, "content": "-"} for call in calls]
    assert client.chat.completions.create(model="m", messages=history).choices[0].message.content == ANSWER


def test_another_provider_is_served_at_its_base_url(library: Path) -> None:
    index = ResponseIndex(library)
    assert len(index) == len(index.origins) == 2
    assert index.unserved == {"bedrock/openai.chat": 1, "acme/xai.grpc": 1}
    assert [surface.name for surface in index.surfaces] == [*SURFACES, "deepseek/openai.chat"]
    with running(index) as server:
        client = openai.OpenAI(base_url=server.servers.base(index.surfaces[-1]), api_key="any", max_retries=0)
        answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hello?"}])
    assert answer.choices[0].message.tool_calls


@_SERVICE
@pytest.mark.parametrize("origin", ["live", "emulated", "imported", "unknown"])
def test_every_answer_has_its_origin_and_its_cassette_in_headers(tmp_path: Path, origin: str) -> None:
    path = made(tmp_path, **({} if origin == "unknown" else {"origin": origin}))
    body = load(path).interactions[0]["request"]["body"].encode()
    if origin == "unknown":
        rewritten(path, lambda content: content.pop("metadata"))
    index = ResponseIndex(tmp_path)
    assert index.origins == [origin]
    if origin != "unknown":
        with running(index) as server:
            answer = server.post("/openai/v1/chat/completions", body)
        assert answer.headers["x-toolparity-origin"] == origin
        assert answer.headers["x-toolparity-cassette"] == "openai/openai.chat/single-call.yaml#1"


@_SERVICE
@pytest.mark.parametrize(("method", "stream"), [("GetCompletion", False), ("GetCompletionChunk", True)])
def test_a_grpc_answer_has_its_origin_and_an_unknown_field_finds_none(
    served: Server, method: str, stream: bool
) -> None:
    sent = recorded_request(stream)
    with grpc.insecure_channel(served.servers.grpc_address) as channel:
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


# Requests that miss


def test_a_miss_names_what_is_not_there(served: Server, index: ResponseIndex) -> None:
    refused = served.post("/scenario/nowhere/v1/chat/completions", b"{}").json["error"]
    assert "unknown scenario: 'nowhere' (one of parallel-three, " in refused["message"]
    body = b'{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y"}]}'
    with pytest.raises(RequestNotRecorded, match="has 1 rounds"):
        index.find(CHAT, body, stream=False, scenario="text-only")
    for body in (b"", b"no JSON", b"[]", b'"x"', b'{"messages": "x"}'):
        with pytest.raises(RequestNotRecorded, match="cannot be read"):
            index.find(CHAT, body, stream=False, scenario="single-call")
    lost = json.loads(sent_body("openai.chat", False))
    del lost["tools"][1]
    answer = served.post("/openai/v1/chat/completions", json.dumps(lost).encode())
    assert (answer.status, answer.json["error"]["type"]) == (404, "not_recorded")
    assert "parallel-three.yaml#1" in answer.json["error"]["message"]
    assert "tools[1]: removed" in answer.json["error"]["message"]


@_SERVICE
@pytest.mark.parametrize("path", ["/openai/v1/foo", "/anthropic/v1/foo", "/xai/v1/foo"])
def test_a_path_that_no_provider_has_is_refused_in_the_form_of_the_provider(served: Server, path: str) -> None:
    members = {"openai": {"error"}, "anthropic": {"type", "error", "request_id"}, "xai": {"code", "error"}}
    for before in ("", "/scenario/text-only"):
        answer = served.post(before + path, b"{}")
        assert (answer.status, answer.headers["content-type"]) == (404, "application/json")
        assert {"error"} <= answer.json.keys() <= members[path.split("/")[1]]


def asked(name: str, body: dict[str, Any]) -> bytes:
    return json.dumps({"message": body} if name == "xai.grpc" else body).encode()


@pytest.mark.parametrize("name", list(SURFACES))
def test_a_request_without_messages_gets_the_response_of_the_first_round(index: ResponseIndex, name: str) -> None:
    bodies: list[Any] = [{}, {"model": "any"}, {"messages": None, "model": 1}, {"messages": []}, {"input": "hi"}]
    for body in [*bodies, {"prompt": "hi", "temperature": "hot"}]:
        found = index.find(SURFACES[name], asked(name, body), stream=False, scenario="single-call")
        assert found.number == 0, body


@pytest.mark.parametrize("name", ["openai.responses", "xai.responses", "xai.grpc"])
def test_a_request_with_a_previous_response_id_gets_the_next_round(index: ResponseIndex, name: str) -> None:
    first = index.find(SURFACES[name], asked("xai.grpc", {}), stream=False, scenario="single-call")
    printed = json.loads(first.answer)
    id = printed["messages"][0]["message"]["id"] if name == "xai.grpc" else printed["id"]
    body = asked(name, {"previous_response_id": id})
    assert index.find(SURFACES[name], body, stream=False, scenario="single-call").number == 1


# Models and pages


def test_an_sdk_lists_the_models(served: Server) -> None:
    for name in ("openai.chat", "openai.responses", "xai.chat", "xai.responses", "anthropic.messages"):
        at = SURFACES[name]
        sdk: Any = anthropic.Anthropic if at.provider == "anthropic" else openai.OpenAI
        models = sdk(base_url=served.servers.base(at), api_key="any", max_retries=0).models
        assert at.model in [model.id for model in models.list()]
        found = models.retrieve(at.model)
        assert found.type == "model" if at.provider == "anthropic" else found.owned_by == at.provider
        with pytest.raises((openai.NotFoundError, anthropic.NotFoundError), match="unknown model: "):
            models.retrieve("other/model")


@pytest.mark.parametrize("start", ["", "/scenario/text-only"])
def test_the_model_list_is_marked_as_emulated(served: Server, start: str) -> None:
    answer = served.request("GET", f"{start}/openai/v1/models")
    assert (answer.headers["x-toolparity-origin"], answer.json["object"]) == ("emulated", "list")


def test_cors_allows_pages_from_the_local_machine(served: Server) -> None:
    preflight = {"access_control_request_method": "POST"}
    preflight["access_control_request_headers"] = "authorization,content-type,x-stainless-lang"
    for origin in ("http://localhost:3000", "http://127.0.0.1:5173", "https://localhost"):
        answer = served.request("OPTIONS", "/openai/v1/chat/completions", None, origin=origin, **preflight)
        assert (answer.status, answer.headers["access-control-allow-origin"]) == (200, origin)
        assert "x-stainless-lang" in answer.headers["access-control-allow-headers"]
        for path, status in (("/openai/v1/models", 200), ("/openai/v1/nothing", 404)):
            answer = served.request("GET", path, origin=origin)
            assert (answer.status, answer.headers["access-control-allow-origin"]) == (status, origin)
            assert "x-toolparity-origin" in answer.headers["access-control-expose-headers"]


def test_cors_rejects_other_pages_unless_their_origin_is_allowed(served: Server, index: ResponseIndex) -> None:
    origins = ("https://example.com", "http://localhost.example.com", "null")
    for origin in origins:
        assert "access-control-allow-origin" not in served.request("GET", "/openai/v1/models", origin=origin).headers
    for allowed in ("*", *origins):
        with running(index, origins=[allowed]) as server:
            origin = origins[0] if allowed == "*" else allowed
            headers = server.request("GET", "/openai/v1/models", origin=origin).headers
        assert headers["access-control-allow-origin"] == allowed


# The command


@_SERVICE
def test_the_command_prints_its_addresses_and_serves_until_it_is_ended() -> None:
    with interruptible([sys.executable, "-m", "toolparity", "serve", "text-only"]) as process:
        assert process.stdout is not None
        answered = dict(process.stdout.readline().rstrip("\n").split("\t") for _ in SURFACES)
        assert answered.keys() == SURFACES.keys()
        assert all("127.0.0.1" in address for address in answered.values())
        received = talk(scripts()["text-only"], CHAT, Link(answered["openai.chat"], "any"), stream=False)
        assert received[0].response.choices[0].text == "The capital of Portugal is Lisbon."
        process.send_signal(signal.SIGINT)
        _, printed = process.communicate(timeout=20)
    assert process.returncode == 130
    count = len(SURFACES) * 2  # plain and streamed
    assert f"{count} recorded responses: {count} emulated; interrupt to stop" in printed


@pytest.mark.thorough
def test_the_serve_command_reports_unserved_responses(library: Path) -> None:
    with interruptible([sys.executable, "-m", "toolparity", "serve", "--library", str(library)]) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        lines = [process.stdout.readline() for _ in range(len(SURFACES) + 1)]
        assert lines[-1].startswith("deepseek/openai.chat\thttp://127.0.0.1:")
        assert lines[-1].endswith("/deepseek/v1\n")
        printed = [process.stderr.readline() for _ in range(3)]
    assert printed[-1] == "2 recorded responses: 1 emulated, 1 imported; interrupt to stop\n"
    assert "1 recorded responses of acme/xai.grpc are not served: the provider has no address here\n" in printed


def test_the_command_serves_no_library_without_a_response_at_an_address(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    imported(tmp_path, "bedrock")
    for name, message in {
        "empty": "the library has no recorded response",
        "library": "no recorded response can be served: the providers have no address here: bedrock/openai.chat",
    }.items():
        ended = CliRunner().invoke(main, ["serve", "--library", str(tmp_path / name)])
        assert ended.exit_code == 4
        assert message in ended.stderr
