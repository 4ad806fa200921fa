"""The audit of conversations: links exchanges, in whatever order they come, and counts the handling of their calls."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from typing import TypeVar

from msgspec import Struct, field

from .codes import Recognized, Unjudged
from .exchange_index import weight
from .findings import ConversationFinding
from .handling import Handling, judge_calls
from .history import compare
from .linker import Linker
from .links import CallPlace, Link, Node, placed_calls
from .records import ExchangeRecord

Name = TypeVar("Name", bound=str)

#: How many findings of each code are kept by default, the first ones of the input. All are counted.
FINDINGS_KEPT = 20


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

    ``continued``: the choices that a request continues, in so many ``branches``. ``copy``: the exchange was in the
    input before, and nothing but copies continues this one.
    """

    handling: dict[CallPlace, Handling]
    findings: list[tuple[CallPlace | None, int, ConversationFinding]] = field(default_factory=list)
    continued: set[int] = field(default_factory=set)
    branches: int = 0
    copy: bool = False


class ConversationAudit:
    """Audits exchanges in bounded memory.

    audit = ConversationAudit()
    for place, request, response in traffic:
        audit.add(record(place, "openai.chat", read_request(request, "openai.chat"), response))
    for finding in audit.finish().findings: ...
    """

    def __init__(self, kept: int = FINDINGS_KEPT) -> None:
        self._kept = kept
        self._linker = Linker()
        self._pending: list[Node] = []
        self._pending_weight = 0
        self._accounts: dict[int, _Account] = {}
        self._figures: dict[str, ConversationFigures] = {}
        self._findings: dict[str, list[tuple[int, int, ConversationFinding]]] = {}
        self._with_results: set[str] = set()
        self._only_dropped: dict[str, int] = {}
        self._only_dropped_calls: dict[str, int] = {}
        self._number = 0

    def add(self, record: ExchangeRecord) -> None:
        """Take the next exchange."""
        self._number += 1
        self._figures.setdefault(record.wire, ConversationFigures()).exchanges += 1
        if any(message.results for message in record.messages or ()):
            self._with_results.add(record.wire)
        node = self._linker.index.node(record, self._number)
        self._pending.append(node)
        self._pending_weight += weight(node)
        if self._pending_weight > self._linker.index.kept // 2:
            self._judge_pending()

    def _judge_pending(self) -> None:
        """Link and judge the exchanges that were added. Nothing depends on their order but the order of the findings.

        They are sorted by their content, and all are known before the first one is linked, and linked before the first
        one is judged.
        """
        nodes = sorted(self._pending, key=lambda node: (len(node.chain), node.digest, node.number))
        self._pending, self._pending_weight = [], 0
        forgotten: list[Node] = []
        for node in nodes:
            forgotten += self._linker.index.add(node)
            unknown: Unjudged = "not-continued" if node.record.messages is not None else "request-missing"
            handling: dict[CallPlace, Handling] = {place: unknown for place, _ in placed_calls(node)}
            self._accounts[node.number] = _Account(handling, copy=node.is_copy)
        for link in [link for node in nodes if (link := self._linked(node)) is not None]:
            self._note(link) if link.uncertain else self._judge(link)
        self._settle(forgotten)

    def _linked(self, node: Node) -> Link | None:
        """Return the link of a request that is to be judged, or None. Count the others."""
        figures = self._figures[node.record.wire]
        link = self._linker.link(node)
        parent = None if link is None or link.uncertain else link.parent
        original, repeated = self._linker.index.original(node), self._linker.index.repeated(node)
        self._linker.index.take(node)
        if link is not None and parent is not None:
            node.continues(parent, proven=link.proven)
        drawn = node.is_copy or (parent is not None and parent.is_copy)
        if original is not None and drawn and _is_same(original.parent, parent):
            node.is_copy = self._accounts[node.number].copy = True
            _count(figures.recognized, "recorded-twice")
            return None
        self._accounts[node.number].copy = False
        if repeated is not None and repeated.parent is parent:
            _count(figures.recognized, "retried")
            return None
        figures.first += parent is None
        return link

    def finish(self) -> ConversationReport:
        """Return the report. Call it once, after the last exchange."""
        self._judge_pending()
        self._settle(self._linker.index.rest())
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

    def _judge(self, link: Link) -> None:
        parent, child = link.parent, link.child
        figures, account = self._figures[child.record.wire], self._accounts[parent.number]
        figures.linked += 1
        account.branches += 1
        if account.branches == 2:
            _count(figures.recognized, "forked")
        judged = judge_calls(link, self._linker.index)
        findings, recognized = compare(link)
        for kind in sorted(recognized):
            _count(figures.recognized, kind)
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

    def _answered_late(self, link: Link) -> None:
        """Note results of calls of earlier exchanges, which revoke the finding that the call was dropped."""
        for node, place in self._linker.answered_late(link):
            self._accounts[node.number].handling[place] = "answered"

    def _settle(self, nodes: Iterable[Node]) -> None:
        """Count the calls and findings of exchanges that no later request can continue."""
        for node in nodes:
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
            seen: set[tuple[CallPlace, str]] = set()  # a history keeps what was done to a call
            for order, (place, number, found) in enumerate(sorted(account.findings, key=lambda finding: finding[1])):
                if place is not None and (place, found.code) in seen:
                    continue
                if found.code == "dropped-in-fact" and place is not None and account.handling[place] == "answered":
                    continue
                if found.code == "calls-differ" and place is not None and place[0] in account.continued:
                    continue
                if place is not None:
                    seen.add((place, found.code))
                _count(figures.findings, found.code)
                kept = self._findings.setdefault(found.code, [])
                insort(kept, (number, order, found), key=lambda entry: entry[:2])
                del kept[self._kept :]


def _is_same(one: Node | None, other: Node | None) -> bool:
    """Return whether two exchanges are the same, or copies."""
    return one is other or (one is not None and other is not None and one.digest == other.digest)


def _rank(handling: Handling) -> int:
    return {"not-continued": 0, "finding": 2, "answered": 3}.get(handling, 1)


def _count(counts: dict[Name, int], name: Name) -> None:
    counts[name] = counts.get(name, 0) + 1
