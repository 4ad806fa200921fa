"""The official SDKs for Node read through the proxy what they read without it, for every cassette."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.audit.proxy.conftest import Proxied
from tests.support.programs import needed
from tests.support.thoroughness import sampled
from toolparity.cassettes.emulated.servers import Servers
from toolparity.cassettes.library import find, load
from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.subjects.environments import cache

_PACKAGES = ("openai", "@anthropic-ai/sdk")
_WIRES = ("openai.chat", "openai.responses", "anthropic.messages")
#: Cassettes in the plain run.
_SAMPLE = 40
_SECONDS = 600.0


@pytest.fixture
def folder() -> Path:
    """The folder in which the SDKs are installed."""
    folder = cache() / "agents" / "node-sdks"
    if not all((folder / "node_modules" / package / "package.json").exists() for package in _PACKAGES):
        pytest.skip(f"the SDKs for Node are not installed: npm install --prefix {folder} {' '.join(_PACKAGES)}")
    return folder


def _requests() -> list[dict[str, Any]]:
    """Return the requests of the cassettes, each with the path of its surface."""
    paths = {(surface.provider, surface.wire): surface.base_path for surface in SURFACES.values()}
    places = [place for place in find() if place.wire in _WIRES]
    return [
        {"base": paths[place.provider, place.wire], "wire": place.wire, "body": json.loads(request.body)}
        for place in sampled(places, _SAMPLE)
        for request in load(place.path).requests
    ]


def _results(folder: Path, url: str, requests: list[dict[str, Any]]) -> list[Any]:
    program = Path(__file__).with_name("node_sdks.mjs")
    lines = "".join(json.dumps({**request, "base": url + request["base"]}) + "\n" for request in requests)
    command = [needed("node", what="Node"), str(program), str(folder)]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True, timeout=_SECONDS)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_sdks_for_node_read_every_cassette_through_the_proxy_as_without(
    folder: Path, providers: Servers, proxied: Proxied
) -> None:
    requests = _requests()
    direct = _results(folder, providers.http_url, requests)
    assert _results(folder, proxied.url, requests) == direct
    assert len(direct) == len(requests)
    assert sum("refused" in result[-1] for result in direct) < len(direct) / 8
