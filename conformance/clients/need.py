"""The checks that the needs of coding agents name: what has reached the provider, and what came back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from msgspec import Struct

from toolparity.cassettes.surfaces import Surface
from toolparity.normalizer import json_codec
from toolparity.normalizer.model import Response
from toolparity.normalizer.readers import DEFAULT_MAX_EVENT_BYTES, SseReader, sniff
from toolparity.normalizer.stream_form import SILENT, check_stream
from toolparity.normalizer.wires.grammar import Grammar
from toolparity.normalizer.wires.registry import spec
from toolparity.reports.results import Effect

from ..cases.expected import Expected
from ..gateway.conversation import Turn
from ..gateway.http_rules import faults_of, listed
from ..gateway.reduction import Pair
from ..laws.law import Failure
from ..laws.matching import json_equal
from ..subjects import SubjectExchange
from ..subjects.reference import read_answer
from .table import Situation

_COMMENT = re.compile(rb"(?:^|[\r\n]):")
#: Some encoders escape characters such as > in JSON, and a gateway may put JSON into a text.
_ESCAPED = re.compile(r"\\+u([0-9a-fA-F]{4})")
#: Member -> the value that it has if it is left out.
_DEFAULTS = {"is_error": False, "caller": {"type": "direct"}, "tool_choice": "auto", "detail": "auto"}
#: The members with the arguments of calls. They may have no more members, and their JSON may have other spaces.
_ARGUMENTS = ("input", "arguments")


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
    def provided(self) -> list[dict[str, Any]]:
        """The events of the provider's stream."""
        return _read(self.exchange.body)

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        """The events of the reply; empty if it is not a stream."""
        return _read(self.turn.reply.body)

    @cached_property
    def reply_json(self) -> Any:
        """The body of the reply as JSON, or as text."""
        return json_codec.decode_or_text(self.turn.reply.body)

    @property
    def shown(self) -> str:
        """The beginning of the reply."""
        return self.turn.reply.body[:200].decode("utf-8", "replace") or self.turn.reply.broken


Check = Callable[..., Iterator[Failure]]


def _read(body: bytes) -> list[dict[str, Any]]:
    reader = sniff(body, DEFAULT_MAX_EVENT_BYTES)
    data = [*reader.feed(body), *reader.close()] if isinstance(reader, SseReader) else []
    events = [(name, json_codec.decode_or_text(text)) for name, text in data]
    return [{"type": name, **event} if name in SILENT else event for name, event in events if isinstance(event, dict)]


def members(value: Any, path: str) -> list[Any]:
    """Return the values at a path such as ``tools[].name``. ``[kind]`` selects items by their type, ``[0]`` the first.

    A holder without the member is left out. A text in place of a list is a block with this text.
    """
    name, _, rest = path.partition(".")
    name, is_list, kind = name.removesuffix("]").partition("[")
    held = value.get(name) if isinstance(value, dict) else None
    if is_list:
        listed = held if isinstance(held, list) else [{"text": held}] if isinstance(held, str) else []
        kinds = [one.get("type") if isinstance(one, dict) else None for one in listed]
        values = listed[:1] if kind == "0" else [one for one, of in zip(listed, kinds, strict=True) if kind in ("", of)]
    else:
        values = [] if held is None else [held]
    return [one for each in values for one in members(each, rest)] if rest else values


def up(played: Played, *paths: str) -> Iterator[Failure]:
    """Check that members of the request reach the provider with their meaning. There may be more of them."""
    for path in paths:
        name = path.rpartition(".")[2]
        wanted, got = members(played.turn.body, path), members(played.turn.captured[0], path)
        needed, others = ([one for one in values if one != _DEFAULTS.get(name)] for values in (wanted, got))
        if not _has(name, needed, others) or (name in _DEFAULTS and len(needed) < len(others)):
            effect: Effect = "lost" if len(others) < len(needed) else "altered"
            yield Failure(0, f"{path} does not reach the provider as it was sent", wanted, got, effect=effect)


def _has(name: str, wanted: list[Any], got: list[Any]) -> bool:
    """Return whether a list has these values in their order, among others. A second value of an id is another one."""
    rest = iter(got)
    doubled = name.endswith("id") and len(set(map(str, got))) < len(got)
    return not doubled and all(any(_means(name, value, one) for one in rest) for value in wanted)


def _means(name: str, wanted: Any, got: Any) -> bool:
    """Return whether the value of a member means the same. Objects and lists may have more."""
    if name in _ARGUMENTS:
        return json_equal(
            *(json_codec.decode_or_text(one.encode()) if isinstance(one, str) else one for one in (wanted, got))
        )
    if isinstance(wanted, dict) and isinstance(got, dict):
        return all(_means(key, value, got.get(key, _DEFAULTS.get(key))) for key, value in wanted.items())
    if isinstance(wanted, list) and isinstance(got, list):
        return _has("", wanted, got)
    return json_equal(_as_text(wanted), _as_text(got))


def _as_text(value: Any) -> Any:
    """Return the text of content that is a list of one text."""
    block = value[0] if isinstance(value, list) and len(value) == 1 else None
    return block["text"] if isinstance(block, dict) and block.keys() >= {"type", "text"} else value


def header(played: Played, name: str) -> Iterator[Failure]:
    """Check that each value of a header of the request reaches the provider."""
    wanted, got = listed(played.turn.sent, name), listed(played.turn.headers[0], name)
    if lost := [value for value in wanted if value not in got]:
        yield Failure(0, f"the request to the provider lacks {name}: {', '.join(lost)}", wanted, got, effect="lost")


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


def stream(played: Played, lines: str = "") -> Iterator[Failure]:
    """Check that a stream comes back as a stream. ``lines``: an LF ends its lines; CR alone does not."""
    yield from answered(played)
    if not played.events or (lines and b"\n" not in played.turn.reply.body):
        yield Failure(0, "the reply is not a stream", got=played.shown, effect="altered")


def unbuffered(played: Played) -> Iterator[Failure]:
    """Check that content comes back before the provider has sent all of it."""
    yield from stream(played)
    if played.buffered:
        yield Failure(0, "nothing comes back before the provider has sent all of the stream", effect="altered")


def named(played: Played) -> Iterator[Failure]:
    """Check that each event of the wire has a name, and a blank line behind it."""
    yield from stream(played)
    for found in check_stream(played.turn.reply.body, played.surface.wire):
        if found.rule == "events-not-separated" or "has no name" in found.message:
            yield Failure(0, found.message, got=found.path or played.shown, effect="altered")


def ends(played: Played, kind: str) -> Iterator[Failure]:
    """Check that each part of the provider's response ends, and that no part of the reply does so twice."""
    yield from has(played, kind)
    grammar = spec(played.surface.wire).grammar or Grammar("", ())
    unit = next(unit for unit in grammar.units if unit.end == kind)
    ended = set()
    for event in played.events:
        part = [*members(event, "item.id"), *members(event, unit.keys), id(event)][0]
        if event.get("type") == unit.start and isinstance(part, int):  # blocks may share an index, and not an id
            ended.discard(part)
        elif event.get("type") == kind and part in ended:
            yield Failure(0, f"{kind} comes a second time for one {unit.name}: {part}", effect="duplicated")
        elif event.get("type") == kind:
            ended.add(part)


def has(played: Played, kind: str) -> Iterator[Failure]:
    """Check that the events of a kind come at least as often as the provider sends them."""
    yield from stream(played)
    wanted, got = (sum(event.get("type") == kind for event in events) for events in (played.provided, played.events))
    if got < wanted:
        yield Failure(0, f"{kind} comes {got} times, and the provider sends it {wanted} times", effect="lost")


def before(played: Played, kind: str, last: str) -> Iterator[Failure]:
    """Check that the events of a kind come before the one that ends the stream."""
    yield from stream(played)
    kinds = [event.get("type") for event in played.events]
    if last in kinds and kind in kinds[kinds.index(last) :]:
        yield Failure(0, f"{kind} comes after {last}", effect="altered")


def pings(played: Played, events: str = "") -> Iterator[Failure]:
    """Check that an event that only keeps the connection alive comes back. A comment may do, unless events count."""
    yield from stream(played)
    if not any(event.get("type") in SILENT for event in played.events) and (
        events or not _COMMENT.search(played.turn.reply.body)
    ):
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


def waits(played: Played, whole: str = "") -> Iterator[Failure]:
    """Check that an error reply has the time to wait. ``whole``: as whole seconds, or a date."""
    yield from (failure for failure in played.faults if "have the" in failure.reason)
    got = played.turn.reply.headers.get("retry-after", "")
    if whole and re.fullmatch(r"\d*\.\d*", got):
        yield Failure(0, "retry-after is not a whole number", got=got, effect="altered")


def words(played: Played, exactly: str = "") -> Iterator[Failure]:
    """Check that an error has the words of the provider anywhere, and its status, or one of its class."""
    yield from answered(played) if exactly else status(played)
    wanted = json_codec.decode(played.situation.error)["error"]["message"]
    got = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), played.turn.reply.body.decode("utf-8", "replace"))
    if wanted not in got:
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
