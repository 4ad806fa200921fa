"""`serve` counts what it has addresses for, lists models, answers pages, and keeps to what its help says."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from click.testing import CliRunner

from tests.cassettes.library.making import interaction, made
from tests.support.programs import interruptible
from tests.support.traffic import chat_body
from toolparity.cassettes.errors import RequestNotRecorded
from toolparity.cassettes.library import forget
from toolparity.cassettes.replay.response_index import ResponseIndex
from toolparity.cassettes.surfaces import SURFACES
from toolparity.cli import main

from .conftest import Server, running, sent_body

CHAT = SURFACES["openai.chat"]
IMPORTED = dict.fromkeys(("surface", "sdk", "sdk_version", "scenario", "scenario_hash", "ran_by"))


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


def test_another_provider_is_served_at_its_base_url(library: Path) -> None:
    index = ResponseIndex(library)
    assert len(index) == len(index.origins) == 2
    assert index.unserved == {"bedrock/openai.chat": 1, "acme/xai.grpc": 1}
    assert [surface.name for surface in index.surfaces] == [*SURFACES, "deepseek/openai.chat"]
    with running(index) as server:
        client = openai.OpenAI(base_url=server.servers.base(index.surfaces[-1]), api_key="any", max_retries=0)
        answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hello?"}])
    assert answer.choices[0].message.tool_calls


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
