"""Item 21: the model sees the errors of its tools and continues; an overloaded provider is retried after its wait."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from email.utils import formatdate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolparity import Response, normalize
from toolparity.normalizer.errors import PolicyError
from toolparity.normalizer.events import BlockDelta, BlockStart
from toolparity.normalizer.model import Choice, Error, ServerToolCall, Stop, Text
from toolparity.normalizer.turns import Backoff, Turn
from toolparity.normalizer.turns import events as told
from toolparity.normalizer.turns.backoff import is_overload
from toolparity.normalizer.turns.machine import state as states
from toolparity.normalizer.turns.machine.inputs import Begin
from toolparity.normalizer.turns.machine.table import step
from toolparity.normalizer.turns.orchestration import Coordinator, Limits
from toolparity.normalizer.turns.orchestration.notes import RetryNote, note_of
from toolparity.normalizer.turns.orchestration.recording import record, replay
from toolparity.normalizer.turns.retry_after import demanded, retry_after, with_retry_after

from ..turns.playing import (
    WIRES,
    Counting,
    Emulated,
    Fault,
    RecordingObserver,
    Round,
    Say,
    assert_legal,
    at_once,
    call,
    kinds,
    only,
    play,
    script,
)
from ..turns.test_clients import body_with_tool, chunks_of, reach, running

TWO = script([Say("Let me see."), call("look")], [Say("Done.")])


class Waits:
    """A backoff that keeps what it would have slept."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)

    def backoff(self, **options: Any) -> Backoff:
        return Backoff(**{"jitter": lambda: 1.0, "sleep": self.sleep, **options})


class Answer:
    def __init__(self, headers: dict[str, str]) -> None:
        self.headers = headers


class Busy(Exception):
    """As the SDKs raise it."""

    def __init__(self, status: int = 429, **headers: str) -> None:
        super().__init__("slow down")
        self.status_code = status
        self.response = Answer({name.replace("_", "-"): value for name, value in headers.items()})


class Overloaded(Emulated):
    """Refuses some requests as its real one would, with headers; then plays its script."""

    def __init__(self, wire: str, played: Any = TWO, *, refuses: dict[int, Any], after: int = 0) -> None:
        super().__init__(
            wire, played, fails={n: e for n, e in refuses.items() if isinstance(e, Exception)}, after=after
        )
        self.refuses = {n: r for n, r in refuses.items() if not isinstance(r, Exception)}

    async def ask(self, body: Any) -> AsyncIterator[Any]:
        refusal = self.refuses.get(len(self.bodies))
        if refusal is None:
            async for piece in super().ask(body):
                yield piece
            return
        self.bodies.append(body)
        yield refusal


def refusal(wire: str, status: int = 429, **headers: str) -> Response:
    body = {"error": {"type": "rate_limit_error", "message": "slow down"}}
    made = normalize(body, wire="openai.chat", status=status)
    return with_retry_after(made, {name.replace("_", "-"): value for name, value in headers.items()})


# one failing tool


@pytest.mark.parametrize("wire", WIRES)
def test_a_model_whose_only_tool_fails_sees_the_error_and_adjusts(wire: str) -> None:
    def missing(**given: Any) -> str:
        if given != {"path": "b"}:
            raise FileNotFoundError("no such file")
        return "found"

    played = script([call("look", path="a")], [call("look", path="b")], [Say("Here it is.")])
    provider = Emulated(wire, played)
    turn = Turn(provider, Counting(look=missing).tools())
    outcome = at_once(turn.run("Go."))
    assert (outcome.termination, outcome.text, len(provider.bodies)) == ("natural_completion", "Here it is.", 3)
    first, second, _ = outcome.state.rounds
    assert [one.is_error for round in (first, second) for one in round.tool_results] == [True, False]


@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_tools_that_always_fail_are_tried_in_so_many_rounds_and_no_more(rounds: int) -> None:
    class Stubborn(Emulated):
        """Calls as long as it may."""

        def _pieces(self, body: Any) -> Any:
            last = body.get("tool_choice") == "none"
            yield from Emulated("openai.chat", script([Say("I give up.")] if last else [call("look")]))._pieces(
                {**body, "messages": body["messages"][:1]}
            )

    counting = Counting(look=lambda **_: 1 / 0)
    turn = Turn(Stubborn("openai.chat", TWO), counting.tools(), max_rounds=rounds)
    outcome = at_once(turn.run("Go."))
    assert (outcome.termination, len(counting.ran)) == ("max_rounds_reached", rounds)
    assert outcome.text == "I give up."


def test_a_state_of_an_earlier_version_keeps_its_meaning() -> None:
    """It names no `on_all_failed`, and meant that the turn ends."""
    turn = Turn(Emulated("openai.chat", TWO), Counting().tools())
    at_once(turn.run("Go."))
    kept = states.dump(turn.state)
    assert b'"on_all_failed":"continue"' in kept
    assert states.load(kept).settings.on_all_failed == "continue"
    assert states.load(kept.replace(b'"on_all_failed":"continue"', b"")).settings.on_all_failed == "stop"
    fresh = states.TurnState("t", "openai.chat", turn.state.request)
    assert step(fresh, Begin())[0].settings.on_all_failed == "continue"


# overload


@pytest.mark.parametrize("runs", [Turn, Coordinator])
@pytest.mark.parametrize("round", [0, 1])
@pytest.mark.parametrize("wire", WIRES)
def test_an_overloaded_provider_is_asked_again_after_the_seconds_that_it_demands(
    wire: str, round: int, runs: Any
) -> None:
    waits, counting = Waits(), Counting()
    refuses = {round: refusal(wire, retry_after="7"), round + 1: Busy(503, retry_after_ms="1500"), round + 2: Busy(529)}
    provider = Overloaded(wire, refuses=refuses)
    turn = runs(provider, counting.tools(), backoff=waits.backoff())
    events = at_once(play(turn))
    assert waits.slept == [7.0, 1.5, 4.0]
    assert isinstance(events[-1], (told.TurnComplete, told.Noted))
    assert counting.names == ["look"]
    retries = [note_of(one) for one in only(events, told.Noted) if one.note == "retry"]
    assert [(one.attempt, one.seconds, one.demanded, one.status) for one in retries if isinstance(one, RetryNote)] == [
        (2, 7.0, 7.0, 429),
        (3, 1.5, 1.5, 503),
        (4, 4.0, None, 529),
    ]
    assert {one.round for one in retries} == {round + 1}
    attempts = [one.attempt for one in only(events, told.RoundStarted) if one.round == round + 1]
    assert attempts == [1, 2, 3, 4]
    assert [one.note for one in only(events, told.Noted) if one.note == "recovery"] == []  # nothing was simplified
    same = provider.bodies[round : round + 4]
    assert all(body == same[0] for body in same)
    if runs is Turn:
        assert turn.outcome.termination == "natural_completion"
        assert_legal(turn)


@pytest.mark.parametrize("wire", WIRES)
def test_a_provider_that_stays_overloaded_is_asked_so_often_and_no_more(wire: str) -> None:
    waits = Waits()
    provider = Overloaded(wire, refuses={number: Busy() for number in range(99)})
    turn = Turn(provider, backoff=waits.backoff(attempts=3, first=2.0))
    outcome = at_once(turn.run("Go."))
    assert (outcome.termination, len(provider.bodies), waits.slept) == ("provider_failed", 3, [2.0, 4.0])
    assert outcome.error is not None
    assert outcome.error.status == 429


def test_a_directed_turn_simplifies_only_when_the_retries_are_used_up_and_waits_before_that_too() -> None:
    waits = Waits()
    provider = Overloaded("openai.chat", refuses={number: Busy(retry_after="3") for number in range(3)})
    coordinator = Coordinator(provider, Counting().tools(), backoff=waits.backoff(attempts=3))
    events = at_once(play(coordinator))  # type: ignore[arg-type]
    notes = [one.note for one in only(events, told.Noted) if one.note in ("retry", "recovery")]
    assert notes == ["retry", "retry", "recovery"]
    assert waits.slept == [3.0, 3.0, 3.0]
    assert coordinator.orchestrated.answer == "Done."
    assert coordinator.orchestrated.level == "round"


@pytest.mark.parametrize("demands", ["61", "1e9"])
def test_a_wait_that_is_too_long_is_not_waited_and_not_asked_before(demands: str) -> None:
    for runs in (Turn, Coordinator):
        waits = Waits()
        provider = Overloaded("openai.chat", refuses={number: Busy(retry_after=demands) for number in range(9)})
        turn = runs(provider, Counting().tools(), backoff=waits.backoff())
        at_once(turn.run("Go."))
        assert (len(provider.bodies), waits.slept) == (1, [])


def test_a_directed_turn_waits_no_longer_than_it_has_time() -> None:
    waits, now = Waits(), [0.0]
    provider = Overloaded("openai.chat", refuses={0: Busy(retry_after="30"), 1: Busy(retry_after="30")})

    async def sleep(seconds: float) -> None:
        await waits.sleep(seconds)
        now[0] += seconds

    limits = Limits(seconds=40)
    backoff = waits.backoff(sleep=sleep)
    coordinator = Coordinator(provider, Counting().tools(), limits=limits, clock=lambda: now[0], backoff=backoff)
    done = at_once(coordinator.run("Go."))
    assert (waits.slept, len(provider.bodies), done.level) == ([30.0], 2, "assembled")


@pytest.mark.parametrize("backoff", [None, Backoff(attempts=1), Backoff(attempts=0)])
def test_a_turn_without_backoff_asks_once(backoff: Backoff | None) -> None:
    provider = Overloaded("openai.chat", refuses={0: Busy()})
    assert at_once(Turn(provider, backoff=backoff).run("Go.")).termination == "provider_failed"
    assert len(provider.bodies) == 1


@pytest.mark.parametrize("after", [0, 2])
@pytest.mark.parametrize("wire", WIRES)
def test_no_call_of_an_answer_that_is_asked_for_again_runs_twice(wire: str, after: int) -> None:
    """What had arrived is void, and reported as such; calls run from the answer that came whole."""
    waits, counting, log = Waits(), Counting(), RecordingObserver()
    played = script([Say("Let me see."), call("look"), call("count")], [Say("Done.")])
    provider = Overloaded(wire, played, refuses={0: Busy(), 2: Busy()}, after=after)
    turn = Turn(provider, counting.tools(), backoff=waits.backoff(), observers=[log])
    outcome = at_once(turn.run("Go."))
    assert outcome.termination == "natural_completion"
    assert counting.names == ["look", "count"]
    assert len(only(log.events, told.CallStarted)) == 2
    assert_legal(turn)


class PartOfAnAnswer(Emulated):
    """An answer that breaks off for overload after the provider ran a tool itself."""

    async def ask(self, body: Any) -> AsyncIterator[Any]:
        self.bodies.append(body)
        blocks: list[Any] = [ServerToolCall("s1", "mcp", "send_mail", "{}", "complete"), Text("Sent.")]
        yield BlockStart(0, 0, "text")
        yield BlockDelta(0, 0, "Sent.")
        error = Error("overloaded_error", "Overloaded", None, True)
        yield Response(self.wire, self.name, None, None, [Choice(0, blocks, Stop("error"))], None, error, False)


def test_an_answer_with_calls_that_the_provider_ran_itself_is_not_asked_for_again() -> None:
    waits = Waits()
    provider = PartOfAnAnswer("openai.responses", TWO)
    assert at_once(Turn(provider, backoff=waits.backoff()).run("Go.")).termination == "provider_failed"
    assert (len(provider.bodies), waits.slept) == (1, [])
    directed = PartOfAnAnswer("openai.responses", TWO)
    at_once(Coordinator(directed, Counting().tools(), backoff=waits.backoff()).run("Go."))
    assert len(directed.bodies) == 2  # the second may not call
    assert waits.slept == []


@pytest.mark.parametrize("how", ["cancel", "aclose", "task"])
def test_a_turn_that_waits_for_its_provider_can_be_cancelled(how: str) -> None:
    provider = Overloaded("anthropic.messages", refuses={0: Busy(retry_after="50")}, after=3)
    turn = Turn(provider, backoff=Backoff())

    async def run() -> None:
        stream = turn.stream("Go.")
        task = asyncio.current_task()
        assert task is not None
        async for event in stream:
            if isinstance(event, told.Noted):
                if how == "aclose":
                    break
                turn.cancel("enough") if how == "cancel" else task.cancel()
        await stream.aclose()  # type: ignore[attr-defined]

    if how == "task":
        with pytest.raises(asyncio.CancelledError):
            at_once(run())
    else:
        at_once(run())
    assert (turn.outcome.termination, len(provider.bodies)) == ("cancelled", 1)
    assert_legal(turn)


def test_a_wait_that_is_cancelled_from_inside_is_over() -> None:
    async def sleep(_: float) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    turn = Turn(Overloaded("openai.chat", refuses={0: Busy()}), Counting().tools(), backoff=Backoff(sleep=sleep))
    assert at_once(turn.run("Go.")).termination == "natural_completion"


def test_a_turn_with_retries_can_be_played_again(tmp_path: Any) -> None:
    waits = Waits()
    with (tmp_path / "turn.jsonl").open("wb") as file:
        recorder = record(file)
        provider = Overloaded("openai.chat", refuses={0: Busy(retry_after="2"), 2: Busy()})
        at_once(Turn(provider, Counting().tools(), backoff=waits.backoff(), observers=[recorder]).run("Go."))
        recorder.close()
    played = replay((tmp_path / "turn.jsonl").read_bytes())
    assert played.difference is None
    assert kinds(played.events).count("noted") == 2


@pytest.mark.parametrize(
    ("error", "overloaded"),
    [
        (Error("rate_limit_error", "", 429, True), True),
        (Error("tokens", "", 429, True), True),
        (Error("overloaded_error", "", 529, True), True),
        (Error("service_unavailable", "", 503, True), True),
        (Error("overloaded_error", "", None, True), True),  # inside a stream
        (Error("rate_limit_exceeded", "", 200, True), True),
        (Error("RESOURCE_EXHAUSTED", "", None, None), True),
        (Error("ThrottlingException", "", None, None), True),
        (Error("insufficient_quota", "", 429, True), False),
        (Error("billing_hard_limit_reached", "", 429, True), False),
        (Error("server_error", "", 500, True), False),
        (Error("invalid_request_error", "", 400, False), False),
        (Error("ConnectionError", "", None, None), False),
    ],
)
def test_what_an_overload_is(error: Error, overloaded: bool) -> None:
    assert is_overload(error) is overloaded


NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"Retry-After": " 0.5 "}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ([(b"Retry-After", b"3")], 3.0),
        ((("grpc-retry-pushback-ms", "1200"),), 1.2),
        ((("grpc-retry-pushback-ms", "-1"),), math.inf),
        ({"retry-after": formatdate(NOW + 90, usegmt=True)}, 90.0),
        ({"retry-after": formatdate(NOW - 90, usegmt=True)}, 0.0),
        ({"retry-after": formatdate(NOW + 5, usegmt=True), "date": formatdate(NOW - 5, usegmt=True)}, 10.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "Fri, 99 Foo 2026"}, None),
        ({}, None),
        (None, None),
    ],
)
def test_what_headers_demand(headers: Any, seconds: float | None) -> None:
    assert retry_after(headers, now=lambda: NOW) == seconds


@given(st.dictionaries(st.sampled_from(["retry-after", "retry-after-ms", "date"]), st.text(max_size=30)))
def test_headers_are_read_or_left_aside_and_never_an_error(headers: dict[str, str]) -> None:
    seconds = retry_after(headers)
    assert seconds is None or seconds >= 0


@given(st.integers(1, 20), st.floats(0, 1), st.one_of(st.none(), st.floats(0, 1000)))
def test_a_wait_is_bounded_and_never_shorter_than_demanded(attempt: int, chance: float, wanted: float | None) -> None:
    backoff = Backoff(attempts=10, jitter=lambda: chance)
    seconds = backoff.seconds(attempt, wanted)
    if attempt >= 10 or (wanted or 0) > 60:
        assert seconds is None
    else:
        assert seconds is not None
        assert 0 < seconds <= 60
        assert not wanted or seconds == wanted


@pytest.mark.parametrize("first", [0.0, 1.0, 1e308])
def test_a_wait_is_bounded_after_thousands_of_attempts(first: float) -> None:
    backoff = Backoff(attempts=100_000, first=first, jitter=lambda: 1.0)
    assert backoff.seconds(50_000) == (60.0 if first else 0.0)


def test_a_backoff_that_cannot_be_is_refused() -> None:
    with pytest.raises(PolicyError, match=r"longest must be >= 0, got -1"):
        Backoff(longest=-1)


# the clients


@pytest.mark.parametrize("wire", WIRES)
def test_a_client_passes_on_the_status_and_the_wait_of_a_refusal(wire: str) -> None:
    busy = script(Round([], fault=Fault("rate_limit", retry_after=9)))
    with running({"made": busy}) as servers:
        provider = reach(servers, wire)
        [piece] = at_once(chunks_of(provider, body_with_tool(provider)))
    assert piece.error.status == 429
    assert demanded(piece) == 9.0


def test_the_grpc_client_passes_on_the_wait_of_a_refusal() -> None:
    from toolparity.normalizer.turns.clients.xai_grpc import Client

    class Code:
        name = "RESOURCE_EXHAUSTED"

    class Refused(Exception):
        def code(self) -> Any:
            return Code

        def details(self) -> str:
            return "slow down"

        def trailing_metadata(self) -> Any:
            return (("retry-after", "4"),)

    made = Client("grok", sdk=object())._error(Refused(), False)
    assert isinstance(made, Response)
    assert made.error is not None
    assert (made.error.status, demanded(made)) == (429, 4.0)
    assert demanded(Refused()) == 4.0
