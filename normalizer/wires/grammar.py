"""The grammar of a stream: which events start, continue and end its parts, and in which order they come.

Each wire has one table in its spec (`WireSpec.grammar`), which `normalizer.stream_form` interprets. The decoders take
the types of events from it. A word of a table is the type of an event. On a wire whose events have no types (``type``
is ""), it is the path of a member that is set.
"""

from __future__ import annotations

from typing import NamedTuple


class Unit(NamedTuple):
    """A part of a stream with a start and an end: the response, a block, an item, a text in it.

    ``start``, ``within``, ``end``: words of its events, separated by spaces. Without ``start``, its first event starts
    it. ``at``: the path of the objects with its members; a list on the way has one object for each entry. ``keys``:
    the members that identify it, beside those of its parent; in a list, the member of each entry. ``parent``: the unit
    that must be open meanwhile. ``numbered``: the indexes of its starts are 0, 1, 2 … ``alone``: the next one starts
    after the end of the one before. ``implied``: paths of members with which it begins without a start event.
    ``endless``: a path in its start, and the values there with which it may have no end.
    """

    name: str
    start: str = ""
    within: str = ""
    end: str = ""
    at: str = ""
    keys: str = ""
    parent: str = ""
    numbered: bool = False
    alone: bool = False
    implied: str = ""
    endless: tuple[str, ...] = ()


class Grammar(NamedTuple):
    """The grammar of a wire. The first of the ``units`` is the response; its end is the terminal event.

    ``source``: where the provider documents it. ``type``: the members that can hold the type of an event, "" if
    events have no type, and "*" if their one member is named like it. ``named``: the name of a server-sent event is
    its type, and "required" if clients lose an event without it. ``closing``: an event after the ends of all other
    units, which precedes the terminal event. ``after``: the events that may follow the terminal event. ``counter``:
    the member that grows with each event. ``marker``: a member, and the values that it may have. ``refused``: the
    member that replaces the content of a refused request. ``stop``: the member with the stop reason: providers leave
    out the end of a block that a limit cut.
    """

    source: str
    units: tuple[Unit, ...]
    type: str = ""
    named: str = ""
    closing: str = ""
    after: str = ""
    counter: str = ""
    marker: tuple[str, ...] = ()
    refused: str = ""
    stop: str = ""

    @property
    def types(self) -> frozenset[str]:
        """The types of the events that the grammar names."""
        words = [f"{unit.start} {unit.within} {unit.end}" for unit in self.units]
        return frozenset(" ".join([*words, self.closing, self.after]).split())
