"""The forms in which a caller passes a conversation to a turn: text, messages of any wire, or a request."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from itertools import dropwhile, takewhile
from typing import Any

from msgspec.structs import replace

from toolparity.normalizer.conversation import Message, Request, TextPart, User
from toolparity.normalizer.errors import MalformedBody
from toolparity.normalizer.model import Wire
from toolparity.normalizer.requests import check_request, read_request, write_request
from toolparity.normalizer.wires.registry import WIRES, spec, wire_name

from .provider import Provider

_log = logging.getLogger("toolparity")


class Continuation(Request, frozen=True):
    """The request that continues a conversation (`Outcome.next`).

    ``instructions``: of the last turn, in the first message. The instructions of the next turn replace them.
    """

    instructions: str = ""


#: The user's text; messages as JSON, in the format of any wire, or in canonical form; or a complete request.
Prompt = str | Sequence[Message | Mapping[str, Any]] | Request


def request_of(prompt: Prompt, provider: Provider) -> Request:
    """Return the request for a prompt. Raises MalformedBody for messages that no wire has."""
    if isinstance(prompt, Request):
        return prompt
    if isinstance(prompt, str):
        return opening([User([TextPart(prompt)])], provider)
    canonical = [message for message in prompt if isinstance(message, Message)]
    if len(canonical) == len(prompt):
        return opening(canonical, provider)
    messages = [message for message in prompt if isinstance(message, Mapping)]
    if len(messages) != len(prompt):
        raise MalformedBody("messages must be all dicts or all canonical messages", body=prompt)
    strange = next((message for message in messages if "role" not in message and "type" not in message), None)
    if strange is not None:
        raise MalformedBody(f"not a message of any wire, without role and type: {strange!r:.200}", body=prompt)
    return _read(messages, provider)


def user_text(messages: Sequence[Message]) -> str:
    """Return the text of the last messages of the user, "" if there are none.

    Consecutive user messages belong together: a briefing may follow the user's own message.
    """
    until_last = dropwhile(lambda message: not isinstance(message, User), reversed(messages))
    users = takewhile(lambda message: isinstance(message, User), until_last)
    parts = [part for message in [*users][::-1] if isinstance(message, User) for part in message.parts]
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))


def opening(messages: list[Message], provider: Provider) -> Request:
    """Return the request with these messages and what the provider's wire requires, such as a token limit."""
    wire = wire_name(provider.wire)
    body = write_request(Request("", None, [User([TextPart("x")])]), wire, provider=provider.name).body
    return replace(read_request(body, wire, provider=provider.name), messages=messages)


def _read(messages: Sequence[Mapping[str, Any]], provider: Provider) -> Request:
    """Return the request with messages of the JSON wire whose rules they break the least, converted to the provider's.

    Most simple messages are valid on several wires. Then the provider's has precedence.
    """
    own = wire_name(provider.wire)
    candidates = [(wire, _body(messages, wire)) for wire in (own, *WIRES) if spec(wire).framing == "bytes"]
    wire, body = min(candidates, key=lambda candidate: len(check_request(candidate[1], candidate[0])))
    if wire != own:
        foreign = replace(read_request(body, wire), params={})  # the writer adds those that the provider requires
        written = write_request(foreign, own, provider=provider.name)
        for loss in (loss for loss in written.losses if loss.message_index is not None):
            _log.warning("%s cannot say everything in the messages: %s (%s)", own, loss.message, loss.code)
        body = written.body
    return read_request(body, own, provider=provider.name)


def _body(messages: Sequence[Mapping[str, Any]], wire: Wire) -> dict[str, Any]:
    """Return a request body of a wire with these messages in place of a user's message."""
    body: dict[str, Any] = write_request(Request("", None, [User([TextPart("x")])]), wire).body
    return {name: list(messages) if isinstance(member, list) else member for name, member in body.items()}
