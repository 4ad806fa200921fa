"""Failures about the end of a response: a wrong stop reason, or a break that nothing shows."""

from __future__ import annotations

from collections.abc import Sequence

from ...subjects.peers.stops import STOPS
from ..failure import Failure
from ..output import Output
from .topic import Topic

#: The stop reasons of a response that reached its end.
_WHOLE = ("end_turn", "tool_calls", "stop_sequence")


class Stop(Topic):
    """The stop reason of a response."""

    def names(self, failure: Failure) -> Sequence[str]:
        """Return the stop reason."""
        return ["stop"]

    def confirms(self, failure: Failure, output: Output) -> bool:
        """Compare the stop reason with the accused one."""
        return output.stop(failure.report.calls, failure.response.data) == failure.verdict.got

    def python(self, failure: Failure, lines: Sequence[str]) -> list[str]:
        """Require a word for the expected stop reason."""
        words = sorted(_expected_words(failure))
        return [*lines, *_words(failure.code.values["stop"]), f"assert words.intersection({words})"]

    def javascript(self, failure: Failure) -> str:
        """Require a word for the expected stop reason."""
        words = _expected_words(failure)
        return f"expect(JSON.stringify({failure.code.values['stop']})).toMatch({_pattern(words)})"


class CompleteEnd(Stop):
    """A complete response that is reported as incomplete."""

    def names(self, failure: Failure) -> Sequence[str]:
        """Return the stop reason, and the state of the response."""
        return ["stop", "complete", "answer"]

    def confirms(self, failure: Failure, output: Output) -> bool:
        """Return whether the values show a break."""
        return _shows_break(failure, output)

    def expected(self, failure: Failure) -> str:
        """Return what a script should print."""
        return "values of a complete response"


class Break(Topic):
    """A stream that broke. A state, an error or the lack of a stop reason shows it."""

    def names(self, failure: Failure) -> Sequence[str]:
        """Return the stop reason, the state, or the whole answer of a library that has neither."""
        return ["stop", "complete", "answer"]

    def confirms(self, failure: Failure, output: Output) -> bool:
        """Return whether no value shows the break."""
        return not _shows_break(failure, output)

    def python(self, failure: Failure, lines: Sequence[str]) -> list[str]:
        """Require a state, an error, or the lack of a word for a complete response."""
        values = failure.code.values
        if "complete" in values:
            return [*lines, f'assert {values["complete"]} != "complete"']
        block = [f"    {line}" for line in lines]
        if "stop" not in values:
            return ["with pytest.raises(Exception):", *block]
        shown = ["except Exception:", "    return  # an error shows the break"]
        return [
            *("try:", *block, *shown, *_words(values["stop"])),
            f"assert not words.intersection({sorted(stop_words(_WHOLE))})",
        ]

    def javascript(self, failure: Failure) -> str:
        """Require the word for an interrupted stream."""
        return f'expect({failure.code.values["stop"]}).toContain("interrupted")'

    def expected(self, failure: Failure) -> str:
        """Return what a script should print."""
        return "an error, or values that show that the stream broke"


STOP, COMPLETE_END, BREAK = Stop(), CompleteEnd(), Break()


def stop_words(reasons: Sequence[str]) -> list[str]:
    """Return the words of providers and libraries for canonical stop reasons."""
    return [word for word, reason in STOPS.items() if reason in reasons]


def _expected_words(failure: Failure) -> list[str]:
    """Return the words for the expected stop reason. Responses has one word for calls and for a plain end."""
    stop = failure.response.expected.stop
    without_word = failure.response.surface.wire == "openai.responses" and stop in ("tool_calls", "refusal", "pause")
    return stop_words([stop, *["end_turn"] * without_word])


def _words(expression: str) -> list[str]:
    """Return the line that reads every word of a value."""
    return [f'words = set(re.findall(r"[a-z_]+", str({expression}).lower()))']


def _pattern(words: Sequence[str]) -> str:
    """Return a regular expression for one of these words. The AI SDK has them with hyphens."""
    return f"/\\b({'|'.join(words)})\\b/".replace("_", "[_-]")


def _shows_break(failure: Failure, output: Output) -> bool:
    return output.shows_break([failure.verdict.got] * (failure.verdict.got == "tool_calls"))
