"""Incremental scanner that separates the text of one response into text, reasoning and calls.

Text passes immediately; only a possible beginning of a tag is held back. Markup counts as a call except in code
(`markdown`), in reasoning and inside another call (failures TXT-05, TXT-07).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .block_builder import BlockBuilder
from .dialect import TextDialect
from .markdown import Markdown
from .parsers.call_parser import CallParser
from .parsers.coercion import ToolSchemas
from .scan_events import (
    ArgumentsFragment,
    CallOpened,
    CallOverLimit,
    CallParsed,
    CallsDoubted,
    FindingReported,
    ReasoningEnded,
    ReasoningFragment,
    RevisedToReasoning,
    ScanEvent,
    TextFragment,
)
from .tags import HOLD, Hold, TagMatch, any_literal, finder

#: Opening tag of reasoning -> closing tag: those of most models, of Seed-OSS and Hunyuan, and the tokens of Command,
#: Kimi K3 and Gemma 4.
THINKING = {
    **{f"<{name}>": f"</{name}>" for name in ("think", "thinking", "seed:think", "think:opensource")},
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|open|>think<|sep|>": "<|close|>think<|sep|>",
    "<|channel>thought": "<channel|>",
}
_CLOSE = tuple(THINKING.values())
#: Closing tags that prose may mention; they end reasoning without an opening tag only next to markup or a line break.
_IN_PROSE = ("</think>", "</thinking>")
#: Maximum length of white space next to markup that counts as layout; longer white space is kept as text.
_MOST_LAYOUT = 4096


class Scanner:
    """Scanner of one text.

    ``dialects``: the candidates; the first call determines `dialect`. ``limit``: the maximum number of calls; None for
    no limit. ``count``: the number of calls before this text. ``thinking``: the text begins inside reasoning whose
    opening tag is in the prompt. `over` is true once a call beyond the limit began; then the scanner ignores the rest.
    """

    def __init__(
        self,
        dialects: Sequence[TextDialect],
        tools: ToolSchemas,
        limit: int | None = None,
        count: int = 0,
        thinking: bool = False,
    ) -> None:
        self.tools = tools
        self.limit = limit
        self.count = count
        self.count_before = count
        self.over = False
        self.has_markup = False
        self.limit_inside_parser = False
        self.dialect: TextDialect | None = dialects[0] if len(dialects) == 1 else None
        self.longest_held = 0
        self.consumed = 0  # number of processed characters, up to the call over the limit
        self._dialects = tuple(dialects)
        self._events: list[ScanEvent] = []
        self._buf = ""
        self._parser: CallParser | None = None
        self._tag = ""  # opening tag of the call
        self._in_section = False
        self._reasoning_ends: tuple[str, ...] = ()  # the closing tags of the open reasoning
        self._calls_begun = 0
        self._call_ended = False
        self._doubt_now = self._doubt_next = ""
        self._after_markup = True
        self._pending: list[str] = []
        self._pending_size = 0
        self._source: list[str] = []
        self._markdown = Markdown()
        # number of calls before the first call in the open span of code, and before the call that follows a backquote
        self._calls_before_span: int | None = None
        self._calls_before_backquote: int | None = None
        self._reported: set[str] = set()
        self._prepare_search()
        if thinking:
            self._begin_reasoning(_CLOSE)
            self.has_markup = True

    def _prepare_search(self) -> None:
        dialects = self._dialects
        heads = [head for dialect in dialects for head in dialect.heads]
        ends = [text for dialect in dialects for text in (*dialect.ends, *dialect.tails)]
        strays = [tag.head for dialect in dialects for tag in dialect.strays]
        self._heads = frozenset(heads)
        self._text_finder = finder(*heads, *ends, *strays, *THINKING, *_CLOSE, "`", "~~~")

    def _begin_reasoning(self, ends: tuple[str, ...]) -> None:
        self._reasoning_ends = ends
        self._reasoning_finder = finder(*ends, *sorted(self._heads))

    def scan(self, text: str, closers: Iterable[str] = ()) -> BlockBuilder:
        """Process a complete text and return the builder of its blocks. ``closers``: see `finish`."""
        builder = BlockBuilder()
        builder.take(self.feed(text))
        builder.take(self.finish(closers))
        return builder

    def feed(self, text: str) -> list[ScanEvent]:
        """Process the next chunk and return the events that it completes."""
        self._buf += text
        self._run(final=False)
        return self._take_events()

    def finish(self, closers: Iterable[str] = ()) -> list[ScanEvent]:
        """Return the last events at the end of the text.

        ``closers``: closing tags that a stop sequence may have cut off.
        """
        parser = self._parser
        missing = next((tag for tag in closers if parser and parser.awaits(tag.strip(), self._buf)), None)
        if missing is not None:
            self._buf += missing
            self.report("closer-cut", f"the stop sequence {missing} cut off the end of the call; it was restored")
        self._run(final=True)
        if self._parser is not None:
            self._parser.finish()
            self._leave_parser()
        if self._pending and not self.has_markup:
            self._flush()
        if self._reasoning_ends:
            self._events.append(ReasoningEnded())
        return self._take_events()

    def _take_events(self) -> list[ScanEvent]:
        events, self._events = self._events, []
        return events

    def _run(self, final: bool) -> None:
        buf, at, size = self._buf, 0, len(self._buf)
        while at < size and not self.over:
            if self._parser is not None:
                new = self._parser.feed(buf, at, final)
                self._source.append(buf[at:new])
                waiting = new == at and not self._parser.done
                at = new
                if self._parser.done:
                    self._leave_parser()
                elif waiting or new == size:
                    break
                continue
            scan = self._scan_reasoning if self._reasoning_ends else self._scan_text
            consumed = scan(buf, at, final)
            if consumed is None:
                break
            at = consumed
        self.consumed += at
        self._buf = "" if self.over else buf[at:]
        self.longest_held = max(self.longest_held, len(self._buf) + self._pending_size)

    # text

    def _scan_text(self, buf: str, at: int, final: bool) -> int | None:
        position, token = self._text_finder.find(buf, at, final)
        if position > at:
            self._add_text(buf[at:position])
            return position
        if not token:
            return None
        if token in ("`", "~~~"):
            return self._scan_code(buf, at, final)
        if token in self._heads:
            match, dialect = self._match_opening(buf, at, final)
            if match is HOLD:
                return None
            if isinstance(match, TagMatch) and dialect is not None:
                return self._begin_parser(buf, at, match, dialect, final)
        if not self._markdown.quoting:
            if token in THINKING and (self._markdown.at_start or self._after_markup):
                self._add_markup(buf[at : at + len(token)])
                self._begin_reasoning((THINKING[token],))
                self._source.clear()
                return at + len(token)
            if token in _CLOSE:
                return self._end_unopened_reasoning(buf, at, token, final)
            closed = self._match_closing(buf, at, final)
            if closed is not None:
                return None if isinstance(closed, Hold) else closed
        self._add_text(buf[at])
        return at + 1

    def _match_opening(self, buf: str, at: int, final: bool) -> tuple[TagMatch | Hold | None, TextDialect | None]:
        for dialect in self._dialects:
            match = dialect.opening(buf, at, final)
            if match is not None:
                return match, dialect
        return None, None

    def _begin_parser(self, buf: str, at: int, match: TagMatch, dialect: TextDialect, final: bool) -> int | None:
        example = self._is_example(buf, match.end, final)
        if example is None:
            return None
        if example:
            self._report_once("markup-in-code", f"a call in the dialect {dialect.name} is in code; it stays text")
            self._add_text(buf[at : match.end])
            return match.end
        if self.limit is not None and self.count >= self.limit:
            self.admit(match.name)
            return at
        if self.dialect is None:
            self.dialect = dialect
            self._dialects = (dialect,)
            self._prepare_search()
            self.report("dialect-detected", f"the first call is written in the dialect {dialect.name}")
        if not dialect.several:
            self.admit(match.name)
        before_backquote = self._calls_begun if self._markdown.last == "`" else None
        self._add_markup(buf[at : match.end])
        self._calls_before_backquote = before_backquote
        if self._markdown.span and self._calls_before_span is None:
            self._calls_before_span = self._calls_begun
        self._in_section = self._in_section or match.wrapped
        self._tag = buf[at : match.end]
        self._parser = dialect.parser(self, match, self.tools)
        if self._parser.done:
            self._leave_parser()
        return match.end

    def _is_example(self, buf: str, end: int, final: bool) -> bool | None:
        """Return whether the opening tag that ends at an index is in code; None if the next chunk decides."""
        markdown = self._markdown
        if markdown.quoting or markdown.last != "`":
            return markdown.quoting
        return None if end == len(buf) and not final else buf.startswith("`", end)

    def _leave_parser(self) -> None:
        self.limit_inside_parser = self.over  # the limit was reached between two calls that share their tags
        self._parser = None
        self._markdown.interrupt()

    def _match_closing(self, buf: str, at: int, final: bool) -> int | Hold | None:
        """Return the index after a closing tag or control token outside calls; None if there is none."""
        for dialect in self._dialects:
            tail = any_literal(dialect.tails, buf, at, final)
            end = any_literal(dialect.ends, buf, at, final)
            if tail is HOLD or end is HOLD:
                return HOLD
            if isinstance(end, int) and self._in_section:
                self._in_section = False
                self._add_markup(buf[at:end])
                return end
            if isinstance(tail, int) and self._call_ended and self._after_markup:
                self._add_markup(buf[at:tail])
                return tail
            for tag in dialect.strays:
                match = tag.match(buf, at, final)
                if isinstance(match, TagMatch):
                    return self._stray_tag(buf, at, match.end, dialect)
                if match is HOLD:
                    return HOLD
        return None

    def _stray_tag(self, buf: str, at: int, end: int, dialect: TextDialect) -> int:
        tag = buf[at:end]
        self._report_once("stray-markup", f"{tag} closes nothing")
        if self._call_ended and dialect.doubts:
            self._call_ended = False
            self._events.append(CallsDoubted(f"{tag} follows it and closes nothing: the call may have ended there"))
            self._doubt_next = f"{tag} precedes it and closes nothing: it may be text of a call that ends there"
        self._add_text(tag)
        return end

    def _add_text(self, text: str) -> None:
        if not text:
            return
        self._markdown.add_text(text)
        self._calls_before_backquote = None
        if not self._markdown.span:
            self._calls_before_span = None
        self._emit_text(text)

    def _emit_text(self, text: str) -> None:
        self._source.append(text)
        if not self._after_markup:
            self._events.append(TextFragment(text))
            return
        self._pending.append(text)
        self._pending_size += len(text)
        if not text.isspace() or self._pending_size > _MOST_LAYOUT:
            self._flush()

    def _flush(self) -> None:
        self._events.append(TextFragment("".join(self._pending)))
        self._pending.clear()
        self._after_markup, self._pending_size = False, 0

    def _add_markup(self, text: str) -> None:
        """Process markup. White space next to it is layout."""
        self._source.append(text)
        self._pending.clear()
        self._after_markup, self._pending_size, self.has_markup = True, 0, True

    def _scan_code(self, buf: str, at: int, final: bool) -> int | None:
        before_span, before_backquote = self._calls_before_span, self._calls_before_backquote
        end = self._markdown.add_marks(buf, at, final)
        if end is None:
            return None
        span_ended = before_span is not None and not self._markdown.span
        since = before_span if span_ended else before_backquote if buf[at] == "`" else None
        if since is not None and self._calls_begun > since:
            self._events.append(CallsDoubted("it is between backquotes, like an example", self._calls_begun - since))
        self._calls_before_span = self._calls_before_span if self._markdown.span else None
        self._calls_before_backquote = None
        self._emit_text(buf[at:end])
        return end

    # reasoning

    def _scan_reasoning(self, buf: str, at: int, final: bool) -> int | None:
        position, token = self._reasoning_finder.find(buf, at, final)
        if position > at:
            self._events.append(ReasoningFragment(buf[at:position]))
            return position
        if not token:
            return None
        if token in self._reasoning_ends:
            self._events.append(ReasoningEnded())
            self._reasoning_ends = ()
            self._start_over()
            return at + len(token)
        match, dialect = self._match_opening(buf, at, final)
        if match is HOLD:
            return None
        end = at + 1
        if isinstance(match, TagMatch) and dialect is not None:
            end = match.end
            call = f"a call of {match.name}" if match.name else "a call"
            self._report_once("call-in-reasoning", f"{call} in the dialect {dialect.name} is in reasoning")
        self._events.append(ReasoningFragment(buf[at:end]))
        return end

    def _end_unopened_reasoning(self, buf: str, at: int, tag: str, final: bool) -> int | None:
        """Process the end of reasoning whose beginning the chat template put in the prompt."""
        end = at + len(tag)
        if end == len(buf) and not final:
            return None
        follows = self._markdown.at_start or self._after_markup or end == len(buf) or buf[end] == "\n"
        if tag in _IN_PROSE and not follows:
            self._add_text(tag)
            return end
        if self._calls_begun:
            self._report_once("call-in-reasoning", f"{self._calls_begun} calls before {tag} were drafts")
            self.count -= self._calls_begun
        self._events.append(RevisedToReasoning("".join(self._source)))
        self._add_markup(tag)
        self._start_over()
        return end

    def _start_over(self) -> None:
        self._source.clear()
        self._calls_begun, self._call_ended, self._in_section = 0, False, False
        self._doubt_now = self._doubt_next = ""
        self._calls_before_span = self._calls_before_backquote = None
        self._after_markup = True
        self._markdown = Markdown()

    # interface for call parsers (`CallSink`)

    def admit(self, name: str) -> bool:
        if self.limit is not None and self.count >= self.limit:
            self._events.append(CallOverLimit(self.count + 1, name))
            self.over = True
            return False
        self.count += 1
        return True

    def begin_call(self, name: str | None, id: str | None) -> None:
        self._doubt_now = self._doubt_next
        self._calls_begun += 1
        self._events.append(CallOpened(name, id))

    def add_arguments(self, text: str) -> None:
        self._events.append(ArgumentsFragment(text))

    def end_call(self, ended: CallParsed) -> None:
        self._call_ended = True
        self._events.append(ended)
        if self._doubt_now:
            self._events.append(CallsDoubted(self._doubt_now))

    def doubt_later_calls(self, message: str) -> None:
        self._doubt_next = message

    def withdraw(self, text: str) -> None:
        self.count -= 1
        self._report_once("stray-markup", f"no call follows {self._tag}")
        self._markdown.add_text(self._tag + text)
        self._pending.append(self._tag + text)
        self._flush()

    def doubt_earlier_calls(self, message: str) -> None:
        self._events.append(CallsDoubted(message))

    def report(self, code: str, message: str) -> None:
        self._events.append(FindingReported(code, message))

    def _report_once(self, code: str, message: str) -> None:
        if code not in self._reported:
            self._reported.add(code)
            self.report(code, message)
