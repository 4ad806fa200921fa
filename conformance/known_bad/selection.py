"""Defects in policies, and dropped calls without a complete warning."""

from __future__ import annotations

import re
from itertools import pairwise

from ..subjects import SubjectExchange
from .mutate import CanonicalForm, blocks, calls, defect


@defect("same-first")
def last_is_first(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Runs the last call under the policy first."""
    selection = form["selection"]
    if exchange.policy == "first" and selection["dropped"]:
        last = selection["dropped"].pop()
        selection["dropped"] = [*selection["kept"], *selection["dropped"]]
        selection["kept"] = [last]


@defect("same-first")
def last_on_anthropic(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Runs the last call under the policy first, with Anthropic only."""
    if exchange.wire == "anthropic.messages":
        last_is_first(form, exchange)


@defect("same-first")
def first_means_all(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Ignores the policy: runs every call and reports it as kept."""
    selection = form["selection"]
    selection["kept"] = sorted([*selection["kept"], *selection["dropped"]], key=lambda ref: int(ref["block"]))
    selection["dropped"] = []


@defect("same-first")
def first_gives_up(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Runs nothing under the policy first if a call of the response cannot run."""
    selection = form["selection"]
    if exchange.policy == "first" and selection["rejected"]:
        selection["dropped"] = [*selection["kept"], *selection["dropped"]]
        selection["kept"] = []


@defect("conservation")
def runs_calls_twice(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Returns each call once, but lists it twice among the kept calls."""
    if exchange.policy != "first":
        form["selection"]["kept"] *= 2


@defect("conservation")
def repeated_ends_run_calls_again(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Runs the calls again if the event that ends them is repeated."""
    pieces = exchange.pieces
    if exchange.policy != "first" and any(piece == before for before, piece in pairwise(pieces)):
        form["selection"]["kept"] *= 2


@defect("conservation")
def one_call_is_not_run(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Drops a single call that the policy keeps, with a correct warning."""
    selection = form["selection"]
    if exchange.policy != "first" and len(selection["kept"]) == 1:
        selection["dropped"] += selection["kept"]
        selection["kept"] = []
        total, names = len(calls(form)), ", ".join(ref["name"] for ref in selection["dropped"])
        form["log"].append(f"{total} tool calls, processing 0, dropped {len(selection['dropped'])}: {names}")


@defect("conservation")
def in_no_list(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Lists dropped and rejected calls nowhere."""
    form["selection"]["dropped"] = form["selection"]["rejected"] = []


@defect("conservation")
def limit_ignored(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Warns about calls that the limit drops, but runs them."""
    selection = form["selection"]
    if exchange.limit is not None and exchange.policy != "first":
        selection["kept"] += selection["dropped"]
        selection["dropped"] = []


@defect("conservation")
def every_choice_is_run(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Runs the calls of choices that were not selected, although its warning says otherwise."""
    selection = form["selection"]
    if exchange.policy != "first":
        others = [ref for ref in selection["dropped"] if ref["choice"] != selection["choice"]]
        selection["kept"] = [*selection["kept"], *others]
        selection["dropped"] = [ref for ref in selection["dropped"] if ref not in others]


@defect("dropped-warned")
def silent_drop(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Drops calls without a warning."""
    form["log"] = []


@defect("dropped-warned")
def warning_without_names(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Warns about dropped calls without their names."""
    form["log"] = [re.sub(r"\[.*?\]", "[...]", line) for line in form["log"]]


@defect("dropped-warned")
def warning_without_figures(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Warns about dropped calls without their number."""
    form["log"] = [re.sub(r"^\d+ .*? under", "some calls dropped under", line) for line in form["log"]]


@defect("incomplete")
def runs_truncated_calls(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Runs calls with truncated arguments."""
    selection = form["selection"]
    if form["response"]["complete"]:
        selection["kept"] = [*selection["kept"], *selection["rejected"]]
        selection["rejected"] = []


@defect("incomplete")
def runs_broken_streams(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Runs the calls of a stream without a terminal event."""
    selection = form["selection"]
    if not form["response"]["complete"]:
        whole = [ref for ref in selection["rejected"] if blocks(form)[ref["block"]]["status"] == "complete"]
        selection["kept"] = [*selection["kept"], *whole]
        selection["rejected"] = [ref for ref in selection["rejected"] if ref not in whole]


@defect("incomplete")
def never_complete(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Reports every response as incomplete."""
    form["response"]["complete"] = False


@defect("incomplete")
def broken_stream_called_complete(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Reports a stream without a terminal event as complete."""
    form["response"]["complete"] = True
