"""Extraction of calls from the text of a response, with the resulting blocks, stop reason and findings."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from operator import is_not
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from ..errors import PolicyError
from ..model import Block, Choice, Policy, Reasoning, Response, Stop, Text, ToolCall
from ..wires.call_builder import CallBuilder
from ..wires.decode_context import Context, Declared
from ..wires.stop_reason import CUTS
from .block_builder import BlockBuilder
from .detect import detect
from .dialect import TextDialect
from .dialects import DIALECTS, dialect_of
from .parsers.coercion import ToolSchemas, tool_schemas
from .scan_events import CallOverLimit
from .scanner import Scanner

_LIMITS_HEADERS = ("ratelimit", "rate-limit", "retry-after")
_log = logging.getLogger("toolparity")


class ExtractionSettings(msgspec.Struct, frozen=True):
    """The validated arguments of `read_response`."""

    dialects: tuple[TextDialect, ...]
    tools: ToolSchemas
    limit: int | None
    stop_sequences: tuple[str, ...]
    thinking: bool
    reasoning: Literal["report", "read"]


def settings_of(
    dialect: str | None,
    tools: Any,
    limit: int | None,
    stop_sequences: Iterable[str],
    thinking: bool,
    reasoning: Literal["report", "read"] = "report",
) -> ExtractionSettings:
    """Validate the arguments of `read_response`.

    Raises UnknownDialect, PolicyError for an invalid limit, and MalformedBody for values that are not tools.
    """
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 0):
        raise PolicyError(f"a limit of {limit!r}", hint="give a number of calls, 0 or more, or None")
    dialects = tuple(DIALECTS.values()) if dialect is None else (dialect_of(dialect),)
    return ExtractionSettings(dialects, tool_schemas(tools), limit, tuple(stop_sequences), thinking, reasoning)


def limit_of(policy: Policy, limit: int | None = None) -> int | None:
    """Return the call limit for a policy: at most 1 for `first`, the given limit for `all` and `batch`.

    Raises PolicyError for an unknown policy.
    """
    from ..policies import policy_name

    if policy_name(policy) == "first":
        return 1 if limit is None else min(1, limit)
    return limit


def read_response(
    response: Response,
    dialect: str | None = None,
    *,
    tools: Any = None,
    limit: int | None = 1,
    stop_sequences: Iterable[str] = (),
    thinking: bool = False,
    reasoning: Literal["report", "read"] = "report",
) -> Response:
    """Return the response with the calls in its texts as canonical calls.

    Return the same object if it has native calls or its texts contain no calls and nothing to report.

    ``dialect``: a key of `DIALECTS`; None to detect it from the first call, which is reported. ``tools``: the declared
    tools, as a request, definitions or names; their schemas determine the types of parameters. ``limit``: the number of
    calls after which the response ends; the rest is dropped and reported; None for no limit. ``stop_sequences``: the
    stop sequences of the request; a closing tag that one of them cut off is restored. ``thinking``: whether the texts
    begin inside reasoning. ``reasoning``: "report" only reports calls in reasoning; "read" also extracts them if there
    are no other calls.

    Raises UnknownDialect, PolicyError for an invalid limit, and MalformedBody for values that are not tools.
    """
    return read_with(response, settings_of(dialect, tools, limit, stop_sequences, thinking, reasoning))


def read_with(response: Response, how: ExtractionSettings, headers: Any = None) -> Response:
    """Implement `read_response`. ``headers``: the HTTP headers; ``extra["rate_limit"]`` keeps the rate limits."""
    if any(choice.calls for choice in response.choices):
        return response
    found = list(response.findings)
    before = len(found)
    context = Context(response.wire, response.provider, Declared(how.tools.names), None, found)
    readings = [_Reading(response, choice, how, context) for choice in response.choices]
    choices = [reading.choice for reading in readings]
    over = [reading.over for reading in readings if reading.over is not None]
    kept = rate_limits(headers)
    if not any(map(is_not, choices, response.choices)) and len(found) == before and not (over or kept):
        return response
    extra = {**response.extra, "rate_limit": kept} if kept else response.extra
    complete = response.complete or bool(over)
    made = replace(response, choices=choices, complete=complete, extra=extra)
    return made.with_findings(found)


def rate_limits(headers: Any) -> dict[str, str]:
    """Return the rate limit headers of a response, with names in lower case."""
    items = headers.items() if hasattr(headers, "items") else headers or ()
    return {
        str(name).lower(): str(value) for name, value in items if any(h in str(name).lower() for h in _LIMITS_HEADERS)
    }


class _Reading:
    """The extraction of calls from one choice."""

    def __init__(self, response: Response, choice: Choice, how: ExtractionSettings, context: Context) -> None:
        self.over: CallOverLimit | None = None
        self._response = response
        self._how = how
        self._context = context
        self._site = CallBuilder.of(context, choice.index, response.id)
        self._count = 0
        self._dialect = ""
        self._dialects: Sequence[TextDialect] = how.dialects
        self._read: list[dict[str, Any]] = []
        self._cut = choice.stop.reason in CUTS or not response.complete
        self._blocks: list[Block] = []
        self.choice = self._choice(choice)

    def _choice(self, choice: Choice) -> Choice:
        texts = [place for place, block in enumerate(choice.blocks) if isinstance(block, Text)]
        for place, block in enumerate(choice.blocks):
            if isinstance(block, Text):
                self._text(block, last=place == texts[-1], stop=choice.stop)
                if self.over is not None:
                    break
            else:
                self._blocks.append(block)
        self._look_into_reasoning(choice)
        self._look_for_leaks(choice)
        return self._finished(choice)

    def _text(self, block: Text, last: bool, stop: Stop) -> None:
        how = self._how
        scanner = Scanner(self._dialects, how.tools, how.limit, self._count, how.thinking and not self._blocks)
        made = BlockBuilder()
        made.take(scanner.feed(block.text))
        closers = how.stop_sequences if last and stop.reason in ("end_turn", "stop_sequence", "unknown") else ()
        made.take(scanner.finish(closers))
        self._count, self.over = scanner.count, made.over
        if scanner.dialect is not None:
            self._dialect, self._dialects = scanner.dialect.name, (scanner.dialect,)
        first = len(self._blocks)
        blocks = made.build(self._site, self._context, first, self._cut and made.over is None)
        if not scanner.marked and made.over is None:
            self._blocks.append(block)
            return
        self._blocks += blocks
        if scanner.broke_off:  # the kept part of the text is not valid in the dialect
            return
        source = block if made.over is None else replace(block, text=block.text[: scanner.taken].rstrip())
        self._read.append({"at": first, "count": len(blocks), "text": msgspec.to_builtins(source)})

    def _look_into_reasoning(self, choice: Choice) -> None:
        """Report calls in reasoning blocks, and extract them if requested and there are no other calls (TXT-08)."""
        for place, block in enumerate(list(self._blocks)):
            if not isinstance(block, Reasoning) or not any(h in block.text for d in self._dialects for h in d.heads):
                continue
            scanner = Scanner(self._dialects, self._how.tools, self._how.limit)
            made = BlockBuilder()
            made.take(scanner.feed(block.text))
            made.take(scanner.finish())
            if not made.calls:
                continue
            name = scanner.dialect.name if scanner.dialect is not None else ""
            self._context.find("call-in-reasoning", f"{made.calls} in the dialect {name}", choice.index, place)
            if self._how.reasoning == "read" and not self._site.seen:
                self._dialect = name
                built = made.build(self._site, self._context, len(self._blocks), self._cut)
                self._blocks += [one for one in built if isinstance(one, ToolCall)]

    def _look_for_leaks(self, choice: Choice) -> None:
        """Report markup of dialects that are not being read; it stays text."""
        for place, block in enumerate(self._blocks):
            if isinstance(block, Text):
                for leak in detect(block.text):
                    if leak.dialect not in ("thinking", *(one.name for one in self._dialects)):
                        self._context.find("leaked-markup", f"{leak.dialect}: {leak.text!r}", choice.index, place)

    def _finished(self, choice: Choice) -> Choice:
        calls, stop = len(self._site.seen), choice.stop
        find = self._context.find
        if self.over is not None:
            told = f"{self.over.name or 'a tool'} (#{self.over.number})"
            find("tool-limit", f"ended where {told} began", choice.index)
            find("dropped-call", f"{told}: the limit is {self._how.limit}", choice.index)
            self._log(calls)
            stop = Stop("tool_calls" if calls else "end_turn")
        elif calls and stop.reason in ("end_turn", "unknown", "stop_sequence"):
            stop = Stop("tool_calls", stop.raw)
        if calls:
            say = f"{calls} in the dialect {self._dialect}; the wire says {choice.stop.raw!r}"
            find("call-in-text", say, choice.index)
        if not self._read and stop == choice.stop and len(self._blocks) == len(choice.blocks):
            return choice
        extra = {**choice.extra, "text_mode": {"dialect": self._dialect, "read": self._read}}
        return Choice(choice.index, self._blocks, stop, extra)

    def _log(self, calls: int) -> None:
        over = self.over
        assert over is not None
        _log.debug("Tool limit reached at tool #%d, stopping generation", over.number)
        _log.debug("Collected %d content blocks before tool limit", len(self._blocks))
        kept = [{"id": block.id, "name": block.name} for block in self._blocks if isinstance(block, ToolCall)]
        _log.warning(
            "%d tool calls begun, processing %d, dropped %s: the limit of calls in a text is %s",
            calls + 1,
            calls,
            over.name or f"tool #{over.number}",
            self._how.limit,
            extra={"total": calls + 1, "processing": kept, "dropped": [{"id": None, "name": over.name or None}]},
        )
