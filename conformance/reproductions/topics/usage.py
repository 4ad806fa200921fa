"""Failures about token counts."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..failure import Failure
from ..output import Output
from .topic import Topic


class Usage(Topic):
    """A token count."""

    def names(self, failure: Failure) -> Sequence[str]:
        """Return the token counts."""
        return ["usage"]

    def confirms(self, failure: Failure, output: Output) -> bool:
        """Compare the accused count."""
        return output.count(_name(failure)) == _count(failure.verdict.got, _name(failure))

    def python(self, failure: Failure, lines: Sequence[str]) -> list[str]:
        """Require the expected count, or that the accused one does not occur."""
        wanted, unwanted = _both(failure)
        compared = f'"{wanted}" in counts' if wanted is not None else f'"{unwanted}" not in counts'
        counts = f'counts = re.findall(r"\\d+", json.dumps({failure.code.values["usage"]}, default=str))'
        return [*lines, counts, f"assert {compared}"]

    def javascript(self, failure: Failure) -> str:
        """Require the expected count, or that the accused one does not occur."""
        wanted, unwanted = _both(failure)
        compared = f'toContain("{wanted}")' if wanted is not None else f'not.toContain("{unwanted}")'
        return f"expect(JSON.stringify({failure.code.values['usage']}).match(/\\d+/g) ?? []).{compared}"


USAGE = Usage()


def _name(failure: Failure) -> str:
    """Return the name of the accused count, with which the reason begins."""
    return failure.verdict.reason.partition(" ")[0]


def _both(failure: Failure) -> tuple[int | None, int | None]:
    """Return the expected and the accused count."""
    name = _name(failure)
    return _count(failure.verdict.expected, name), _count(failure.verdict.got, name)


def _count(text: str, name: str) -> int | None:
    value = json.loads(text or "null")
    return value.get(name) if isinstance(value, dict) else value
