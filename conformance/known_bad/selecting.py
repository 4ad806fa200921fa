"""Defects in policies, and dropped calls without a complete warning."""

from __future__ import annotations

import re

from ..subjects import SubjectExchange
from .mutate import CanonicalForm, blocks, calls, defect


@defect("same-first")
def last_is_first(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Under first, runs the last call."""
    selection = given["selection"]
    if ask.policy == "first" and selection["dropped"]:
        last = selection["dropped"].pop()
        selection["dropped"] = [*selection["kept"], *selection["dropped"]]
        selection["kept"] = [last]


@defect("same-first")
def last_on_anthropic(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Under first, runs the last call of Anthropic's answers and the first of everybody else's."""
    if ask.wire == "anthropic.messages":
        last_is_first(given, ask)


@defect("same-first")
def first_means_all(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Knows no policy: runs everything, and tells it so."""
    selection = given["selection"]
    selection["kept"] = sorted([*selection["kept"], *selection["dropped"]], key=lambda ref: int(ref["block"]))
    selection["dropped"] = []


@defect("same-first")
def first_gives_up(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Under first, runs nothing where the answer holds a call that cannot run."""
    selection = given["selection"]
    if ask.policy == "first" and selection["rejected"]:
        selection["dropped"] = [*selection["kept"], *selection["dropped"]]
        selection["kept"] = []


@defect("conservation")
def runs_calls_twice(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Tells each call once, and lists it twice among those to run."""
    if ask.policy != "first":
        given["selection"]["kept"] *= 2


@defect("conservation")
def one_call_is_not_run(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Drops a call that came alone, with a proper warning, where the policy keeps it."""
    selection = given["selection"]
    if ask.policy != "first" and len(selection["kept"]) == 1:
        selection["dropped"] += selection["kept"]
        selection["kept"] = []
        total, names = len(calls(given)), ", ".join(ref["name"] for ref in selection["dropped"])
        given["log"].append(f"{total} tool calls, processing 0, dropped {len(selection['dropped'])}: {names}")


@defect("conservation")
def in_no_list(given: CanonicalForm, ask: SubjectExchange) -> None:
    """What is dropped or rejected is in no list."""
    given["selection"]["dropped"] = given["selection"]["rejected"] = []


@defect("conservation")
def limit_ignored(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Warns of what a limit drops, and runs it."""
    selection = given["selection"]
    if ask.limit is not None and ask.policy != "first":
        selection["kept"] += selection["dropped"]
        selection["dropped"] = []


@defect("conservation")
def every_choice_is_run(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Runs the calls of alternatives that were not chosen, and warns that it does not."""
    selection = given["selection"]
    if ask.policy != "first":
        others = [ref for ref in selection["dropped"] if ref["choice"] != selection["choice"]]
        selection["kept"] = [*selection["kept"], *others]
        selection["dropped"] = [ref for ref in selection["dropped"] if ref not in others]


@defect("dropped-warned")
def silent_drop(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Drops calls without a word in the log."""
    given["log"] = []


@defect("dropped-warned")
def warning_without_names(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Warns that something was dropped, and not what."""
    given["log"] = [re.sub(r"\[.*?\]", "[...]", line) for line in given["log"]]


@defect("dropped-warned")
def warning_without_figures(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Warns without telling how many there were."""
    given["log"] = [re.sub(r"^\d+ .*? under", "some calls dropped under", line) for line in given["log"]]


@defect("incomplete")
def runs_truncated_calls(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Runs a call whose arguments were cut."""
    selection = given["selection"]
    if given["response"]["complete"]:
        selection["kept"] = [*selection["kept"], *selection["rejected"]]
        selection["rejected"] = []


@defect("incomplete")
def runs_broken_streams(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Runs what stood in a stream that never came to its end."""
    selection = given["selection"]
    if not given["response"]["complete"]:
        whole = [ref for ref in selection["rejected"] if blocks(given)[ref["block"]]["status"] == "complete"]
        selection["kept"] = [*selection["kept"], *whole]
        selection["rejected"] = [ref for ref in selection["rejected"] if ref not in whole]


@defect("incomplete")
def never_complete(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Takes every answer for one that broke off."""
    given["response"]["complete"] = False


@defect("incomplete")
def broken_stream_called_complete(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Takes the end of the bytes for the end of the answer."""
    given["response"]["complete"] = True
