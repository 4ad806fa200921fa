"""Item 28: `serve` counts what it has addresses for, lists models, answers pages, and keeps to what its help says."""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from click.testing import CliRunner

from tests.cassettes.library.making import interaction, made
from tests.support.programs import interruptible
from tests.support.traffic import chat_body
from toolparity.cassettes.emulated.servers import Servers, serving
from toolparity.cassettes.errors import RequestNotRecorded
from toolparity.cassettes.library import forget
from toolparity.cassettes.replay.http import application
from toolparity.cassettes.replay.response_index import ResponseIndex
from toolparity.cassettes.replay.rpc import ReplayedChat
from toolparity.cassettes.surfaces import SURFACES
from toolparity.cli import main

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


@pytest.fixture
def served(library: Path) -> Iterator[Servers]:
    deck = ResponseIndex(library)
    with serving(application(deck), ReplayedChat(deck)) as servers:
        yield servers


def test_responses_of_providers_without_an_address_are_listed_as_unserved(library: Path) -> None:
    deck = ResponseIndex(library)
    assert len(deck) == len(deck.origins) == 2
    assert deck.unserved == {"bedrock/openai.chat": 1, "acme/xai.grpc": 1}
    assert [surface.name for surface in deck.surfaces] == [*SURFACES, "deepseek/openai.chat"]


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


def test_a_library_without_any_address_is_an_error(tmp_path: Path) -> None:
    imported(tmp_path, "bedrock")
    result = CliRunner().invoke(main, ["serve", "--library", str(tmp_path / "library")])
    assert result.exit_code == 4
    assert (
        "no recorded response can be served: the providers have no address here: bedrock/openai.chat" in result.stderr
    )


def test_another_provider_is_served_at_its_base_url(served: Servers, library: Path) -> None:
    (other,) = (surface for surface in ResponseIndex(library).surfaces if surface.provider == "deepseek")
    client = openai.OpenAI(base_url=served.base(other), api_key="any", max_retries=0)
    answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hello?"}])
    assert answer.choices[0].message.tool_calls


# models


@pytest.fixture(scope="module")
def shipped() -> Iterator[Servers]:
    deck = ResponseIndex(scenarios=["single-call", "text-only"])
    with serving(application(deck), ReplayedChat(deck)) as servers:
        yield servers


@pytest.mark.parametrize("name", ["openai.chat", "openai.responses", "xai.chat", "xai.responses"])
def test_the_openai_sdk_lists_the_models(shipped: Servers, name: str) -> None:
    client = openai.OpenAI(base_url=shipped.base(SURFACES[name]), api_key="any", max_retries=0)
    assert SURFACES[name].model in [model.id for model in client.models.list()]
    assert client.models.retrieve(SURFACES[name].model).owned_by == SURFACES[name].provider
    with pytest.raises(openai.NotFoundError, match="unknown model: "):
        client.models.retrieve("other/model")


def test_the_anthropic_sdk_lists_the_models(shipped: Servers) -> None:
    at = SURFACES["anthropic.messages"]
    client = anthropic.Anthropic(base_url=shipped.base(at), api_key="any", max_retries=0)
    assert at.model in [model.id for model in client.models.list()]
    assert client.models.retrieve(at.model).type == "model"
    with pytest.raises(anthropic.NotFoundError, match="unknown model: "):
        client.models.retrieve("other")


@pytest.mark.parametrize("start", ["", "/scenario/text-only"])
def test_the_model_list_is_marked_as_emulated(shipped: Servers, start: str) -> None:
    with urllib.request.urlopen(f"{shipped.http_url}{start}/openai/v1/models") as answer:
        assert answer.headers["x-toolparity-origin"] == "emulated"
        assert json.loads(answer.read())["object"] == "list"


# pages


def asked_from(origin: str, url: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str]]:
    request_headers = {"Origin": origin, **{name.replace("_", "-"): value for name, value in headers.items()}}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=request_headers, method=method)) as answer:
            return answer.status, {name.lower(): value for name, value in answer.headers.items()}
    except urllib.error.HTTPError as error:
        with error:
            return error.code, {name.lower(): value for name, value in error.headers.items()}


@pytest.mark.parametrize("origin", ["http://localhost:3000", "http://127.0.0.1:5173", "https://localhost"])
def test_cors_allows_pages_from_the_local_machine(shipped: Servers, origin: str) -> None:
    url = shipped.base(SURFACES["openai.chat"]) + "/chat/completions"
    status, headers = asked_from(
        origin,
        url,
        "OPTIONS",
        Access_Control_Request_Method="POST",
        Access_Control_Request_Headers="authorization,content-type,x-stainless-lang",
    )
    assert (status, headers["access-control-allow-origin"]) == (200, origin)
    assert "x-stainless-lang" in headers["access-control-allow-headers"]
    _, headers = asked_from(origin, shipped.http_url + "/openai/v1/models")
    assert headers["access-control-allow-origin"] == origin
    assert "x-toolparity-origin" in headers["access-control-expose-headers"]
    status, headers = asked_from(origin, shipped.http_url + "/openai/v1/nothing")
    assert (status, headers["access-control-allow-origin"]) == (404, origin)


@pytest.mark.parametrize("origin", ["https://example.com", "http://localhost.example.com", "null"])
def test_cors_rejects_other_pages_unless_their_origin_is_allowed(library: Path, served: Servers, origin: str) -> None:
    url = "/openai/v1/models"
    assert "access-control-allow-origin" not in asked_from(origin, served.http_url + url)[1]
    deck = ResponseIndex(library)
    for allowed in ("*", origin):
        with serving(application(deck, origins=[allowed]), ReplayedChat(deck)) as servers:
            assert asked_from(origin, servers.http_url + url)[1]["access-control-allow-origin"] == allowed


# whatever it says


BODIES: list[Any] = [
    {},
    {"model": "any"},
    {"messages": None, "model": 1},
    {"messages": []},
    {"prompt": "hi", "temperature": "hot"},
    {"input": "hi"},
]


@pytest.mark.parametrize("name", list(SURFACES))
def test_a_request_without_messages_gets_the_response_of_the_first_round(name: str) -> None:
    at = SURFACES[name]
    deck = ResponseIndex(scenarios=["single-call"])
    for body in BODIES:
        data = json.dumps({"message": body} if at.wire == "xai.grpc" else body).encode()
        assert deck.find(at, data, stream=False, scenario="single-call").number == 0, body


@pytest.mark.parametrize("name", ["openai.responses", "xai.responses", "xai.grpc"])
def test_a_request_with_a_previous_response_id_gets_the_next_round(name: str) -> None:
    at = SURFACES[name]
    deck = ResponseIndex(scenarios=["single-call"])
    first = deck.find(at, json.dumps({"message": {}}).encode(), stream=False, scenario="single-call")
    printed = json.loads(first.answer)
    id = printed["messages"][0]["message"]["id"] if at.wire == "xai.grpc" else printed["id"]
    body = {"previous_response_id": id}
    data = json.dumps({"message": body} if at.wire == "xai.grpc" else body).encode()
    assert deck.find(at, data, stream=False, scenario="single-call").number == 1


@pytest.mark.parametrize("body", [b"", b"no JSON", b"[]", b'"x"', b'{"messages": "x"}'])
def test_an_unreadable_request_is_rejected(body: bytes) -> None:
    deck = ResponseIndex(scenarios=["single-call"])
    with pytest.raises(RequestNotRecorded, match="cannot be read"):
        deck.find(SURFACES["openai.chat"], body, stream=False, scenario="single-call")
