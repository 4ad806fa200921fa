"""State of a streamed step: the fragments of its deltas, and how they complete the step."""

from __future__ import annotations

from itertools import chain
from typing import Any

from msgspec import Raw, field

from ... import json_codec
from ...model import Reasoning
from ..block_stream import BlockState
from ..calls import NO_ARGUMENTS
from ..schema import Unknown, Wire, exact_text, raw_object
from . import schema as s

#: The step that a delta without a start event implies, by the delta's type.
IMPLIED: dict[str | None, type[Wire]] = {
    "text": s.ModelOutput,
    "text_annotation_delta": s.ModelOutput,
    **dict.fromkeys(("image", "audio", "video", "document"), s.ModelOutput),
    "thought_summary": s.Thought,
    "thought_signature": s.Thought,
    "arguments_delta": s.FunctionCall,
    **{step.__struct_config__.tag: step for step in s.Step.__args__ if issubclass(step, (s.ServerCall, s.Result))},
    "function_call": s.FunctionCall,  # until June 2026
}
#: The structs of the contents that a delta of this type adds to an output.
MEDIA: dict[str | None, type[s.MediaContent]] = {
    "image": s.ImageContent,
    "audio": s.AudioContent,
    "video": s.VideoContent,
    "document": s.DocumentContent,
}
#: The type of the deltas whose texts a step consists of.
_KINDS: dict[type[Wire], str] = {s.ModelOutput: "text", s.FunctionCall: "arguments_delta"}
_BLOCK_TYPES: dict[type[Wire], str] = {
    s.ModelOutput: "text",
    s.TextContent: "text",
    s.Thought: "reasoning",
    s.FunctionCall: "tool_call",
    Unknown: "opaque",
}


class StepState(BlockState):
    """A step of a stream in progress.

    ``kind``: the type of the deltas with more text of the current block; None if no text can be added. ``key``: the key
    of its current block, -1 before the block starts. ``parts``: the fragments of that text, of the arguments or of the
    thought's summary.
    """

    signature: list[str] = field(default_factory=list)
    annotations: list[Any] = field(default_factory=list)  # of the current text
    contents: list[Any] = field(default_factory=list)  # of an output or of a summary, before the current text
    text_members: dict[str, Any] = field(default_factory=dict)  # of the text of a summary, beside its type and text
    growing: dict[str, list[Any]] = field(default_factory=dict)  # member -> its texts or lists, or its only value

    def takes(self, kind: str | None) -> bool:
        """See `BlockState.takes`. A step of an unknown type takes deltas of all types."""
        step = type(self.start)
        if step is Unknown:
            return True
        implied = IMPLIED.get(kind)
        if kind == "arguments_delta":
            return issubclass(step, (s.FunctionCall, s.ServerCall))
        if kind == "thought_signature":
            return "signature" in step.__struct_fields__
        return implied is None or implied is step or (implied is s.ModelOutput and issubclass(step, _CONTENTS))

    def attach(self, kind: str, text: str) -> bool:
        """See `BlockState.attach`."""
        if kind != "signature" or type(self.start) is Unknown or not self.takes("thought_signature"):
            return False
        self.signature.append(text)
        return True

    @property
    def type(self) -> str:
        """See `BlockState.type`."""
        step = self.start
        return str(step.wire_type if type(step) is Unknown else step.__struct_config__.tag)

    def header(self) -> tuple[str, str | None, str | None]:
        """See `BlockState.header`."""
        step = self.start
        block_type = _BLOCK_TYPES.get(type(step))
        if block_type is None:
            block_type = "server_tool_call" if isinstance(step, s.ServerCall) else "server_tool_result"
        return (
            (block_type, step.id, getattr(step, "name", None))
            if block_type.endswith("_call")
            else (block_type, None, None)
        )

    def open_text(self, key: int) -> None:
        """Begin a text, to which fragments are added."""
        self.key = key
        self.kind = _KINDS.get(type(self.start))

    def sealed(self) -> Reasoning | None:
        """See `BlockState.sealed`."""
        signature = "".join(self.signature)
        return Reasoning(signature=signature) if signature and type(self.start) is s.Thought else None

    def close_text(self) -> None:
        """End the current text of an output or summary; it becomes a content."""
        if self.parts or self.annotations:
            text = "".join(self.parts)
            if type(self.start) is s.Thought:
                self.contents.append({"text": text, "type": "text", **self.text_members})
            else:
                self.contents.append(s.TextContent(text=text, annotations=self.annotations or None))
        self.key, self.kind, self.parts, self.annotations, self.text_members = -1, None, [], [], {}

    def merge(self, delta: s.Delta) -> None:
        """Add the members of a delta of a server call or result: new texts and lists continue earlier ones."""
        step = self.start
        if type(step) is Unknown:
            if isinstance(step.raw, dict):
                for name, value in raw_object(delta).items():
                    if name != "type":
                        self._grow(name, step.raw.get(name), value)
            return
        for name in step.__struct_fields__:
            if name in ("extra_", "signature"):
                continue
            value = getattr(delta, name, None)
            if isinstance(value, Raw):
                if memoryview(value):
                    setattr(step, name, value)
            elif value is not None:
                if name == "result":
                    self._grow(name, step.result, value)
                else:
                    setattr(step, name, value)

    def _grow(self, name: str, initial: Any, value: Any) -> None:
        """Add a value to a member: texts and lists continue earlier ones, and any other value replaces them.

        ``initial``: the value in the start event. `complete` joins the pieces, so that each is copied only once.
        """
        pieces = self.growing.setdefault(name, [initial])
        if type(value) in (str, list) and type(value) is type(pieces[-1]):
            pieces.append(value)
        else:
            self.growing[name] = [value]

    def has_no_arguments(self) -> bool:
        """Report whether the step is a call without any argument, in its start event and in its deltas."""
        return type(self.start) is s.FunctionCall and not self.parts and not self.initial()

    def initial(self) -> str:
        """See `BlockState.initial`. Empty arguments count as none."""
        if type(self.start) is not s.FunctionCall or not memoryview(self.start.arguments):
            return ""
        text = exact_text(self.start.arguments).strip()
        return "" if text in NO_ARGUMENTS else text

    def complete(self) -> None:
        """Complete the step with everything that its deltas brought, except for the arguments of a client call."""
        step = self.start
        for name, pieces in self.growing.items():
            if type(step) is Unknown:
                step.raw[name] = _joined(pieces)
            else:
                setattr(step, name, _joined(pieces))
        if self.signature and "signature" in step.__struct_fields__:
            step.signature = "".join(self.signature)
        if type(step) is s.TextContent:
            step.text = "".join(self.parts)
            step.annotations = self.annotations or step.annotations
        elif type(step) in (s.ModelOutput, s.Thought):
            self.close_text()
            if self.contents:
                setattr(step, "content" if type(step) is s.ModelOutput else "summary", self.contents)


#: The contents that were outputs themselves until June 2026.
_CONTENTS = (s.TextContent, s.MediaContent)


def _joined(pieces: list[Any]) -> Any:
    """Return one value from pieces that are all texts or all lists; any other value is alone."""
    if len(pieces) == 1:
        return pieces[0]
    return "".join(pieces) if isinstance(pieces[0], str) else list(chain.from_iterable(pieces))


def arguments_of(delta: s.Delta) -> tuple[str, bool]:
    """Return the argument text of a delta, and whether it is a fragment; an object is the whole arguments."""
    text = exact_text(delta.arguments) if memoryview(delta.arguments) else ""
    if not text.startswith('"'):
        return text, False
    try:
        return str(json_codec.decode(text)), True
    except ValueError:
        return text, True
