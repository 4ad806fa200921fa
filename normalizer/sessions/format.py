"""What the formats of sessions share: settings, history, and the form of results."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ..conversation import Assistant, Message, Request, ToolResult, ToolResults
from ..model import DEAD_STOPS, Opaque, Response, ToolCall
from ..requests import write_request
from ..wires.registry import spec
from .exchanges import Asked, Responses, SessionExchange


class Format:
    """Base of the formats. A module of a format has a subclass with the same name, which adds:

        claims(message)              whether only this format has a message
        received(message, data)      takes a message of the server, and its bytes
        sent(message)                takes a message of the client
        results(response, results)   the messages with the results of a response
        say(text)                    the messages that send a text of the user and ask for a response
        frames(event)                the messages in which a server sends an event of the base wire

    ``settings``: those of the session, as members of a request on the base wire. ``history``: the conversation, as
    items of the base wire. ``form``, ``member``: where requests on that wire have it.
    """

    def __init__(self, responses: Responses) -> None:
        self.responses = responses
        self.settings: dict[str, Any] = {}
        self.history: list[Any] = []
        self._shared = 0  # how many items of it requests have
        form = spec(responses.wire).history
        assert form is not None
        self.form = form
        self.member = form.member

    def request(self) -> dict[str, Any]:
        """Return what the client has asked so far, as a request on the base wire."""
        return {**self.settings, self.member: self.history[:]}

    def begun(self) -> Asked:
        """Return what a response that begins now answers, as `request` does, with a history that is not copied."""
        self._shared = len(self.history)
        return Asked({**self.settings}, self.member, self.history, self._shared)

    def asked(self) -> dict[str, Any]:
        """Return what the next response answers, in the form of `request`."""
        return self.request()

    def add(self, *items: Any) -> None:
        """Add items to the history."""
        if self.responses.kept:
            self.history += items

    def insert(self, place: int, *items: Any) -> None:
        """Add items to the history at a place, or to a copy if requests have what follows."""
        if not self.responses.kept:
            return
        if place < self._shared:
            self.history, self._shared = self.history[:], 0
        self.history[place:place] = items

    def change(self, items: list[Any]) -> None:
        """Set the items of the history, from the first one that differs on."""
        pairs = enumerate(zip(self.history, items, strict=False))
        place = next((n for n, (old, new) in pairs if old is not new), len(items))
        self.insert(place)
        self.history[place:] = items[place:]

    def add_response(self, ended: SessionExchange | None) -> None:
        """Add the output of a response to the history, where it began, without calls that cannot run and sound.

        Clients send results, and users speak, before the response has ended.
        """
        if ended is None or not ended.response.choices or not self.responses.kept:
            return
        response = ended.response
        choice = response.choices[0]
        dead = not response.complete or choice.stop.reason in DEAD_STOPS
        blocks = [b for b in choice.blocks if not (isinstance(b, Opaque) or (dead and isinstance(b, ToolCall)))]
        if blocks:
            response = replace(response, choices=[replace(choice, blocks=blocks)])
            items = self.items_of(Request(self.responses.wire, None, [Assistant(response)]))
            own = self.form.of_model(items)
            self.insert(ended.asked.count, *(item for item, is_own in zip(items, own, strict=True) if is_own))

    def items_of(self, request: Request) -> list[Any]:
        """Return the items of the base wire for the messages of a request."""
        items: list[Any] = write_request(request, self.responses.wire).body[self.member]
        return items

    def result_items(self, response: Response, results: list[ToolResult]) -> list[Any]:
        """Return the items with the results of a response."""
        before = len(self.items_of(Request(self.responses.wire, None, [Assistant(response)])))
        messages: list[Message] = [Assistant(response), ToolResults(results)]
        return self.items_of(Request(self.responses.wire, None, messages))[before:]

    def answered(self, ids: list[Any]) -> None:
        """Note that the client has sent the results of calls."""
        for id in ids:
            if isinstance(id, str):
                self.responses.answered.add(id)
                self.responses.open_calls.pop(id, None)

    def finish(self) -> None:
        """Finish the responses that still run."""
        for key in [*self.responses.running]:
            self.add_response(self.responses.end(key))
