"""Failures about the calls that a library returns: which ones, in which order, with which arguments and ids."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from toolparity.reports.results import brief

from ...cases.expected import ExpectedCall
from ..failure import Failure
from ..output import Output
from ..same import plain, same_calls
from .topic import Topic


class Calls(Topic):
    """The calls in any order."""

    def names(self, failure: Failure) -> Sequence[str]:
        """Return the calls."""
        return ["calls"]

    def confirms(self, failure: Failure, output: Output) -> bool:
        """Compare the calls with those of the report."""
        return same_calls(output.calls(), failure.report.calls)

    def python(self, failure: Failure, lines: Sequence[str]) -> list[str]:
        """Require the calls of the model, or their names if some cannot be parsed."""
        code = failure.code
        before = [*lines, *code.gather]
        if all_complete(failure):
            return [*before, f"calls = {code.values['pairs']}", f"assert calls == {wanted_calls(failure)}"]
        names = [call.name for call in wanted(failure)]
        return [*before, f"names = {code.values['names']}", f"assert names == {names}"]

    def javascript(self, failure: Failure) -> str:
        """Require the calls of the model, or their names if some cannot be parsed."""
        if all_complete(failure):
            return f"expect({failure.code.values['pairs']}).toEqual({json.dumps(wanted_calls(failure))})"
        names = json.dumps([call.name for call in wanted(failure)])
        return f"expect({failure.code.values['names']}).toEqual({names})"


class Order(Calls):
    """The order of the calls."""

    def confirms(self, failure: Failure, output: Output) -> bool:
        """Compare the calls with those of the report, in their order."""
        return [plain(call) for call in output.calls()] == list(map(plain, failure.report.calls))


class Arguments(Calls):
    """The arguments of the calls. Invalid ones must not become values."""

    def python(self, failure: Failure, lines: Sequence[str]) -> list[str]:
        """Require the calls of the model; of invalid arguments their text, or another value than the accused one."""
        values = failure.code.values
        if all_complete(failure):
            return super().python(failure, lines)
        before = [*lines, *failure.code.gather]
        texts = [call.text for call in wanted(failure)]
        if "texts" in values and None not in texts:
            return [*before, f"texts = {values['texts']}", f"assert texts == {texts}"]
        calls = f"calls = {values['pairs']}"
        text = repr(_accused(failure))
        if "nan" in text or "inf" in text:  # such numbers have no literal, and NaN is not equal to itself
            return [*before, calls, f"assert {text!r} not in [str(arguments) for _, arguments in calls]"]
        return [*before, calls, f"assert {text} not in [arguments for _, arguments in calls]"]

    def javascript(self, failure: Failure) -> str:
        """Require the calls of the model, or another value than the accused one."""
        if all_complete(failure):
            return super().javascript(failure)
        inputs = f"({failure.code.values['pairs']}).map(([, input]) => input)"
        return f"expect({inputs}).not.toContainEqual({json.dumps(_accused(failure))})"


class Ids(Calls):
    """The ids of the calls."""

    def confirms(self, failure: Failure, output: Output) -> bool:
        """Look for the accused id."""
        return failure.verdict.got in output.ids()

    def python(self, failure: Failure, lines: Sequence[str]) -> list[str]:
        """Require that the accused id does not occur."""
        shown = f"calls = json.dumps({failure.code.values['calls']}, default=str)"
        return [*lines, shown, f"assert {json.dumps(failure.verdict.got)!r} not in calls"]

    def javascript(self, failure: Failure) -> str:
        """Require that the accused id does not occur."""
        got = json.dumps(json.dumps(failure.verdict.got))
        return f"expect(JSON.stringify({failure.code.values['calls']})).not.toContain({got})"


class Text(Topic):
    """The text of the answer."""

    def names(self, failure: Failure) -> Sequence[str]:
        """Return the text."""
        return ["text"]

    def confirms(self, failure: Failure, output: Output) -> bool:
        """Compare the text with the accused one."""
        return brief(output.text) == failure.verdict.got

    def python(self, failure: Failure, lines: Sequence[str]) -> list[str]:
        """Require the text of the model."""
        values = failure.code.values
        text = values.get("string", values["text"])
        return [*lines, f"text = {text}", f"assert text == {failure.response.expected.text!r}"]

    def javascript(self, failure: Failure) -> str:
        """Require the text of the model."""
        return f"expect({failure.code.values['text']}).toBe({json.dumps(failure.response.expected.text)})"


CALLS, ORDER, ARGUMENTS, IDS, TEXT = Calls(), Order(), Arguments(), Ids(), Text()


def wanted(failure: Failure) -> list[ExpectedCall]:
    """Return the calls that the caller of a library gets: those of the first choice."""
    return [call for call in failure.response.expected.calls if call.choice == 0]


def wanted_calls(failure: Failure) -> list[tuple[str, Any]]:
    """Return their names and arguments; of a call without an object, its text."""
    return [(call.name, call.text if call.arguments is None else call.arguments) for call in wanted(failure)]


def all_complete(failure: Failure) -> bool:
    """Return whether every call of the response has valid arguments."""
    return all(call.status == "complete" for call in failure.response.expected.calls)


def _accused(failure: Failure) -> Any:
    """Return the accused value: parsed JSON, or the text."""
    try:
        return json.loads(failure.verdict.got)
    except ValueError:
        return failure.verdict.got
