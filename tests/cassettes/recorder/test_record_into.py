"""`toolparity record`: what it selects, the folder of the user that it writes into, its output and exit code, its
budget, and what is confirmed before a cassette is replaced."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from toolparity.cassettes.emulated.servers import running
from toolparity.cassettes.errors import BudgetSpent, InvalidPrices
from toolparity.cassettes.library import RECORDED, files
from toolparity.cassettes.recorder import record as recorder
from toolparity.cassettes.recorder.budget import Budget, read_prices
from toolparity.cassettes.recorder.estimate import Estimate, estimate
from toolparity.cassettes.recorder.record import Connection
from toolparity.cassettes.recorder.sdks import Caller
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import SURFACES, Surface
from toolparity.cli import main
from toolparity.normalizer.model import Usage
from toolparity.turns.machine.prices import Prices

PROVIDERS = sorted({surface.provider for surface in SURFACES.values()})
PLAIN_XAI = ("--wire", "openai.chat", "--provider", "xai", "--plain")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def record(*arguments: str, env: dict[str, str | None] | None = None, answer: str | None = None) -> Result:
    environment = {"TOOLPARITY_RAN_BY": "Tests", "TOOLPARITY_CASSETTES": None, **(env or {})}
    return CliRunner().invoke(main, ["record", *arguments], input=answer, env=environment)


def recorded(*arguments: str, env: dict[str, str | None] | None = None) -> Result:
    result = record(*arguments, env=env)
    assert result.exit_code == 0, result.output
    return result


def made(root: str = "cassettes") -> list[str]:
    return [place.shown for place in files.find(root)]


def contents() -> dict[Path, bytes]:
    return {place.path: place.path.read_bytes() for place in files.find("cassettes")}


def test_a_scenario_of_a_provider_is_recorded_plain_and_streamed_into_a_local_folder(here: Path) -> None:
    shipped = {place.path: place.path.stat().st_mtime_ns for place in files.find()}
    result = recorded("single-call", "--provider", "anthropic", "--rerecord")
    plain, streamed = (f"anthropic/anthropic.messages/single-call{end}.yaml" for end in ("", ".stream"))
    assert made() == [streamed, plain]
    assert {place.path: place.path.stat().st_mtime_ns for place in files.find()} == shipped
    assert f"recording into {here / 'cassettes'}" in result.stderr
    assert f"cassettes/{plain}" in result.stderr
    assert str(here / "cassettes") in result.stdout
    assert "1/2 single-call on anthropic.messages, plain: recorded" in result.stderr
    assert "2/2 single-call on anthropic.messages, streamed: recorded" in result.stderr
    assert [line.split() for line in result.stdout.splitlines()][3:5] == [
        ["anthropic.messages", "plain", "1"],
        ["anthropic.messages", "streamed", "1"],
    ]
    provenances = [files.provenance_of(place.path) for place in files.find("cassettes")]
    assert [(one.origin, one.ran_by) for one in provenances] == [("emulated", "Tests")] * 2


def test_the_environment_variable_selects_the_library(here: Path) -> None:
    recorded("text-only", *PLAIN_XAI, env={"TOOLPARITY_CASSETTES": str(here / "mine")})
    assert (made("mine"), (here / "cassettes").exists()) == (["xai/openai.chat/text-only.yaml"], False)


def test_a_library_in_the_package_or_below_a_file_is_an_error_before_any_request(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "file").write_text("")
    below = record("text-only", *PLAIN_XAI, "--into", str(here / "file" / "below"))
    monkeypatch.chdir(RECORDED.parents[1])
    package = record("text-only", *PLAIN_XAI)
    for result, message in (
        (below, "below' cannot be written: "),
        (package, "its library is --into cassettes/recorded"),
    ):
        assert (result.exit_code, message in result.stderr) == (2, True), result.output
        assert "recording into" not in result.stderr


@pytest.mark.thorough
def test_patterns_wires_and_forms_narrow_what_is_recorded() -> None:
    recorded("server-search*", "te*-*", "tw*-r*", "--wire", "openai.responses", "--stream")
    assert made() == [
        f"{provider}/openai.responses/{name}.stream.yaml"
        for provider in ("openai", "xai")
        for name in ("server-search-and-call", "server-search", "text-only", "two-rounds")
    ]


def test_a_changed_recording_is_shown_as_a_diff_and_another_model_is_in_its_provenance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recorded("single-call", *PLAIN_XAI)
    kept = recorded("single-call", *PLAIN_XAI)
    assert "single-call on xai.chat, plain: kept" in kept.stderr
    old = scripts()["single-call"]
    first = msgspec.structs.replace(old.rounds[0], parts=[old.rounds[0].parts[0]] * 2)
    monkeypatch.setitem(scripts(), "single-call", msgspec.structs.replace(old, rounds=[first, old.rounds[1]]))
    result = recorded("single-call", *PLAIN_XAI)
    assert "What changed: single-call on xai.chat, plain" in result.stdout
    assert "+ call exchange 1: get_weather (function)" in result.stdout
    recorded("single-call", *PLAIN_XAI, "--model", "grok-x", "--rerecord")
    (path,) = contents()
    assert files.provenance_of(path).model == "grok-x"
    assert b'"grok-x"' in files.load(path).requests[0].body


def test_a_failure_and_an_interrupt_are_reported_and_leave_the_old_files(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("single-call", "text-only", *PLAIN_XAI)
    recorded(*arguments)
    before = contents()
    send = Caller.send

    def broken(self: Caller, body: dict[str, list[object]]) -> object:
        if len(body["messages"]) > 2:
            raise ConnectionResetError("connection lost")
        return send(self, body)

    def interrupted(self: Caller, body: dict[str, list[object]]) -> object:
        if len(body["messages"]) > 2:
            raise KeyboardInterrupt
        return send(self, body)

    monkeypatch.setattr(Caller, "send", broken)
    failed = record(*arguments, "--rerecord")
    assert failed.exit_code == 4
    assert "single-call on xai.chat, plain: failed: round 2: ConnectionResetError: connection lost" in failed.stderr
    assert "text-only on xai.chat, plain: same" in failed.stderr
    assert "Not recorded; the old files are unchanged" in failed.stdout
    monkeypatch.setattr(Caller, "send", interrupted)
    ended = record(*arguments, "--rerecord")
    assert (ended.exit_code, "interrupted" in ended.stderr) == (130, True)
    assert contents() == before


def test_live_reports_all_missing_keys_at_once() -> None:
    keys = dict.fromkeys(surface.key for surface in SURFACES.values())
    result = record("text-only", "--live", env=keys)
    missing = [f"needs an API key in the environment variable {key} (set" for key in keys]
    assert (result.exit_code, [text for text in missing if text not in result.output], made()) == (2, [], [])


@pytest.mark.parametrize(
    ("arguments", "exit_code", "message"),
    [
        (["singel-call"], 2, "unknown scenario: 'singel-call'; did you mean single-call?"),
        (["--provider", "nobody"], 2, f"unknown provider: 'nobody'; known: {', '.join(PROVIDERS)}"),
        (["--wire", "smoke"], 2, "unknown wire: 'smoke'; known:"),
        (["--live", "--emulate"], 2, "No such option"),
        (["server-search", "--wire", "openai.chat"], 5, "nothing to record"),
    ],
    ids=["scenario", "provider", "wire", "option", "a scenario that no selected surface plays"],
)
def test_an_unknown_name_is_a_usage_error(arguments: list[str], exit_code: int, message: str) -> None:
    result = record(*arguments)
    assert (result.exit_code, message in result.output, made()) == (exit_code, True, []), result.output


CHAT = SURFACES["openai.chat"]


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    file = tmp_path / "prices.toml"
    file.write_text('["gpt-5-mini*"]\ninput = 1000.0\noutput = 2000.0\n')
    return file


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Recordings with --live reach the emulated provider, and count as live."""
    with running() as servers:

        def connection(at: Surface) -> Connection:
            way = recorder.emulated(at, servers.base(at))
            return Connection("live", way.link, way.addresses)

        monkeypatch.setattr(recorder, "live", connection)
        yield


def _record(*arguments: str, into: Path, answer: str | None = None) -> Result:
    chosen = ("--wire", "openai.chat", "--provider", "openai", "--plain", "--into", str(into))
    return record(*arguments, *chosen, answer=answer)


def test_an_estimate_repeats_the_history_in_each_round() -> None:
    one, two = (estimate(scripts()[id], CHAT, stream=False) for id in ("text-only", "single-call"))
    assert (one.requests, two.requests, one.output_tokens > 0) == (1, 2, True)
    assert two.input_tokens > 1.5 * one.input_tokens


def test_a_request_or_conversation_beyond_the_limits_is_not_started() -> None:
    limits = Budget(max_calls=2)
    limits.before("m", {})
    limits.before("m", {})
    with pytest.raises(BudgetSpent, match="all 2 requests are sent"):
        limits.before("m", {})
    assert limits.calls == 2
    limits = Budget(max_calls=1)
    with pytest.raises(BudgetSpent, match="2 more are needed"):
        limits.reserve(scripts()["single-call"], CHAT, CHAT.model, stream=False)
    with pytest.raises(BudgetSpent):  # a shorter one is not started either
        limits.reserve(scripts()["text-only"], CHAT, CHAT.model, stream=False)
    limits = Budget(max_cost=1.0, prices={"m-*": Prices(1000.0, 2000.0), "*": Prices(1.0, 1.0)})
    limits.before("m-1", {})
    limits.after("m-1", Usage(300, 100))
    assert limits.cost == pytest.approx(0.5)
    assert limits.cost_of("other", Estimate(1, 1_000_000, 0)) == pytest.approx(1.0)
    limits.after("m-1", Usage(600, 0))
    with pytest.raises(BudgetSpent, match=r"1\.1000 of 1 are spent"):
        limits.before("m-1", {})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[m]\ninput = 1.0", "missing required field `output`"),
        ("[m]\ninput = 'one'\noutput = 1.0", r"Expected `float`, got `str` - at `\$\[\.\.\.\]\.input`"),
        ("m = 1", "Expected `object`"),
        ("[m\n", "at line 1"),
        ("[m]\ninput = -1.0\noutput = 1.0", "a price of m is negative"),
    ],
)
def test_a_table_of_prices_that_cannot_be_read_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(text)
    with pytest.raises(InvalidPrices, match=problem):
        read_prices(file)


def test_a_dry_run_shows_each_cassette_requests_and_cost_and_sends_nothing(tmp_path: Path, prices: Path) -> None:
    into = tmp_path / "library"
    result = _record("single-call", "--live", "--dry-run", "--prices", str(prices), into=into)
    assert result.exit_code == 0, result.output
    for text in ("single-call on openai.chat, plain  record", "requests  2", "cost  about 0."):
        assert text in result.output
    assert not into.exists()
    assert _record("single-call", into=into).exit_code == 0
    assert "plain  keep" in _record("single-call", "--dry-run", into=into).output
    assert "plain  replace" in _record("single-call", "--dry-run", "--rerecord", into=into).output


def test_the_cassettes_that_fit_into_the_budget_are_recorded(tmp_path: Path, prices: Path) -> None:
    result = _record("single-call", "text-only", "--max-calls", "2", into=tmp_path / "a")
    assert result.exit_code == 4, result.output
    assert [place.name for place in files.find(tmp_path / "a")] == ["single-call"]
    assert "2 of 2 requests are sent, 1 more are needed" in result.output
    arguments = ("single-call", "--prices", str(prices), "--max-cost")
    assert "about 0.3" in _record(*arguments, "0.01", into=tmp_path / "b").output
    assert not [*files.find(tmp_path / "b")]
    assert _record(*arguments, "100", into=tmp_path / "b").exit_code == 0


def test_a_cost_without_prices_is_a_usage_error(tmp_path: Path, prices: Path) -> None:
    for options, problem in (
        (["--max-cost", "1"], "--max-cost needs --prices FILE"),
        (["--max-cost", "1", "--prices", str(prices), "--model", "gpt-4.1"], "no table fits gpt-4.1"),
    ):
        result = _record("single-call", *options, into=tmp_path)
        assert (result.exit_code, problem in result.output) == (2, True)


@pytest.mark.usefixtures("live")
@pytest.mark.parametrize(("answer", "status"), [("y\n", "replaced"), ("n\n", "declined"), (None, "replaced")])
def test_a_cassette_is_replaced_if_it_is_confirmed_on_a_terminal_and_elsewhere_with_yes_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str | None, status: str
) -> None:
    assert _record("single-call", "--live", "--model", "gpt-5-nano", into=tmp_path).exit_code == 0
    (path,) = (place.path for place in files.find(tmp_path))
    before = path.read_bytes()
    if answer:
        monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda self: True, raising=False)
        result = _record("single-call", "--live", into=tmp_path, answer=answer)
        assert f"Replace {path}?" in result.output
    else:
        refused = _record("single-call", "--live", into=tmp_path)
        assert (refused.exit_code, "pass --yes" in refused.output, path.read_bytes()) == (2, True, before)
        assert "it would replace the cassette single-call on openai.chat, plain" in refused.output
        result = _record("single-call", "--live", "--yes", into=tmp_path)
    assert result.exit_code == 0, result.output
    assert "values change" in result.output
    assert '"gpt-5-nano" -> "gpt-5-mini"' in result.output
    assert f"plain: {status}" in result.output
    assert (path.read_bytes() == before) == (status == "declined")
