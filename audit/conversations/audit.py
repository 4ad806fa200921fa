"""The audit of conversations: links exchanges in the order of the input and counts the handling of their calls."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from typing import TypeVar

from msgspec import Struct, field

from .codes import Recognized, Unjudged
from .early import EarlyRequests
from .findings import ConversationFinding
from .handling import Handling, judge_calls
from .history import compare
from .linker import Linker, is_copy
from .links import CallPlace, Link, Node, placed_calls
from .records import ExchangeRecord

Name = TypeVar("Name", bound=str)

#: How many findings of each code are kept, the first ones of the input. All are counted.
_KEPT = 20


class ConversationFigures(Struct):
    """The figures of one wire.

    ``linked``: requests that continue a known response. ``clean``: links without a finding. ``first``: requests that
    continue no known response. ``calls``: client calls of the responses; each is ``answered``, has a finding
    (``accused``) or is not judged (``unjudged``, by reason). ``recognized``: legitimate differences, by kind.
    """

    exchanges: int = 0
    first: int = 0
    linked: int = 0
    clean: int = 0
    calls: int = 0
    answered: int = 0
    accused: int = 0
    unjudged: dict[Unjudged, int] = {}
    recognized: dict[Recognized, int] = {}
    findings: dict[str, int] = {}


class ConversationReport(Struct):
    """The result: figures by wire, and the first findings of each code in the order of the input."""

    wires: dict[str, ConversationFigures] = {}
    findings: list[ConversationFinding] = []


class _Account(Struct, eq=False):
    """What is known so far about the calls of one exchange. Findings are pending, as a later request may answer.

    ``continued``: the choices that a later request continues. ``copy``: the exchange was in the input before, and
    nothing but copies continues this one.
    """

    handling: dict[CallPlace, Handling]
    findings: list[tuple[CallPlace | None, int, ConversationFinding]] = field(default_factory=list)
    continued: set[int] = field(default_factory=set)
    copy: bool = False


class ConversationAudit:
    """Audits exchanges in the order of the input, in bounded memory.

    audit = ConversationAudit()
    for place, request, response in traffic:
        audit.add(record(place, "openai.chat", read_request(request, "openai.chat"), response))
    for finding in audit.finish().findings: ...
    """

    def __init__(self) -> None:
        self._linker = Linker()
        self._early = EarlyRequests()
        self._accounts: dict[int, _Account] = {}
        self._figures: dict[str, ConversationFigures] = {}
        self._findings: dict[str, list[tuple[int, int, ConversationFinding]]] = {}
        self._with_results: set[str] = set()
        self._only_dropped: dict[str, int] = {}
        self._only_dropped_calls: dict[str, int] = {}
        self._number = 0

    def add(self, record: ExchangeRecord) -> Link | None:
        """Take the next exchange. Return its link to the exchange that it continues, or None."""
        self._number += 1
        figures = self._figures.setdefault(record.wire, ConversationFigures())
        figures.exchanges += 1
        if any(message.results for message in record.messages or ()):
            self._with_results.add(record.wire)
        node = self._linker.node(record, self._number)
        original = self._linker.copied(node)
        if original is not None and not original.children:
            _count(figures.recognized, "recorded-twice")
            return None
        link = self._linker.link(node)
        uncertain = link if link is not None and link.uncertain else None
        link = None if uncertain is not None else link
        repeated = self._linker.repeated(node)
        copy = original is not None and _continues_copy(original, link)
        if copy:
            node.parent = None if link is None else link.parent
            _count(figures.recognized, "recorded-twice")
        elif repeated is not None and repeated.parent is (None if link is None else link.parent):
            node.parent = repeated.parent
            _count(figures.recognized, "retried")
        elif link is None:
            figures.first += 1
            self._early.add(node)
            if uncertain is not None:
                self._note(uncertain)
        else:
            self._judge(link, figures)
        unknown: Unjudged = "not-continued" if record.messages is not None else "request-missing"
        self._accounts[node.number] = _Account({place: unknown for place, _ in placed_calls(node)}, copy=copy)
        self._settle(self._linker.add(node))
        self._link_early(node)
        return link

    def finish(self) -> ConversationReport:
        """Return the report. Call it once, after the last exchange."""
        self._settle(self._linker.rest())
        for wire in self._figures.keys() - self._with_results:
            self._revoke_dropped(wire)
        findings = sorted((entry for kept in self._findings.values() for entry in kept), key=lambda e: e[:2])
        return ConversationReport(dict(sorted(self._figures.items())), [entry[2] for entry in findings])

    def _revoke_dropped(self, wire: str) -> None:
        """Revoke that calls were dropped in a log that has no results at all."""
        figures = self._figures[wire]
        if not figures.findings.pop("dropped-in-fact", 0):
            return
        dropped = self._only_dropped_calls.get(wire, 0)
        kept = self._findings["dropped-in-fact"]
        kept[:] = [entry for entry in kept if entry[2].wire != wire]
        figures.accused -= dropped
        figures.unjudged["no-results"] = dropped
        figures.clean += self._only_dropped.get(wire, 0)

    def _judge(self, link: Link, figures: ConversationFigures) -> None:
        figures.linked += 1
        parent, child = link.parent, link.child
        child.parent = parent
        parent.children += 1
        if parent.children == 2:
            _count(figures.recognized, "forked")
        judged = judge_calls(link, self._linker)
        findings, recognized = compare(link)
        for kind in sorted(recognized):
            _count(figures.recognized, kind)
        account = self._accounts[parent.number]
        account.continued.add(link.choice)
        account.copy = False
        for index, handling in judged.handling.items():
            place = link.choice, index
            if _rank(handling) > _rank(account.handling.get(place, "not-continued")):
                account.handling[place] = handling
        number = child.number
        account.findings += [
            (None if index is None else (link.choice, index), number, found) for index, found in judged.findings
        ]
        account.findings += [(None, number, found) for found in findings]
        codes = {found.code for found in (*findings, *(found for _, found in judged.findings))}
        figures.clean += not codes
        if codes == {"dropped-in-fact"}:
            _count(self._only_dropped, child.record.wire)
        self._answered_late(link)

    def _note(self, link: Link) -> None:
        """Note that a request may continue a response. A request that continues it revokes this."""
        account = self._accounts[link.parent.number]
        for place in account.handling:
            if place[0] == link.choice and account.handling[place] == "not-continued":
                account.handling[place] = "ambiguous"
        account.findings += [((link.choice, 0), link.child.number, found) for found in compare(link)[0]]

    def _link_early(self, parent: Node) -> None:
        """Link and judge requests that came before the response that they continue."""
        for child in self._early.of(parent):
            link = self._linker.link(child)
            if link is None or link.parent is not parent or not link.repeats:
                continue
            figures = self._figures[child.record.wire]
            figures.first -= 1
            self._early.continued(child)
            self._judge(link, figures)
            for place, call in placed_calls(parent):
                if self._early.answer(call.ids):
                    self._accounts[parent.number].handling[place] = "answered"

    def _answered_late(self, link: Link) -> None:
        """Note results of calls of earlier exchanges, which revoke the finding that the call was dropped."""
        for node, place in self._linker.answered_late(link):
            self._accounts[node.number].handling[place] = "answered"

    def _settle(self, nodes: Iterable[Node]) -> None:
        """Count the calls and findings of exchanges that no later request can continue."""
        for node in nodes:
            self._early.forget(node)
            account = self._accounts.pop(node.number)
            figures = self._figures[node.record.wire]
            for (choice, index), handling in () if account.copy else account.handling.items():
                figures.calls += 1
                if handling == "answered":
                    figures.answered += 1
                elif handling == "finding":
                    figures.accused += 1
                    codes = {found.code for place, _, found in account.findings if place == (choice, index)}
                    if codes <= {"dropped-in-fact", "calls-differ"}:
                        _count(self._only_dropped_calls, node.record.wire)
                elif handling == "not-continued" and account.continued and choice not in account.continued:
                    _count(figures.unjudged, "other-choice")
                else:
                    _count(figures.unjudged, handling)
            for order, (place, number, found) in enumerate(account.findings):
                if found.code == "dropped-in-fact" and place is not None and account.handling[place] == "answered":
                    continue
                if found.code == "calls-differ" and place is not None and place[0] in account.continued:
                    continue
                _count(figures.findings, found.code)
                kept = self._findings.setdefault(found.code, [])
                insort(kept, (number, order, found), key=lambda entry: entry[:2])
                del kept[_KEPT:]


def _continues_copy(original: Node, link: Link | None) -> bool:
    """Return whether a copy of an exchange continues what the exchange continues, or a copy of it."""
    if original.parent is None or link is None:
        return original.parent is None and link is None
    return original.parent is link.parent or is_copy(original.parent.record, link.parent.record)


def _rank(handling: Handling) -> int:
    return {"not-continued": 0, "finding": 2, "answered": 3}.get(handling, 1)


def _count(counts: dict[Name, int], name: Name) -> None:
    counts[name] = counts.get(name, 0) + 1
