"""What a request did with the rest of the conversation: earlier messages, reasoning, tools, and progress."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolparity.normalizer.wires.registry import spec

from .codes import Recognized
from .findings import ConversationFinding, finding
from .links import Link
from .records import ExchangeRecord, MessageRecord

#: How many equal rounds in a row are a call that repeats itself.
_EQUAL_ROUNDS = 3


def handed_off(link: Link) -> bool:
    """Return whether another model or wire, or an agent with another system message and other tools, continues."""
    parent, child = link.parent.record, link.child.record
    if link.changes_wire:
        return True
    if parent.messages is None:
        return False
    if parent.model != child.model:
        return True
    return link.position >= 0 and parent.tools != child.tools and _system(parent) != _system(child)


def compare(link: Link) -> tuple[list[ConversationFinding], set[Recognized]]:
    """Return the findings about everything but the handling of calls, and the recognized reasons for differences."""
    recognized: set[Recognized] = set()
    if link.uncertain:
        return [*_differing(link)], set()
    if link.replaced_ids:  # scrubbed, or recorded in another run, so that other content can differ as well
        return [], {"ids-replaced"}
    if handed_off(link):
        return [], {"hand-off"}
    findings = [*_rewritten(link, recognized), *_reasoning(link), *_tools(link), *_repeated(link)]
    return findings, recognized


def _differing(link: Link) -> Iterator[ConversationFinding]:
    """Yield the finding that the calls in the history are not those of the response to the same request."""
    response, kept = link.response, link.kept
    if response is not None and kept is not None:
        sides = [", ".join(f"{call.name} {call.text}" for call in side.calls)[:160] for side in (response, kept)]
        message = "the history has other calls than the response to the same request"
        yield finding("calls-differ", message, link, response_shows=sides[0], request_shows=sides[1])


def _rewritten(link: Link, recognized: set[Recognized]) -> Iterator[ConversationFinding]:
    """Yield a finding if the request changed what was sent before, unless it is recognized."""
    before, after = link.parent.record.messages, link.child.record.messages
    if before is None or after is None or link.position < 0 or link.shared == link.position == len(before):
        return
    if link.shared == len(before) and link.position == link.shared:
        return
    kept = after[: link.position]
    if len(kept) < len(before) or any(message.compaction for message in after):
        recognized.add("compacted")
        return
    if len(kept) > len(before) and any(message.role == "assistant" for message in kept[link.shared :]):
        recognized.add("exchange-missing")
        return
    if len(kept) == len(before):
        changed = [(old, new) for old, new in zip(before, kept, strict=True) if old.content != new.content]
        if not changed:
            return
        if all(
            old.role == new.role and new.size < old.size and old.role in ("results", "user") for old, new in changed
        ):
            recognized.add("context-edited")
            return
    old = before[link.shared] if link.shared < len(before) else None
    new = kept[link.shared] if link.shared < len(kept) else None
    where = f"message {link.shared} ({(new or old or before[-1]).role})"
    message = (
        f"{where} was changed" if len(kept) == len(before) else f"a message was inserted before or changed: {where}"
    )
    yield finding(
        "history-rewritten",
        message + _cost(link),
        link,
        response_shows="" if old is None else old.text,
        request_shows="" if new is None else new.text,
    )


def _cost(link: Link) -> str:
    """Return how many cached tokens the request did not reuse, if the usage of both responses says it."""
    parent, child = link.parent.record, link.child.record
    if parent.cached_tokens is None or child.cached_tokens is None:
        return ""
    lost = parent.cached_tokens + (parent.written_tokens or 0) - child.cached_tokens
    return f"; {lost:,} cached tokens were not reused" if lost > 0 else ""


def _reasoning(link: Link) -> Iterator[ConversationFinding]:
    """Yield a finding if sealed reasoning that led to calls is missing beside their results."""
    parent, child = link.parent.record, link.child.record
    response, messages = link.response, child.messages
    if response is None or messages is None or not response.calls or not response.seals:
        return
    if child.references:  # the provider has the reasoning
        return
    kept, following = link.kept, link.following
    if kept is None or parent.settings != child.settings:
        return
    is_extended = link.shared == len(link.parent.chain) and kept.text == response.text
    if not (link.proven or is_extended):  # another session with equal calls, in which the model did not reason
        return
    turn = [message for message in messages[link.position :] if message.role in ("results", "assistant", "item")]
    if not following or following[0].role != "results" or len(turn) < len(messages) - link.position:
        return  # the turn is over: reasoning of earlier turns may be left out
    lost = len([seal for seal in response.seals if seal not in kept.seals])
    if spec(child.wire).sealed_anew:
        lost = len(response.seals) - len(kept.seals)
    if lost > 0:
        call = response.calls[0]
        message = f"{lost} of {len(response.seals)} signatures were not sent back with {call.name} ({call.id})"
        yield finding("reasoning-lost", message, link, call=call, evidence=call.id)


def _tools(link: Link) -> Iterator[ConversationFinding]:
    """Yield a finding if the definitions of tools differ from those of the exchange before."""
    before, after = link.parent.record.tools, link.child.record.tools
    if list(before.items()) == list(after.items()) or link.parent.record.messages is None:
        return
    changes = [f"-{name}" for name in before if name not in after]
    changes += [f"+{name}" for name in after if name not in before]
    changes += [f"~{name}" for name in after if name in before and before[name] != after[name]]
    what = f"the tools changed: {', '.join(changes[:10])}" if changes else "the tools are in another order"
    yield finding(
        "tools-changed",
        f"{what}{_cost(link)}",
        link,
        response_shows=", ".join(before)[:160],
        request_shows=", ".join(after)[:160],
    )


def _repeated(link: Link) -> Iterator[ConversationFinding]:
    """Yield a finding when the third round in a row has the same call with the same result."""
    first = max(link.position - 2 * _EQUAL_ROUNDS, 0)
    rounds = _rounds((link.child.record.messages or [])[first : link.position + 2], link.position - first)
    latest = [set(done) for done in rounds[: _EQUAL_ROUNDS + 1]]
    if len(latest) < _EQUAL_ROUNDS:
        return
    equal = set.intersection(*latest[:_EQUAL_ROUNDS])
    if len(latest) > _EQUAL_ROUNDS:
        equal -= latest[_EQUAL_ROUNDS]
    response = link.response
    for call in response.calls if response is not None else ():
        if any(content[0] == call.content for content in equal):
            message = f"{call.name} was called {_EQUAL_ROUNDS} times in a row with the same arguments and result"
            yield finding("repeated-call", message, link, call=call, evidence=call.id)
            return


def _rounds(messages: Sequence[MessageRecord], position: int) -> list[list[tuple[tuple[str, int], int]]]:
    """Return the rounds up to a position, the last one first: each call with its result, without ids."""
    rounds: list[list[tuple[tuple[str, int], int]]] = []
    index = position
    while index >= 0 and len(rounds) <= _EQUAL_ROUNDS and index + 1 < len(messages):
        calls, following = messages[index], messages[index + 1]
        if calls.role != "assistant" or not calls.calls or following.role != "results":
            break
        results = {result.call_id: result.content for result in following.results}
        rounds.append([(call.content, results[id]) for call in calls.calls for id in call.ids & results.keys()])
        index -= 2
    return rounds


def _system(record: ExchangeRecord) -> list[int]:
    return [message.content for message in record.messages or () if message.role == "system"]
