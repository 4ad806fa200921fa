"""Defects in policies, and dropped calls without a complete warning."""

from __future__ import annotations

import re

from ..subjects import Ask
from .mutate import Told, bad, blocks, calls


@bad("same-first")
def last_is_first(given: Told, ask: Ask) -> None:
    """Under first, runs the last call."""
    selection = given["selection"]
    if ask.policy == "first" and selection["dropped"]:
        last = selection["dropped"].pop()
        selection["dropped"] = [*selection["kept"], *selection["dropped"]]
        selection["kept"] = [last]


@bad("same-first")
def last_on_anthropic(given: Told, ask: Ask) -> None:
    """Under first, runs the last call of Anthropic's answers and the first of everybody else's."""
    if ask.wire == "anthropic.messages":
        last_is_first(given, ask)


@bad("same-first")
def first_means_all(given: Told, ask: Ask) -> None:
    """Knows no policy: runs everything, and tells it so."""
    selection = given["selection"]
    selection["kept"] = sorted([*selection["kept"], *selection["dropped"]], key=lambda ref: int(ref["block"]))
    selection["dropped"] = []


@bad("same-first")
def first_gives_up(given: Told, ask: Ask) -> None:
    """Under first, runs nothing where the answer holds a call that cannot run."""
    selection = given["selection"]
    if ask.policy == "first" and selection["rejected"]:
        selection["dropped"] = [*selection["kept"], *selection["dropped"]]
        selection["kept"] = []


@bad("conservation")
def runs_calls_twice(given: Told, ask: Ask) -> None:
    """Tells each call once, and lists it twice among those to run."""
    if ask.policy != "first":
        given["selection"]["kept"] *= 2


@bad("conservation")
def one_call_is_not_run(given: Told, ask: Ask) -> None:
    """Drops a call that came alone, with a proper warning, where the policy keeps it."""
    selection = given["selection"]
    if ask.policy != "first" and len(selection["kept"]) == 1:
        selection["dropped"] += selection["kept"]
        selection["kept"] = []
        total, names = len(calls(given)), ", ".join(ref["name"] for ref in selection["dropped"])
        given["log"].append(f"{total} tool calls, processing 0, dropped {len(selection['dropped'])}: {names}")


@bad("conservation")
def in_no_list(given: Told, ask: Ask) -> None:
    """What is dropped or rejected is in no list."""
    given["selection"]["dropped"] = given["selection"]["rejected"] = []


@bad("conservation")
def limit_ignored(given: Told, ask: Ask) -> None:
    """Warns of what a limit drops, and runs it."""
    selection = given["selection"]
    if ask.limit is not None and ask.policy != "first":
        selection["kept"] += selection["dropped"]
        selection["dropped"] = []


@bad("conservation")
def every_choice_is_run(given: Told, ask: Ask) -> None:
    """Runs the calls of alternatives that were not chosen, and warns that it does not."""
    selection = given["selection"]
    if ask.policy != "first":
        others = [ref for ref in selection["dropped"] if ref["choice"] != selection["choice"]]
        selection["kept"] = [*selection["kept"], *others]
        selection["dropped"] = [ref for ref in selection["dropped"] if ref not in others]


@bad("dropped-warned")
def silent_drop(given: Told, ask: Ask) -> None:
    """Drops calls without a word in the log."""
    given["log"] = []


@bad("dropped-warned")
def warning_without_names(given: Told, ask: Ask) -> None:
    """Warns that something was dropped, and not what."""
    given["log"] = [re.sub(r"\[.*?\]", "[...]", line) for line in given["log"]]


@bad("dropped-warned")
def warning_without_figures(given: Told, ask: Ask) -> None:
    """Warns without telling how many there were."""
    given["log"] = [re.sub(r"^\d+ .*? under", "some calls dropped under", line) for line in given["log"]]


@bad("incomplete")
def runs_truncated_calls(given: Told, ask: Ask) -> None:
    """Runs a call whose arguments were cut."""
    selection = given["selection"]
    if given["response"]["complete"]:
        selection["kept"] = [*selection["kept"], *selection["rejected"]]
        selection["rejected"] = []


@bad("incomplete")
def runs_broken_streams(given: Told, ask: Ask) -> None:
    """Runs what stood in a stream that never came to its end."""
    selection = given["selection"]
    if not given["response"]["complete"]:
        whole = [ref for ref in selection["rejected"] if blocks(given)[ref["block"]]["status"] == "complete"]
        selection["kept"] = [*selection["kept"], *whole]
        selection["rejected"] = [ref for ref in selection["rejected"] if ref not in whole]


@bad("incomplete")
def never_complete(given: Told, ask: Ask) -> None:
    """Takes every answer for one that broke off."""
    given["response"]["complete"] = False


@bad("incomplete")
def broken_stream_called_complete(given: Told, ask: Ask) -> None:
    """Takes the end of the bytes for the end of the answer."""
    given["response"]["complete"] = True
