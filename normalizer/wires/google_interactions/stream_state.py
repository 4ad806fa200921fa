"""State of a streamed step: the fragments of its deltas, and how they complete the step."""

from __future__ import annotations

from itertools import chain
from typing import Any

from msgspec import Raw, Struct

from ... import json_codec
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
#: The struct of the fast path whose text belongs to a step.
_PIECES: dict[type[Wire], type[Struct]] = {s.ModelOutput: s.TextPiece, s.FunctionCall: s.ArgumentsPiece}
#: Texts of arguments without any member.
NO_ARGUMENTS = frozenset(("", "{}", "null"))


class StepState(Struct, eq=False):
    """A step of a stream in progress.

    ``key``: the key of its current block in events, None before the block starts. ``piece``: the struct of the fast
    path whose text belongs to the current block; None if no text can be added. ``parts``: the fragments of that text,
    of the arguments or of the thought's summary. ``doubtful``: misplaced arguments may belong to this step.
    """

    step: Any
    index: int
    key: int | None = None
    piece: type[Struct] | None = None
    parts: list[str] = []
    signature: list[str] = []
    annotations: list[Any] = []  # of the current text
    contents: list[Any] = []  # of an output or of a summary, before the current text
    text_members: dict[str, Any] = {}  # of the current text of a summary, beside its type and text
    growing: dict[str, list[Any]] = {}  # member -> its pieces, all texts or all lists, or its only value
    stopped: bool = False
    doubtful: bool = False

    def takes(self, kind: str | None) -> bool:
        """Report whether a delta of this type belongs to the step. A step of an unknown type takes all."""
        step = type(self.step)
        if step is Unknown:
            return True
        implied = IMPLIED.get(kind)
        if kind == "arguments_delta":
            return issubclass(step, (s.FunctionCall, s.ServerCall))
        if kind == "thought_signature":
            return "signature" in step.__struct_fields__
        return implied is None or implied is step or (implied is s.ModelOutput and issubclass(step, _CONTENTS))

    def open_text(self, key: int) -> None:
        """Begin a text, to which fragments are added."""
        self.key = key
        self.piece = _PIECES.get(type(self.step))

    def close_text(self) -> None:
        """End the current text of an output or summary; it becomes a content."""
        if self.parts or self.annotations:
            text = "".join(self.parts)
            if type(self.step) is s.Thought:
                self.contents.append({"text": text, "type": "text", **self.text_members})
            else:
                self.contents.append(s.TextContent(text=text, annotations=self.annotations or None))
        self.key, self.piece, self.parts, self.annotations, self.text_members = None, None, [], [], {}

    def merge(self, delta: s.Delta) -> None:
        """Add the members of a delta of a server call or result: new texts and lists continue earlier ones."""
        step = self.step
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
        return type(self.step) is s.FunctionCall and not self.parts and self.initial() in NO_ARGUMENTS

    def initial(self) -> str:
        """Return the argument text in the start event."""
        arguments = self.step.arguments
        return exact_text(arguments).strip() if memoryview(arguments) else ""

    def complete(self) -> None:
        """Complete the step with everything that its deltas brought, except for the arguments of a client call."""
        step = self.step
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
