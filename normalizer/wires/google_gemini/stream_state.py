"""State of a streamed candidate: its parts, whose texts and arguments arrive in fragments."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ..block_stream import BlockState
from . import schema as s

_TEXT = frozenset(("thoughtSignature",))


class PartState(BlockState):
    """A part of a candidate in progress. ``start``: the part. ``open``: the next event may extend it."""

    open: bool = False

    def header(self) -> tuple[str, str | None, str | None]:
        """See `BlockState.header`."""
        call = self.start.function_call
        return (self.kind, None, None) if call is None else (self.kind, call.id, call.name)


class CandidateState(Struct, eq=False):
    """A candidate in progress.

    ``candidate``: its members, except the parts, which are in ``parts``. ``end``: that of the last event with a finish
    reason, and the usage in it. Only an event that adds nothing repeats it: gateways send a finish reason in each.
    """

    index: int
    candidate: s.Candidate
    parts: list[PartState] = []
    end: tuple[s.Candidate, Any] | None = None

    @property
    def last(self) -> PartState | None:
        """The last part, if the next event may extend it."""
        return self.parts[-1] if self.parts and self.parts[-1].open else None

    def begin(self, part: s.Part, is_open: bool) -> PartState:
        """Add a new part."""
        state = PartState(kind_of(part), self.index, len(self.parts), part, choice=self.index, open=is_open)
        self.parts.append(state)
        return state

    def merge(self, candidate: s.Candidate) -> None:
        """Take over the members of an event's candidate, except its parts."""
        held = self.candidate
        if candidate.finish_reason is not None:
            held.finish_reason = candidate.finish_reason
        if not s.carry_merged(candidate):
            return
        for name in _MEMBERS:
            value = getattr(candidate, name)
            if value is not None:
                setattr(held, name, _merged(getattr(held, name), value))
        if candidate.extra_ is not None:
            held.extra_ = {**(held.extra_ or {}), **candidate.extra_}

    def finished(self) -> s.Candidate:
        """Return the candidate with its parts."""
        for state in self.parts:
            if state.parts:
                state.start.text = "".join(state.parts)
        self.candidate.content = s.Content(parts=[state.start for state in self.parts])
        return self.candidate


#: The members of a candidate that are merged, except its parts and its finish reason.
_MEMBERS = tuple(
    name for name in s.Candidate.__struct_fields__ if name not in ("content", "finish_reason", "index", "extra_")
)
#: Lists of which each event has the items of its own parts.
_LISTS = frozenset(("citations", "chosenCandidates", "topCandidates"))


def _merged(held: Any, value: Any) -> Any:
    """Return a member with its value in a further event: new members replace earlier ones."""
    if not (isinstance(held, dict) and isinstance(value, dict)):
        return value
    merged = {**held, **value}
    for name in _LISTS & held.keys() & value.keys():
        if isinstance(held[name], list) and isinstance(value[name], list):
            merged[name] = held[name] + value[name]
    return merged


def kind_of(part: s.Part) -> str:
    """Return the type of the block that a part becomes."""
    if part.text is not None:
        return "reasoning" if part.thought else "text"
    if part.function_call is not None:
        return "tool_call"
    if part.executable_code is not None or part.tool_call is not None:
        return "server_tool_call"
    if not s.carry_part(part).keys().isdisjoint(s.SERVER):
        return "server_tool_result"
    return "reasoning" if part.thought_signature is not None else "opaque"


def is_text(part: s.Part) -> bool:
    """Report whether a part is a fragment of a text: it has a text and no other member, except a signature."""
    return part.text is not None and part.function_call is None and s.carry_part(part).keys() <= _TEXT


def extend_call(held: s.FunctionCall, call: s.FunctionCall) -> None:
    """Add a further event of a call whose arguments are streamed."""
    if call.partial_args is not None:
        if held.partial_args is None:
            held.partial_args = []
        held.partial_args += call.partial_args
    if memoryview(call.args):
        held.args = call.args
    held.id, held.name = held.id or call.id, held.name or call.name
    held.will_continue = call.will_continue
    if call.extra_ is not None:
        held.extra_ = {**(held.extra_ or {}), **call.extra_}


def continues(held: s.FunctionCall, call: s.FunctionCall) -> bool:
    """Report whether an event continues a call: it names no other one."""
    other_name = bool(call.name) and bool(held.name) and call.name != held.name
    other_id = bool(call.id) and bool(held.id) and call.id != held.id
    begins = bool(call.name and held.name and held.partial_args) and not call.partial_args
    return not (other_name or other_id or begins)
