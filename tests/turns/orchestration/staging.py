"""Helpers for orchestrated turns: a provider that plays its script whatever part of the conversation it receives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from tests.turns import playing
from tests.turns.log.shared import Clock
from tests.turns.playing import LONG, Counting, Emulated, Say, at_once, call, script
from toolparity.cassettes.scripts import Script
from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import Assistant, Message, System, TextPart, ToolResults, User
from toolparity.normalizer.model import Choice, Response, Stop, Text, ToolCall
from toolparity.turns.events import Noted, TurnEvent
from toolparity.turns.execution.tools import Tools
from toolparity.turns.orchestration import Coordinator
from toolparity.turns.orchestration.memory import CallMemory
from toolparity.turns.orchestration.notes import note_of

__all__ = ["LONG", "Clock", "Counting"]

_M = TypeVar("_M")

#: One round with one call, and an answer.
LOOKED = script([call("look", at=1)], [Say("Done.")])


class Sequenced(Emulated):
    """Plays one round per successful request, so that it also answers requests with a briefing.

    ``fails``: the numbers of the requests that fail, from 0.
    """

    def __init__(self, wire: str, played: Script, *, fails: Iterable[int] = (), **more: Any) -> None:
        super().__init__(wire, played, in_order=True, fails={number: RuntimeError("gone") for number in fails}, **more)


class Ran:
    """An orchestrated turn that ran to its end. ``tools``: the options of the tools, or others."""

    def __init__(
        self,
        played: Script | None = None,
        counting: Counting | None = None,
        *,
        wire: str = "openai.chat",
        tools: dict[str, Any] | Tools | None = None,
        fails: Iterable[int] = (),
        after: int = 0,
        faults: Any = None,
        **options: Any,
    ) -> None:
        self.provider = Sequenced(wire, played or LONG, fails=fails, after=after, faults=faults)
        self.counting = counting or Counting()
        offered = tools if isinstance(tools, Tools) else self.counting.tools(**(tools or {}))
        self.coordinator = Coordinator(self.provider, offered, **options)
        self.events = directed(self.coordinator)
        self.done = self.coordinator.orchestrated
        self.state = self.coordinator.turn.state
        self.termination = self.done.outcome.termination

    @property
    def first_calls(self) -> list[CallMemory]:
        return list(self.done.session.rounds[0].calls)


def directed(coordinator: Coordinator, message: str | None = "Go.") -> list[TurnEvent]:
    """All events of an orchestrated turn, which must end with a text, a result for each call, and a legal history."""
    events = at_once(playing.play(coordinator, message))
    assert_answered(coordinator)
    return events


def assert_answered(coordinator: Coordinator) -> None:
    """The turn has a text and one result for every call, and its next request is legal on every wire."""
    turn = coordinator.turn
    assert turn.state.phase == "over"
    assert coordinator.orchestrated.text.strip()
    for round in turn.state.rounds:
        assert all(call_state.settled for call_state in round.calls)
        calls = [block.id for block in round.ai_response_content if isinstance(block, ToolCall)]
        if round.messages and isinstance(round.messages[-1], ToolResults):
            assert [result.call_id for result in round.messages[-1].results] == calls
    playing.assert_legal(turn)


def names_of_notes(events: list[TurnEvent]) -> list[str]:
    return [event.note for event in events if isinstance(event, Noted)]


def notes(events: list[TurnEvent], kind: type[_M]) -> list[_M]:
    """The notes of a type."""
    found = [note_of(event) for event in events if isinstance(event, Noted)]
    return [note for note in found if isinstance(note, kind)]


def words(turn: Message) -> str:
    """The text of a system, user or assistant message."""
    if isinstance(turn, Assistant):
        return turn.response.text
    assert isinstance(turn, (User, System))
    return "".join(part.text for part in turn.parts if isinstance(part, TextPart))


def answer(text: str, *calls: tuple[str, dict[str, Any]], number: int = 0, wire: str = "openai.chat") -> Assistant:
    """An assistant message with calls. On Gemini's wire the first of them is signed, as its models do."""
    made = [ToolCall(f"c{number}-{at}", name, given, json_codec.text(given)) for at, (name, given) in enumerate(calls)]
    if wire == "google.gemini" and made:
        made[0].extra["thoughtSignature"] = "c2lnbmVk"
    choice = Choice(0, [*([Text(text)] if text else []), *made], Stop("tool_calls" if calls else "end_turn"))
    return Assistant(Response(wire, None, None, None, [choice]))
