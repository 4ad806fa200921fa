"""The model sees the errors of its tools and continues; an overloaded provider is retried after its wait."""

from __future__ import annotations

import asyncio
import io
import math
from collections.abc import AsyncIterator
from email.utils import formatdate
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolparity import Response
from toolparity.normalizer.errors import PolicyError
from toolparity.normalizer.events import BlockDelta, BlockStart
from toolparity.normalizer.model import Choice, Error, ServerToolCall, Stop, Text
from toolparity.turns import Backoff, Turn
from toolparity.turns import events as turn_events
from toolparity.turns.backoff import is_overload
from toolparity.turns.machine import state as states
from toolparity.turns.machine.inputs import Begin
from toolparity.turns.machine.table import step
from toolparity.turns.orchestration import Coordinator, Limits
from toolparity.turns.orchestration.notes import RetryNote, note_of
from toolparity.turns.orchestration.recording import record, replay
from toolparity.turns.retry_after import demanded, retry_after
from toolparity.turns.testing import Status

from . import playing
from .playing import (
    Counting,
    Emulated,
    RecordingObserver,
    RecordingSleep,
    Say,
    at_once,
    call,
    on_every_wire,
    only,
    script,
)

TWO = script([Say("Let me see."), call("look")], [Say("Done.")])


class BusyError(Exception):
    """As the SDKs raise it."""

    def __init__(self, status: int = 429, **headers: str) -> None:
        super().__init__("slow down")
        self.status_code = status
        self.response = SimpleNamespace(headers={name.replace("_", "-"): value for name, value in headers.items()})


# failing tools


def test_a_state_without_on_all_failed_keeps_its_earlier_meaning() -> None:
    """It has no member `on_all_failed`, and meant that the turn ends."""
    turn = playing.finished(Turn(Emulated("openai.chat", TWO), Counting().tools()))
    kept = states.dump(turn.state)
    assert states.load(kept).settings.on_all_failed == "continue"
    assert states.load(kept.replace(b'"on_all_failed":"continue"', b"")).settings.on_all_failed == "stop"
    new = states.TurnState("t", "openai.chat", turn.state.request)
    assert step(new, Begin())[0].settings.on_all_failed == "continue"


# overload


@pytest.mark.thorough(keep=1, per="{wire}")
@pytest.mark.parametrize("kind", [Turn, Coordinator])
@pytest.mark.parametrize("round", [0, 1])
@pytest.mark.parametrize("wire", playing.WIRES)
def test_a_request_to_an_overloaded_provider_is_retried_after_its_retry_after(wire: str, round: int, kind: Any) -> None:
    recording_sleep, counting = RecordingSleep(), Counting()
    raised = {round + 1: BusyError(503, retry_after_ms="1500"), round + 2: BusyError(529)}
    provider = Emulated(wire, TWO, faults={round + 1: Status(429, retry_after=7)}, fails=raised)
    recorder = record(file := io.BytesIO())
    turn = kind(provider, counting.tools(), backoff=recording_sleep.backoff(), observers=[recorder])
    events = at_once(playing.play(turn))
    assert recording_sleep.slept == [7.0, 1.5, 4.0]
    assert isinstance(events[-1], (turn_events.TurnComplete, turn_events.Noted))
    assert counting.names == ["look"]
    notes = [note_of(note) for note in only(events, turn_events.Noted) if note.note in ("retry", "recovery")]
    retries = [note for note in notes if isinstance(note, RetryNote)]
    assert len(retries) == len(notes)  # nothing was simplified
    assert [(note.round, note.attempt, note.seconds, note.demanded, note.status) for note in retries] == [
        (round + 1, 2, 7.0, 7.0, 429),
        (round + 1, 3, 1.5, 1.5, 503),
        (round + 1, 4, 4.0, None, 529),
    ]
    attempts = [note.attempt for note in only(events, turn_events.RoundStarted) if note.round == round + 1]
    assert attempts == [1, 2, 3, 4]
    assert all(body == provider.bodies[round] for body in provider.bodies[round : round + 4])
    recorder.close()
    played = replay(file.getvalue())
    assert (played.difference, playing.kinds(played.events).count("noted") >= 3) == (None, True)
    if kind is Turn:
        assert turn.outcome.termination == "natural_completion"
        playing.assert_legal(turn)


@on_every_wire
def test_a_provider_that_stays_overloaded_is_asked_at_most_attempts_times(wire: str) -> None:
    recording_sleep = RecordingSleep()
    provider = Emulated(wire, TWO, fails={number: BusyError() for number in range(99)})
    outcome = at_once(Turn(provider, backoff=recording_sleep.backoff(attempts=3, first=2.0)).run("Go."))
    assert (outcome.termination, len(provider.bodies), recording_sleep.slept) == ("provider_failed", 3, [2.0, 4.0])
    assert outcome.error is not None
    assert outcome.error.status == 429


def test_an_orchestrated_turn_simplifies_only_after_all_retries_and_another_wait() -> None:
    recording_sleep = RecordingSleep()
    provider = Emulated("openai.chat", TWO, fails={number: BusyError(retry_after="3") for number in range(3)})
    coordinator = Coordinator(provider, Counting().tools(), backoff=recording_sleep.backoff(attempts=3))
    events = at_once(playing.play(coordinator))
    notes = [note.note for note in only(events, turn_events.Noted) if note.note in ("retry", "recovery")]
    assert (notes, recording_sleep.slept) == (["retry", "retry", "recovery"], [3.0, 3.0, 3.0])
    assert (coordinator.orchestrated.answer, coordinator.orchestrated.level) == ("Done.", "round")


def test_a_turn_does_not_retry_without_backoff_or_if_the_demanded_wait_is_too_long() -> None:
    recording_sleep = RecordingSleep()
    never = [(kind, seconds, recording_sleep.backoff()) for kind in (Turn, Coordinator) for seconds in ("61", "1e9")]
    for kind, seconds, backoff in [*never, *((Turn, "1", none) for none in (None, Backoff(attempts=1)))]:
        provider = Emulated("openai.chat", TWO, fails={number: BusyError(retry_after=seconds) for number in range(9)})
        at_once(kind(provider, Counting().tools(), backoff=backoff).run("Go."))
        assert (len(provider.bodies), recording_sleep.slept) == (1, []), (kind, seconds, backoff)


def test_an_orchestrated_turn_does_not_wait_beyond_its_time_limit() -> None:
    recording_sleep, now = RecordingSleep(), [0.0]
    provider = Emulated("openai.chat", TWO, fails={0: BusyError(retry_after="30"), 1: BusyError(retry_after="30")})

    async def sleep(seconds: float) -> None:
        await recording_sleep.sleep(seconds)
        now[0] += seconds

    options: Any = {"limits": Limits(seconds=40), "clock": lambda: now[0]}
    backoff = recording_sleep.backoff(sleep=sleep)
    done = at_once(Coordinator(provider, Counting().tools(), backoff=backoff, **options).run("Go."))
    assert (recording_sleep.slept, len(provider.bodies), done.level) == ([30.0], 2, "assembled")


@pytest.mark.parametrize("after", [0, 2])
@on_every_wire
def test_no_call_of_a_retried_answer_runs_twice(wire: str, after: int) -> None:
    """The part of the answer that had arrived is void; calls run from the answer that is complete."""
    counting, log = Counting(), RecordingObserver()
    played = script([Say("Let me see."), call("look"), call("count")], [Say("Done.")])
    provider = Emulated(wire, played, fails={0: BusyError(), 2: BusyError()}, after=after)
    turn = Turn(provider, counting.tools(), backoff=RecordingSleep().backoff(), observers=[log])
    assert at_once(turn.run("Go.")).termination == "natural_completion"
    assert counting.names == ["look", "count"]
    assert len(only(log.events, turn_events.CallStarted)) == 2
    playing.assert_legal(turn)


class PartOfAnAnswer(Emulated):
    """An answer that breaks off for overload after the provider ran a tool itself."""

    async def ask(self, body: Any) -> AsyncIterator[Any]:
        self.bodies.append(body)
        blocks: list[Any] = [ServerToolCall("s1", "mcp", "send_mail", "{}", "complete"), Text("Sent.")]
        yield BlockStart(0, 0, "text")
        yield BlockDelta(0, 0, "Sent.")
        error = Error("overloaded_error", "Overloaded", None, True)
        yield Response(self.wire, self.name, None, None, [Choice(0, blocks, Stop("error"))], None, error, False)


def test_an_answer_with_server_calls_is_not_retried() -> None:
    recording_sleep = RecordingSleep()
    provider = PartOfAnAnswer("openai.responses", TWO)
    assert at_once(Turn(provider, backoff=recording_sleep.backoff()).run("Go.")).termination == "provider_failed"
    assert (len(provider.bodies), recording_sleep.slept) == (1, [])
    directed = PartOfAnAnswer("openai.responses", TWO)
    at_once(Coordinator(directed, Counting().tools(), backoff=recording_sleep.backoff()).run("Go."))
    assert (len(directed.bodies), recording_sleep.slept) == (2, [1.0])  # the second request allows no calls


@pytest.mark.parametrize("how", ["cancel", "aclose", "task"])
def test_a_turn_can_be_cancelled_during_a_backoff(how: str) -> None:
    provider = Emulated("anthropic.messages", TWO, fails={0: BusyError(retry_after="50")}, after=3)
    turn = Turn(provider, backoff=Backoff())

    async def when(event: Any) -> bool:
        return isinstance(event, turn_events.Noted)

    playing.interrupted(turn, how, when)
    assert (turn.outcome.termination, len(provider.bodies)) == ("cancelled", 1)
    playing.assert_legal(turn)


def test_a_backoff_that_cancels_its_own_task_ends_the_wait() -> None:
    async def sleep(_: float) -> None:
        task: Any = asyncio.current_task()
        task.cancel()
        await asyncio.sleep(0)

    turn = Turn(Emulated("openai.chat", TWO, fails={0: BusyError()}), Counting().tools(), backoff=Backoff(sleep=sleep))
    assert at_once(turn.run("Go.")).termination == "natural_completion"


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
def test_only_overload_errors_are_recognized_as_overload(error: Error, overloaded: bool) -> None:
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
def test_retry_after_reads_every_form_of_the_headers(headers: Any, seconds: float | None) -> None:
    assert retry_after(headers, now=lambda: NOW) == seconds
    error: Any = SimpleNamespace(trailing_metadata=lambda: (("retry-after", "4"),))  # as gRPC raises it
    assert demanded(error) == 4.0


@given(st.dictionaries(st.sampled_from(["retry-after", "retry-after-ms", "date"]), st.text(max_size=30)))
def test_retry_after_accepts_any_header_text(headers: dict[str, str]) -> None:
    seconds = retry_after(headers)
    assert seconds is None or seconds >= 0


@given(st.integers(1, 20), st.floats(0, 1), st.one_of(st.none(), st.floats(0, 1000)))
def test_a_wait_is_bounded_and_never_shorter_than_demanded(attempt: int, jitter: float, wanted: float | None) -> None:
    backoff = Backoff(attempts=10, jitter=lambda: jitter)
    seconds = backoff.seconds(attempt, wanted)
    if attempt >= 10 or (wanted or 0) > 60:
        assert seconds is None
    else:
        assert seconds is not None
        assert 0 < seconds <= 60
        assert not wanted or seconds == wanted


def test_an_invalid_backoff_is_rejected_and_a_large_one_is_bounded() -> None:
    with pytest.raises(PolicyError, match=r"longest must be >= 0, got -1"):
        Backoff(longest=-1)
    assert Backoff(attempts=100_000, first=1e308, jitter=lambda: 1.0).seconds(50_000) == 60.0
