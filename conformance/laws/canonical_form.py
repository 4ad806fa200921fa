"""The law `content`: every member of the canonical form has the value that the wire has.

An oracle of the wire reads the response again (`conformance.oracle.responses`). It never calls the normalizer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolparity.reports.results import Effect

from ..cases.case import CaseRound, Evidence
from ..oracle.responses import ANYTHING, Json, WireBlock, WireChoice, WireResponse, leaves, reading_of
from .canonical_selection import Difference, finding_differences, selection_differences
from .law import Failure, law
from .matching import json_equal


@law(
    "content",
    "Every member of the canonical form has the value of the wire: none is lost, altered, moved or invented.",
    claims=("blocks", "findings"),
    applies=lambda evidence: True,
)
def content(evidence: Evidence) -> Iterator[Failure]:
    """Compare the response, its choices, their blocks, the usage and the error with the wire.

    The selection and the number of findings follow from the scenario. Nothing else decides whether a finding is right,
    so its text is free.
    """
    for round in evidence.rounds:
        reading, form = reading_of(round.exchange), round.answer.form
        if form is None:
            continue
        try:
            yield from _failures(evidence, round, reading, form)
        except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
            reason = f"this is not the canonical form: {type(error).__name__}: {error}"
            yield Failure(round.number, reason, effect="misreported")


def _failures(evidence: Evidence, round: CaseRound, reading: WireResponse | None, form: Json) -> Iterator[Failure]:
    differences = [selection_differences(round, form), finding_differences(round, form, regular=reading is not None)]
    if reading is not None and evidence.case.policy == "all":  # the response does not depend on the policy
        differences.append(_of_response(round, reading, form["response"]))
    for found in differences:
        for reason, expected, got, effect in found:
            yield Failure(round.number, reason, expected, got, effect=effect)


def _of_response(round: CaseRound, reading: WireResponse, form: Json) -> Iterator[Difference]:
    exchange = round.exchange
    owner = {"wire": exchange.wire, "provider": exchange.provider, "id": reading.id, "model": reading.model}
    yield from _members("the response", owner, form, "misreported")
    yield from _record("usage", reading.usage, form["usage"])
    yield from _record("error", reading.error, form["error"])
    if form["complete"] != round.expected.complete:
        yield Difference("complete is wrong", round.expected.complete, form["complete"], "misreported")
    yield from _extra("the response", form["extra"], reading.source, reading.kept)
    wanted, got = ([choice.index for choice in reading.choices], [choice["index"] for choice in form["choices"]])
    if wanted != got:
        yield Difference("the choices differ", wanted, got, "lost" if len(got) < len(wanted) else "duplicated")
        return
    for choice, answered in zip(reading.choices, form["choices"], strict=True):
        yield from _of_choice(choice, answered)


def _of_choice(choice: WireChoice, form: Json) -> Iterator[Difference]:
    name = f"choice {choice.index}"
    yield from _members(f"the stop of {name}", {"raw": choice.stop}, form["stop"], "misreported")
    yield from _extra(name, form["extra"], choice.source, choice.source)
    wanted, got = ([block.members["type"] for block in choice.blocks], [block["type"] for block in form["blocks"]])
    if wanted != got:
        effect: Effect = "lost" if len(got) < len(wanted) else "duplicated" if len(got) > len(wanted) else "altered"
        yield Difference(f"the blocks of {name} differ", wanted, got, effect)
        return
    for number, (block, answered) in enumerate(zip(choice.blocks, form["blocks"], strict=True)):
        yield from _of_block(f"block {number} ({block.members['type']})", block, answered)


def _of_block(name: str, block: WireBlock, form: Json) -> Iterator[Difference]:
    yield from _members(name, block.members, form, "altered")
    yield from _extra(name, form.get("extra"), block.source, block.source)


def _record(name: str, wanted: Json | None, got: Json | None) -> Iterator[Difference]:
    if wanted is None or got is None:
        if wanted is not got:
            decided = wanted and {member: value for member, value in wanted.items() if value is not ANYTHING}
            yield Difference(f"{name} is {'missing' if got is None else 'invented'}", decided, got, "misreported")
        return
    yield from _members(name, wanted, got, "misreported")


def _members(name: str, wanted: Json, got: Json, effect: Effect) -> Iterator[Difference]:
    for member, value in wanted.items():
        if value is not ANYTHING and not (member in got and json_equal(value, got[member])):
            answered = got.get(member)
            lost = effect == "altered" and value and not answered
            yield Difference(f"{name}: {member} differs", value, answered, "lost" if lost else effect)


def _extra(name: str, extra: Any, source: Any, kept: Any) -> Iterator[Difference]:
    """Check that ``extra`` has every member in ``kept``, and nothing that is not in ``source``."""
    got = {leaf for leaf in leaves(extra) if leaf[0] != "as_written"}  # what a request to the same wire needs
    if invented := got - set(leaves(source)):
        reason = f"{name}: extra has members that the wire does not have"
        yield Difference(reason, None, sorted(invented)[:5], "duplicated")
    if lost := set(leaves(kept)) - got:
        yield Difference(f"{name}: extra does not have members of the wire", sorted(lost)[:5], extra, "lost")
