"""Extraction of calls from the text of a response, with the resulting blocks, stop reason and findings."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from operator import is_not
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from ..errors import PolicyError
from ..headers import rate_limits, with_rate_limits
from ..model import Block, Choice, Policy, Reasoning, Response, Stop, Text, ToolCall
from ..wires.call_builder import CallBuilder
from ..wires.decode_context import Context, Declared
from ..wires.stop_reason import CUTS
from .detect import detect
from .dialect import TextDialect
from .dialects import DIALECTS, dialect_of
from .parsers.coercion import ToolSchemas, tool_schemas
from .scan_events import CallOverLimit
from .scanner import Scanner

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
        raise PolicyError(f"limit must be >= 0 or None, got {limit!r}", hint="pass a number of calls or None")
    dialects = tuple(DIALECTS.values()) if dialect is None else (dialect_of(dialect),)
    return ExtractionSettings(dialects, tool_schemas(tools), limit, tuple(stop_sequences), thinking, reasoning)


def limit_of(policy: Policy, limit: int | None = None) -> int | None:
    """Return the call limit for a policy: at most 1 for `first`, ``limit`` for `all` and `batch`.

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


def read_with(response: Response, settings: ExtractionSettings, headers: Any = None) -> Response:
    """Implement `read_response`. ``headers``: the HTTP headers; ``extra["rate_limit"]`` keeps the rate limits."""
    if any(choice.calls for choice in response.choices):
        return response
    findings = list(response.findings)
    context = Context(response.wire, response.provider, Declared(settings.tools.names), None, findings)
    extractions = [_Extraction(response, choice, settings, context) for choice in response.choices]
    choices = [extraction.choice for extraction in extractions]
    over = any(extraction.over for extraction in extractions)
    limits = rate_limits(headers)
    unchanged = not any(map(is_not, choices, response.choices)) and len(findings) == len(response.findings)
    if unchanged and not over:
        return with_rate_limits(response, limits)
    changed = replace(response, choices=choices, complete=response.complete or over)
    return with_rate_limits(changed.with_findings(findings), limits)


class _Extraction:
    """The extraction of calls from one choice."""

    def __init__(self, response: Response, choice: Choice, settings: ExtractionSettings, context: Context) -> None:
        self.over: CallOverLimit | None = None
        self._response = response
        self._settings = settings
        self._context = context
        self._builder = CallBuilder.of(context, choice.index, response.id)
        self._count = 0
        self._dialect = ""
        self._dialects: Sequence[TextDialect] = settings.dialects
        self._sources: list[dict[str, Any]] = []
        self._cut = choice.stop.reason in CUTS or not response.complete
        self._blocks: list[Block] = []
        self.choice = self._choice(choice)

    def _choice(self, choice: Choice) -> Choice:
        texts = [index for index, block in enumerate(choice.blocks) if isinstance(block, Text)]
        for index, block in enumerate(choice.blocks):
            if isinstance(block, Text):
                self._text(block, last=index == texts[-1], stop=choice.stop)
                if self.over is not None:
                    break
            else:
                self._blocks.append(block)
        self._scan_reasoning(choice)
        self._report_leaks(choice)
        return self._finished(choice)

    def _text(self, block: Text, last: bool, stop: Stop) -> None:
        settings = self._settings
        scanner = Scanner(
            self._dialects, settings.tools, settings.limit, self._count, settings.thinking and not self._blocks
        )
        closers = settings.stop_sequences if last and stop.reason in ("end_turn", "stop_sequence", "unknown") else ()
        built = scanner.scan(block.text, closers)
        self._count, self.over = scanner.count, built.over
        if scanner.dialect is not None:
            self._dialect, self._dialects = scanner.dialect.name, (scanner.dialect,)
        first = len(self._blocks)
        blocks = built.build(self._builder, self._context, first, self._cut and built.over is None)
        if not scanner.has_markup and built.over is None:
            self._blocks.append(block)
            return
        self._blocks += blocks
        if scanner.limit_inside_parser:  # the kept part of the text is not valid in the dialect
            return
        source = block if built.over is None else replace(block, text=block.text[: scanner.consumed].rstrip())
        self._sources.append({"at": first, "count": len(blocks), "text": msgspec.to_builtins(source)})

    def _scan_reasoning(self, choice: Choice) -> None:
        """Report calls in reasoning blocks, and extract them if requested and there are no other calls (TXT-08)."""
        for index, block in enumerate(list(self._blocks)):
            if not isinstance(block, Reasoning) or not any(h in block.text for d in self._dialects for h in d.heads):
                continue
            scanner = Scanner(self._dialects, self._settings.tools, self._settings.limit)
            built = scanner.scan(block.text)
            if not built.calls:
                continue
            name = scanner.dialect.name if scanner.dialect is not None else ""
            self._context.find("call-in-reasoning", f"{built.calls} in the dialect {name}", choice.index, index)
            if self._settings.reasoning == "read" and not self._builder.seen:
                self._dialect = name
                blocks = built.build(self._builder, self._context, len(self._blocks), self._cut)
                self._blocks += [call for call in blocks if isinstance(call, ToolCall)]

    def _report_leaks(self, choice: Choice) -> None:
        """Report markup of dialects that are not being read; it stays text."""
        for index, block in enumerate(self._blocks):
            if isinstance(block, Text):
                for leak in detect(block.text):
                    if leak.dialect not in ("thinking", *(dialect.name for dialect in self._dialects)):
                        self._context.find("leaked-markup", f"{leak.dialect}: {leak.text!r}", choice.index, index)

    def _finished(self, choice: Choice) -> Choice:
        calls, stop = len(self._builder.seen), choice.stop
        find = self._context.find
        if self.over is not None:
            call = f"{self.over.name or 'a tool'} (#{self.over.number})"
            find("tool-limit", f"ended where {call} began", choice.index)
            find("dropped-call", f"{call}: the limit is {self._settings.limit}", choice.index)
            self._log(calls)
            stop = Stop("tool_calls" if calls else "end_turn")
        elif calls and stop.reason in ("end_turn", "unknown", "stop_sequence"):
            stop = Stop("tool_calls", stop.raw)
        if calls:
            message = f"{calls} in the dialect {self._dialect}; the wire's stop reason is {choice.stop.raw!r}"
            find("call-in-text", message, choice.index)
        if not self._sources and stop == choice.stop and len(self._blocks) == len(choice.blocks):
            return choice
        extra = {**choice.extra, "text_mode": {"dialect": self._dialect, "read": self._sources}}
        return Choice(choice.index, self._blocks, stop, extra)

    def _log(self, calls: int) -> None:
        over = self.over
        assert over is not None
        _log.debug("Tool limit reached at tool #%d, stopping generation", over.number)
        _log.debug("Collected %d content blocks before tool limit", len(self._blocks))
        processing = [{"id": block.id, "name": block.name} for block in self._blocks if isinstance(block, ToolCall)]
        _log.warning(
            "%d tool calls begun, processing %d, dropped %s: the limit of calls in a text is %s",
            calls + 1,
            calls,
            over.name or f"tool #{over.number}",
            self._settings.limit,
            extra={"total": calls + 1, "processing": processing, "dropped": [{"id": None, "name": over.name or None}]},
        )
