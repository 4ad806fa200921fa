"""Limits of a response in a sequence of events: the one rule of when another response begins.

The streams apply it to the events that can begin one. `normalize` and `normalizer.body_splitter` pass the events of a
body or file to the streams, so that all three agree.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any, NamedTuple


class Boundary(NamedTuple):
    """What a stream event shows about the limits of its response, for data that contains several responses.

    ``id``: the id of the response. ``begins``, ``ends``: it is the first or the last event of a response. ``greets``:
    it has a member that most servers send only in the first event. ``continued``, ``finished``: the choices in this
    event, and those that end in it. ``counted``: the tokens of the prompt, and all tokens up to this event. ``empty``:
    the event has no content, so that it alone begins no response, and ends none that has no content before it.
    """

    id: str | None = None
    begins: bool = False
    ends: bool = False
    greets: bool = False
    continued: frozenset[int] = frozenset()
    finished: frozenset[int] = frozenset()
    counted: tuple[int, int] | None = None
    empty: bool = False


#: The boundary of an event that says nothing, such as a keep-alive.
SILENT = Boundary(empty=True)


class Limits(NamedTuple):
    """The limits of a response, by its events so far.

    ``ids``: the ids of its first event and of those that end a choice. ``finished``: the choices that ended.
    ``failed``: an error came. See `Boundary` for the others.
    """

    ids: Set[str] = frozenset()
    ended: bool = False
    failed: bool = False
    finished: frozenset[int] = frozenset()
    counted: tuple[int, int] | None = None
    empty: bool = False

    def excludes(self, event: Boundary, *, documents: bool) -> bool:
        """Return whether an event belongs to another response.

        ``documents``: the events are JSON documents, which can be whole responses. Only there, a further event without
        any evidence is another response: some servers put a finish reason into every server-sent event.
        """
        known = event.id in self.ids
        other = bool(event.id) and len(self.ids) == 1 and not known  # ids that change within a response prove nothing
        if event.begins:
            return other or self.ended or self.failed
        if event.empty:
            return False
        again = bool(event.continued & self.finished)
        if other and (again or self.failed or self.ended):
            return True
        if self.ended:
            return event.greets and not event.finished
        if not again or self.empty:
            return False
        if known:
            return bool(event.finished) and event.counted is not None and event.counted == self.counted
        if event.counted is not None and self.counted is not None:
            return event.counted[0] != self.counted[0] or event.counted[1] <= self.counted[1]
        return documents


def is_error(body: dict[str, Any]) -> bool:
    """Return whether a JSON object is an error of any wire, but not a chunk or an event that reports one."""
    has_error = body.get("error") is not None
    return has_error and not isinstance(body.get("choices"), list) and "sequence_number" not in body
