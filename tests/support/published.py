"""The published results, which are more than 50 MB of JSON: only tests marked `page` decode them, once in a process.

A decoded `Run` of them needs 250 MB. What is here has the results one by one, and shares what is equal in them, so that
`published` and `published_file` together add 170 MB to the memory of a process. Plain tests read the names and versions
of `publish.summary`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec

from toolparity.conformance.cli.publish import FOLDER, RESULTS
from toolparity.conformance.reproductions import Accusation, accusations
from toolparity.conformance.reproductions import shortest as shortest_of
from toolparity.reports.results import BROKEN, FORMAT, Result, Run, Verdict


class _Undecoded(Run, frozen=True, omit_defaults=True, tag_field="format", tag=FORMAT):
    """The run with its results as JSON texts."""

    results: list[msgspec.Raw]  # type: ignore[assignment]


def unpacked() -> bytes:
    """The JSON of the results, in one buffer of the size that the last bytes of the file state."""
    data = (FOLDER / RESULTS).read_bytes()
    return zlib.decompress(data, wbits=31, bufsize=int.from_bytes(data[-4:], "little"))


def undecoded() -> _Undecoded:
    """The run as it is in the file."""
    return msgspec.json.decode(unpacked(), type=_Undecoded)


@cache
def published() -> Run:
    """The run. A result that breaks no law has no rounds."""
    run = undecoded()
    members = {name: getattr(run, name) for name in Run.__struct_fields__}
    return Run(**{**members, "results": list(_results(run.results))})


def _results(raw: list[msgspec.Raw]) -> Iterator[Result]:
    words: dict[str, str] = {}
    lists: dict[tuple[Verdict, ...], list[Verdict]] = {}
    for text in raw:
        one = msgspec.json.decode(text, type=Result)
        if any(verdict.outcome in BROKEN for verdict in one.verdicts):
            yield one
        else:
            place = (one.subject, one.scenario, one.surface, one.mode, one.policy)
            verdicts = lists.setdefault(tuple(one.verdicts), one.verdicts)
            yield Result(*(words.setdefault(word, word) for word in place), verdicts)


@cache
def published_file() -> dict[str, Any]:
    """The results file as plain JSON, for tests that count anew: no traffic, and of rounds only whether there are any.

    Of a verdict it has the law, the outcome and the effect.
    """
    run = undecoded()
    made: dict[str, Any] = {name: msgspec.to_builtins(getattr(run, name)) for name in ("subjects", "laws", "kills")}
    made["sources"] = msgspec.to_builtins(run.sources)
    words: dict[str, str] = {}
    verdicts: dict[tuple[Any, ...], dict[str, Any]] = {}
    made["results"] = []
    for text in run.results:
        case = msgspec.json.decode(text)
        found = [(one["check"], one["outcome"], one.get("effect", "")) for one in case["verdicts"]]
        place = {name: words.setdefault(case[name], case[name]) for name in _PLACE}
        kept = [verdicts.setdefault(one, dict(zip(("check", "outcome", "effect"), one, strict=True))) for one in found]
        made["results"].append({**place, "verdicts": kept, "rounds": bool(case.get("rounds"))})
    return made


_PLACE = ("subject", "scenario", "surface", "mode", "policy")


@cache
def failures() -> list[Accusation]:
    """The failures of the run that a script can reproduce."""
    return list(accusations(published()))


@cache
def shortest() -> list[Accusation]:
    """The shortest case of each subject and law."""
    return shortest_of(failures())
