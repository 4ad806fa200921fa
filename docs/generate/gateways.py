"""The tables of gateways.md and the shipped baselines of the known gateways.

toolparity check --gateway portkey --no-baseline --unreleased --json run.json    a real run
python -m docs.generate.gateways run.json...          its failures by class, into the baselines and gateways.json
python -m docs.generate.gateways --confirm NAME...    which classes a direct request confirms, into gateways.json
python -m docs.generate.gateways --request CLASS      the direct request of a class, as a command for a shell

The classes are in docs/programs/gateways/classes.toml. A failure without a class ends the program, so that no
failure is expected before it is explained. A direct request uses through.py and not this project.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from docs.generate import DATA, filled
from docs.generate import PROGRAMS as ALL_PROGRAMS
from toolparity.conformance.cases.traffic import repieced, responses
from toolparity.conformance.gateway.client import address, auth_headers
from toolparity.conformance.gateway.known import known_gateway, process
from toolparity.conformance.gateway.reduction import TABLE as REDUCTIONS
from toolparity.conformance.runner import baseline
from toolparity.normalizer.wires.registry import spec
from toolparity.reports import results
from toolparity.reports.results import Effect, Result, Verdict

SEEN = DATA / "gateways.json"
PROGRAMS = ALL_PROGRAMS / "gateways"
#: The upstream of through.py.
UPSTREAM = "http://127.0.0.1:8795"
_LONGEST = 90


class FailureClass(Struct, frozen=True, forbid_unknown_fields=True):
    """One kind of failure of one gateway.

    It has the failures of ``laws`` whose reason or result matches the pattern ``reason``, with client wires, upstreams,
    modes and scenarios that match; an empty member matches all. ``everywhere``: the baseline expects it in every
    scenario. ``varies``: whether it fails depends on timing, so that the baseline expects it in each case, and
    none of its entries is stale. ``request`` and ``result``: in words. ``client``, ``upstream``,
    ``body`` and ``reply``: the direct request. ``body`` is a name of the file. ``reply`` is one, too, or the scenario
    whose first response is sent; ``cut`` breaks it off, as in `conformance.cases.broken`. ``shows``: a pattern that the
    output of through.py has only if the gateway fails. ``status``: that of the reply.
    """

    name: str
    gateway: str
    laws: list[str]
    request: str
    result: str
    body: str
    reply: str
    shows: str
    client: str
    upstream: str
    reason: str = ""
    clients: list[str] = []
    upstreams: list[str] = []
    modes: list[str] = []
    scenarios: list[str] = []
    everywhere: bool = False
    varies: bool = False
    cut: str = ""
    status: int = 200

    def has(self, result: Result, verdict: Verdict) -> bool:
        """Return whether a failure belongs to this class."""
        gateway, _, client = result.subject.partition(" as ")
        return (
            gateway == self.gateway
            and verdict.check in self.laws
            and (not self.clients or client in self.clients)
            and (not self.upstreams or result.surface in self.upstreams)
            and (not self.modes or result.mode in self.modes)
            and (not self.scenarios or any(fnmatchcase(result.scenario, one) for one in self.scenarios))
            and re.search(self.reason, f"{verdict.reason} | {verdict.got}", re.DOTALL) is not None
        )


class Classes(Struct, frozen=True, forbid_unknown_fields=True):
    """The file of the classes. The first class that has a failure counts it."""

    bodies: dict[str, str]
    replies: dict[str, str]
    classes: list[FailureClass]


def read_classes() -> Classes:
    """Read the file."""
    return msgspec.convert(tomllib.loads((PROGRAMS / "classes.toml").read_text("utf-8")), Classes)


def failures(run: results.Run) -> Iterator[tuple[Result, Verdict]]:
    """Yield the failures of a run."""
    for result in run.results:
        for verdict in result.verdicts:
            if verdict.outcome in ("fail", "new", "expected"):
                yield result, verdict


def classified(run: results.Run, known: Sequence[FailureClass]) -> Iterator[tuple[Result, Verdict, FailureClass]]:
    """Yield the failures of a run with their classes. Exits if one has none."""
    unknown = []
    for result, verdict in failures(run):
        found = next((one for one in known if one.has(result, verdict)), None)
        if found is None:
            unknown.append(f"{result.subject} {_case(result)} {verdict.check}: {verdict.reason} | {verdict.got}")
        else:
            yield result, verdict, found
    if unknown:
        sys.exit("\n".join(["failures without a class:", *unknown]))


def _case(result: Result) -> str:
    return f"{result.scenario} {result.surface} {result.mode}"


def entries(found: Iterable[tuple[Result, Verdict, FailureClass]]) -> list[baseline.BaselineEntry]:
    """Return the baseline of one subject: one entry for each class, law, scenario and effect."""
    groups: dict[tuple[str, str, str, Effect], list[Result]] = {}
    varying: dict[str, FailureClass] = {}
    for result, verdict, known in found:
        if known.varies:
            varying[known.name] = known
            continue
        scenario = "*" if known.everywhere else result.scenario
        groups.setdefault((known.result, verdict.check, scenario, verdict.effect), []).append(result)
    return [
        baseline.BaselineEntry(
            check=check,
            scenario=scenario,
            surface=_shared(result.surface for result in group),
            mode=_shared(result.mode for result in group),
            reason=reason,
            effect=effect,
        )
        for (reason, check, scenario, effect), group in sorted(groups.items())
    ] + [
        baseline.BaselineEntry(check=law, surface=surface, mode=mode, reason=one.result, varies=True)
        for one in varying.values()
        for law, surface, mode in product(one.laws, one.upstreams or ["*"], one.modes or ["*"])
    ]


def _shared(values: Iterable[str]) -> str:
    different = set(values)
    return different.pop() if len(different) == 1 else "*"


def updated(seen: dict[str, Any], run: results.Run, known: Sequence[FailureClass]) -> None:
    """Write the baselines of the subjects of a run, and note how many cases each class has."""
    found = list(classified(run, known))
    for subject in run.subjects:
        entries_of = entries(one for one in found if one[0].subject == subject.name)
        baseline.write(baseline.shipped_path(subject.name), entries_of)
    gateway = run.subjects[0].name.partition(" as ")[0]
    before = seen.get(gateway, {}).get("classes", {})
    counted: dict[str, dict[str, Any]] = {}
    for name in sorted({one.name for *_, one in found}):
        own = [(result, verdict) for result, verdict, one in found if one.name == name]
        counted[name] = {
            "cases": len({(result.subject, _case(result)) for result, _ in own}),
            "effects": sorted({verdict.effect for _, verdict in own}),
            "confirmed": before.get(name, {}).get("confirmed", False),
        }
    judged = sum(_is_judged(result) for result in run.results)
    seen[gateway] = {"version": run.subjects[0].version, "judged": judged, "classes": counted}


def _is_judged(result: Result) -> bool:
    """Return whether a law judged the case."""
    return any(verdict.outcome != "unsupported" for verdict in result.verdicts)


def arguments(one: FailureClass, classes: Classes, url: str) -> list[str]:
    """Return the arguments of through.py for a class."""
    routes = known_gateway(one.gateway).routes(UPSTREAM)[one.client]
    route = next(route for route in routes if route.upstream == one.upstream)
    body = {"model": route.model, **json.loads(classes.bodies[one.body])}
    headers = {**auth_headers(address(url)), **route.headers}
    wire = spec(one.client)
    at = url + wire.base_path + wire.path
    reply = classes.replies.get(one.reply) or _recorded_reply(one, "stream" if body.get("stream") else "plain")
    status = [str(one.status)] if one.status != 200 else []
    return [at, json.dumps(headers), json.dumps(body, ensure_ascii=False), reply, *status]


def _recorded_reply(one: FailureClass, mode: str) -> str:
    """Return the first response of the scenario."""
    response = responses(one.reply, one.upstream, mode)[0]
    pieces = repieced(response, one.cut, one.reply) if one.cut else response.pieces
    assert pieces is not None, f"{one.name}: the response cannot be cut so"
    return os.fsdecode(b"".join(pieces))


def confirmed(name: str, classes: Classes) -> list[str]:
    """Return the classes of a gateway that a direct request shows. Prints the others with what was printed."""
    shown = []
    with process.running(known_gateway(name), UPSTREAM, 1) as (url,):
        for one in classes.classes:
            if one.gateway != name:
                continue
            command = [sys.executable, "-I", str(PROGRAMS / "through.py"), *arguments(one, classes, url)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=_LONGEST, check=False)
            if re.search(one.shows, done.stdout, re.DOTALL):
                shown.append(one.name)
            else:
                print(f"{one.name}: NOT CONFIRMED\n{done.stdout}{done.stderr}", flush=True)
    return shown


def table(seen: dict[str, Any], classes: Classes) -> str:
    """Return the table: the classes that failed and are confirmed, by gateway."""
    lines = ["| gateway | request | result | effect | cases |", "|---|---|---|---|---|"]
    for one in classes.classes:
        counted = seen[one.gateway]["classes"].get(one.name, {}) if one.gateway in seen else {}
        if counted.get("confirmed"):
            effects = ", ".join(f"`{effect}`" for effect in counted["effects"])
            about = f"`{one.gateway}` {seen[one.gateway]['version']}"
            lines.append(f"| {about} | {one.request} | {one.result} | {effects} | {counted['cases']} |")
    judged = "; ".join(f"`{name}` {run['version']}: {run['judged']:,}" for name, run in sorted(seen.items()))
    return "\n".join([*lines, "", f"Cases that were judged: {judged}.", ""])


def reductions() -> str:
    """Return the table of what is not judged between two wires."""
    lines = ["| capability | laws that are not judged |", "|---|---|"]
    lines += [f"| {row.capability} | {', '.join(f'`{law}`' for law in row.laws)} |" for row in REDUCTIONS]
    return "\n".join([*lines, ""])


def files() -> dict[Path, str]:
    """Return the page."""
    seen = json.loads(SEEN.read_text("utf-8"))
    return filled("gateways.md", {"confirmed failures": table(seen, read_classes()), "reductions": reductions()})


def main(options: Sequence[str]) -> None:
    """Do what the arguments select."""
    classes = read_classes()
    seen = json.loads(SEEN.read_text("utf-8")) if SEEN.exists() else {}
    if options[0] == "--request":
        one = next(one for one in classes.classes if one.name == options[1])
        print(shlex.join(["python", "through.py", *arguments(one, classes, "http://127.0.0.1:PORT")]))
        return
    if options[0] == "--confirm":
        for name in options[1:]:
            shown = confirmed(name, classes)
            for one, counted in seen[name]["classes"].items():
                counted["confirmed"] = one in shown
    else:
        for path in options:
            updated(seen, results.read(Path(path).read_bytes()), classes.classes)
    SEEN.write_text(json.dumps(seen, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
