"""The budget of a recording, its dry run, and what is confirmed before a cassette is replaced."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from toolparity.cassettes.emulated.servers import running
from toolparity.cassettes.errors import BudgetSpent, InvalidPrices
from toolparity.cassettes.library import files
from toolparity.cassettes.recorder import record as recorder
from toolparity.cassettes.recorder.budget import Budget, read_prices
from toolparity.cassettes.recorder.estimate import Estimate, estimate
from toolparity.cassettes.recorder.record import Connection
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import SURFACES, Surface
from toolparity.cli import main
from toolparity.normalizer.model import Usage
from toolparity.turns.machine.prices import Prices

CHAT = SURFACES["openai.chat"]
_ARGUMENTS = ("--wire", "openai.chat", "--provider", "openai", "--plain")


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
    given = ["record", *arguments, *_ARGUMENTS, "--into", str(into)]
    return CliRunner().invoke(main, given, input=answer, env={"TOOLPARITY_RAN_BY": "Tests"})


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
