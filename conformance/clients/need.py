"""The checks that the needs of coding agents name: what has reached the provider, and what came back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from toolparity.cassettes.surfaces import Surface
from toolparity.normalizer import json_codec
from toolparity.normalizer.model import Response
from toolparity.reports.results import Effect

from ..cases.expected import Expected
from ..gateway.conversation import Turn
from ..gateway.http_rules import faults_of
from ..gateway.reduction import Pair
from ..laws.law import Failure
from ..laws.matching import json_equal
from ..oracle import json_values
from ..subjects import SubjectExchange
from ..subjects.reference import read_answer
from .table import Situation

_PING = re.compile(rb'(?m)^(?:event: ?(?:ping|keepalive)|data: ?\{"type": ?"(?:ping|keepalive)")')
_COMMENT = re.compile(rb"(?m)^:")
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")


class Played(Struct, frozen=True, dict=True):
    """A situation that was played through a gateway."""

    situation: Situation
    surface: Surface
    turn: Turn
    exchange: SubjectExchange
    expected: Expected

    @cached_property
    def faults(self) -> list[Failure]:
        """The rules about statuses that the gateway broke."""
        pair = Pair(self.surface.wire, self.surface.wire)
        found = faults_of(self.turn, self.exchange, self.expected, pair, 0)
        return [fault.failure for fault in found if fault.law == "incomplete"]

    @property
    def buffered(self) -> bool:
        """Whether nothing of the reply came before the provider had sent all of it."""
        return self.turn.served.hold is not None and self.turn.served.hold.buffered

    @cached_property
    def provided(self) -> list[Any]:
        """The events of the provider's stream."""
        return list(json_values(self.exchange))

    @cached_property
    def events(self) -> list[Any]:
        """The events of the reply; empty if it is not a stream."""
        body = self.turn.reply.body
        return [] if body.lstrip()[:1] in (b"{", b"[") else list(json_values(replace(self.exchange, pieces=[body])))

    @cached_property
    def reply_json(self) -> Any:
        """The body of the reply as JSON, or as text."""
        return json_codec.decode_or_text(self.turn.reply.body)

    @property
    def shown(self) -> str:
        """The beginning of the reply."""
        return self.turn.reply.body[:200].decode("utf-8", "replace") or self.turn.reply.broken


Check = Callable[..., Iterator[Failure]]


def members(value: Any, path: str) -> list[Any]:
    """Return the values at a path such as ``tools[].name``. ``[kind]`` selects items by their type.

    A holder without the member is left out.
    """
    name, _, rest = path.partition(".")
    name, is_list, kind = name.removesuffix("]").partition("[")
    held = value.get(name) if isinstance(value, dict) else None
    if is_list:
        listed = held if isinstance(held, list) else []
        values = [one for one in listed if not kind or (isinstance(one, dict) and one.get("type") == kind)]
    else:
        values = [] if held is None else [held]
    return [one for each in values for one in members(each, rest)] if rest else values


def up(played: Played, *paths: str) -> Iterator[Failure]:
    """Check that members of the request reach the provider as they were sent. A list ``name[]`` may get more values."""
    for path in paths:
        wanted, got = members(played.turn.body, path), members(played.turn.captured[0], path)
        if not (json_equal(wanted, got) or (path.endswith("[]") and all(value in got for value in wanted))):
            effect: Effect = "lost" if len(got) < len(wanted) else "altered"
            yield Failure(0, f"{path} does not reach the provider as it was sent", wanted, got, effect=effect)


def header(played: Played, name: str) -> Iterator[Failure]:
    """Check that each value of a header of the request reaches the provider."""
    wanted, got = _values(played.turn.sent, name), _values(played.turn.headers[0], name)
    if lost := [value for value in wanted if value not in got]:
        yield Failure(0, f"the request to the provider lacks {name}: {', '.join(lost)}", wanted, got, effect="lost")


def _values(headers: Mapping[str, str], name: str) -> list[str]:
    return [one.strip() for one in headers.get(name, "").split(",") if one.strip()]


def texts(played: Played, member: str) -> Iterator[Failure]:
    """Check that the texts of messages reach the provider, wherever they are in the request."""
    sent = json_codec.text(played.turn.captured[0])
    for text in members(played.turn.body, f"{member}[].content[].text"):
        if json_codec.text(text)[1:-1] not in sent:
            yield Failure(0, "a text does not reach the provider", text, effect="lost")


def answered(played: Played) -> Iterator[Failure]:
    """Check that the reply has the provider's status."""
    status = played.turn.reply.status
    if status != played.situation.status:
        effect: Effect = "refused" if played.situation.status < 400 else "misreported"
        yield Failure(0, f"the gateway answers HTTP {status}: {played.shown}", effect=effect)


def stream(played: Played) -> Iterator[Failure]:
    """Check that a stream comes back as a stream."""
    yield from answered(played)
    if not played.events:
        yield Failure(0, "the reply is not a stream", got=played.shown, effect="altered")


def unbuffered(played: Played) -> Iterator[Failure]:
    """Check that content comes back before the provider has sent all of it."""
    yield from stream(played)
    if played.buffered:
        yield Failure(0, "nothing comes back before the provider has sent all of the stream", effect="altered")


def named(played: Played) -> Iterator[Failure]:
    """Check that each event has a name, and a blank line behind it."""
    yield from stream(played)
    for event in _BLANK_LINE.split(played.turn.reply.body):
        if b"data:" in event and (b"event:" not in event or event.count(b"\ndata:") > 1):
            shown = event[:120].decode("utf-8", "replace")
            yield Failure(0, "an event has no name, or no blank line behind it", got=shown, effect="altered")


def ends(played: Played, kind: str) -> Iterator[Failure]:
    """Check that the events that end the parts of a response come as often as the provider sends them."""
    yield from stream(played)
    wanted, got = (sum(event.get("type") == kind for event in events) for events in (played.provided, played.events))
    if wanted != got:
        effect: Effect = "lost" if got < wanted else "duplicated"
        yield Failure(0, f"{kind} comes {got} times, and the provider sends it {wanted} times", effect=effect)


def has(played: Played, kind: str) -> Iterator[Failure]:
    """Check that the events of a kind come at least as often as the provider sends them."""
    yield from (failure for failure in ends(played, kind) if failure.effect != "duplicated")


def before(played: Played, kind: str, last: str) -> Iterator[Failure]:
    """Check that the events of a kind come before the one that ends the stream."""
    yield from stream(played)
    kinds = [event.get("type") for event in played.events]
    if last in kinds and kind in kinds[kinds.index(last) :]:
        yield Failure(0, f"{kind} comes after {last}", effect="altered")


def pings(played: Played, events: str = "") -> Iterator[Failure]:
    """Check that an event that only keeps the connection alive comes back. A comment may do, unless events count."""
    yield from stream(played)
    body = played.turn.reply.body
    if not _PING.search(body) and (events or not _COMMENT.search(body)):
        yield Failure(0, "the ping of the provider does not come back", effect="lost")


def unfinished(played: Played) -> Iterator[Failure]:
    """Check that a response that breaks off or fails does not come back as a complete one."""
    reply, answer = played.turn.reply, played.turn.answer
    if reply.status < 400 and answer.complete is not False and answer.error is None:
        yield Failure(0, "the reply ends as if it were complete", got=answer.stop, effect="misreported")


def back(played: Played, what: str) -> Iterator[Failure]:
    """Check that a part of the provider's response comes back."""
    yield from answered(played)
    read, response = _PARTS[what], played.turn.response
    wanted, got = read(read_answer(played.exchange)), [] if response is None else read(response)
    if not json_equal(wanted, got):
        effect: Effect = "lost" if len(got) < len(wanted) else "altered"
        yield Failure(0, f"the reply has other {what} than the provider's response", wanted, got, effect=effect)


def status(played: Played) -> Iterator[Failure]:
    """Check that the status of an error stays in its class, and 429 stays 429."""
    yield from (failure for failure in played.faults if "becomes" in failure.reason)


def waits(played: Played) -> Iterator[Failure]:
    """Check that an error reply has the time to wait."""
    yield from (failure for failure in played.faults if "have the" in failure.reason)


def words(played: Played) -> Iterator[Failure]:
    """Check that an error comes back with the status and the words of the provider, alone or among others."""
    yield from answered(played)
    wanted = json_codec.decode(played.situation.error)["error"]
    got = played.reply_json.get("error") if isinstance(played.reply_json, dict) else None
    if wanted["message"] not in str(got.get("message") if isinstance(got, dict) else got):
        yield Failure(0, "the error has other words than the provider's", wanted, played.shown, effect="altered")


def counts(played: Played) -> Iterator[Failure]:
    """Check that tokens are counted."""
    yield from answered(played)
    if not isinstance(played.reply_json, dict) or not isinstance(played.reply_json.get("input_tokens"), int):
        yield Failure(0, "the reply has no input_tokens", got=played.shown, effect="lost")


def lists(played: Played, *parts: str) -> Iterator[Failure]:
    """Check that a model is listed whose id has one of these parts."""
    yield from answered(played)
    ids = members(played.reply_json, "data[].id")
    if not any(part in str(id).lower() for id in ids for part in parts):
        yield Failure(0, f"no id of a listed model contains {' or '.join(parts)}", got=ids, effect="lost")


CHECKS: dict[str, Check] = {
    "answered": answered,
    "back": back,
    "before": before,
    "counts": counts,
    "ends": ends,
    "has": has,
    "header": header,
    "lists": lists,
    "named": named,
    "pings": pings,
    "status": status,
    "stream": stream,
    "texts": texts,
    "unbuffered": unbuffered,
    "unfinished": unfinished,
    "up": up,
    "waits": waits,
    "words": words,
}


def _blocks(response: Response) -> list[Any]:
    return [block for choice in response.choices for block in choice.blocks]


def _usage(response: Response) -> list[Any]:
    usage = response.usage
    counted = () if usage is None else (usage.input_tokens, usage.output_tokens, usage.cached_input_tokens)
    return [count or 0 for count in counted]


#: Part of a response -> how it is read.
_PARTS: dict[str, Callable[[Response], list[Any]]] = {
    "calls": lambda response: [
        [call.id, call.name, call.namespace, call.arguments_text if call.arguments is None else call.arguments]
        for call in response.calls
    ],
    "order": lambda response: [type(block).__name__ for block in _blocks(response)],
    "seals": lambda response: [
        [block.signature, block.encrypted] for block in _blocks(response) if type(block).__name__ == "Reasoning"
    ],
    "usage": _usage,
}
