"""An item whose ids change between its first and its last event is one call, under the ids of the last."""

from __future__ import annotations

from typing import Any

import pytest

from tests.normalizer.wires.test_openai_responses_items import (
    CALL,
    EMPTY,
    EVERY_KIND,
    TEXT,
    TEXTUAL,
    WIRE,
    announced,
    pieces,
    read,
    states,
)
from tests.support.decoding import codes, decoded, ran
from tests.support.events import CREATED, added, done, function_call, grow, sse, terminal

LAST = {"id": "i_last", "call_id": "call_last", "status": "completed"}
FIRST = {"id": "i_first", "call_id": "call_first", "status": "in_progress"}


@EVERY_KIND
def test_a_call_id_that_changes_is_one_call(item: dict[str, Any]) -> None:
    """At the end of the item, with or without indexes, or only in the final output, with or without that end."""
    item = item | LAST
    begin = added(0, announced(item, call_id="call_first"))
    texts = [(kind, item[part]) for part, kind in TEXTUAL.items() if isinstance(item.get(part), str)]
    grown = [grow(kind, 0, text, item_id="i_last") for kind, text in texts]
    events = [begin, *grown, done(0, item)]
    without_index = [{name: value for name, value in event.items() if name != "output_index"} for event in events]
    for stream in (
        *([*given, terminal(output)] for given in (events, without_index) for output in ([item], [])),
        [begin, *grown, done(0, {**item, "call_id": "call_first"}), terminal([item])],
        [begin, *grown, terminal([item])],
        [added(0, item | FIRST), done(0, item), terminal([])],  # both ids, and equal arguments
    ):
        response = decoded(WIRE, sse(CREATED, *stream))
        assert response.choices[0].blocks == read(output=[item]).choices[0].blocks
        assert ran(response) == ["call_last"]
        assert "id-changed" in codes(response)


@pytest.mark.thorough(keep=6)
@EVERY_KIND
@pytest.mark.parametrize("final", [{}, {"id": "i_first", "call_id": "call_first"}, None], ids=["last", "first", "none"])
def test_both_ids_may_change_if_the_start_has_no_arguments(item: dict[str, Any], final: dict[str, Any] | None) -> None:
    """Also where the final output returns to the ids of the start."""
    item = item | LAST
    start = announced(item) | FIRST | dict.fromkeys({*TEXTUAL, "action", "operation"} & item.keys())
    response = read(added(0, start), done(0, item), output=[] if final is None else [{**item, **final}])
    assert (ran(response), len(response.calls)) == (["call_first" if final else "call_last"], 1)
    assert "id-changed" in codes(response)


def test_both_ids_may_change_if_the_end_has_no_arguments_or_equal_ones() -> None:
    last, first = CALL | LAST, EMPTY | FIRST
    for output in ([last], []):
        response = read(added(0, first), *pieces(0, '{"x":1}'), done(0, last | {"arguments": ""}), output=output)
        assert states(response) == [("call_last", '{"x":1}', "complete")]
        assert ran(response) == ["call_last"]
    equal = added(0, first | {"arguments": '{"x":"é","y":2}'}), done(0, last | {"arguments": '{"y":2,"x":"\\u00e9"}'})
    response = read(*equal)
    assert (ran(response), len(response.calls)) == (["call_last"], 1)


def test_two_calls_with_one_constant_item_id_are_two() -> None:
    """A proxy's constant item id does not merge calls that the index or the call id distinguishes."""
    calls = [function_call(f"c{n}", "f", f'{{"x":{n}}}', id="fc") for n in range(2)]
    apart = [event for n, call in enumerate(calls) for event in (added(n, announced(call)), done(n, call))]
    under_one_index = [event for call in calls for event in (added(0, announced(call)), done(0, call))]
    together = [*(added(0, announced(call)) for call in calls), *(done(0, call) for call in calls)]
    for events in (apart, under_one_index, together, [done(0, call) for call in calls]):
        for output in ([], calls, calls[:1], calls[1:]):
            assert sorted(ran(read(*events, output=output))) == ["c0", "c1"]


def test_an_item_of_another_type_in_the_same_place_is_another_item() -> None:
    """The type is part of an item's identity: a call that ends where a message began does not replace it."""
    words = grow("output_text", 0, "Hi.", item_id="msg_0", content_index=0)
    response = read(added(0, {**TEXT, "content": []}), words, done(0, CALL))
    assert (response.text, ran(response)) == ("Hi.", ["c1"])
