"""What a request did with the calls of the response that it continues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct, field

from toolparity.normalizer.wires.registry import spec

from .call_ids import is_drawn
from .codes import Unjudged
from .exchange_index import ExchangeIndex
from .findings import ConversationFinding, finding
from .invented import is_empty, is_placeholder
from .links import Link, ids_of
from .records import FUNCTION_CALL, CallRecord, MessageRecord, ResultRecord

#: The handling of a call: it has one result, a finding says what is wrong, or it is not judged.
Handling = Literal["answered", "finding"] | Unjudged


class Judged(Struct):
    """The verdict about the calls of a response: by index of the call, and the findings."""

    handling: dict[int, Handling] = {}
    findings: list[tuple[int | None, ConversationFinding]] = []

    def accuse(self, index: int | None, found: ConversationFinding) -> None:
        """Add a finding about a call of the response, or about none of them."""
        self.findings.append((index, found))
        if index is not None:
            self.handling[index] = "finding"


class _Call(Struct):
    """A call of the response, its index, its form in the history (None if it was removed), and its results."""

    index: int
    made: CallRecord
    kept: CallRecord | None = None
    results: list[ResultRecord] = field(default_factory=list)

    @property
    def ids(self) -> set[str]:
        """The ids by which a result may refer to the call."""
        return (self.kept or self.made).ids


def judge_calls(link: Link, index: ExchangeIndex) -> Judged:
    """Judge what a request did with each call of the response."""
    judged = Judged()
    response = link.response
    messages = link.child.record.messages
    if response is None or messages is None:
        return judged
    following, kept = link.following, link.kept
    calls = [_Call(index, call) for index, call in enumerate(response.calls)]
    if kept is not None:
        _match(calls, kept.calls)
    surplus = _assign(calls, following, _added(link, calls))
    if link.position < 0 and not link.child.record.stored:  # the results of earlier rounds are here as well
        surplus = [result for result in surplus if index.known_call(result.call_id) in (None, link.parent)]
    excused = _excuse(link, calls, following)
    if excused is None and _has_other_ids(link, index, calls, surplus):
        excused = "ids-replaced"
    if excused is not None:
        judged.handling = dict.fromkeys(range(len(calls)), excused)
        return judged
    unanswered = [call for call in calls if not call.results and (call.made.runnable and link.parent.record.finished)]
    if unanswered:
        surplus += [result for call in calls for result in _strays(call)]
    for call in calls:
        if call.results:
            judged.handling[call.index] = "answered"
        elif call not in unanswered:
            judged.handling[call.index] = "unfinished"
    if lenient := _lenient(link):
        judged.handling.update(dict.fromkeys([call.index for call in unanswered], lenient))
        unanswered = []
    if link.changes_wire:
        return judged  # ids, arguments and the order can follow the rules of the other wire
    for result in surplus:
        _judge_surplus(judged, link, index, calls, unanswered, result)
    for call in unanswered:
        judged.accuse(call.index, _dropped(link, call))
    for call in calls:
        _judge_answered(judged, link, call)
    _judge_empty(judged, link, calls)
    if calls and not judged.findings:
        _judge_order(judged, link, calls, following)
    return judged


def _lenient(link: Link) -> Unjudged | None:
    """Return why a call without a result is not judged, or None."""
    if link.changes_wire:
        return "other-wire"
    return "turn-cancelled" if link.child.record.transcript else None


def _match(calls: list[_Call], kept: tuple[CallRecord, ...]) -> None:
    """Find each call in the history, by id or else by content."""
    left = list(kept)
    for equal in (_same_id, _same_content):
        for call in calls:
            if call.kept is None:
                call.kept = next((other for other in left if equal(call.made, other)), None)
                if call.kept is not None:
                    left.remove(call.kept)


def _same_id(call: CallRecord, other: CallRecord) -> bool:
    return not call.ids.isdisjoint(other.ids)


def _same_content(call: CallRecord, other: CallRecord) -> bool:
    return call.content == other.content


def _added(link: Link, calls: list[_Call]) -> set[str]:
    """Return the ids of calls that the application added to the response in the history."""
    kept = link.kept
    if kept is None:
        return set()
    return ids_of(other for other in kept.calls if not any(_same_id(call.made, other) for call in calls))


def _assign(calls: list[_Call], following: Sequence[MessageRecord], others: set[str]) -> list[ResultRecord]:
    """Assign the results after the response to its calls. Return those of the next round that fit none of them.

    ``others``: the ids of calls that are not judged; those of later rounds are added, as ids can repeat over rounds.
    """
    surplus: list[ResultRecord] = []
    later = False
    for message in following:
        if message.role == "assistant":
            later = True
            others |= ids_of(message.calls)
        for result in message.results:
            if result.call_id in others:
                continue
            call = next((c for c in calls if result.call_id in c.ids), None)
            if call is not None:
                call.results.append(result)
            elif not later:
                surplus.append(result)
    return surplus


def _strays(call: _Call) -> list[ResultRecord]:
    """Take away the further results of a call that differ from its first one: they belong to a call without one."""
    strays = [result for result in call.results[1:] if result.content != call.results[0].content]
    call.results = [result for result in call.results if result not in strays]
    return strays


def _excuse(link: Link, calls: list[_Call], following: Sequence[MessageRecord]) -> Unjudged | None:
    """Return why none of the calls can be judged, or None."""
    if link.replaced_ids:
        return "ids-replaced"
    if link.uncertain:
        return "ambiguous"
    if any(call.results for call in calls) or not calls:
        return None
    if not following and not _is_sent(link):
        return "not-continued"
    if link.position >= 0 and not any(call.kept for call in calls):
        return "calls-removed"
    if link.child.record.stored and not any(message.results for message in following):
        return "stored-history"
    if following and following[0].role == "user" and not _has_results(link):
        return "no-results"  # the text can be the result
    return None


def _is_sent(link: Link) -> bool:
    """Return whether a request that ends with the calls was sent so, and is not the response with its own history."""
    child = link.child
    contents = {choice.content for choice in child.choices}
    return (
        link.proven
        and child.record.finished
        and bool(contents)
        and link.parent.choices[link.choice].content not in contents
    )


def _has_results(link: Link) -> bool:
    """Return whether the conversation has results. Only a proven link shows that two requests are of one."""
    messages = link.child.record.messages or ()
    return any(message.results for message in messages) or (link.proven and link.parent.thread.results)


def _has_other_ids(link: Link, index: ExchangeIndex, calls: list[_Call], surplus: list[ResultRecord]) -> bool:
    """Return whether a round has a result for each call, all under ids that no call has: a tool has converted the log.

    A provider that compares ids would have refused the request. The log is not converted if another result of the
    conversation has the id of its call, or if the application made the ids up: they are neither drawn nor derived.
    """
    response = link.response
    if response is None or link.position < 0 or not calls or len(surplus) != len(calls):
        return False
    if any(call.made.id == FUNCTION_CALL for call in calls):  # its result names the function
        return False
    if link.proven and (
        link.parent.thread.matched or all(_is_made_up(result.call_id, link, calls) for result in surplus)
    ):
        return False
    known = _earlier_ids(link) | set(response.server_calls)
    return not any(call.results for call in calls) and not any(
        result.call_id in known or index.known_call(result.call_id) is not None for result in surplus
    )


def _is_made_up(id: str, link: Link, calls: list[_Call]) -> bool:
    ids = {*link.names, *(id for call in calls for id in (*call.made.ids, call.made.name))}
    return bool(id) and not is_drawn(id) and not any(id in other or other in id for other in ids)


def _judge_surplus(
    judged: Judged, link: Link, index: ExchangeIndex, calls: list[_Call], unanswered: list[_Call], result: ResultRecord
) -> None:
    """Judge a result that belongs to no call of the response; if one has no result, it is taken for that one's."""
    response = link.response
    if response is not None and result.call_id in response.server_calls:
        message = f"the provider had already run {result.call_id}"
        judged.accuse(
            None, finding("server-call-answered", message, link, evidence=result.call_id, request_shows=_shown(result))
        )
        return
    if not result.call_id and (again := _without_id(calls, result)) is not None:
        message = f"{again.made.name} ({again.made.id}) has a further result"
        judged.accuse(
            again.index, finding("answered-twice", message, link, call=again.made, request_shows=_shown(result))
        )
        return
    earlier = _earlier_ids(link)
    own = any(result.call_id in call.ids for call in calls)
    known = own or result.call_id in earlier or index.known_call(result.call_id) is not None
    if unanswered:
        call = unanswered.pop(0)
        code = "answered-under-another-id" if known else "unknown-call-answered"
        message = f"{call.made.name} ({call.made.id}) has no result, and a result names {result.call_id or 'no id'}"
        judged.accuse(
            call.index,
            finding(code, message, link, call=call.made, evidence=result.call_id, request_shows=_shown(result)),
        )
    elif result.call_id in _earlier_results(link):
        message = f"{result.call_id} of an earlier round has a further result"
        judged.accuse(
            None, finding("answered-twice", message, link, evidence=result.call_id, request_shows=_shown(result))
        )
    elif not known and link.position >= 0 and not link.child.record.stored:
        message = f"no call of the conversation has the id {result.call_id}"
        if not result.call_id:
            message = f"a further result of {result.name} belongs to no call of the conversation"
        judged.accuse(
            None, finding("unknown-call-answered", message, link, evidence=result.call_id, request_shows=_shown(result))
        )


def _without_id(calls: list[_Call], result: ResultRecord) -> _Call | None:
    """Return the last call of a tool if a result without an id is a further one of its calls, which all have one."""
    of_tool = [call for call in calls if call.made.position and call.kept is not None and call.made.name == result.name]
    return of_tool[-1] if of_tool and all(call.results for call in of_tool) else None


def _earlier_ids(link: Link) -> set[str]:
    messages = link.child.record.messages or []
    return {id for message in messages[: max(link.position, 0)] for id in ids_of(message.calls)}


def _earlier_results(link: Link) -> set[str]:
    messages = link.child.record.messages or []
    return {result.call_id for message in messages[: max(link.position, 0)] for result in message.results}


def _judge_answered(judged: Judged, link: Link, call: _Call) -> None:
    """Judge a call with results: their number, and the arguments in the history."""
    made, kept = call.made, call.kept
    if len(call.results) > 1:
        message = f"{made.name} ({made.id}) has {len(call.results)} results"
        shows = " | ".join(_shown(result) for result in call.results[:3])
        judged.accuse(
            call.index,
            finding("answered-twice", message, link, call=made, evidence=call.results[0].call_id, request_shows=shows),
        )
    invented = next((result for result in call.results if is_placeholder(result.text)), None)
    if invented is not None:
        message = f"the result of {made.name} ({made.id}) is a text that replaces a missing one"
        judged.accuse(
            call.index,
            finding(
                "result-invented", message, link, call=made, evidence=invented.call_id, request_shows=_shown(invented)
            ),
        )
    comparable = kept is not None and made.runnable and _same_id(kept, made) and kept.redacted == made.redacted
    if kept is not None and comparable and kept.arguments != made.arguments:
        message = f"the arguments of {made.name} ({made.id}) differ in the history"
        shows = f"{kept.id} {kept.name} {kept.text}"
        judged.accuse(
            call.index, finding("arguments-altered", message, link, call=made, evidence=kept.id, request_shows=shows)
        )


def _judge_empty(judged: Judged, link: Link, calls: list[_Call]) -> None:
    """Report a round of several calls whose results are all empty, unless the log omits the texts of messages, too."""
    if len(calls) < 2 or not all(call.results and all(map(is_empty, call.results)) for call in calls):
        return
    if any(message.size for message in link.child.record.messages or () if message.role == "user"):
        message = f"the results of all {len(calls)} calls are empty"
        first = calls[0]
        judged.accuse(None, finding("results-empty", message, link, call=first.made, evidence=first.results[0].call_id))


def _judge_order(judged: Judged, link: Link, calls: list[_Call], following: Sequence[MessageRecord]) -> None:
    """Report results that other content separates from their calls on a wire that demands adjacency."""
    child = link.child.record
    if not spec(child.wire).results or link.position < 0:
        return
    results = [number for number, message in enumerate(following) if message.results]
    if not results:
        return
    before = results[0] > 0
    if before or (child.preceded and results[0] + 2 >= len(following)):
        call = calls[0].made
        shown = following[0].text if before else _shown(following[results[0]].results[0])
        message = f"other content is between {call.name} ({call.id}) and its result"
        judged.accuse(
            0, finding("answered-out-of-order", message, link, call=call, evidence=call.id, request_shows=shown)
        )


def _dropped(link: Link, call: _Call) -> ConversationFinding:
    made = call.made
    how = "the history omits it" if call.kept is None and link.position >= 0 else "no result has its id"
    shown = link.kept.calls if link.kept is not None else ()
    results = [r for m in link.following for r in m.results]
    shows = (
        f"calls: {', '.join(c.id for c in shown) or 'none'}; results: {', '.join(r.call_id for r in results) or 'none'}"
    )
    return finding(
        "dropped-in-fact", f"{made.name} ({made.id}) was dropped: {how}", link, call=made, request_shows=shows
    )


def _shown(result: ResultRecord) -> str:
    return f"{result.call_id} {result.text}"
