"""Conversion of scan events into canonical blocks."""

from __future__ import annotations

from itertools import groupby

from msgspec.structs import replace

from ..model import Block, Reasoning, Text, ToolCall
from ..wires.call_builder import CallBuilder
from ..wires.decode_context import Context
from .scan_events import (
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

#: Finding codes that explain why the markup of a call is unreliable.
_EXPLAINED = ("markup-malformed", "markup-ambiguous")
_Entry = TextFragment | ReasoningFragment | ReasoningEnded | CallParsed


class BlockBuilder:
    """Builder of the blocks of one text, in order. ``over``: the call that exceeded the limit, or None."""

    def __init__(self) -> None:
        self.over: CallOverLimit | None = None
        self._entries: list[_Entry] = []
        self._revisable_from = 0  # index of the first entry that may still turn out to be reasoning
        self._findings: dict[int, list[FindingReported]] = {}  # by the number of entries before them
        self._calls: list[int] = []  # indexes of the calls that may still turn out to be reasoning
        self._doubted = 0  # number of the first of these calls that are all doubted
        self._doubts: dict[int, str] = {}

    def take(self, events: list[ScanEvent]) -> None:
        """Process the next events of the text."""
        entries = self._entries
        for event in events:
            if isinstance(event, CallParsed):
                self._calls.append(len(entries))
                entries.append(event)
            elif isinstance(event, (TextFragment, ReasoningFragment)):
                entries.append(event)
            elif isinstance(event, ReasoningEnded):
                entries.append(event)
                self._keep_entries()
            elif isinstance(event, RevisedToReasoning):
                del entries[self._revisable_from :]
                self._doubts = {index: why for index, why in self._doubts.items() if index < self._revisable_from}
                entries += [ReasoningFragment(event.text), ReasoningEnded()]
                self._keep_entries()
            elif isinstance(event, FindingReported):
                self._findings.setdefault(len(entries), []).append(event)
            elif isinstance(event, CallsDoubted):
                calls = self._calls
                for n in calls[self._doubted :] if event.calls is None else calls[-event.calls :]:
                    self._doubts.setdefault(n, event.message)
                self._doubted = len(calls) if event.calls is None else self._doubted
            elif isinstance(event, CallOverLimit):
                self.over = event

    def _keep_entries(self) -> None:
        """Process the end of reasoning: the entries so far are what they are."""
        self._revisable_from = len(self._entries)
        self._calls.clear()
        self._doubted = 0

    @property
    def calls(self) -> int:
        """The number of calls, regardless of status."""
        return len(self.names_and_arguments)

    @property
    def names_and_arguments(self) -> list[tuple[str, str]]:
        """The name and argument text of each call."""
        return [(entry.name, entry.text) for entry in self._entries if isinstance(entry, CallParsed)]

    def build(self, builder: CallBuilder, context: Context, first: int, cut: bool) -> list[Block]:
        """Return the blocks. ``first``: index of the first block in its choice. ``cut``: the response was truncated."""
        blocks: list[Block] = []
        for kind, group in groupby(enumerate(self._entries), lambda entry: type(entry[1])):
            text = ""
            for index, entry in group:
                if isinstance(entry, CallParsed):
                    blocks.append(self._call(entry, index, builder, context, first + len(blocks), cut))
                elif not isinstance(entry, ReasoningEnded):
                    text += entry.text
            if kind is TextFragment:
                blocks.append(Text(text))
            elif kind is ReasoningFragment and not text.isspace():
                blocks.append(Reasoning(text))
        for at, notes in self._findings.items():
            if at >= len(self._entries) or not isinstance(self._entries[at], CallParsed):
                for note in notes:
                    context.find(note.code, note.message, builder.choice)
        return blocks

    def _call(
        self, ended: CallParsed, index: int, builder: CallBuilder, context: Context, block: int, cut: bool
    ) -> ToolCall:
        choice = builder.choice
        notes = self._findings.get(index, [])
        for note in notes:
            context.find(note.code, note.message, choice, block)
        doubt = self._doubts.get(index)
        if doubt is not None:
            context.find("markup-ambiguous", f"{ended.name}: {doubt}", choice, block)
        status = "invalid" if doubt is not None else ended.status
        if ended.unclosed:
            context.find("closer-missing", f"{ended.name or 'a call'} has no closing tag", choice, block)
        if status == "complete" and cut and (ended.unclosed or ended.endless):
            status = "truncated"
        if status == "invalid" and doubt is None and not any(note.code in _EXPLAINED for note in notes):
            context.find("markup-malformed", f"{ended.name or 'a call'}: {ended.text[:80]!r}", choice, block)
        if ended.respelled and status == "complete":
            context.find("arguments-respelled", f"the parameters of {ended.name} are tags, not JSON", choice, block)
        call = builder.build(block, ended.id, ended.name or None, ended.text, cut=status == "truncated")
        return replace(call, status="invalid", arguments=None) if status == "invalid" else call
