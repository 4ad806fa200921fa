"""Records: what the audit keeps of an exchange to compare it with the later ones.

A record holds fingerprints and short excerpts instead of content. It is small, can be pickled, and is made from one
exchange alone, so that records can be made in other processes and linked in one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Literal

from msgspec import Struct

from toolparity.normalizer.conversation import (
    Assistant,
    JsonPart,
    Message,
    Part,
    RawItem,
    Request,
    TextPart,
    ToolDefinition,
    ToolResult,
    ToolResults,
    User,
)
from toolparity.normalizer.json_codec import text as json_text
from toolparity.normalizer.model import (
    DEAD_STOPS,
    Block,
    Choice,
    Opaque,
    Reasoning,
    Refusal,
    Response,
    ServerToolCall,
    Text,
    ToolCall,
)
from toolparity.normalizer.wires.calls import is_synthetic, position_of

from . import fingerprints

Role = Literal["system", "user", "assistant", "results", "item"]
#: The maximum length of an excerpt, in characters.
EXCERPT = 160
#: Request members that switch reasoning on or choose how it comes back.
_REASONING_SETTINGS = ("thinking", "reasoning", "reasoning_effort", "include", "use_encrypted_content")
#: Wire types of items and blocks that replace earlier messages.
_COMPACTIONS = ("compaction", "compaction_summary")
#: The member of a call with the signature of the reasoning that led to it, on `google.gemini`.
_SIGNATURE = "thoughtSignature"
#: The wire type of an item that refers to a stored one.
_REFERENCE = "item_reference"
#: The id in records of a legacy `function_call`, which has none on the wire. A message has at most one.
FUNCTION_CALL = "function_call"
_LEGACY = "legacy_function"
#: What recorders and loggers write instead of content.
_REDACTED = re.compile(r"[\[<({*]\W?(?:scrubbed|redacted|filtered|masked|elided|hidden|omitted)|\*{4,}", re.IGNORECASE)


class CallRecord(Struct, frozen=True, gc=False, array_like=True, omit_defaults=True):
    """A client call. ``arguments``: their fingerprint. ``text``: an excerpt of the argument text on the wire.

    ``runnable``: its arguments are whole, and its choice was neither refused nor cut by a filter. ``redacted``: a
    recorder replaced a part of the arguments. ``position``: that of a call without an id on the wire. Its ``id`` is
    assigned, and differs in the response and in a history unless the application sends the assigned one back. Its
    ``wire_id`` is made from its signature, if it has one.
    """

    id: str
    name: str
    arguments: int
    text: str
    runnable: bool = True
    wire_id: str | None = None
    redacted: bool = False
    position: str | None = None

    @property
    def ids(self) -> set[str]:
        """The ids by which a result or a history may refer to the call: some applications use the id of the item."""
        return {self.id, self.wire_id or self.id, self.position or self.id}

    @property
    def content(self) -> tuple[str, int]:
        """The call without its id."""
        return self.name, self.arguments


class ResultRecord(Struct, frozen=True, gc=False, array_like=True, omit_defaults=True):
    """A tool result. ``name``: that of its tool, if the wire has it. ``content``: its fingerprint."""

    call_id: str
    name: str | None
    content: int
    text: str


class MessageRecord(Struct, frozen=True, array_like=True, omit_defaults=True):
    """A message. ``content``: its fingerprint. ``seals``: fingerprints of signatures and encrypted reasoning.

    ``server_calls``: the ids of the provider's calls. ``size``: the length of its text and results in characters.
    """

    role: Role
    content: int
    text: str = ""
    size: int = 0
    calls: tuple[CallRecord, ...] = ()
    results: tuple[ResultRecord, ...] = ()
    seals: tuple[int, ...] = ()
    server_calls: tuple[str, ...] = ()
    compaction: bool = False


#: An assistant message without content.
_EMPTY = MessageRecord("assistant", fingerprints.of_value(["", []]))


class ExchangeRecord(Struct, array_like=True, omit_defaults=True):
    """An exchange. ``place``: its location, for findings. ``response``: the first choice of the response as a message.

    ``others``: its further choices. ``messages`` is None without a readable request, ``response`` is None without a
    response. ``chain``: fingerprints of the first n messages, for every n. ``finished``: the response is complete and
    did not fail. ``tools``: name of each tool -> fingerprint of its definition. ``settings``: fingerprint of the
    reasoning settings, 0 without any. ``stored``: the provider stores the history. ``references``: the request refers
    to stored items by their id. ``preceded``: results in the last message are preceded by other content.
    ``transcript``: the request is made from a transcript, and not the one that was sent.
    """

    place: str
    wire: str
    model: str | None = None
    messages: Sequence[MessageRecord] | None = None
    chain: Sequence[int] = []
    response: MessageRecord | None = None
    others: tuple[MessageRecord, ...] = ()
    response_id: str | None = None
    finished: bool = False
    tools: dict[str, int] = {}
    settings: int = 0
    previous_response_id: str | None = None
    stored: bool = False
    references: bool = False
    preceded: bool = False
    transcript: bool = False
    input_tokens: int | None = None
    cached_tokens: int | None = None
    written_tokens: int | None = None

    @property
    def choices(self) -> tuple[MessageRecord, ...]:
        """All choices of the response."""
        return () if self.response is None else (self.response, *self.others)


def record(
    place: str,
    wire: str,
    request: Request | None,
    response: Response | None,
    *,
    preceded: bool = False,
    transcript: bool = False,
) -> ExchangeRecord:
    """Return the record of an exchange.

    ``place``: its location, for findings. ``preceded`` and ``transcript``: see `ExchangeRecord`.
    """
    made = ExchangeRecord(place, wire, preceded=preceded, transcript=transcript)
    if request is not None:
        made.model = request.model
        made.references = request.params.get("store") is not False and has_references(request.messages)
        made.messages = message_records(request.messages)
        made.chain = chain_of(made.messages)
        made.tools = {tool.name: _tool(tool) for tool in request.tools if not _is_deferred(tool)}
        made.settings = _settings(request)
        made.previous_response_id = request.previous_response_id
        made.stored = bool(request.previous_response_id or request.params.get("conversation"))
    return with_response(made, response)


def with_response(made: ExchangeRecord, response: Response | None) -> ExchangeRecord:
    """Add the response to the record of a request, and return the record."""
    if response is not None:
        made.response_id = response.id
        if response.choices:
            made.response, *others = map(_choice, response.choices)
            made.others = tuple(others)
        made.finished = response.complete and response.error is None
        if usage := response.usage:
            made.input_tokens = usage.input_tokens
            made.cached_tokens, made.written_tokens = usage.cached_input_tokens, usage.cache_write_tokens
    return made


def chain_of(messages: list[MessageRecord], before: int = 0) -> list[int]:
    """Return the fingerprints of the first n messages, for every n. ``before``: that of the messages before them."""
    contents = (message.content for message in messages)
    return list(accumulate(contents, fingerprints.chained, initial=before))[1:]


def has_references(messages: list[Message]) -> bool:
    """Return whether any message refers to stored items by id."""
    return any(map(_is_reference, messages))


def _settings(request: Request) -> int:
    """Return the fingerprint of the reasoning settings, 0 without any."""
    settings = [request.params.get(name) for name in _REASONING_SETTINGS]
    return 0 if all(value is None for value in settings) else fingerprints.of_value(settings)


def _is_item_reference(message: Message) -> bool:
    """Return whether a message is the id of a stored item instead of the item."""
    return isinstance(message, RawItem) and isinstance(message.raw, dict) and message.raw.get("type") == _REFERENCE


def _is_reference(message: Message) -> bool:
    """Return whether a message refers to stored items by id: an item, or reasoning without its encrypted content."""
    if not isinstance(message, Assistant):
        return _is_item_reference(message)
    blocks = message.response.choices[0].blocks if message.response.choices else []
    return any(isinstance(b, Reasoning) and b.extra.get("id") and not (b.signature or b.encrypted) for b in blocks)


def _tool(tool: ToolDefinition) -> int:
    """Return the fingerprint of a definition. A member with JSON null means the same as an absent one."""
    raw = tool.raw
    if isinstance(raw, dict):
        raw = {name: value for name, value in raw.items() if value is not None}
    return fingerprints.of_value([tool.kind, tool.description, tool.parameters, raw])


def _is_deferred(tool: ToolDefinition) -> bool:
    """Return whether the provider loads a tool only after a search, so that it is not a part of the prompt."""
    raws = (tool.raw, tool.extra)
    return any(isinstance(raw, dict) and raw.get("defer_loading") is True for raw in raws)


def message_records(messages: list[Message]) -> list[MessageRecord]:
    """Return the records of messages."""
    function = None  # the name in the last `function_call`, to which a result refers by this name
    records: list[MessageRecord] = []
    for message in messages:
        if isinstance(message, Assistant):
            calls = message.response.choices[0].calls if message.response.choices else []
            function = next((call.name for call in calls if call.kind == _LEGACY), None)
        if not _is_item_reference(message):
            records.append(_message(message, function))
    return records


def _message(message: Message, function: str | None) -> MessageRecord:
    if isinstance(message, Assistant):
        return _choice(message.response.choices[0]) if message.response.choices else _EMPTY
    if isinstance(message, ToolResults):
        results = tuple(
            ResultRecord(_answered_id(r, function), r.name, fingerprints.of_parts(r.parts), _text(r.parts)[:EXCERPT])
            for r in message.results
        )
        content = fingerprints.of_value(sorted(r.content for r in results))
        size = sum(len(_text(r.parts)) for r in message.results)
        return MessageRecord("results", content, size=size, results=results)
    if isinstance(message, RawItem):
        kind = message.raw.get("type") if isinstance(message.raw, dict) else None
        return MessageRecord("item", fingerprints.of_value([str(kind)]), str(kind), compaction=kind in _COMPACTIONS)
    role: Role = "user" if isinstance(message, User) else "system"
    text = _text(message.parts)
    return MessageRecord(role, fingerprints.of_parts(message.parts), text[:EXCERPT], len(text))


def _answered_id(result: ToolResult, function: str | None) -> str:
    """Return the id of the call that a result names. ``function``: the name in the `function_call` before it."""
    if result.kind != _LEGACY or function is None:
        return result.call_id
    return FUNCTION_CALL if result.name in (function, None, "") else result.name


def _choice(choice: Choice) -> MessageRecord:
    alive = choice.stop.reason not in DEAD_STOPS
    texts: list[str] = []
    calls: list[CallRecord] = []
    seals: list[int] = []
    server_calls: list[str] = []
    compaction = False
    for block in choice.blocks:
        if isinstance(block, (Text, Refusal)):
            texts.append(block.text)
        elif isinstance(block, ToolCall):
            calls.append(_call(block, alive))
            seals.extend(_seals_of(block))
        elif isinstance(block, Reasoning):
            seals.extend(fingerprints.of_text(seal) for seal in (block.signature, block.encrypted) if seal)
        elif isinstance(block, ServerToolCall):
            server_calls.append(block.id)
        compaction = compaction or _is_compaction(block)
    text = "".join(texts)
    content = fingerprints.of_value([text.strip(), [call.content for call in calls]])
    return MessageRecord(
        "assistant",
        content,
        text[:EXCERPT],
        len(text),
        tuple(calls),
        seals=tuple(seals),
        server_calls=tuple(server_calls),
        compaction=compaction,
    )


def _is_compaction(block: Block) -> bool:
    kind = block.wire_type if isinstance(block, Opaque) else block.extra.get("type")
    return kind in _COMPACTIONS


def _call(call: ToolCall, alive: bool) -> CallRecord:
    arguments = (
        fingerprints.of_text(call.arguments_text) if call.arguments is None else fingerprints.of_value(call.arguments)
    )
    runnable = alive and call.status == "complete"
    id = FUNCTION_CALL if call.kind == _LEGACY else call.id
    text = call.arguments_text
    redacted = _REDACTED.search(text) is not None
    position, wire_id = None, call.wire_id
    if is_synthetic(id):
        position = position_of(id)
        wire_id = next((f"seal_{seal:016x}" for seal in _seals_of(call)), wire_id)
    return CallRecord(id, call.name, arguments, text[:EXCERPT], runnable, wire_id, redacted, position)


def _seals_of(call: ToolCall) -> Iterator[int]:
    """Yield the fingerprint of the call's signature, if it has one."""
    signature = call.extra.get(_SIGNATURE)
    if signature and isinstance(signature, str):
        yield fingerprints.of_text(signature)


def _text(parts: list[Part]) -> str:
    return "".join(
        part.text if isinstance(part, TextPart) else json_text(part.value) if isinstance(part, JsonPart) else ""
        for part in parts
    )
