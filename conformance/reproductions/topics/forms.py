"""Failures about two forms of one response that differ: plain and streamed, or two wires."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..failure import Failure
from ..output import Output
from ..same import plain, same_calls
from .calls import CALLS, TEXT, all_complete
from .ends import STOP
from .topic import Topic

#: What two forms can differ in -> the topic of the difference, the most severe first.
_PARTS: dict[str, Topic] = {"calls": CALLS, "text": TEXT, "stop": STOP}


class Forms(Topic):
    """The calls, the text and the stop reason of one form, as far as they differ from the other one."""

    def names(self, failure: Failure) -> Sequence[str]:
        """Return the parts in which the forms differ."""
        return _parts(failure)

    def confirms(self, failure: Failure, output: Output) -> bool:
        """Compare the printed parts with those of the verdict."""
        stated = json.loads(failure.verdict.got)
        same = True
        if "calls" in output.values:
            same = same_calls(output.calls(), failure.report.calls)
        if "text" in output.values:
            same = same and output.text == stated["text"]
        if "stop" in output.values:
            same = same and output.stop(stated["calls"], failure.response.data) == stated["stop"]
        return same

    def python(self, failure: Failure, lines: Sequence[str]) -> list[str]:
        """Require the expected value of the most severe difference; of invalid calls, that a wrong one is missing."""
        wrong = _wrong_call(failure)
        if wrong is None:
            return _worst(failure).python(failure, lines)
        code = failure.code
        return [*lines, *code.gather, f"calls = {code.values['pairs']}", f"assert {wrong!r} not in calls"]

    def javascript(self, failure: Failure) -> str:
        """Require the expected value of the most severe difference; of invalid calls, that a wrong one is missing."""
        wrong = _wrong_call(failure)
        if wrong is None:
            return _worst(failure).javascript(failure)
        return f"expect({failure.code.values['pairs']}).not.toContainEqual({json.dumps(wrong)})"


FORMS = Forms()


def _parts(failure: Failure) -> list[str]:
    parts = failure.reason.partition(" differ in ")[2]
    return [name for name in _PARTS if name in parts]


def _worst(failure: Failure) -> Topic:
    return _PARTS[_parts(failure)[0]]


def _wrong_call(failure: Failure) -> tuple[str, Any] | None:
    """Return name and arguments of the first call of the report that the model did not write.

    None if every call of the response has valid arguments: then all of them are compared.
    """
    if all_complete(failure):
        return None
    written = {plain(str(call)) for call in failure.response.expected.calls}
    for text in failure.report.calls:
        name, _, arguments = text.removesuffix(")").partition("(")
        if plain(text) not in written and _is_json(arguments):
            return name, json.loads(arguments)
    return None


def _is_json(text: str) -> bool:
    """Return whether a text is JSON. A report shortens long arguments, and has invalid ones as they are."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
