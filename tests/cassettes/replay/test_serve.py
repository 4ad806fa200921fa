"""Recorded answers served as if they came from the providers: the SDKs read the recording, in any pieces."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

import grpc
import openai
import pytest

from tests.cassettes.library.making import made, rewritten
from tests.cassettes.recorder.talking import talk
from tests.support.programs import interruptible
from toolparity.cassettes.chunking import CHUNKINGS
from toolparity.cassettes.library import load, path_for
from toolparity.cassettes.recorder.record import emulated
from toolparity.cassettes.recorder.sdks import Link
from toolparity.cassettes.replay.response_index import ResponseIndex
from toolparity.cassettes.scripts import probe_scripts, scripts
from toolparity.cassettes.surfaces import SURFACES

from .conftest import Server, answer_body, running, sent_body
from .test_grpc import recorded_request

pytestmark = pytest.mark.service("cassettes/cli/serve.py", "cassettes/replay")

SCRIPT = scripts()["parallel-three"]
ANSWER: str = SCRIPT.rounds[1].parts[0].text  # type: ignore[union-attr]
CALLS = ["get_weather", "get_weather", "list_events"]
CHAT = SURFACES["openai.chat"]


@pytest.mark.thorough(keep=6)
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("name", SURFACES)
def test_an_sdk_reads_the_recorded_conversation(served: Server, name: str, stream: bool) -> None:
    """At the base URL that is printed, and at the root, which is not that of xAI."""
    surface = SURFACES[name]
    root = [] if surface.provider == "xai" else [served.url + surface.spec.base_path]
    for base in (served.servers.base(surface), *root):
        received = talk(SCRIPT, surface, emulated(surface, base).link, stream=stream)
        assert len(received) == len(load(path_for(name, SCRIPT.id, stream)).exchanges) == 2
        assert [call.name for call in received[0].response.calls] == CALLS
        assert received[1].response.choices[0].text == ANSWER


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


def test_a_scenario_that_is_named_answers_any_request(served: Server) -> None:
    client = openai.OpenAI(base_url=f"{served.url}/scenario/parallel-three/openai/v1", api_key="any", max_retries=0)
    history: list[Any] = [{"role": "user", "content": "in words of my own"}]
    first = client.chat.completions.create(model="m", messages=history).choices[0].message
    calls: list[Any] = first.tool_calls or []
    assert [call.function.name for call in calls] == CALLS
    history.append(first.model_dump(exclude_none=True))
    history += [{"role": "tool", "tool_call_id": call.id, "content": "-"} for call in calls]
    assert client.chat.completions.create(model="m", messages=history).choices[0].message.content == ANSWER


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


@pytest.mark.parametrize("path", ["/openai/v1/foo", "/anthropic/v1/foo", "/xai/v1/foo"])
def test_a_path_that_no_provider_has_is_refused_in_the_form_of_the_provider(served: Server, path: str) -> None:
    members = {"openai": {"error"}, "anthropic": {"type", "error", "request_id"}, "xai": {"code", "error"}}
    for before in ("", "/scenario/text-only"):
        answer = served.post(before + path, b"{}")
        assert (answer.status, answer.headers["content-type"]) == (404, "application/json")
        assert {"error"} <= answer.json.keys() <= members[path.split("/")[1]]


@pytest.mark.parametrize("name", [name for name, surface in SURFACES.items() if not surface.by_messages])
def test_a_body_that_is_not_an_object_gets_the_providers_400(served: Server, name: str) -> None:
    at = SURFACES[name]
    path = (at.base_path + at.spec.path).replace("{model}", "m")
    for body in (b'{"mod', b"[]", b""):
        answer = served.post(path, body)
        assert (answer.status, b"JSON body" in answer.body) == (400, True), answer.body


def test_what_nothing_answers_is_made_up_and_a_conversation_is_compacted() -> None:
    member = {"type": "array", "minItems": 1, "items": {"enum": ["a", "b"]}}
    schema = {"type": "object", "properties": {"city": {"$ref": "#/$defs/list"}}, "required": ["city"]}
    tools = [{"type": "function", "name": name, "parameters": {**schema, "$defs": {"list": member}}} for name in "xyz"]
    only_y = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "y"}]}
    asked = {"model": "gpt-5", "input": "Invent something.", "tools": tools}
    continued = {"previous_response_id": "resp_1", "text": {"format": {"type": "json_object"}}}
    with running(ResponseIndex(scenarios=["text-only"], improvises=True)) as server:
        for choice, name in (("auto", "x"), ("none", None), (only_y, "y")):
            body = {**asked, **continued, "tool_choice": choice}
            item = server.post("/v1/responses", json.dumps(body).encode()).json["output"][-1]
            assert item.get("content", [{"text": "{}"}])[0]["text"] == "{}"
            assert (item["type"] == "message", item.get("name")) == (name is None, name)
            assert item.get("arguments", '{"city":["a"]}') == '{"city":["a"]}'
        native = {"type": "ARRAY", "minItems": 9**9, "items": {"type": "STRING", "minLength": "3"}}
        config = {"responseMimeType": "application/json", "responseSchema": native}
        gemini = {"contents": [{"parts": [{"text": "Invent."}], "role": "user"}], "generationConfig": config}
        answer = server.post("/v1beta/models/gemini-2.5-flash:generateContent", json.dumps(gemini).encode())
        assert (b'[\\"made up\\",' in answer.body, len(answer.body) < 1e6) == (True, True), answer.body[:999]
        del asked["model"]
        for path in ("", "/compact"):
            assert server.post(f"/v1/responses{path}", json.dumps(asked).encode()).status == 400
        compacted = server.post("/v1/responses/compact", json.dumps({**asked, "model": "gpt-5"}).encode()).json
        assert [item["type"] for item in compacted["output"]] == ["message", "compaction"]


def test_scripts_are_played_where_nothing_is_recorded() -> None:
    script = probe_scripts()["two-rounds"]
    with running(ResponseIndex(scenarios=["text-only"], scripts={script.id: script})) as server:
        link = Link(server.servers.base(CHAT), "any")
        for stream in (False, True):
            assert [len(one.response.calls) for one in talk(script, CHAT, link, stream=stream)] == [1, 1, 0]
        assert server.post("/scenario/single-call/v1/chat/completions", b"{}").status == 404
        counted = server.post("/v1/messages/count_tokens", sent_body("anthropic.messages", False))
        assert (counted.status, counted.json.keys()) == (200, {"input_tokens"})
        refused = [server.post(path, b"{}").status for path in ("/api/show", "/v2/embed", "/v1/embeddings")]
        assert refused == [404, 404, 404]


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
