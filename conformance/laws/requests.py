"""Laws about the next request: every call has one result, and nothing that matters is lost on the way."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import chain
from typing import Any
from zlib import crc32

from toolparity.normalizer import json_codec
from toolparity.normalizer.model import Wire
from toolparity.normalizer.requests import check_request
from toolparity.normalizer.wires.registry import wire_name
from toolparity.reports.results import Effect

from ..answer import AnsweredCall, NextRequest, parse_request
from ..cases.case import Case, CaseRound, Evidence
from ..cases.expected import ExpectedCall
from ..errors import InvalidRequest
from ..oracle import RequestItem, judged_wires, oracle
from ..subjects import CallResult, FollowUp
from .history import repetition_failures
from .law import Failure, is_due, law
from .losses import wrong_losses
from .matching import call_list, json_equal, match_calls, texts_in
from .selection import applied_selection

#: For how many other wires a subject writes a request in one case, unless the run is exhaustive.
_TARGETS = 2
BREAKS_RULE = "the request breaks the rule "


def _answered_rounds(evidence: Evidence) -> list[CaseRound]:
    """Return the rounds whose calls were answered."""
    return [round for round in evidence.rounds if round.expected.calls and round.following]


def _has_answered_calls(evidence: Evidence) -> bool:
    return bool(_answered_rounds(evidence)) and is_due(evidence)


@law(
    "answered",
    "In the next request every call has exactly one result, where and how the provider requires it.",
    claims=("answers",),
    applies=_has_answered_calls,
)
def answered(evidence: Evidence) -> Iterator[Failure]:
    """Check that the subject's next request follows the provider's rules and has one result for each call."""
    for round in _answered_rounds(evidence):
        number, wire, provider = round.number, round.exchange.wire, round.exchange.provider
        body = _request(evidence, round, wire, provider).body
        for violation in check_request(body, wire, provider=provider):
            reason = f"{BREAKS_RULE}{violation.rule}: {violation.message}"
            yield Failure(number, reason, None, body, effect="malformed")
        items = list(oracle(wire).items(body))
        call_ids, result_ids = ([item.id for item in items if item.kind == kind] for kind in ("call", "result"))
        calls, results = Counter(call_ids), Counter(result_ids)
        left_out = stripped(round, body, wire)
        made = sum(call.choice == 0 for call in round.expected.calls) - len(left_out)
        if made > calls.total():
            yield Failure(number, "calls are missing in the next request", made, dict(calls), effect="lost")
        if calls == results and call_ids != result_ids:
            reason = "the results are not in the order of the calls"
            yield Failure(number, reason, call_ids, result_ids, effect="malformed")
        for result in lost_results(round, body, wire):
            yield Failure(number, "a result is missing or answers another call", result, None, effect="lost")
        yield from wrongly_answered(round, body, wire)
        yield from _unmarked_failures(round, call_ids, left_out, oracle(wire).failed_results(body))
        if calls != results:
            missing, surplus = (", ".join(left) or "none" for left in (calls - results, results - calls))
            reason = f"calls without a result: {missing}; results without a call: {surplus}"
            effect: Effect = "lost" if calls - results else "duplicated"
            yield Failure(number, reason, dict(calls), dict(results), effect=effect)


def _unmarked_failures(
    round: CaseRound, call_ids: list[str], left_out: list[int], marked: set[str] | None
) -> Iterator[Failure]:
    """Yield calls that failed or did not run and are not answered with an error (failures RES-01, INV-01).

    ``call_ids``: those of the calls in the request. A call without an id on the wire is known by its position there.
    ``left_out``: the calls that the request does not have.
    """
    if marked is None:
        return
    indexes, _ = match_calls(round.expected.calls, round.answer.calls)
    sent = [pair for pair in zip(indexes, round.answer.calls, strict=True) if pair[0] not in left_out]
    by_position = dict(zip((call.id for _, call in reversed(sent)), reversed(call_ids), strict=False))
    for index, call in sent:
        if index is None or call.id is None or round.expected.calls[index].choice:
            continue
        failed = round.expected.calls[index].failed or index not in applied_selection(round).kept
        id = call.id if call.id in call_ids else by_position.get(call.id)
        if failed and id not in marked:
            reason = f"the result of {call.name} is not marked as an error"
            yield Failure(round.number, reason, "is_error", call.id, effect="misreported")


@law(
    "replay",
    "History goes back to its own provider byte-faithful: signatures, opaque items, ids.",
    claims=("answers",),
    applies=lambda evidence: any(round.following for round in evidence.rounds) and is_due(evidence),
)
def replay(evidence: Evidence) -> Iterator[Failure]:
    """Check that the next request holds each signature, encrypted state and id of the response unchanged.

    It must also hold the calls and the text of the response, and the earlier texts of the user.
    """
    for round in evidence.rounds:
        if not round.following:
            continue
        number, wire = round.number, round.exchange.wire
        request = _request(evidence, round, wire, round.exchange.provider)
        body = request.body
        sent = json_codec.text(body)
        parts = [("part", value) for value in round.expected.back]
        left_out = stripped(round, body, wire)
        free = {call.id for _, call in _calls_at(round, left_out)}
        for kind, value in [*oracle(wire).returned_values(round.exchange), *parts]:
            if json_codec.text(value)[1:-1] not in sent and not (kind == "call id" and value in free):
                reason = f"a {kind} of the response is missing in the request"
                yield Failure(number, reason, value[:80], "missing", effect="lost")
        for call in lost_calls(round, body, wire):
            reason = f"the request does not have {call.name} with the model's arguments"
            yield Failure(number, reason, call_list([call]), None, effect="lost")
        if round.expected.text not in _model_text(body, wire):
            reason = "the text beside the calls is missing in the request"
            yield Failure(number, reason, round.expected.text, effect="lost")
        texts = list(oracle(wire).texts(body, "user"))
        for text in oracle(wire).texts(round.exchange.request, "user"):
            if text not in texts:
                yield Failure(number, "the user's text is missing in the request", text, effect="lost")
        if evidence.is_canonical and not left_out:
            yield from repetition_failures(round, body, wire, *_results(round))
            yield from wrong_losses(round, request, wire, canonical=True)


@law(
    "handoff",
    "History from any wire, sent to any other, is legal there, and what could not be carried is reported.",
    claims=("answers", "handoff"),
    applies=_has_answered_calls,
)
def handoff(evidence: Evidence) -> Iterator[Failure]:
    """Check, for other wires, that the request follows their rules and contains every call, result and text."""
    for round in _answered_rounds(evidence):
        allowed = getattr(evidence.subject, "targets", None)
        for wire, provider in targets(evidence.case, round.exchange.wire, allowed, exhaustive=evidence.exhaustive):
            request = _request(evidence, round, wire, provider)
            body = request.body
            for violation in check_request(body, wire, provider=provider):
                reason = f"the request for {wire} breaks the rule {violation.rule}: {violation.message}"
                yield Failure(round.number, reason, None, body, effect="malformed")
            for call in lost_calls(round, body, wire):
                reason = f"the request for {wire} does not have {call.name} with the model's arguments"
                yield Failure(round.number, reason, call_list([call]), None, effect="lost")
            for result in lost_results(round, body, wire):
                reason = f"the request for {wire} does not have a result at its call"
                yield Failure(round.number, reason, result, None, effect="lost")
            yield from wrongly_answered(round, body, wire)
            if not _has_text(round.expected.text, _model_text(body, wire)):
                reason = f"the request for {wire} does not have the text beside the calls"
                yield Failure(round.number, reason, round.expected.text, effect="lost")
            yield from wrong_losses(round, request, wire, canonical=evidence.is_canonical)
            if evidence.is_canonical and not stripped(round, body, wire):
                yield from repetition_failures(round, body, wire, *_results(round))


def targets(
    case: Case, source: Wire, allowed: Collection[str] | None = None, *, exhaustive: bool = False
) -> list[tuple[Wire, str]]:
    """Return the wires to which a case hands over its conversation, each with its provider.

    ``source``: the wire of the responses. ``allowed``: the wires that the subject writes, if it does not write all. The
    scenarios take turns, and so do plain and streamed responses: together they cover every pair of wires. Under another
    policy than `all` it is one wire.
    """
    found = [(wire_name(target.name), target.owner) for target in judged_wires()]
    found = [target for target in found if target[0] != source and (allowed is None or target[0] in allowed)]
    if exhaustive or len(found) <= _TARGETS:
        return found
    first = crc32(f"{case.scenario}/{case.surface}".encode()) + _TARGETS * case.stream
    turns = range(_TARGETS) if case.policy == "all" else (_TARGETS + len(case.policy),)
    return [found[(first + turn) % len(found)] for turn in turns]


def _request(evidence: Evidence, round: CaseRound, to: Wire, provider: str) -> NextRequest:
    """Return the subject's next request. Raises InvalidRequest if the oracle of the wire cannot read it."""
    request = parse_request(evidence.next_request(follow_up(round, to, provider)))
    reader = oracle(to)
    try:
        for _ in chain(reader.items(request.body), reader.texts(request.body, "user")):
            pass
        reader.failed_results(request.body)
    except (TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
        violation = next(iter(check_request(request.body, to, provider=provider)), None)
        what = f"{type(error).__name__}: {error}" if violation is None else violation.message
        raise InvalidRequest(f"the request does not have the form of {to}: {what}") from None
    return request


def follow_up(round: CaseRound, to: Wire, provider: str) -> FollowUp:
    """Return the request that follows a round, with a result for each call that the policy keeps.

    A result has the id that the subject gave the call. The results are in reverse order, as if the last call finished
    first (failures ORD-01, XAI-01).
    """
    results = [
        CallResult(call.id or "", call.name, _result(round, index), round.expected.calls[index].failed)
        for index, call in _calls_at(round, applied_selection(round).kept)
    ]
    return FollowUp(exchange=round.exchange, results=results[::-1], to=to, provider=provider)


def _calls_at(round: CaseRound, places: Collection[int]) -> list[tuple[int, AnsweredCall]]:
    """Return the subject's calls that are the expected ones at these places, each with its place."""
    indexes, _ = match_calls(round.expected.calls, round.answer.calls)
    pairs = zip(indexes, round.answer.calls, strict=True)
    return [(index, call) for index, call in pairs if index is not None and index in places]


def _result(round: CaseRound, index: int) -> str:
    """Return the result of a call."""
    call = round.expected.calls[index]
    return f"the result of {call.name} ({index + 1})" if call.result is None else call.result


def _results(round: CaseRound) -> tuple[list[str], list[str]]:
    """Return the results of the calls that succeeded, and of those that failed."""
    calls = round.expected.calls
    results: tuple[list[str], list[str]] = ([], [])
    for index in applied_selection(round).kept:
        results[calls[index].failed].append(_result(round, index))
    return results


def _model_text(body: Any, wire: str) -> str:
    return "".join(oracle(wire).texts(body, "assistant"))


def _has_text(text: str, sent: str) -> bool:
    """Return whether a request has a text. It may have line breaks between the texts of several parts."""
    one_line, sent_line = text.replace("\n", ""), sent.replace("\n", "")
    return text in sent or (sent.count("\n") > text.count("\n") and one_line in sent_line)


def lost_results(round: CaseRound, body: Any, wire: str) -> Iterator[str]:
    """Yield the results that are missing in a request, or that answer another call there."""
    results = [item for item in oracle(wire).items(body) if item.kind == "result"]
    kept = applied_selection(round).kept
    for index, call in _sent_calls(round, body, wire):
        result = _result(round, index)
        own = [item for item in results if call is None or item.id == call.id]
        if index in kept and not any(_has_result(item.content, result) for item in own):
            yield result


def lost_calls(round: CaseRound, body: Any, wire: str) -> Iterator[ExpectedCall]:
    """Yield the calls that are missing in a request, or have another name or other arguments there."""
    kept = applied_selection(round).kept
    for index, call in _sent_calls(round, body, wire):
        if call is None and index in kept:
            yield round.expected.calls[index]


def stripped(round: CaseRound, body: Any, wire: str) -> list[int]:
    """Return the indexes of the calls that the policy drops and that a request leaves out.

    None may be left out beside signed or encrypted reasoning, because the provider refuses a turn that was changed.
    """
    if not (dropped := applied_selection(round).dropped):
        return []
    if any(kind != "call id" for kind, _ in oracle(round.exchange.wire).returned_values(round.exchange)):
        return []
    return [index for index, call in _sent_calls(round, body, wire) if call is None and index in dropped]


def wrongly_answered(round: CaseRound, body: Any, wire: str) -> Iterator[Failure]:
    """Yield the dropped calls whose answer in a request is empty, or is the result of another call."""
    selection, items = applied_selection(round), oracle(wire).items(body)
    if not selection.dropped:
        return
    results = [item for item in items if item.kind == "result"]
    kept = {_result(round, index) for index in selection.kept} - {""}
    for index, call in _sent_calls(round, body, wire):
        if call is None or index not in selection.dropped:
            continue
        for item in results:
            texts = texts_in(item.content)
            if item.id == call.id and (kept & texts or not any(map(str.strip, texts))):
                reason = f"{round.expected.calls[index]} was dropped, and its answer does not say that it did not run"
                yield Failure(round.number, reason, "an error that says why", item.content, effect="altered")


def _sent_calls(round: CaseRound, body: Any, wire: str) -> Iterator[tuple[int, RequestItem | None]]:
    """Yield the index of each runnable call, with the item that represents it in a request, or None.

    Both are matched from the end, because earlier rounds may contain equal calls. Equal calls are known by their ids.
    """
    free = [item for item in oracle(wire).items(body) if item.kind == "call"][::-1]
    ids = {index: call.id for index, call in _calls_at(round, round.expected.runnable)}
    for index in reversed(round.expected.runnable):
        call = round.expected.calls[index]
        # On another wire the name may have a suffix, because names can collide, and other characters.
        foreign = wire != round.exchange.wire
        named = [i for i in free if i.name == call.name or (foreign and _folded(i.name).startswith(_folded(call.name)))]
        equal = [item for item in named if _has_arguments(item.content, call)]
        own = ids.get(index)
        item = next((item for item in equal if item.id == own), None)
        if item is None:
            item = next((item for item in equal if item.id not in ids.values()), None)
        if item is not None:
            free.remove(item)
        yield index, item


def _folded(name: str) -> str:
    """Return a name with the characters that every wire accepts."""
    return re.sub("[^a-zA-Z0-9_]", "_", name)


def _has_arguments(content: Any, call: ExpectedCall) -> bool:
    """Return whether arguments in a request, as text or as an object, are those of a call."""
    if call.arguments is None and content == call.text:
        return True
    if isinstance(content, str):
        try:
            content = json_codec.decode(content) if content.strip() else {}
        except ValueError:
            return False
    if call.arguments is None:  # free text, on a wire that only has objects
        return isinstance(content, dict) and call.text in content.values()
    return json_equal({} if content is None else content, call.arguments)


def _has_result(content: Any, result: str) -> bool:
    """Return whether the content of an item has a result, as text or, if it is JSON, as a value."""
    sent = json_codec.text(content)
    if json_codec.text(result)[1:-1] in sent or result in sent:
        return True
    try:
        value = json_codec.decode(result)
    except ValueError:
        return False
    return isinstance(value, (dict, list)) and _is_within(content, value)


def _is_within(body: Any, value: Any) -> bool:
    if body == value:
        return True
    members = body.values() if isinstance(body, dict) else body if isinstance(body, list) else ()
    return any(_is_within(member, value) for member in members)
