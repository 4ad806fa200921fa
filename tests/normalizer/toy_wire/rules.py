"""Request rules of `toy.chat`."""

from __future__ import annotations

from typing import Any

from toolparity.normalizer.wires.rule import Violations, rule, rules_in


@rule("results-follow", "tests/normalizer/toy_wire")
def _results(body: Any) -> Violations:
    """The results of a model entry's calls follow it, in the order of the calls."""
    entries = body["entries"]
    for index, entry in enumerate(entries):
        calls = [step["ref"] for step in entry.get("steps", ()) if "fn" in step]
        results = [entry.get("ref") for entry in entries[index + 1 : index + 1 + len(calls)]]
        if calls != results:
            yield f"entries[{index}]", f"the calls {calls} have the results {results}"


RULES = rules_in(globals())
