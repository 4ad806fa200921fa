"""The tools of a turn as its provider accepts them, and the arguments of their calls as the tools declare them.

The state of a turn has the definitions that the caller declared, and arguments that fit these. Only the request that is
sent has adapted definitions (`schemas`). So a turn can continue with a provider of another wire.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import Assistant, Message, Request, ToolDefinition
from toolparity.normalizer.errors import MalformedBody, MissingExtra, UnknownWire
from toolparity.normalizer.model import Block, Response, ToolCall
from toolparity.normalizer.schemas import Adapted, ToolViolation, adapt_tools, check_tools

_log = logging.getLogger("toolparity")


class ToolAdapter:
    """Adapts the requests of a turn to one provider, and maps the arguments of its answers. ``dialect``: its name."""

    def __init__(self, wire: str, dialect: str | None) -> None:
        self._wire = wire
        self._dialect = dialect or ""
        self._declared: list[ToolDefinition] = []
        self._changes = _NONE
        self._messages: dict[int, tuple[Message, Message]] = {}  # by identity: a message, and how it is sent
        self._received: dict[str, tuple[ToolCall, ToolCall]] = {}  # by id: a restored call, and how it was received

    def adapt(self, request: Request) -> Request:
        """Return the request with definitions that the provider accepts, and with calls that fit them.

        Definitions that it accepts stay as they are. One that it does not take in any form, because there are too many
        tools, is left out.
        """
        if request.tools is not self._declared:
            self._declared = request.tools
            changes = _changes(request.tools, self._wire, self._dialect)
            if changes is not self._changes:
                self._changes = changes
                self._messages.clear()
        if self._changes is _NONE:
            return request
        return replace(
            request,
            tools=self._changes.applied(request.tools),
            messages=[self._sent(message) for message in request.messages],
        )

    def restored(self, response: Response) -> Response:
        """Return the response to the last request with the arguments that the declared tools describe."""
        return _mapped(response, self.restored_call) if self._changes is not _NONE else response

    def restored_call(self, call: ToolCall) -> ToolCall:
        """Return a call of the response with the arguments that its declared tool describes."""
        restored = self._changes.mapped(call, Adapted.restore)
        if restored is not call:
            self._received[call.id] = restored, call
        return restored

    def _sent(self, message: Message) -> Message:
        """Return a message as it is sent, the same object for the same message."""
        if not isinstance(message, Assistant):
            return message
        known = self._messages.get(id(message))
        if known is None:
            response = _mapped(message.response, self._expressed)
            sent = message if response is message.response else replace(message, response=response)
            known = self._messages[id(message)] = message, sent
        return known[1]

    def _expressed(self, call: ToolCall) -> ToolCall:
        restored, received = self._received.get(call.id, (None, call))
        return received if restored == call else self._changes.mapped(call, Adapted.express)


class _Changes(Struct, frozen=True, eq=False):
    """The changes of a list of tools. ``definitions``: by index, None for one that is left out."""

    definitions: dict[int, ToolDefinition | None]
    names: frozenset[str]
    adapted: Adapted

    def applied(self, tools: Sequence[ToolDefinition]) -> list[ToolDefinition]:
        """Return the tools with these changes. Their names stay: the writer of the wire has aliases."""
        result = []
        for number, tool in enumerate(tools):
            changed = self.definitions.get(number, tool)
            if changed is tool:
                result.append(tool)
            elif changed is not None:
                result.append(
                    replace(tool, description=changed.description, parameters=changed.parameters, strict=changed.strict)
                )
        return result

    def mapped(self, call: ToolCall, mapping: Callable[[Adapted, str, Any], tuple[str, Any]]) -> ToolCall:
        """Return the call with other arguments, the same object if they do not differ."""
        if call.name not in self.names or call.arguments is None:
            return call
        arguments = mapping(self.adapted, call.name, call.arguments)[1]
        if arguments == call.arguments:
            return call
        return replace(
            call,
            arguments=arguments if isinstance(arguments, dict) else None,
            arguments_text=json_codec.text(arguments),
            status=call.status if isinstance(arguments, dict) else "invalid",
        )


_NONE = _Changes({}, frozenset(), Adapted([], [], {}, {}))


def _changes(tools: Sequence[ToolDefinition], wire: str, dialect: str) -> _Changes:
    """Return the changes of the tools that a provider refuses."""
    rows = [(tool.kind, tool.name, tool.description, tool.parameters, tool.strict) for tool in tools]
    try:
        return _changes_of(json_codec.text(rows), wire, dialect)
    except MalformedBody:  # nested too deep
        return _NONE


@lru_cache(maxsize=256)
def _changes_of(declared: str, wire: str, dialect: str) -> _Changes:
    """Return the changes of tools, which are given as text to be hashable, and log each loss."""
    tools = [
        ToolDefinition(name, description, parameters, strict, kind)
        for kind, name, description, parameters, strict in json_codec.decode(declared)
    ]
    try:
        refused = {violation.tool for violation in check_tools(tools, wire, dialect) if _is_refused(violation)}
        if not refused:
            return _NONE
        adapted = adapt_tools(tools, wire, dialect)
    except (UnknownWire, MissingExtra):  # no rules are known for the wire, or they cannot be applied
        return _NONE
    left_out = {loss.tool for loss in adapted.losses if loss.code in ("tool-dropped", "duplicate")}
    kept = iter(adapted.tools)
    definitions: dict[int, ToolDefinition | None] = {}
    for number, tool in enumerate(tools):
        definition = next(kept) if number not in left_out else None
        if definition is None or number in refused or definition.strict != tool.strict:
            definitions[number] = definition
    for number in definitions:
        losses = [loss for loss in adapted.losses if loss.tool == number and loss.effect in ("widens", "narrows")]
        if losses:
            level = logging.WARNING if any(loss.effect == "narrows" for loss in losses) else logging.INFO
            meanings = " ".join(dict.fromkeys(loss.message for loss in losses))
            _log.log(level, "%s: the tool %r: %s", wire, tools[number].name, meanings)
    return _Changes(definitions, frozenset(tools[number].name for number in definitions), adapted)


def _is_refused(violation: ToolViolation) -> bool:
    """Return whether the provider refuses the schema, or drops a reference and with it the schema of a value."""
    if violation.rule == "name":  # the writer of the wire has an alias
        return False
    return violation.effect == "refused" or violation.pointer.endswith("/$ref")


def _mapped(response: Response, mapping: Callable[[ToolCall], ToolCall]) -> Response:
    """Return the response with mapped calls, the same object if none differs."""

    def block_of(block: Block) -> Block:
        return mapping(block) if isinstance(block, ToolCall) else block

    choices = [replace(choice, blocks=[block_of(block) for block in choice.blocks]) for choice in response.choices]
    if choices == response.choices:
        return response
    return replace(response, choices=choices).with_findings(list(response.findings))
