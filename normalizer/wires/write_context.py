"""Losses and aliases of one request: the state that the request writers of all wires share.

An alias depends only on its id or name, so a message is written the same way every time, as prompt caches require. Ids
and names that the target accepts stay unchanged, byte for byte (ID-13, ID-19, NAME-08).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from msgspec import Struct

from ..conversation import Encoded, Loss, Request, ToolChoice
from ..digests import digest
from .model_rules import fit_model
from .registry import wire_name

T = TypeVar("T")

#: The loss codes of requests to another wire or provider, with their meanings.
LOSSES: dict[str, str] = {
    "reasoning": "Reasoning that only its provider can read, or that the target does not accept, was left out.",
    "server-tool": "A server call of another provider was left out or represented as text.",
    "opaque": "A block or content part without a counterpart in the target wire was left out.",
    "media": "An image, file or audio part that the target does not accept in this position was replaced by a note.",
    "annotations": "Citations of another provider were left out; the cited text is kept.",
    "extra": "A member that the target wire does not have was left out.",
    "hosted-tool": "A hosted tool of another provider was not declared.",
    "tool-choice": "The tool choice has no counterpart; the closest one was used.",
    "parallel": "The target has no setting for parallel calls.",
    "arguments": "The target requires a JSON object as arguments; other arguments are kept under `_raw`.",
    "result": "A tool result contains the marker that ends a text result; it may be parsed as several results.",
    "kind": "A call of a kind that the target does not support was written as a function call.",
    "namespace": "A namespace or caller that the target does not support was left out.",
    "refusal": "A refusal was written as text.",
    "answered": "A call without a tool result was given one that states this.",
    "orphan": "A tool result for a call that the conversation does not contain was left out.",
    "duplicate-answer": "A second tool result for one call was left out.",
    "empty": "A message without content was left out or given a placeholder, as the target requires.",
    "order": "Content in a position that the target does not allow was moved.",
    "param": "A member of the request body that the target wire does not have was left out.",
    "default": "A member that the target requires and the request lacks was added.",
    "model": "The request names a model of another provider; the name was sent unchanged.",
    "unsigned-reasoning": "Reasoning without a signature cannot be sent back and was left out.",
    "corrupt-text": "A lone surrogate, which the target's encoding cannot represent, was replaced by U+FFFD.",
    "bridge": "A message that the target requires after tool results, or at the beginning, was added.",
}


#: The first message, where a target refuses a conversation that begins with the assistant, as after compaction.
OPENING = "Continue."


def shallow_copy(value: T) -> T:
    """Return a copy with the same attributes; `copy.copy` takes several times as long."""
    other = object.__new__(type(value))
    other.__dict__.update(value.__dict__)
    return other


class IdStyle(Struct, frozen=True):
    """The call ids that a target accepts, and how to alias others.

    ``pattern``: matches an accepted id. ``length``: maximum length of an alias. ``prefix``: begins an alias if no part
    of the id can be kept. ``alphabet``: matches a character to replace with ``_``. ``plain``: the pattern accepts every
    ASCII identifier of at most this length, which writers check in less time.
    """

    pattern: str
    length: int = 40
    prefix: str = "call_"
    alphabet: str = "[^a-zA-Z0-9_-]"
    plain: int = 0


class NameStyle(Struct, frozen=True):
    """The tool names that a target accepts. ``reserved``: names of the target's hosted tools (XAI-08).

    ``alphabet``: matches a character to replace with ``_``. ``prefix``: begins an alias that the target would refuse
    without it.
    """

    pattern: str = r"[a-zA-Z0-9_-]{1,64}"
    length: int = 64
    reserved: frozenset[str] = frozenset()
    alphabet: str = "[^a-zA-Z0-9_-]"
    prefix: str = ""


@cache
def _fullmatch(pattern: str) -> Callable[[str], re.Match[str] | None]:
    return re.compile(pattern).fullmatch


class WriteContext:
    """State of writing one request: its losses, and the aliases of ids and names (``alias -> canonical``).

    ``same_wire``: the request came from the target wire. ``own``: it goes back to its origin, so that extra members and
    opaque parts are kept; by default the same as ``same_wire``.
    """

    def __init__(
        self, request: Request, wire: str, provider: str | None, ids: IdStyle, names: NameStyle, own: bool | None = None
    ) -> None:
        self.wire = wire
        self.provider = provider
        self.same_wire = request.wire == wire
        self.own = self.same_wire if own is None else own
        self.losses: list[Loss] = []
        self.repairs: list[Loss] = []
        self.ids: dict[str, str] = {}
        self.names: dict[str, str] = {}
        #: index of the message that is being written, for losses; None outside of the messages
        self.message: int | None = None
        self._id_style = ids
        #: whether the target accepts an id unchanged
        self.accepts_id = _fullmatch(ids.pattern)
        self.plain_length = ids.plain
        #: canonical name -> name on the wire, for the names so far
        self.known_names: dict[str, str] = {}
        self._name_style = names
        self._takes_name = _fullmatch(names.pattern)

    def fork(self) -> WriteContext:
        """Return an independent copy, for another request that begins with the same messages."""
        other = shallow_copy(self)
        other.losses, other.repairs = self.losses[:], self.repairs[:]
        other.ids, other.names, other.known_names = self.ids.copy(), self.names.copy(), self.known_names.copy()
        return other

    def encoded(self, body: Any) -> Encoded:
        """Return the body with its losses and aliases. Repairs of the conversation itself come first.

        A body for another wire or provider is changed to fit its model.
        """
        if not self.own:
            fit_model(body, self.wire, self.provider, self.lose)
        return Encoded(wire_name(self.wire), body, self.repairs + self.losses, self.ids, self.names)

    def repaired(self, code: str, message: str, index: int) -> None:
        """Report a repair by the pairing of calls and tool results. ``index``: index of the message."""
        self.repairs.append(Loss(code, message, index))

    def lose(self, code: str, detail: str = "", block: int | None = None) -> None:
        """Report a loss by its code in `LOSSES`, which also gives the default message.

        The loss concerns the message that is being written. ``block``: index of the block in it.
        """
        self.losses.append(Loss(code, detail or LOSSES[code], self.message, block))

    def leaves_out(self, choice: ToolChoice, declared: Any, *, strict: bool = False) -> bool:
        """Return whether to leave out a tool choice because no tool is declared, and report the loss of a forced one.

        A request that goes back to its origin keeps a choice that is not forced, unless the provider is ``strict``
        and refuses it as well.
        """
        if declared or (self.own and not strict and choice.mode not in ("required", "named")):
            return False
        if choice.mode not in ("auto", "none"):
            self.lose("tool-choice", "no tool is declared")
        return True

    def lose_extra(self, extra: dict[str, Any], owner: str = "", block: int | None = None, *known: str) -> None:
        """Report the loss `extra` if members of an ``extra`` are left out that are not in ``known``.

        ``owner``: the object that has the members.
        """
        if extra and (lost := unrepresented(extra, *known)):
            self.lose("extra", f"left out{owner and f' of {owner}'}: {', '.join(lost)}", block)

    def kept_extra(self, extra: dict[str, Any]) -> dict[str, Any]:
        """Return an ``extra`` if the request goes back to its origin, else report its loss and return none of it."""
        if self.own or not extra:
            return extra
        self.lose_extra(extra)
        return {}

    def id(self, canonical: str) -> str:
        """Return the id on the wire: unchanged if the target accepts it, else an alias made from it alone."""
        if len(canonical) <= self.plain_length and canonical.isascii() and canonical.isidentifier():
            return canonical  # nearly always, and faster than the pattern
        if self.accepts_id(canonical):
            return canonical
        style = self._id_style
        if style.length < 20:
            alias = digest(canonical, style.length)
        else:
            tail = digest(canonical, 12)
            readable = re.sub(style.alphabet, "_", canonical)[: style.length - len(tail) - 1]
            alias = f"{readable}_{tail}"
            if not self.accepts_id(alias):
                alias = f"{style.prefix}{tail}"
        self.ids[alias] = canonical
        return alias

    def name(self, canonical: str) -> str:
        """Return the tool name on the wire: unchanged if the target accepts it, else an alias made from it alone."""
        known = self.known_names.get(canonical)
        if known is not None:
            return known
        style = self._name_style
        alias = canonical
        if canonical in style.reserved or not self._takes_name(canonical):
            tail = digest(canonical, 8)
            readable = re.sub(style.alphabet, "_", canonical)[: style.length - len(tail) - 1]
            if style.prefix and not self._takes_name(readable):
                readable = (style.prefix + readable)[: style.length - len(tail) - 1]
            alias = f"{readable}_{tail}"
            self.names[alias] = canonical
        self.known_names[canonical] = alias
        return alias


def merged(members: dict[str, Any], extra: dict[str, Any], *skip: str) -> dict[str, Any]:
    """Return ``members`` and the members of ``extra`` that are neither in it nor in ``skip``."""
    if not extra:
        return members
    return {**members, **{k: v for k, v in extra.items() if k not in members and k not in skip}}


#: Key of `extra` under which readers keep members that are empty or only repeat other members.
REPEATED = "repeated"
#: Keys of `extra` under which readers keep the original spelling. They are not members of the wire.
AS_WRITTEN = "as_written"
HINTS = frozenset((AS_WRITTEN, "behind", "instructions", "legacy_functions", REPEATED))
#: Hints, and members with a wire's internal data: positions, item ids, statuses.
_BOOKKEEPING = HINTS | {"id", "index", "item_id", "output_index", "member", "status", "legacy_functions", "behind"}
#: Members of a tool result that canonical fields also represent. A `name` in its ``extra`` is not its tool's name.
OF_RESULTS = ("tool_call_id", "content")


def unrepresented(extra: dict[str, Any], *known: str) -> list[str]:
    """Return the names of the members of an ``extra`` that must be reported when they are left out.

    Hints, a wire's internal data, empty values and ``known`` members, which canonical fields represent, do not count.
    The members of a content part (``part``) count like those of its block.
    """
    part = extra.get("part")
    members = {**part, "type": None, **extra, "part": None} if isinstance(part, dict) else extra
    return [
        key
        for key, value in members.items()
        if key not in _BOOKKEEPING and key not in known and value is not None and value not in ("", [], {})
    ]


def image_detail(extra: dict[str, Any]) -> str | None:
    """Return the requested image detail, such as "low" or "high", from the ``extra`` of a part, or None.

    Each wire keeps it in a different member.
    """
    chat = extra.get("image_url")
    detail = chat.get("detail") if isinstance(chat, dict) and chat.keys() == {"detail"} else extra.get("detail")
    return detail.lower().removeprefix("detail_") if isinstance(detail, str) else None


# Wires without an error flag for tool results mark errors in the text (RES-01, RES-07). Reading reverses writing: if
# the text of a successful result looks marked, the writer puts `_INTACT` before it and the reader removes it.
FAILED = "[tool_error] "
_INTACT = "[tool_ok] "
_LOOKS_MARKED = re.compile(r"(?:\[tool_ok\] )*\[tool_error\] ")


def mark_failed(text: str, is_error: bool) -> str:
    """Return the text of a tool result for a wire without an error flag. The inverse of `unmark_failed`."""
    if is_error:
        return FAILED + text
    return _INTACT + text if text.startswith("[tool_") and _LOOKS_MARKED.match(text) else text


def unmark_failed(text: str) -> tuple[str, bool]:
    """Return the original text and whether the tool result is an error. The inverse of `mark_failed`."""
    if text.startswith(FAILED):
        return text[len(FAILED) :], True
    if text.startswith(_INTACT) and _LOOKS_MARKED.match(text):
        return text[len(_INTACT) :], False
    return text, False
