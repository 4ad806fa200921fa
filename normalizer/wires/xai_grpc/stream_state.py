"""Calls of one response while they arrive. xAI may repeat or continue a call in another output than its first."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ...json_balance import Balance
from ..xai_tools import TOOLS_OF_XAI
from .schema import TYPE_CLIENT, TYPE_UNSET


class CompleteCall(Struct, gc=False):
    """A tool call with its fragments concatenated. Several outputs may share the same object.

    ``type`` and ``status``: the wire's enum values. ``text``: the argument text. ``occurrences``: how often the wire
    contains the call, not counting its fragments. ``continued``: an output other than its first continued it.
    ``by_name``: the name determines who executes a call without a type, because the declared tools are not known.
    ``own``: the request declares the function, and not the hosted tool of the call's type.
    ``stray``: it received arguments that only its position assigns to it. ``rival``: it was unfinished when another
    call received such arguments.
    """

    id: str
    type: int
    status: int
    name: str
    text: str
    error: str = ""
    extra: dict[str, Any] = {}
    occurrences: int = 1
    continued: bool = False
    by_name: bool = False
    own: bool = False
    stray: bool = False
    rival: bool = False

    @property
    def is_typed_server_call(self) -> bool:
        """Whether xAI executes the call, by its type."""
        return self.type not in (TYPE_CLIENT, TYPE_UNSET)

    @property
    def is_server_call(self) -> bool:
        """Whether xAI executes the call, by its type or, without a type and with ``by_name``, by a documented name.

        xAI gives calls of the caller's own functions the types of its tools (UKGovernmentBEIS/inspect_ai 5460).
        """
        if self.is_typed_server_call:
            return not self.own
        return self.by_name and self.type == TYPE_UNSET and self.name in TOOLS_OF_XAI


class StreamedCall:
    """A call while its fragments arrive. They are concatenated only on demand, so the cost stays linear (DOS-01).

    ``home``: where the call began, compared by identity: the output of a stream, or the wire's call in a complete
    response.
    """

    __slots__ = ("_balance", "_checked", "_parts", "call", "home", "length")

    def __init__(self, call: CompleteCall, home: Any = None) -> None:
        self.call = call
        self.home = home
        self._set(call.text)

    def _set(self, text: str) -> None:
        self._parts = [text]
        self.length = len(text)
        self._balance: Balance | None = None
        self._checked = 0

    @property
    def text(self) -> str:
        """The argument text so far."""
        if len(self._parts) > 1:
            self._feed()
            self._parts = ["".join(self._parts)]
            self._checked = 1
        return self._parts[0]

    @property
    def is_closed(self) -> bool:
        """Whether the argument text closes every bracket that it opens."""
        return self._feed().closed

    def _feed(self) -> Balance:
        if self._balance is None:
            self._balance = Balance()
        for part in self._parts[self._checked :]:
            self._balance.feed(part)
        self._checked = len(self._parts)
        return self._balance

    def take(self, news: CompleteCall, home: Any = None) -> bool | None:
        """Add a later occurrence of this call.

        Returns True if it adds text, False if it replaces the text with a longer one that begins the same, and None if
        the text is not new. Unset values never overwrite set ones. A server-side type overwrites a client type.
        ``home``: where it occurs, as for the class.
        """
        call = self.call
        call.status = news.status or call.status
        call.type = (
            news.type
            if news.is_typed_server_call and news.id and not call.is_typed_server_call
            else call.type or news.type
        )
        call.name = call.name or news.name
        call.error = call.error or news.error
        if news.extra:
            call.extra = {**call.extra, **news.extra}
        text = news.text
        if not text or self._repeats(text):
            return None
        if home is not self.home:
            call.continued = True
        if 0 < self.length < len(text) and text.startswith(self.text):
            self._set(text)
            return False
        self._parts.append(text)
        self.length += len(text)
        return True

    def _repeats(self, text: str) -> bool:
        """Report whether a text repeats the argument text so far instead of continuing it."""
        if len(text) >= self.length:
            return text == self.text
        return text[0] == "{" and self.is_closed and self.text.startswith(text)

    def differs(self, news: CompleteCall) -> bool:
        """Report whether a call with the same id is a different call: another name or other arguments (ID-09)."""
        call = self.call
        if call.is_typed_server_call and news.type == TYPE_UNSET:
            return False
        if not news.name or not call.name:
            return False
        if news.name != call.name:
            return True
        text = news.text
        if text.lstrip()[:1] != "{" or not self.is_closed:
            return False
        return not text.startswith(self.text) and not self.text.startswith(text)

    def finished(self) -> CompleteCall:
        """Return the call with its complete argument text."""
        self.call.text = self.text
        return self.call
