"""Request rules of `toy.chat`."""

from __future__ import annotations

from typing import Any

from toolparity.normalizer.wires.rule import Violations, rule, rules_in

_SOURCE = "tests/normalizer/toy_wire"


@rule("entries-list", _SOURCE)
def _entries(body: Any) -> Violations:
    """A request is an object with a list of entries."""
    if not isinstance(body, dict) or not isinstance(body.get("entries"), list):
        yield "entries", "the list of entries is missing"


@rule("results-follow", _SOURCE)
def _results(body: Any) -> Violations:
    """The results of a model entry's calls follow it, in the order of the calls."""
    entries = body.get("entries") if isinstance(body, dict) else None
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        calls = [step["ref"] for step in entry.get("steps", ()) if "fn" in step]
        results = [entry.get("ref") for entry in entries[index + 1 : index + 1 + len(calls)]]
        if calls != results:
            yield f"entries[{index}]", f"the calls {calls} have the results {results}"


RULES = rules_in(globals())
