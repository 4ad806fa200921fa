"""Conversion of scanner steps into canonical blocks."""

from __future__ import annotations

from msgspec.structs import replace

from ..model import Block, Reasoning, Text, ToolCall
from ..wires.call_builder import CallBuilder
from ..wires.decode_context import Context
from .scan_events import (
    CallEnded,
    CallOverLimit,
    CallsDoubted,
    FindingReported,
    ReasoningEnded,
    ReasoningFragment,
    RevisedToReasoning,
    ScanEvent,
    TextFragment,
)

#: Finding codes that explain why the markup of a call is unreliable.
_WHY = ("markup-malformed", "markup-ambiguous")
_Entry = TextFragment | ReasoningFragment | ReasoningEnded | CallEnded


class BlockBuilder:
    """Builder of the blocks of one text, in order. ``over``: the call that exceeded the limit, or None."""

    def __init__(self) -> None:
        self.over: CallOverLimit | None = None
        self._entries: list[_Entry] = []
        self._since = 0  # index of the first entry that may still turn out to be reasoning
        self._notes: list[tuple[int, FindingReported]] = []
        self._doubts: dict[int, str] = {}

    def take(self, steps: list[ScanEvent]) -> None:
        """Process the next steps of the text."""
        entries = self._entries
        for step in steps:
            if isinstance(step, (TextFragment, ReasoningFragment, CallEnded)):
                entries.append(step)
            elif isinstance(step, ReasoningEnded):
                entries.append(step)
                self._since = len(entries)
            elif isinstance(step, RevisedToReasoning):
                del entries[self._since :]
                self._doubts = {place: why for place, why in self._doubts.items() if place < self._since}
                entries += [ReasoningFragment(step.text), ReasoningEnded()]
                self._since = len(entries)
            elif isinstance(step, FindingReported):
                self._notes.append((len(entries), step))
            elif isinstance(step, CallsDoubted):
                calls = [n for n in range(self._since, len(entries)) if isinstance(entries[n], CallEnded)]
                for n in calls if step.calls is None else calls[-step.calls :]:
                    self._doubts.setdefault(n, step.message)
            elif isinstance(step, CallOverLimit):
                self.over = step

    @property
    def calls(self) -> int:
        """The number of calls, regardless of status."""
        return len(self.said)

    @property
    def said(self) -> list[tuple[str, str]]:
        """The name and argument text of each call."""
        return [(entry.name, entry.text) for entry in self._entries if isinstance(entry, CallEnded)]

    def build(self, site: CallBuilder, context: Context, first: int, cut: bool) -> list[Block]:
        """Return the blocks. ``first``: index of the first block in its choice. ``cut``: the response was truncated."""
        blocks: list[Block] = []
        words: list[str] = []
        thought: list[str] = []
        for place, entry in enumerate(self._entries):
            if not isinstance(entry, TextFragment) and words:
                blocks.append(Text("".join(words)))
                words = []
            if not isinstance(entry, ReasoningFragment) and thought:
                if not (text := "".join(thought)).isspace():
                    blocks.append(Reasoning(text))
                thought = []
            if isinstance(entry, TextFragment):
                words.append(entry.text)
            elif isinstance(entry, ReasoningFragment):
                thought.append(entry.text)
            elif isinstance(entry, CallEnded):
                blocks.append(self._call(entry, place, site, context, first + len(blocks), cut))
        if words:
            blocks.append(Text("".join(words)))
        if thought and not (text := "".join(thought)).isspace():
            blocks.append(Reasoning(text))
        for at, note in self._notes:
            if at >= len(self._entries) or not isinstance(self._entries[at], CallEnded):
                context.find(note.code, note.message, site.choice)
        return blocks

    def _call(
        self, ended: CallEnded, place: int, site: CallBuilder, context: Context, block: int, cut: bool
    ) -> ToolCall:
        choice = site.choice
        notes = [note for at, note in self._notes if at == place]
        for note in notes:
            context.find(note.code, note.message, choice, block)
        doubt = self._doubts.get(place)
        if doubt is not None:
            context.find("markup-ambiguous", f"{ended.name}: {doubt}", choice, block)
        status = "invalid" if doubt is not None else ended.status
        if ended.unclosed:
            context.find("closer-missing", f"{ended.name or 'a call'} is not closed", choice, block)
        if status == "complete" and cut and (ended.unclosed or ended.endless):
            status = "truncated"
        if status == "invalid" and doubt is None and not any(note.code in _WHY for note in notes):
            context.find("markup-malformed", f"{ended.name or 'a call'}: {ended.text[:80]!r}", choice, block)
        if ended.respelled and status == "complete":
            context.find("arguments-respelled", f"the parameters of {ended.name} are tags", choice, block)
        call = site.build(block, ended.id, ended.name or None, ended.text, cut=status == "truncated")
        return replace(call, status="invalid", arguments=None) if status == "invalid" else call
