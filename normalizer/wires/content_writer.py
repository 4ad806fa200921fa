"""Base of the writers for assistant messages of all wires, and what these writers share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

from ..arguments import parse
from ..conversation import Assistant, TextPart, ToolResult
from ..model import (
    ApprovalRequest,
    Block,
    Opaque,
    Reasoning,
    Refusal,
    Response,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
)
from .surrogates import is_encodable
from .write_context import AS_WRITTEN, WriteContext, mark_failed, merged, shallow_copy

FUNCTIONS = frozenset(("function", "legacy_function"))


class Format(NamedTuple):
    """The parts of a wire's messages, and what sets its regular messages apart.

    ``call(id, name, arguments)`` returns the part of a client call, ``text(text)`` that of a text, and ``result(id,
    name, text)`` a result of one text for a call of this name. The last two return None if the target refuses the text.
    """

    call: Callable[[str, str, Any], Any]
    text: Callable[[str], Any]
    result: Callable[[str, str, str], Any] | None = None
    #: whether one message has all results of a round
    wraps_results: bool = False
    #: whether a failed result is marked in its text
    marks_failures: bool = False
    #: whether a result has the name of its call
    names_results: bool = False
    #: whether the wire has one form for a result of one text, whatever `ToolResult.plain` says
    any_plain: bool = False
    #: whether the regular messages of an own response differ from others
    own_differs: bool = False
    #: the extra members of a regular part of an own message, which are also members on the wire
    members: frozenset[str] = frozenset()
    #: instead of ``result``: the key and the constant of a result, and its keys of the id and the text
    result_keys: tuple[str, str, str, str] = ("", "", "", "")


class ContentWriter:
    """Writer for the assistant messages of one request, and the fast path for regular ones with their results.

    The fast path, `regular` and `regular_results`, gives the same as the general one.

    ``ids``: canonical call id -> id on the wire, for the results; after `regular`, only ids that differ. ``names``: the
    same for the names of the calls. ``inputs``: the arguments that `regular` wrote, in which the caller has to look for
    lone surrogates.
    """

    #: None if the wire has another fast path
    _format: Format | None = None

    def __init__(self, context: WriteContext) -> None:
        self.ids: dict[str, Any] = {}
        self.names: dict[str, str] = {}
        self.inputs: list[dict[str, Any]] = []
        self._context = context
        self._unique: UniqueIds | None = None
        if (form := self._format) is not None:
            self._form = form
            # plain tuples are unpacked faster
            self._of_messages = (form.call, form.text, form.names_results, form.own_differs, form.members)
            self._of_results = (
                form.result,
                form.wraps_results,
                form.marks_failures,
                form.names_results,
                form.any_plain,
                *form.result_keys,
            )

    def fork(self, context: WriteContext) -> Self:
        """Return an independent copy, for another request."""
        other = shallow_copy(self)
        other._context = context
        other.ids, other.names, other.inputs = self.ids.copy(), self.names.copy(), []
        if self._unique is not None:
            other._unique = self._unique.fork()
        return other

    # The fast path

    def regular(self, message: Assistant, call_ids: list[str], out: list[Any]) -> bool:
        """Append what a message of texts and function calls becomes; return False for any other message.

        The ids of the calls are appended to ``call_ids``, even if the result is False.
        """
        response = message.response
        choices = response.choices
        if message.extra or not choices:
            return False
        context, unique, choice = self._context, self._unique, choices[0]
        write_call, write_text, names_results, own_differs, members = self._of_messages
        own = own_differs and self._is_own(response)
        if own and choice.extra:
            return False
        accepts, known, plain = context.accepts_id, context.known_names, context.plain_length
        inputs, call_names = self.inputs, self.names
        if self.ids:
            self.ids = {}
        parts: list[Any] = []
        for block in choice.blocks:
            if type(block) is ToolCall:
                id = wire_id = block.id
                if block.kind != "function" or block.caller or block.namespace:
                    return False
                if (extra := block.extra) and not (own and extra.keys() == members):
                    return False
                if unique is not None and (id in unique.used or id in call_ids):
                    return False
                if (arguments := block.arguments) is None:
                    return False
                inputs.append(arguments)
                if (len(id) > plain or not (id.isascii() and id.isidentifier())) and not accepts(id):
                    if unique is not None:
                        return False
                    self.ids[id] = wire_id = self._call_id(id, own)
                call_ids.append(id)
                name = known.get(block.name) or context.name(block.name)
                if names_results:
                    call_names[id] = name
                part = write_call(wire_id, name, arguments)
                parts.append({**part, **extra} if extra else part)
            elif type(block) is Text:
                text = block.text
                if block.annotations or not (text.isascii() or is_encodable(text)):
                    return False
                if (extra := block.extra) and not (own and extra.keys() == members):
                    return False
                if (part := write_text(text)) is None:
                    return False
                parts.append({**part, **extra} if extra else part)
            else:
                return False
        return self._append_message(parts, call_ids, own, out)

    def regular_results(self, results: list[ToolResult], call_ids: list[str], out: list[Any]) -> bool:
        """Append results of one plain text each to ``out``, and report whether all are regular and in order."""
        write_result, wraps, marks, names_results, any_plain, kind_key, kind, id_key, text_key = self._of_results
        aliases = self.ids
        answered: list[str] = []
        written: list[Any] = [] if wraps else out
        for result in results:  # every request runs this loop
            id = result.call_id
            answered.append(id)
            try:
                [part] = result.parts  # takes less time than `len`
            except ValueError:
                return False
            if result.extra or not (result.plain or any_plain) or result.kind == "legacy_function":
                return False
            if type(part) is not TextPart or part.extra:
                return False
            text = part.text
            if not (text.isascii() or is_encodable(text)):
                return False
            if marks:
                if result.is_error or "[" <= text < "\\":  # it begins with a bracket
                    text = mark_failed(text, result.is_error)
            elif result.is_error:
                return False
            wire_id = aliases.get(id, id) if aliases else id
            if write_result is None:
                if not text:
                    return False
                written.append({kind_key: kind, id_key: wire_id, text_key: text})
            else:
                name = self.names.get(id, "") if names_results else ""
                if (made := write_result(wire_id, name, text)) is None:
                    return False
                written.append(made)
        if answered != call_ids:
            return False
        if self._unique is not None:
            self._unique.used.update(call_ids)
        if wraps:
            out.append(self._results_message(written))
        return True

    def _append_message(self, parts: list[Any], call_ids: list[str], own: bool, out: list[Any]) -> bool:
        """Append what the parts of a regular message become; return False if the message is not regular."""
        raise NotImplementedError

    def _results_message(self, results: list[Any]) -> Any:
        """Return the message of regular results, on a wire that has one message for all."""
        raise NotImplementedError

    # The general path

    def write(self, message: Assistant) -> Any:
        """Return the parts of a message, and report losses."""
        response = message.response
        own = self._is_own(response)
        written: list[Any] = []
        for index, block in enumerate(response.choices[0].blocks if response.choices else ()):
            if type(block) is ToolCall:
                part = self._call(block, own, index)
            elif type(block) is Text:
                part = self._text(block, own, index)
            else:
                part = self._state(block, index) if own else self._foreign(block, index)
            if part is not None:
                written.append(part)
        return written

    def _is_own(self, response: Response) -> bool:
        """Whether a response goes back to the provider that produced it."""
        return response.wire == self._context.wire

    def _call(self, call: ToolCall, own: bool, index: int) -> Any:
        """Return the part of any client call."""
        context, canonical = self._context, call.id
        id = self._call_id(canonical, own)
        if self._unique is not None:
            id = self._unique.take(id, canonical, context)
        self.ids[canonical] = id
        name = self.names[canonical] = context.name(call.name)
        part = self._form.call(id, name, object_arguments(call, context, index))
        lose_kind(call, context, index)
        if own:
            return self._with_members(part, call)
        self._lose_members(call, index)
        return part

    def _call_id(self, canonical: str, own: bool) -> str:
        """Return the id of a call on the wire."""
        return self._context.id(canonical)

    def _with_members(self, part: Any, call: ToolCall) -> Any:
        """Return the part of an own call with the members that only this wire has."""
        return merged(part, call.extra)

    def _lose_members(self, call: ToolCall, index: int, owner: str = "", *known: str) -> None:
        """Report the members of a call of another wire or provider. ``known``: as for `WriteContext.lose_extra`."""
        if call.namespace is not None or call.caller is not None:
            self._context.lose("namespace", block=index)
        self._context.lose_extra(call.extra, owner, index, *known)

    def _text(self, block: Text, own: bool, index: int) -> Any:
        """Return the part of any text, or None if it is left out."""
        raise NotImplementedError

    def _lose_text(self, block: Text, index: int, owner: str = "", *known: str) -> None:
        """Report the annotations and members of a text of another wire or provider. ``known``: as above."""
        if block.annotations:
            self._context.lose("annotations", block=index)
        self._context.lose_extra(block.extra, owner, index, *known)

    def _state(self, block: Block, index: int) -> Any:
        """Return the part of another block of an own response, or None if it is left out."""
        raise NotImplementedError

    def _foreign(self, block: Block, index: int) -> Any:
        """Report the loss of a block without a counterpart on this wire. A refusal becomes text."""
        lose_block(block, self._context, index)
        return self._form.text(block.text) if isinstance(block, Refusal) else None


class MessageWriter(ContentWriter):
    """Writer for the assistant messages of one request, each of which becomes one message of texts and calls.

    ``ids`` and ``names`` are those of the last message.
    """

    #: the message of the loss if a message is left out
    _nothing = ""

    def __init__(self, context: WriteContext) -> None:
        super().__init__(context)
        self._message: Assistant
        self._texts: list[Any] = []
        self._calls: list[dict[str, Any]] = []
        self._spelling: dict[str, Any] = {}

    def write(self, message: Assistant) -> dict[str, Any] | None:
        """Return the message of the wire, None if there is none, and report losses."""
        self.ids, self.names = {}, {}
        choices = message.response.choices
        if not choices:
            self._context.lose("empty", "a response without a choice was left out")
            return None
        self._message = message
        own = self._begin(message)
        for index, block in enumerate(choices[0].blocks):
            if type(block) is ToolCall:
                if (call := self._call(block, own, index)) is not None:
                    self._calls.append(call)
            elif type(block) is Text:
                self._text(block, own, index)
            elif not (own and self._state(block, index)):
                self._foreign(block, index)
        written = self._finished(own)
        if written is None:
            self._context.lose("empty", self._nothing)
        return written

    def _begin(self, message: Assistant) -> bool:
        """Begin a message, and return whether it is an own one."""
        own = self._is_own(message.response)
        self._texts, self._calls = [], []
        self._spelling = (message.extra.get(AS_WRITTEN) if own else None) or {}
        return own

    def _finished(self, own: bool) -> dict[str, Any] | None:
        """Return the message, or None if the wire cannot represent any of it."""
        raise NotImplementedError

    def _state(self, block: Block, index: int) -> bool:
        """Write another block of an own response, or report that it has to be treated like a foreign one."""
        return False

    def _foreign(self, block: Block, index: int) -> None:
        if (text := super()._foreign(block, index)) is not None:
            self._texts.append(text)

    def _lose_order(self, index: int) -> None:
        """Report that text after a call is moved, if there is a call."""
        if self._calls:
            self._context.lose("order", "text after a call was moved before it", index)


class UniqueIds:
    """Ids of calls, each used once in a request: some APIs require that, others only in a round (ID-10, ID-21)."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        self._repeats: dict[str, int] = {}  # how often each repeated id was used

    def fork(self) -> UniqueIds:
        """Return an independent copy."""
        other = UniqueIds()
        other.used, other._repeats = self.used.copy(), self._repeats.copy()
        return other

    def take(self, id: str, canonical: str, context: WriteContext) -> str:
        """Return ``id``, or another one if it was used. ``canonical``: the id of the call."""
        if id in self.used:
            while id in self.used:
                self._repeats[canonical] = number = self._repeats.get(canonical, 1) + 1
                id = context.id(f"{canonical}#{number}")
            context.ids[id] = canonical
        self.used.add(id)
        return id


def object_arguments(call: ToolCall, context: WriteContext, index: int) -> dict[str, Any]:
    """Return the arguments of a call for a wire where they are an object, and report what had to be wrapped."""
    arguments = call.arguments
    if arguments is None:
        # A custom tool is declared here as a function with one text parameter (ARG-08, INV-02).
        text = call.arguments_text
        arguments = {"input": text} if call.kind == "custom" else object_of(text)
        if "_raw" in arguments:
            context.lose("arguments", block=index)
    return arguments


def object_of(text: str) -> dict[str, Any]:
    """Return the object in an argument text, or the text under `_raw`. NaN and infinity are not JSON (NUM-02)."""
    arguments = parse(text).arguments
    return {"_raw": text} if arguments is None else arguments


def lose_kind(call: ToolCall, context: WriteContext, index: int) -> None:
    """Report that a call becomes a function call, unless it is one."""
    if call.kind not in FUNCTIONS:
        context.lose("kind", f"{call.name}: a {call.kind} call was written as a function call", index)


def lose_block(block: Block, context: WriteContext, index: int) -> None:
    """Report the loss of a block that is neither text nor a client call, or that a refusal becomes text."""
    if isinstance(block, Reasoning):
        context.lose("reasoning", block=index)
    elif isinstance(block, Refusal):
        context.lose("refusal", block=index)
    elif isinstance(block, Opaque):
        context.lose("opaque", f"a block of type {block.wire_type!r} was left out", index)
    else:
        context.lose("server-tool", block=index)


def lose_item(block: Block, context: WriteContext, index: int) -> None:
    """Report the loss of a block like `lose_block`, on a wire with an item for each block. A refusal becomes text."""
    if isinstance(block, ServerToolCall):
        context.lose("server-tool", f"{block.name or block.tool} ({block.id}) was left out", index)
    elif isinstance(block, ServerToolResult):
        context.lose("server-tool", f"the result of {block.tool} ({block.call_id}) was left out", index)
    elif isinstance(block, ApprovalRequest):
        context.lose("server-tool", f"the approval request for {block.name} on {block.server} was left out", index)
    else:
        lose_block(block, context, index)
