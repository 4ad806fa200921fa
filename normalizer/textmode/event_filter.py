"""Filter for the events of one choice that replaces the markup of calls and reasoning by separate blocks."""

from __future__ import annotations

from ..events import BlockDelta, BlockReset, BlockStart, BlockStop, Event
from .extract import ExtractionSettings
from .scan_events import (
    ArgumentsFragment,
    CallOpened,
    CallOverLimit,
    CallParsed,
    ReasoningEnded,
    ReasoningFragment,
    RevisedToReasoning,
    ScanEvent,
    TextFragment,
)
from .scanner import Scanner


class EventFilter:
    """Translator of the events of one choice into events with new block keys."""

    def __init__(self, choice: int, settings: ExtractionSettings) -> None:
        self._choice = choice
        self._settings = settings
        self._dialects = settings.dialects
        self._thinking = settings.thinking
        self._keys: dict[int, int] = {}  # source key -> new key, of blocks that pass unchanged
        self._scanners: dict[int, Scanner] = {}  # source key of a text block -> its scanner
        self._next = 0
        self._kind = ""  # type of the open block, "" for none
        self._key = 0
        self._revisable_keys: list[int] = []  # keys of blocks that may still turn out to be reasoning
        self._count = 0
        self._native = False
        self._over = False

    def take(self, event: BlockStart | BlockDelta | BlockReset | BlockStop, out: list[Event]) -> CallOverLimit | None:
        """Translate one event into ``out``; return the call that exceeds the limit, if one begins."""
        if isinstance(event, BlockStart) and event.block == "text" and not self._native:
            self._begin_text(event.key)
            return None
        scanner = self._scanners.get(event.key)
        if scanner is None or self._native:
            self._pass(event, out)
            return None
        if self._over:
            return None
        if isinstance(event, BlockReset):
            if self._kind:
                self._reset("", out)
            self._count = scanner.count_before
            scanner = self._begin_text(event.key)
        if isinstance(event, (BlockDelta, BlockReset)):
            return self._process(scanner, scanner.feed(event.text), out)
        del self._scanners[event.key]
        return self._finish_text(scanner, out)

    def finish(self, out: list[Event]) -> CallOverLimit | None:
        """Flush the pending texts into ``out`` at the end of the choice; return a call that exceeds the limit."""
        over = None
        while self._scanners and not self._native:
            over = over or self._finish_text(self._scanners.pop(next(iter(self._scanners))), out)
        return over

    def _finish_text(self, scanner: Scanner, out: list[Event]) -> CallOverLimit | None:
        over = self._process(scanner, scanner.finish(self._settings.stop_sequences), out)
        self._close(out)
        self._revisable_keys.clear()
        return over

    def _process(self, scanner: Scanner, events: list[ScanEvent], out: list[Event]) -> CallOverLimit | None:
        over = self._emit(events, out)
        self._count = scanner.count
        if scanner.dialect is not None:
            self._dialects = (scanner.dialect,)
        return over

    def _begin_text(self, key: int) -> Scanner:
        scanner = Scanner(self._dialects, self._settings.tools, self._settings.limit, self._count, self._thinking)
        self._thinking = False
        self._scanners[key] = scanner
        return scanner

    def _pass(self, event: BlockStart | BlockDelta | BlockReset | BlockStop, out: list[Event]) -> None:
        key = self._keys.get(event.key)
        if isinstance(event, BlockStart) and event.block == "tool_call" and not self._native:
            self._native = True  # a native call: later text is not scanned
            for scanner in self._scanners.values():
                self._emit(scanner.finish(), out)
            self._close(out)
        if key is None:
            key = self._keys[event.key] = self._next
            self._next += 1
            if not isinstance(event, BlockStart):
                out.append(BlockStart(self._choice, key, "text"))
        if isinstance(event, BlockStart):
            self._thinking = False  # the reasoning is a separate block
            out.append(BlockStart(self._choice, key, event.block, event.id, event.name))
        elif isinstance(event, BlockDelta):
            out.append(BlockDelta(self._choice, key, event.text))
        elif isinstance(event, BlockReset):
            out.append(BlockReset(self._choice, key, event.text))
        else:
            out.append(BlockStop(self._choice, key, event.sealed))

    def _emit(self, events: list[ScanEvent], out: list[Event]) -> CallOverLimit | None:
        for event in events:
            if isinstance(event, (TextFragment, ReasoningFragment)):
                self._open("text" if isinstance(event, TextFragment) else "reasoning", out)
                out.append(BlockDelta(self._choice, self._key, event.text))
            elif isinstance(event, ReasoningEnded):
                self._close(out)
                self._revisable_keys.clear()
            elif isinstance(event, CallOpened):
                self._open("tool_call", out, event)
            elif isinstance(event, ArgumentsFragment):
                out.append(BlockDelta(self._choice, self._key, event.text))
            elif isinstance(event, CallParsed):
                if event.corrected:
                    self._reset(event.text, out)
                self._close(out)
            elif isinstance(event, RevisedToReasoning):
                self._close(out)
                out.extend(BlockReset(self._choice, key, "") for key in self._revisable_keys)
                self._open("reasoning", out)
                out.append(BlockDelta(self._choice, self._key, event.text))
                self._close(out)
                self._revisable_keys.clear()
            elif isinstance(event, CallOverLimit):
                self._close(out)
                self._over = True
                return event
        return None

    def _open(self, kind: str, out: list[Event], call: CallOpened | None = None) -> None:
        if self._kind == kind and call is None:
            return
        self._close(out)
        self._kind, self._key = kind, self._next
        self._next += 1
        self._revisable_keys.append(self._key)
        named = (call.id, call.name) if call is not None else (None, None)
        out.append(BlockStart(self._choice, self._key, kind, *named))

    def _reset(self, text: str, out: list[Event]) -> None:
        out.append(BlockReset(self._choice, self._key, text))

    def _close(self, out: list[Event]) -> None:
        if self._kind:
            out.append(BlockStop(self._choice, self._key))
            self._kind = ""
