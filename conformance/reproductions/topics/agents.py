"""Failures of agents: what they ran, and the request that they sent afterwards."""

from __future__ import annotations

import json
from collections.abc import Sequence

from toolparity.normalizer.requests import check_request

from ...oracle import oracle
from ..failure import Failure
from ..output import Output, call_text
from ..same import same_calls
from .topic import Topic


class Runs(Topic):
    """What an agent ran."""

    def names(self, failure: Failure) -> Sequence[str]:
        """Return the runs."""
        return ["ran"]

    def confirms(self, failure: Failure, output: Output) -> bool:
        """Compare the runs with those of the report."""
        return same_calls(output.runs(), failure.report.calls)

    def python(self, failure: Failure, lines: Sequence[str]) -> list[str]:
        """Require runs of the calls that may run, by their names."""
        names = sorted(name for name, _ in _runnable(failure))
        return [*_suppressed(lines), f"assert sorted(name for name, _ in ran) == {names}"]

    def javascript(self, failure: Failure) -> str:
        """Require runs of the calls that may run."""
        return f"expect(ran).toEqual({json.dumps(_runnable(failure))})"


class RunArguments(Runs):
    """The arguments with which an agent ran the calls."""

    def python(self, failure: Failure, lines: Sequence[str]) -> list[str]:
        """Require the arguments of the model, in the form of the library: values, or their text."""
        arguments = [arguments for _, arguments in _runnable(failure)]
        values = "[json.loads(value) if isinstance(value, str) else value for _, value in ran]"
        return [*_suppressed(lines), f"arguments = {values}", f"assert arguments == {arguments}"]


class NextRequest(Runs):
    """The request that an agent sent after the runs. Only the provider can judge it, so it has no test."""

    def names(self, failure: Failure) -> Sequence[str]:
        """Return the runs and the request; of an agent that raised an error, the runs."""
        return ["ran"] if failure.is_refusal else ["ran", "sent"]

    def confirms(self, failure: Failure, output: Output) -> bool:
        """Compare the runs, and look for the accused value, or for what is missing, in the request."""
        if not super().confirms(failure, output):
            return False
        if failure.verdict.effect == "lost" and (content := failure.verdict.expected.rstrip("…")):
            return json.dumps(content)[1:-1] not in json.dumps(output.values["sent"])
        return failure.verdict.got in _shown_in_request(failure, output)


RUNS, RUN_ARGUMENTS, NEXT_REQUEST = Runs(), RunArguments(), NextRequest()


def _runnable(failure: Failure) -> list[tuple[str, object]]:
    """Return name and arguments of the calls that an agent may run."""
    expected = failure.response.expected
    return [(expected.calls[index].name, expected.calls[index].arguments) for index in expected.runnable]


def _suppressed(lines: Sequence[str]) -> list[str]:
    *before, last = lines
    return [*before, "try:", f"    {last}", "except Exception:", "    pass  # the second request fails"]


def _shown_in_request(failure: Failure, output: Output) -> list[str]:
    """Return what a verdict can state about the next request of an agent: its broken rules, and its calls."""
    sent, response = output.values["sent"], failure.response
    wire = response.surface.wire
    broken = [f"{rule.path}: {rule.message}" for rule in check_request(sent, wire, provider=response.provider)]
    calls = [call_text(item.name, item.content) for item in oracle(wire).items(sent) if item.kind == "call"]
    return [*broken, *calls, ", ".join(calls)]
