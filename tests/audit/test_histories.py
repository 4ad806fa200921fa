"""Histories are read and checked once, and the results are those of requests that are read whole."""

from __future__ import annotations

import gc
import pickle
import tracemalloc
from itertools import count, pairwise
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from tests.audit.conversations.correct_agents import CorrectLog
from tests.support.wires import WIRES
from toolparity import Wire
from toolparity.audit import histories
from toolparity.audit.conversations import ExchangeRecord, record
from toolparity.audit.conversations.exchange_index import ExchangeIndex, question_of
from toolparity.audit.conversations.records import message_records
from toolparity.audit.histories import Histories
from toolparity.normalizer.conversation import Message
from toolparity.normalizer.errors import MalformedBody
from toolparity.normalizer.requests import check_request, read_request
from toolparity.normalizer.wires.registry import History, spec

_CALL = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
_RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "dry"}
_TEXT = {"type": "text", "text": "Now?"}
_JUNK: list[Any] = [None, {}, {"role": "assistant"}, {"type": "tool_search_output"}, {"type": "item_reference"}]
_JUNK += [{"type": "custom_tool_call", "call_id": "c", "name": "n", "input": "i"}, {"type": "google_search_result"}]
_SETTINGS: list[dict[str, Any]] = [{"temperature": 1}, {"store": False}, {"tools": [{"type": "x_search"}]}]
_ROUND = {"role": "assistant", "content": [_CALL]}


def _bodies(log: CorrectLog) -> list[dict[str, Any]]:
    if spec(log.wire).framing == "bytes":
        return log.bodies
    return [spec(log.wire).part("schema").as_dict(body) for body in log.bodies]


def _form(wire: str) -> History:
    form = spec(wire).history
    assert form is not None
    return form


def _edited(body: dict[str, Any], form: History, random: Random) -> dict[str, Any]:
    """Return a request whose history was edited anywhere, or that has other settings."""
    items = [*body[form.member]]
    for _ in range(random.randint(1, 3)):
        at, other = (random.randrange(len(items) or 1) for _ in range(2))
        match random.randrange(6):
            case 0:
                del items[at : at + 1]
            case 1:
                items[at:at], items[other:other] = items[other : other + 1], items[at : at + 1]
            case 2 | 3:
                items[at : at + random.randrange(2)] = [random.choice([*_JUNK, {"role": form.model[0], "content": 1}])]
            case 4:
                items = random.choice((items[at:], items[:at]))
            case _:
                body = {**body, **random.choice(_SETTINGS)}
    return {**body, form.member: items}


def _whole(body: dict[str, Any], wire: Wire) -> ExchangeRecord:
    try:
        return record("", wire, read_request(body, wire), None)
    except MalformedBody:
        return record("", wire, None, None)


def links_by(made: ExchangeRecord) -> list[object]:
    """Return what the linker knows of a record, which it does not find out again for messages that are shared."""
    node = ExchangeIndex().node(made, 1)
    questions = [question_of(made, end) for end in range(len(made.messages or ()) + 1)]
    return [node.digest, node.repeated, node.thread.results, node.thread.matched, questions]


@pytest.mark.parametrize("wire", WIRES)
def test_a_record_and_its_broken_rules_depend_on_the_request_alone(wire: Wire) -> None:
    """Conversations that are interleaved, branch and are edited, with a cache, a tiny one, and without."""
    form, caches = _form(wire), [Histories(), Histories(20_000), Histories(0)]
    for seed in range(6):
        random = Random(seed)
        for body in _bodies(CorrectLog(seed, wire)):
            edited = _edited(body, form, random)
            beginnings = [{**edited, form.member: edited[form.member][:n]} for n in range(len(edited[form.member]))]
            for request in (body, *beginnings, edited, *({**edited, **settings} for settings in _SETTINGS)):
                whole, refused = _whole(request, wire), check_request(request, wire)
                for cache in caches:
                    assert cache.violations(request, wire) == refused, (seed, request)
                    made = replace(cache.record("", wire, request, None), preceded=False)
                    assert made == whole, (seed, request)
                    assert links_by(made) == links_by(whole), (seed, request)


@pytest.mark.parametrize("wire", WIRES)
def test_each_round_is_read_once(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    form, read = _form(wire), 0

    def counted(messages: list[Message]) -> Any:
        nonlocal read
        read += len(messages)
        return message_records(messages)

    log = next(log for seed in count() if len((log := CorrectLog(seed, wire)).records[-1].chain) > 6)
    body = _bodies(log)[-1]
    items = body[form.member]
    monkeypatch.setattr(histories, "message_records", counted)
    cache = Histories()
    ends = [n for n, pair in enumerate(pairwise([*form.of_model(items), True]), 1) if pair == (False, True)]
    made = [cache.record("", wire, {**body, form.member: items[:end]}, None) for end in ends]
    assert read == len(made[-1].messages or ())
    assert all(one is other for one, other in zip(made[-2].messages or (), made[-1].messages or (), strict=False))


def test_records_of_a_conversation_share_its_messages() -> None:
    """In memory, and on the way to another process, they grow with its length, and not with the square of it."""
    items: list[Any] = [{"role": "user", "content": "Go."}, *[_ROUND, {"role": "user", "content": [_RESULT]}] * 80]
    cache, sizes = Histories(), []
    bodies = [{"messages": items[:end]} for end in range(1, len(items), 2)]
    records = [cache.record("", "anthropic.messages", body, None) for body in bodies]
    for end in (40, 80):
        sizes.append(len(data := pickle.dumps(records[:end])))
        assert pickle.loads(data) == [_whole(body, "anthropic.messages") for body in bodies[:end]]
    assert sizes[1] < 2 * sizes[0]
    for shared in (records[2].messages or [], records[2].chain):
        whole, numbers = [*shared], range(-len(shared) - 2, len(shared) + 2)
        assert [shared[a:b] for a in numbers for b in numbers] == [whole[a:b] for a in numbers for b in numbers]
        assert [shared[n] for n in numbers[2:-2]] == [whole[n] for n in numbers[2:-2]]
        assert shared[::-1] == [*reversed(shared)]
        for outside in (numbers[1], numbers[-2]):
            with pytest.raises(IndexError):
                shared[outside]


def test_only_the_rules_that_a_round_breaks_are_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    items: list[Any] = [{"role": "user", "content": "Go."}, *[_ROUND, {"role": "user", "content": [_RESULT]}] * 9]
    items[2] = {"role": "user", "content": [_RESULT, {"type": "unknown"}]}
    refused = check_request(body := {"max_tokens": 1, "messages": items}, "anthropic.messages")
    monkeypatch.setattr(histories, "check_request", None)
    assert Histories().violations(body, "anthropic.messages") == refused != []


def test_a_history_larger_than_the_bound_is_not_cached() -> None:
    """It takes the place of no other one, and no memory but that of the last request."""
    items: list[Any] = [{"role": "user", "content": "Go."}]
    for number in range(100):
        call, result = {**_CALL, "id": f"toolu_{number}"}, {**_RESULT, "tool_use_id": f"toolu_{number}"}
        items += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    bodies = [{"max_tokens": 1, "messages": [*items[:end]]} for end in range(1, len(items), 2)]
    cache, other = Histories(20_000), {"messages": [*items[:5], items[0]]}
    before, _, again = (cache.record("", "anthropic.messages", body, None) for body in (other, bodies[-1], other))
    assert before.messages
    assert again.messages
    assert before.messages[-2] is again.messages[-2]
    cache = Histories(20_000)
    tracemalloc.start()
    for number, body in enumerate(bodies):
        assert not cache.violations(body, "anthropic.messages")
        cache.record("", "anthropic.messages", body, None)
        if number % 20 == 19:
            gc.collect()
            assert tracemalloc.get_traced_memory()[0] < 20_000 + 200 * number
    tracemalloc.stop()


def test_a_turn_is_judged_by_its_own_order() -> None:
    """A mistake in an earlier turn is not repeated in each later one."""
    asked, wrong, right = ({"role": "user", "content": c} for c in ([_TEXT], [_TEXT, _RESULT], [_RESULT, _TEXT]))
    for turns, preceded in (([wrong], True), ([wrong, right], False), ([right, wrong], True), ([right], False)):
        messages = [asked, *(message for turn in turns for message in (_ROUND, turn))]
        made = Histories().record("", "anthropic.messages", {"model": "m", "messages": messages}, None)
        assert made.preceded is preceded
