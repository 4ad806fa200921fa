"""Canonical form of a response: the types that every wire decodes into.

The JSON of these structs (`normalizer.json_codec.encode`) is a contract for readers in other languages. Blocks are in
the model's order. Ids, names and argument texts are exactly those of the wire. ``extra`` holds the wire's non-null
members that no canonical field represents; an encoder writes them back only for the same wire and provider.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Self, TypeVar

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import astuple

from .findings import Finding

#: The names of the wires (`normalizer.wires.registry.WIRES`). `normalizer.wires.registry.wire_name` converts a str.
Wire = Literal[
    "openai.chat",
    "openai.responses",
    "anthropic.messages",
    "xai.grpc",
    "google.gemini",
    "google.interactions",
    "bedrock.converse",
    "cohere.chat",
    "ollama.chat",
]

#: The names of the policies (`normalizer.policies.POLICIES`). `normalizer.policies.policy_name` converts a str.
Policy = Literal["first", "all", "batch"]

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

#: Stop reason -> explanation, for stop reasons under which no call of a choice may run.
#: Law `incomplete`; failures REF-01, GEM-02.
DEAD_STOPS: dict[StopReason, str] = {
    "refusal": "the answer was refused",
    "content_filter": "a filter cut the answer",
    "malformed_call": "the provider called the call malformed",
    "error": "the answer failed",
}

CallStatus = Literal["complete", "truncated", "invalid"]


class Text(Struct, tag="text", tag_field="type", frozen=True, gc=False):
    """Text for the user. ``annotations``: citations, as the wire represents them."""

    text: str
    annotations: list[Any] = []
    extra: dict[str, Any] = {}


class Reasoning(Struct, tag="reasoning", tag_field="type", frozen=True, gc=False):
    """The model's reasoning, or state that only the provider can read (``signature``, ``encrypted``).

    ``redacted``: the provider withheld the text and sent only ``encrypted``.
    """

    text: str = ""
    signature: str | None = None
    encrypted: str | None = None
    redacted: bool = False
    extra: dict[str, Any] = {}


class Refusal(Struct, tag="refusal", tag_field="type", frozen=True, gc=False):
    """The text with which the model declined the request."""

    text: str
    extra: dict[str, Any] = {}


class ToolCall(Struct, tag="tool_call", tag_field="type", frozen=True, gc=False):
    """A client call: the caller has to execute it, because the provider does not.

    ``arguments``: the parsed object; None if the argument text is not an object, and for kinds whose text is not JSON
    (custom). ``arguments_text``: exactly the text on the wire. ``wire_id``: the id of the item, on wires that have one
    besides the id of the call.
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
    """A call that the provider executes itself: the caller never runs it.

    ``tool``: the canonical name of the tool. ``name``: its name on the wire.
    """

    id: str
    tool: str
    name: str
    arguments_text: str = ""
    status: str | None = None
    extra: dict[str, Any] = {}


class ServerToolResult(Struct, tag="server_tool_result", tag_field="type", frozen=True, gc=False):
    """The result of a server call, or one that a provider's tool sent without a call (``call_id`` is "" then)."""

    call_id: str
    tool: str
    is_error: bool = False
    raw: Any = None
    extra: dict[str, Any] = {}


class ApprovalRequest(Struct, tag="approval_request", tag_field="type", frozen=True, gc=False):
    """A request of the provider for permission to run a call on an MCP server."""

    id: str
    server: str
    name: str
    arguments_text: str = ""
    extra: dict[str, Any] = {}


class Opaque(Struct, tag="opaque", tag_field="type", frozen=True, gc=False):
    """A block of an unknown type: kept unchanged, and reported as `unknown-block`."""

    wire_type: str
    raw: Any = None
    extra: dict[str, Any] = {}


#: One part of a choice. ``type`` in its JSON says which.
Block = Text | Reasoning | Refusal | ToolCall | ServerToolCall | ServerToolResult | ApprovalRequest | Opaque


class Stop(Struct, frozen=True, gc=False):
    """Why a choice ended. ``reason``: the canonical stop reason. ``raw``: the provider's term for it."""

    reason: StopReason
    raw: str | None = None


class Choice(Struct, frozen=True, gc=False):
    """One of the alternative outputs of a response. ``index``: its number at the provider. ``blocks``: in order."""

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
        """The text of all text blocks, concatenated."""
        return "".join(block.text for block in self.blocks if type(block) is Text)


class Usage(Struct, frozen=True, gc=False):
    """Token counts with the same meaning on every wire. A count that the wire does not report is None, never 0.

    ``input_tokens`` includes cache reads and writes; ``output_tokens`` includes reasoning. ``raw``: the wire's usage.
    ``estimated``: true if a count is an estimate of a `Turn`. The JSON of a usage without one lacks this member.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    raw: Any = None
    estimated: bool | UnsetType = UNSET


class Error(Struct, frozen=True, gc=False):
    """An error that the provider reported. ``retryable``: None if neither its type nor the HTTP status decides it."""

    type: str
    message: str
    status: int | None = None
    retryable: bool | None = None
    raw: Any = None


class WithFindings(Struct, frozen=True, dict=True):
    """Base of structs with findings, which are neither encoded nor compared.

    Copies and pickles keep the findings; the object that ``msgspec.structs.replace`` returns has none.
    """

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings, those about the framing of a stream first; empty for clean traffic."""
        findings: tuple[Finding, ...] = self.__dict__.get("findings", ())
        return findings

    def with_findings(self, findings: list[Finding]) -> Self:
        """Set the findings and return this object. Only its creator may call this, before it passes the object on."""
        self.__dict__["findings"] = tuple(findings)
        return self

    def __copy__(self) -> Self:
        return _found(type(self), astuple(self), self.findings)

    def __reduce__(self) -> Any:
        return _found, (type(self), astuple(self), self.findings)


_F = TypeVar("_F", bound=WithFindings)


def _found(cls: type[_F], members: tuple[Any, ...], findings: tuple[Finding, ...]) -> _F:
    restored = cls(*members)
    return restored.with_findings(list(findings)) if findings else restored


class Response(WithFindings, frozen=True, dict=True):
    """One response of one model.

    ``complete`` is false if a stream ended without its terminal event: none of its calls may be executed then.
    ``findings``: the diagnostics of the decoder.
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
        """The text of the first choice."""
        return self.choices[0].text if self.choices else ""

    def walk(self) -> Iterator[tuple[Choice, int, Block]]:
        """Yield every block with its choice and its index in that choice."""
        for choice in self.choices:
            for index, block in enumerate(choice.blocks):
                yield choice, index, block
