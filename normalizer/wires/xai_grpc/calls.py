"""The calls of one answer, by id: xAI repeats a call, or goes on with it, under other outputs than it began in."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ...json_balance import Balance
from ..xai_tools import TOOLS_OF_XAI
from .proto import TYPE_CLIENT, TYPE_UNSET


class Called(Struct, gc=False):
    """One tool call, its pieces joined. It may stand in several outputs: it is the same object there.

    ``places``: how often it stood on the wire apart from its pieces; ``grew``: whether it did so elsewhere than where
    it began. ``by_name``: whether the name says who executes a call without a type, as the declared tools are not
    known. ``stray``: arguments came that only its place assigns to it. ``rival``: it was unfinished when another call
    got such arguments.
    """

    id: str
    type: int
    status: int
    name: str
    text: str
    error: str = ""
    extra: dict[str, Any] = {}
    places: int = 1
    grew: bool = False
    by_name: bool = False
    stray: bool = False
    rival: bool = False

    @property
    def typed_served(self) -> bool:
        """Whether its type says that xAI executes it."""
        return self.type not in (TYPE_CLIENT, TYPE_UNSET)

    @property
    def served(self) -> bool:
        """Whether xAI executes it: by its type, or by a documented name where only that is known."""
        return self.typed_served or (self.by_name and self.type == TYPE_UNSET and self.name in TOOLS_OF_XAI)


class Growing:
    """One call while its pieces arrive: joined only when asked, so that the cost stays linear (failure DOS-01).

    ``home``: the output in which it began.
    """

    __slots__ = ("_balance", "_checked", "_parts", "call", "home", "length")

    def __init__(self, call: Called, home: Any = None) -> None:
        self.call = call
        self.home = home
        self._set(call.text)

    def _set(self, text: str) -> None:
        self._parts = [text]
        self.length = len(text)
        self._balance = Balance()
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
    def whole(self) -> bool:
        """Whether the argument text closes every bracket that it opened."""
        self._feed()
        return self._balance.closed

    def _feed(self) -> None:
        for part in self._parts[self._checked :]:
            self._balance.feed(part)
        self._checked = len(self._parts)

    def take(self, news: Called, home: Any = None) -> bool | None:
        """What the wire says of this call again: more of it (true), all of it so far and more (false), or nothing new.

        What is unset never overwrites what is set; a call that xAI executed once was not the caller's.
        """
        told = self.call
        told.status = news.status or told.status
        told.type = news.type if news.typed_served and news.id and not told.typed_served else told.type or news.type
        told.name = told.name or news.name
        told.error = told.error or news.error
        if news.extra:
            told.extra = {**told.extra, **news.extra}
        text = news.text
        if not text or self._repeats(text):
            return None
        if home is not self.home:
            told.grew = True
        if 0 < self.length < len(text) and text.startswith(self.text):
            self._set(text)
            return False
        self._parts.append(text)
        self.length += len(text)
        return True

    def _repeats(self, text: str) -> bool:
        """Whether this text says again what stands there already, instead of continuing it."""
        if len(text) >= self.length:
            return text == self.text
        return text[0] == "{" and self.whole and self.text.startswith(text)

    def differs(self, news: Called) -> bool:
        """Whether a call under the id of this one is another (ID-09): another name, or other whole arguments."""
        told = self.call
        if told.typed_served and news.type == TYPE_UNSET:
            return False
        if not news.name or not told.name:
            return False
        if news.name != told.name:
            return True
        text = news.text
        if text.lstrip()[:1] != "{" or not self.whole:
            return False
        return not text.startswith(self.text) and not self.text.startswith(text)

    def finished(self) -> Called:
        """The call with all of its text."""
        self.call.text = self.text
        return self.call
