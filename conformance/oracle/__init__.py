"""Independent readings of requests and responses, with which the laws judge a subject.

There is one module for each wire, with the functions of `Oracle`, and with the wire's `Facts` in ``FACTS``. A third
party's wire has a module ``oracle`` in its own package. No oracle calls a reader or a writer of the normalizer, because
the suite tests them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, Protocol, cast

from msgspec import Struct

from toolparity.cassettes.chunking import events
from toolparity.cassettes.scripts import OfferedTool
from toolparity.normalizer import json_codec
from toolparity.normalizer.wires.registry import WireSpec, spec, specs

from ..subjects import SubjectExchange

Json = dict[str, Any]


class RequestItem(NamedTuple):
    """A call or a tool result in a request. ``content``: the arguments or the result, unchanged.

    ``name``: of a result, the name that its wire gives it, or "".
    """

    kind: Literal["call", "result"]
    id: str
    name: str
    content: Any


#: Member -> the values that it may have; None is a member that is missing.
Words = dict[str, frozenset[str | None]]


def values_of(**members: str) -> Words:
    """Return the values of members, which are separated by spaces; ``-`` is a member that is missing."""
    return {name: frozenset(None if word == "-" else word for word in words.split()) for name, words in members.items()}


class Facts(Struct, frozen=True, kw_only=True):
    """What the format of a wire has, by the documentation of its provider.

    ``item``, ``part``, ``call``: the words of items, parts and calls in a conversation: types, roles and states. Server
    tools of the provider do not occur in a conversation of another one. ``call_id``: the member with the id of a call
    in a response, or "". ``may_omit``: the members of a response that a request may leave out if they are empty.
    ``calls_last``: a message has its calls behind its texts. ``named_results``: a result has the name of its tool.
    ``signed_thinking``: thinking without a signature is refused.

    Tools: ``typed_tools``: they have a type. ``custom_tools``: they may take free text. ``strict``: they can be strict.
    ``strict_by_default``: they are, if they do not say so. ``own_tools``: names of tools that the provider runs; it may
    report the calls of a client's tool with such a name as its own, so that a request may give that tool another name.

    Settings (`stated.PLACES` has the others): ``several_choices``, ``parallel``: a request can ask for several choices,
    and turn parallel calls off. ``limit``: the optional member for
    the limit of output tokens. ``required``: what a request must have although the conversation has none: "limit" or
    "tools". ``stops``: the canonical stop reasons that the wire has a word for. ``settings``: members with values that
    no conversation of the suite states.
    """

    item: Words = {}
    part: Words = {}
    call: Words = {}
    call_id: str = "id"
    may_omit: frozenset[str] = frozenset()
    calls_last: bool = False
    named_results: bool = False
    signed_thinking: bool = False
    typed_tools: bool = False
    custom_tools: bool = False
    strict: bool = True
    strict_by_default: bool = False
    own_tools: frozenset[str] = frozenset()
    several_choices: bool = False
    parallel: bool = True
    limit: str = ""
    required: Literal["", "limit", "tools"] = ""
    stops: frozenset[str] = frozenset(("end_turn", "tool_calls", "max_tokens"))
    settings: Json = {}


class Oracle(Protocol):
    """The functions of an oracle's module. A body is JSON; on wires with messages it is protobuf's JSON form."""

    def request_body(self, ask: str, tools: Sequence[OfferedTool], model: str, *, stream: bool) -> Json:
        """Return the request that sends a user message and declares tools."""

    def items(self, body: Json) -> Iterator[RequestItem]:
        """Yield the client calls and the tool results of a request, in order."""

    def texts(self, body: Any, role: str) -> Iterator[str]:
        """Yield the texts of a role, "user" or "assistant", in a request."""

    def failed_results(self, body: Json) -> set[str] | None:
        """Return the call ids of the results that are marked as errors; None if the wire has no such mark."""

    def usage(self, exchange: SubjectExchange) -> dict[str, int] | None:
        """Return ``input_tokens`` and ``output_tokens`` of a response; None if it has no usage.

        Input tokens include cache reads and writes; output tokens include reasoning.
        """

    def returned_values(self, exchange: SubjectExchange) -> Iterator[tuple[str, str]]:
        """Yield (kind, text) for everything in a response that the provider requires to get back.

        If a stream sent a text in fragments, each fragment is yielded separately: all must appear in the request.
        """

    def pieces(self, data: bytes, *, stream: bool) -> list[bytes]:
        """Return the pieces of a handwritten response."""

    def finishes(self, piece: bytes) -> bool:
        """Return whether a piece of a stream has a stop reason or is the terminal event."""

    def excerpt(self, exchange: SubjectExchange, length: int) -> str:
        """Return the beginning of a response as text."""


def oracle(wire: str) -> Oracle:
    """Return the oracle of a wire. Raises UnknownWire if it has none."""
    return cast(Oracle, spec(wire).part("oracle", home=__name__))


def facts(wire: str) -> Facts:
    """Return the facts about a wire. Raises UnknownWire if it has no oracle."""
    return getattr(oracle(wire), "FACTS", _NO_FACTS)


_NO_FACTS = Facts()


def judged_wires() -> list[WireSpec]:
    """Return the specs of all wires that have an oracle."""
    return [wire for wire in specs() if wire.has_part("oracle", home=__name__)]


def has_json_lines(wire: str) -> bool:
    """Return whether the streams of a wire are JSON lines instead of server-sent events."""
    return spec(wire).stream_type == "application/x-ndjson"


def json_values(exchange: SubjectExchange) -> Iterator[Json]:
    """Yield the JSON object of a body, or that of each event of a stream. Invalid JSON is skipped."""
    for text in json_texts(exchange):
        if text == b"[DONE]":
            continue
        try:
            value = json_codec.decode(text)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def json_texts(exchange: SubjectExchange) -> list[bytes]:
    """Return the JSON text of a body, or that of each event of a stream."""
    lines = exchange.body.splitlines()
    if is_array(exchange.body):
        return [text.strip(b"[]\r\n") for text in re.split(rb"(?<=\}[\r\n]),", exchange.body)]
    if exchange.stream and has_json_lines(exchange.wire):
        return lines
    if exchange.stream:
        return [line.removeprefix(b"data:").strip() for line in lines if line.startswith(b"data:")]
    return [exchange.body]


def is_array(body: bytes) -> bool:
    """Return whether a body is a JSON array of events: Google sends one, with each comma at the beginning of a line."""
    return body[:2] in (b"[{", b"[\n", b"[\r")


def last_usage(exchange: SubjectExchange) -> Json:
    """Return the usage members of a JSON response; in a stream the last value of each member counts.

    An error response has no usage.
    """
    usage: Json = {}
    for value in json_values(exchange) if exchange.status < 400 else ():
        for holder in (value, value.get("message"), value.get("response")):
            members = holder.get("usage") if isinstance(holder, dict) else None
            if isinstance(members, dict):
                usage.update({key: count for key, count in members.items() if count is not None})
    return usage


def message_texts(messages: Any, role: str) -> Iterator[str]:
    """Yield the texts of the messages with a role."""
    for message in messages if isinstance(messages, list) else []:
        if isinstance(message, dict) and str(message.get("role")).removeprefix("ROLE_").lower() == role:
            yield from _content_texts(message.get("content"))


def _content_texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else []:
        yield from _content_texts(part.get("text") if isinstance(part, dict) else part)


#: The members whose text must be sent back to the provider.
_STATE = {"signature": "signature", "encrypted_content": "encrypted state", "data": "redacted thinking"}
_CALL_IDS = {"tool_use": "id", "server_tool_use": "id", "function_call": "call_id", "custom_tool_call": "call_id"}


def state_and_ids(value: Any) -> Iterator[tuple[str, str]]:
    """Yield (kind, text) for each signature, encrypted state and call id in a JSON value."""
    if isinstance(value, list):
        for element in value:
            yield from state_and_ids(element)
        return
    if not isinstance(value, dict):
        return
    for key, member in value.items():
        if key in _STATE and isinstance(member, str) and member:
            yield _STATE[key], member
        elif isinstance(member, (dict, list)):
            yield from state_and_ids(member)
    id = value.get("id" if value.get("type") == "function" else _CALL_IDS.get(str(value.get("type")), ""))
    if isinstance(id, str):
        yield "call id", id


def json_returned_values(exchange: SubjectExchange) -> Iterator[tuple[str, str]]:
    """Yield the state and the call ids of a JSON response, of every event if it is a stream."""
    for value in json_values(exchange) if exchange.status < 400 else ():
        if value.get("type") != "error":
            yield from state_and_ids(value)


def event_pieces(data: bytes, *, stream: bool) -> list[bytes]:
    """Return a body as one piece, and a stream event by event."""
    return events(data) if stream else [data]


def json_excerpt(exchange: SubjectExchange, length: int) -> str:
    """Return the beginning of a response of bytes as text."""
    return exchange.body[:length].decode("utf-8", "replace")


def name_and_description(tool: OfferedTool) -> Json:
    return {"name": tool.name, "description": tool.description}
