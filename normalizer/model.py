"""The canonical form: what every wire is turned into.

The JSON of these structs (`normalizer.json_codec.encode`) is the contract that other languages read. Blocks stand in
the model's order; ids, names and argument texts are exactly what stood on the wire. ``extra`` holds the wire's
non-null members that no canonical field represents; an encoder merges it back only for the same wire and provider.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Self, TypeVar

from msgspec import Struct
from msgspec.structs import astuple

from .findings import Finding

StopReason = Literal[
    "end_turn",
    "tool_calls",
    "max_tokens",
    "context_window",
    "stop_sequence",
    "refusal",
    "content_filter",
    "pause",
    "compaction",
    "malformed_call",
    "error",
    "unknown",
]

#: Stop reasons under which nothing of a choice may run (law `incomplete`; failures REF-01, GEM-02), in words.
DEAD_STOPS: dict[StopReason, str] = {
    "refusal": "the answer was refused",
    "content_filter": "a filter cut the answer",
    "malformed_call": "the provider called the call malformed",
    "error": "the answer failed",
}

CallStatus = Literal["complete", "truncated", "invalid"]


class Text(Struct, tag="text", tag_field="type", frozen=True, gc=False):
    """Words for the user. ``annotations``: citations as the wire spells them."""

    text: str
    annotations: list[Any] = []
    extra: dict[str, Any] = {}


class Reasoning(Struct, tag="reasoning", tag_field="type", frozen=True, gc=False):
    """The model's thinking, or its state that only the provider reads (``signature``, ``encrypted``).

    ``redacted``: the provider withheld the words and kept only ``encrypted``.
    """

    text: str = ""
    signature: str | None = None
    encrypted: str | None = None
    redacted: bool = False
    extra: dict[str, Any] = {}


class Refusal(Struct, tag="refusal", tag_field="type", frozen=True, gc=False):
    """The words with which the model declined."""

    text: str
    extra: dict[str, Any] = {}


class ToolCall(Struct, tag="tool_call", tag_field="type", frozen=True, gc=False):
    """A client call: the caller has to execute it, and nobody else does.

    ``arguments``: the parsed object; null where the text is no object, and for kinds whose text is no JSON (custom).
    ``arguments_text``: exactly what stood on the wire. ``wire_id``: the item's own id where the wire has two.
    """

    id: str
    name: str
    arguments: dict[str, Any] | None
    arguments_text: str
    status: CallStatus = "complete"
    kind: str = "function"
    wire_id: str | None = None
    namespace: str | None = None
    caller: Any = None
    extra: dict[str, Any] = {}


class ServerToolCall(Struct, tag="server_tool_call", tag_field="type", frozen=True, gc=False):
    """A call that the provider executed itself: never dispatched. ``tool`` is canonical, ``name`` the wire's."""

    id: str
    tool: str
    name: str
    arguments_text: str = ""
    status: str | None = None
    extra: dict[str, Any] = {}


class ServerToolResult(Struct, tag="server_tool_result", tag_field="type", frozen=True, gc=False):
    """What came of a server call, or what a provider's tool announced by itself (``call_id`` "" then)."""

    call_id: str
    tool: str
    is_error: bool = False
    raw: Any = None
    extra: dict[str, Any] = {}


class ApprovalRequest(Struct, tag="approval_request", tag_field="type", frozen=True, gc=False):
    """The provider asks whether it may run a call on a server of its own (MCP)."""

    id: str
    server: str
    name: str
    arguments_text: str = ""
    extra: dict[str, Any] = {}


class Opaque(Struct, tag="opaque", tag_field="type", frozen=True, gc=False):
    """Something no table here names yet: kept whole, and reported as `unknown-block`."""

    wire_type: str
    raw: Any = None
    extra: dict[str, Any] = {}


Block = Text | Reasoning | Refusal | ToolCall | ServerToolCall | ServerToolResult | ApprovalRequest | Opaque


class Stop(Struct, frozen=True, gc=False):
    """Why the answer ended: ``reason`` is what happened, ``raw`` what the provider called it."""

    reason: StopReason
    raw: str | None = None


class Choice(Struct, frozen=True, gc=False):
    """One alternative answer."""

    index: int
    blocks: list[Block]
    stop: Stop
    extra: dict[str, Any] = {}

    @property
    def calls(self) -> list[ToolCall]:
        """The client calls, in order."""
        return [block for block in self.blocks if type(block) is ToolCall]

    @property
    def text(self) -> str:
        """The words of all text blocks, joined."""
        return "".join(block.text for block in self.blocks if type(block) is Text)


class Usage(Struct, frozen=True, gc=False):
    """Token figures that mean the same everywhere; absent ones are null, never 0.

    ``input_tokens`` includes cache reads and writes, ``output_tokens`` includes reasoning; ``raw`` is the wire's own.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    raw: Any = None


class Error(Struct, frozen=True, gc=False):
    """What the provider said went wrong. ``retryable``: null where neither the type nor the status tells."""

    type: str
    message: str
    status: int | None = None
    retryable: bool | None = None
    raw: Any = None


class Found(Struct, frozen=True, dict=True):
    """What has findings beside its canonical form: they are not encoded with it, nor compared.

    Copies and pickles keep them; ``msgspec.structs.replace`` makes another object, without any.
    """

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Diagnostics in the order they were made; empty for clean traffic."""
        found: tuple[Finding, ...] = self.__dict__.get("findings", ())
        return found

    def with_findings(self, findings: list[Finding]) -> Self:
        """The same object, its findings set (by whoever made it; once, before anybody else sees it)."""
        self.__dict__["findings"] = tuple(findings)
        return self

    def __copy__(self) -> Self:
        return _found(type(self), astuple(self), self.findings)

    def __reduce__(self) -> Any:
        return _found, (type(self), astuple(self), self.findings)


_F = TypeVar("_F", bound=Found)


def _found(cls: type[_F], members: tuple[Any, ...], findings: tuple[Finding, ...]) -> _F:
    made = cls(*members)
    return made.with_findings(list(findings)) if findings else made


class Response(Found, frozen=True, dict=True):
    """One answer of one model.

    ``complete`` is false where a stream ended without its terminal event: nothing in it may be executed then.
    ``findings`` are the diagnostics of the decoding.
    """

    wire: str
    provider: str | None
    id: str | None
    model: str | None
    choices: list[Choice]
    usage: Usage | None = None
    error: Error | None = None
    complete: bool = True
    extra: dict[str, Any] = {}

    @property
    def calls(self) -> list[ToolCall]:
        """The client calls of the first choice, in order, whatever their status."""
        return self.choices[0].calls if self.choices else []

    @property
    def text(self) -> str:
        """The words of the first choice."""
        return self.choices[0].text if self.choices else ""

    def walk(self) -> Iterator[tuple[Choice, int, Block]]:
        """Every block with its choice and its index in that choice."""
        for choice in self.choices:
            for index, block in enumerate(choice.blocks):
                yield choice, index, block
