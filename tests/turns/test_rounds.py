"""Rounds: a turn requests, runs calls, returns results and repeats, on every wire, and always ends with an answer."""

from __future__ import annotations

import itertools
from typing import Any

from msgspec.structs import replace

from toolparity import StreamDecoder
from toolparity.normalizer.conversation import Request, TextPart, User
from toolparity.normalizer.requests import read_request
from toolparity.turns.turn import Turn

from . import playing
from .playing import WIRES, Counting, Emulated, Say, Think, at_once, call, kinds, on_every_wire, rows, script

TWO = script([Say("Let me see."), call("look", at=1), call("count", of="ducks")], [Say("Two ducks.")])


def run(wire: str, played: Any, counting: Counting | None = None, **options: Any) -> tuple[Turn, list[Any], Emulated]:
    tool_options = options.pop("options", {})
    provider = Emulated(wire, played, **{name: options.pop(name) for name in ("fails", "after") if name in options})
    turn = Turn(provider, (counting or Counting()).tools(**tool_options), id="turn-1", **options)
    return turn, at_once(playing.play(turn)), provider


@on_every_wire
def test_a_turn_runs_the_calls_returns_the_results_and_ends_with_the_models_text(wire: str) -> None:
    turn, events, provider = run(wire, TWO)
    plan = "block_stop " * (wire == "cohere.chat")
    assert " ".join(kinds(events)) == (
        f"turn_started round_started {plan}block_stop block_stop block_stop calls_known call_started call_started "
        "block_stop call_finished block_stop call_finished round_finished "
        "round_started block_stop round_finished turn_complete"
    )
    assert turn.outcome.text == "Two ducks."
    assert turn.outcome.termination == "natural_completion"
    assert len(provider.bodies) == 2
    assert [event.seq for event in events] == list(range(len(events)))
    playing.assert_legal(turn)


def test_the_rows_of_a_turn_are_the_same_on_every_wire() -> None:
    for wire in WIRES:
        turn, events, _ = run(wire, TWO)
        (first, second) = [c.id for c in turn.state.rounds[0].calls]
        plan = wire == "cohere.chat"  # its first row
        assert [(number - plan, *row) for number, *row in rows(events)[plan:]] == [
            (0, "text", "Let me see.", None),
            (1, "tool_use", None, {"tool_use_id": first, "tool_name": "look", "input": {"at": 1}}),
            (2, "tool_use", None, {"tool_use_id": second, "tool_name": "count", "input": {"of": "ducks"}}),
            (3, "tool_result", None, {"tool_use_id": first, "content": "look ran", "is_error": False}),
            (4, "tool_result", None, {"tool_use_id": second, "content": "count ran", "is_error": False}),
            (5, "text", "Two ducks.", None),
        ]


@on_every_wire
def test_each_request_contains_the_whole_history_and_all_tools(wire: str) -> None:
    """000, Gateway Loop; 003, Current Problem, Core Architecture Changes, Modified `generate_response` Method,
    Context Preservation Between API Calls, Testing Strategy: a second call can follow, the first is remembered.
    """
    played = script([call("look", at=1)], [call("count", of="x")], [Say("Done.")])
    _, _, provider = run(wire, played)
    requests = [read_request(body, wire, provider=provider.name) for body in provider.bodies]
    assert [len(request.messages) for request in requests] == [1, 3, 5]
    assert all([tool.name for tool in request.tools] == ["look", "count", "post"] for request in requests)
    for before, after in itertools.pairwise(requests):
        assert after.messages[: len(before.messages)] == before.messages


@on_every_wire
def test_the_models_reasoning_is_sent_back_with_its_calls(wire: str) -> None:
    played = script([Think("I should look."), call("look", at=1)], [Say("Seen.")])
    provider = Emulated(wire, played)
    turn = Turn(provider, Counting().tools())
    at_once(turn.run(playing.opening(played, wire)))
    assert turn.outcome.text == "Seen."
    answer = turn.state.rounds[0].answer
    assert answer is not None
    assert turn.state.history()[1].response is answer  # type: ignore[union-attr]


def test_a_complete_response_yields_the_same_events_as_a_stream() -> None:
    class Complete(Emulated):
        async def ask(self, body: Any) -> Any:
            decoder = StreamDecoder(self.wire, provider=self.name, request=body)
            async for piece in super().ask(body):
                decoder.feed(piece)
            yield decoder.finish()

    for wire in WIRES:
        events = at_once(playing.play(Turn(Complete(wire, TWO), Counting().tools(), id="turn-1")))
        _, streamed, _ = run(wire, TWO)
        assert rows(events) == rows(streamed)
        assert kinds(events) == kinds(streamed)


def test_a_prepare_function_can_shorten_the_request_but_not_the_history() -> None:
    """The request contains a shortened history, but the turn keeps all of it."""
    seen: list[int] = []

    def brief(request: Request) -> Request:
        seen.append(len(request.messages))
        kept = request.messages[-2:] if len(request.messages) > 3 else []
        return replace(request, messages=[User([TextPart("Go.")]), *kept] if kept else request.messages)

    played = script([call("look", at=1)], [call("look", at=2)], [Say("Done.")])
    provider = Emulated("anthropic.messages", played)
    turn = Turn(provider, Counting().tools(), prepare=brief, max_rounds=2)
    at_once(turn.run("Go."))
    assert seen == [1, 3, 5]
    assert [len(body["messages"]) for body in provider.bodies] == [1, 3, 3]
    assert len(turn.state.history()) == 5
