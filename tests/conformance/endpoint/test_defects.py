"""Each planted defect is found by the check that names it; addresses, rates and the table of checks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.endpoint import run
from toolparity.conformance.endpoint.address import endpoint
from toolparity.conformance.endpoint.checks import CHECKS
from toolparity.conformance.endpoint.errors import EndpointFailed
from toolparity.conformance.endpoint.llm_comply import DEPARTURES
from toolparity.conformance.endpoint.probes import Probe, default_probes
from toolparity.conformance.endpoint.rates import Pairs, Rate, difference
from toolparity.conformance.endpoint.report import Verification

from .defects import CONSEQUENCES, DEFECTS, WIRES, Defect, probe, serving_with

pytestmark = pytest.mark.service("conformance/endpoint")

_ALL = dict.fromkeys(CHECKS, 1.0)


def _verify(defect: Defect | None, surface: str, probes: tuple[Probe, ...]) -> Verification:
    with serving_with(defect) as endpoint_of:
        target = endpoint_of(surface)
        settings = run.Settings(
            SURFACES[surface].model, _ALL, target.headers("any-key"), repetitions=1, jobs=2, timeout=20.0
        )
        return run.run(target, run.plan(target.wire, probes, settings), settings)


def _cases() -> Iterator[tuple[str, str]]:
    yield from ((name, wire) for name, defect in DEFECTS.items() for wire in defect.wires)


@pytest.mark.thorough(keep=1, per="{name}")
@pytest.mark.parametrize(("name", "surface"), list(_cases()))
def test_each_defect_is_found(name: str, surface: str) -> None:
    defect = DEFECTS[name]
    result = _verify(defect, surface, (probe(defect.probe),))
    failed = {check.check: check for check in result.failed}
    assert defect.check in failed, f"found only {list(failed)}"
    assert failed.keys() <= {defect.check} | CONSEQUENCES.get(defect.check, set())
    modes = {counted.mode for counted in failed[defect.check].counted if counted.passed < counted.judged}
    assert modes >= defect.modes_on(surface), failed[defect.check].reasons


@pytest.mark.parametrize("surface", [*WIRES, "google.interactions", "cohere.chat", "ollama.chat", "bedrock.converse"])
def test_a_correct_endpoint_has_no_defect(surface: str) -> None:
    result = _verify(None, surface, default_probes())
    assert not result.failed, [(check.check, check.reasons) for check in result.failed]
    judged = {check.check for check in result.checks if check.judged}
    assert judged >= {
        "answered",
        "history",
        "refusal",
        "triggered",
        "calls",
        "parallel",
        "values",
        "alike",
        "stream-end",
    }


def test_every_check_has_a_defect_that_only_it_must_find() -> None:
    assert {defect.check for defect in DEFECTS.values()} == set(CHECKS)


_DOCS = Path(__file__).parents[3] / "docs" / "pages"


#: URL, wire -> the path of a request, "?" in front of that of a stream.
PATHS = {
    ("http://localhost:8000", "openai.chat"): "/v1/chat/completions",
    ("https://api.groq.com/openai/v1/", "openai.chat"): "/openai/v1/chat/completions",
    ("https://a.example/api/v3/chat/completions", "openai.chat"): "/api/v3/chat/completions",
    ("https://api.openai.com/v1", "openai.responses"): "/v1/responses",
    ("https://api.anthropic.com", "anthropic.messages"): "/v1/messages",
    ("https://a.example/anthropic/v1", "anthropic.messages"): "/anthropic/v1/messages",
    ("https://g.example", "google.gemini"): "/v1beta/models/a%2Fb:generateContent",
    ("https://g.example/v1", "google.gemini"): "?/v1/models/a%2Fb:streamGenerateContent?alt=sse",
    ("https://g.example", "google.interactions"): "/v1beta/interactions",
    ("http://localhost:11434", "ollama.chat"): "/api/chat",
    ("https://api.cohere.com", "cohere.chat"): "/v2/chat",
    ("https://b.example", "bedrock.converse"): "?/model/a%2Fb/converse-stream",
}


def test_requests_go_to_the_path_of_the_wire_below_the_url() -> None:
    for (url, wire), path in PATHS.items():
        assert endpoint(url, wire).path("a/b", stream=path.startswith("?")) == path.removeprefix("?"), url


def test_a_password_and_a_key_become_headers_and_are_not_in_the_address_or_an_error() -> None:
    target = endpoint("https://user:secret@a.example/v1", "openai.chat")
    assert "secret" not in target.url
    assert target.headers("")["authorization"] == "Basic dXNlcjpzZWNyZXQ="
    with pytest.raises(EndpointFailed, match="the URL has a query") as refused:
        endpoint("https://a.example/v1?key=secret", "openai.chat")
    assert "secret" not in str(refused.value)
    keys = {"openai.chat": "authorization", "anthropic.messages": "x-api-key", "google.gemini": "x-goog-api-key"}
    for wire, header in keys.items():
        headers = endpoint("http://a.example", wire).headers("the-key")
        assert [name for name, value in headers.items() if "the-key" in value] == [header]


def test_the_interval_is_wilsons_and_that_of_no_observation_is_unknown() -> None:
    # R. G. Newcombe, Statistics in Medicine 17 (1998), table I, method 3
    table = {
        (81, 263): (0.2553, 0.3662),
        (15, 148): (0.0624, 0.1605),
        (0, 20): (0.0, 0.1611),
        (1, 29): (0.0061, 0.1718),
    }
    for (passed, judged), interval in table.items():
        assert Rate(int(passed), int(judged)).interval == pytest.approx(tuple(interval), abs=5e-5)
    assert (Rate(0, 0).value, Rate(0, 0).interval) == (None, (0.0, 1.0))


def test_the_interval_of_a_difference_is_newcombes() -> None:
    # M. W. Fagerland and others, Statistics in Medicine 33 (2014), table V; R. G. Newcombe 17 (1998), method 10
    assert msgspec.structs.astuple(Pairs(1, 1, 7, 12).difference()) == pytest.approx((-0.286, -0.507, -0.026), abs=5e-4)
    assert msgspec.structs.astuple(Pairs(14, 5, 0, 22).difference())[1:] == pytest.approx((0.0115, 0.2265), abs=5e-5)
    unpaired = difference(Rate(56, 70), Rate(48, 80))
    assert (unpaired.low, unpaired.high) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    assert Pairs(1, 1, 7, 12).difference(tests=2).high > 0  # what one of many shows by chance


def test_the_page_lists_every_check_and_every_scenario() -> None:
    page = (_DOCS / "endpoints.md").read_text("utf-8")
    for id, check in CHECKS.items():
        assert f"| `{id}` | {check.title} | {'model' if check.by_model else 'server'} |" in page
    assert [one for one in DEPARTURES if f"| {one.does} | {one.seen} |" not in page] == []
    assert [one.id for one in default_probes() if f"| `{one.id}` | {one.script.title}" not in page] == []
