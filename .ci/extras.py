"""Resolve the extras of pyproject.toml by pip and uv. Fail if one conflicts, backtracks or takes too long.

    python .ci/extras.py [EXTRA…]                # these extras, or all
    python .ci/extras.py --pairs [EXTRA…]        # also each of them together with each other extra
    python .ci/extras.py --changed-since [REF]   # only extras whose requirements differ from those in the commit REF
    python .ci/extras.py --uv --python 3.14      # only uv, also for another version of Python, from wheels alone

Without REF, the commit is the last one that is a day older than HEAD. Without `--pip` and `--uv`, the tools are the
oldest pip that is supported, the newest pip, and uv. They are installed into a temporary folder, nothing else is, and
they use the index and the cache that are configured for them. A wheel of this tree is built once, and each tool
resolves `toolparity[EXTRA]` of that wheel as for an empty environment. Extras with the same requirements are resolved
once. Standard output has a table with seconds and results, standard error the progress and the reasons of failures.
Exit code 1 if anything failed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from collections.abc import Iterable, Sequence, Set
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
#: The first pip that reads the metadata which PyPI has beside each wheel (PEP 714). Earlier ones download every wheel
#: that they consider. Python 3.11.7, 3.12.1 and later versions bring it or a newer one.
OLDEST_PIP = "23.2"
NEWEST = "newest"
DAY = 24 * 60 * 60
BACKTRACKING = re.compile(r"pip is (?:still )?looking at multiple versions of (\S+)|This is taking longer than usual")
#: Where the reason begins in the output of pip or uv, and where pip begins to give advice.
REASON = re.compile(r"ERROR:|error:|The conflict is caused by")
ADVICE = "To fix this you could try to"
#: How many lines of a reason are shown from its beginning and from its end: some list each release of a project.
REASON_HEAD, REASON_TAIL = 8, 4


class Project(NamedTuple):
    """The requirements of a pyproject.toml. ``extras``: those of each extra, and of all extras that it refers to."""

    base: frozenset[str]
    extras: dict[str, frozenset[str]]


class Row(NamedTuple):
    """Extras that are installed together. ``same_as``: a row above with the same requirements, which is resolved."""

    label: str
    extras: tuple[str, ...]
    same_as: str | None


class Tool(NamedTuple):
    """``python``: the interpreter of its environment. ``target``: the version of Python that uv resolves for."""

    name: str
    python: Path
    target: str | None = None


class Outcome(NamedTuple):
    """``result``: "ok", or what is wrong. ``reason``: what the tool printed about it."""

    result: str
    seconds: float
    packages: int | None = None
    reason: str = ""


def project_of(text: str) -> Project:
    """Return the requirements in the text of a pyproject.toml."""
    table = tomllib.loads(text)["project"]
    own = re.compile(rf"{re.escape(table['name'])}\s*\[(?P<extras>[^\]]*)\]$")
    listed: dict[str, list[str]] = table.get("optional-dependencies", {})

    def expanded(extra: str, above: tuple[str, ...]) -> Iterable[str]:
        for requirement in listed.get(extra, ()):
            reference = own.match(requirement)
            if reference is None:
                yield requirement
            for other in reference["extras"].split(",") if reference else ():
                if other.strip() not in above:
                    yield from expanded(other.strip(), (*above, other.strip()))

    base = frozenset([*table.get("dependencies", ()), f"python {table.get('requires-python', '')}"])
    return Project(base, {extra: frozenset(expanded(extra, (extra,))) for extra in listed})


def changed(before: Project, now: Project) -> list[str]:
    """Return the extras whose installation a change concerns."""
    if before.base != now.base:
        return list(now.extras)
    return [extra for extra, requirements in now.extras.items() if before.extras.get(extra) != requirements]


def rows_of(project: Project, chosen: Set[str], pairs: bool) -> list[Row]:
    """Return a row for each chosen extra and, if ``pairs``, for each of them with each other extra."""
    groups: list[tuple[str, ...]] = [(extra,) for extra in project.extras if extra in chosen]
    if pairs:
        groups += [pair for pair in itertools.combinations(project.extras, 2) if not chosen.isdisjoint(pair)]
    rows: list[Row] = []
    first: dict[frozenset[str], str] = {}
    for group in groups:
        label = " + ".join(group)
        requirements = frozenset().union(*(project.extras[extra] for extra in group))
        rows.append(Row(label, group, first.get(requirements)))
        first.setdefault(requirements, label)
    return rows


def backtracks(text: str) -> str | None:
    """Return what pip says about backtracking, or None."""
    found = BACKTRACKING.search(text)
    return None if found is None else f"backtracks at {found[1]}" if found[1] else "backtracks"


def reason_of(text: str) -> str:
    """Return the part of an output of pip or uv that says why it failed."""
    lines = text.splitlines()
    start = next((number for number, line in enumerate(lines) if REASON.match(line)), 0)
    end = next((number for number, line in enumerate(lines) if line.startswith(ADVICE) and number > start), len(lines))
    shown = lines[start:end]
    if len(shown) > REASON_HEAD + REASON_TAIL:
        shown = [*shown[:REASON_HEAD], "    …", *shown[-REASON_TAIL:]]
    return "\n".join(shown).strip()


def table_of(rows: Sequence[Row], tools: Sequence[str], outcomes: dict[tuple[str, str], Outcome]) -> str:
    """Return the Markdown table of the results: a line for each row, a column for each tool."""
    lines = [f"| extras | packages | {' | '.join(tools)} |", "|---|---|" + "---|" * len(tools)]
    for row in rows:
        if row.same_as is not None:
            lines.append(f"| {row.label} | | " + " | ".join([f"as {row.same_as}"] * len(tools)) + " |")
            continue
        results = [outcomes[row.label, tool] for tool in tools]
        packages = sorted({str(one.packages) for one in results if one.packages is not None})
        cells = [f"{one.result if one.result == 'ok' else f'**{one.result}**'}, {one.seconds:.1f} s" for one in results]
        lines.append(f"| {row.label} | {'/'.join(packages)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def git(*arguments: str) -> str | None:
    """Return what a git command prints, or None if it fails."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def earlier(reference: str) -> tuple[str, Project | None]:
    """Return a commit and its requirements, or None for these if HEAD has no such commit before it."""
    if not reference:
        last = git("log", "-1", "--format=%ct", "HEAD")
        if last is None:
            sys.exit("extras: this is not a git repository, so what changed is unknown; name extras instead")
        reference = git("rev-list", "-1", "--first-parent", f"--before={int(last) - DAY}", "HEAD") or ""
        if not reference:
            return "the beginning", None
    commit = git("rev-parse", "--verify", "--quiet", f"{reference}^{{commit}}")
    if commit is None:
        sys.exit(f"extras: {reference!r} is not a commit of this repository; a shallow clone lacks it (git fetch)")
    text = git("show", f"{commit}:pyproject.toml")
    return commit[:12], None if text is None else project_of(text)


def run(command: Sequence[str | Path], log: Path, limit: float, given: str = "") -> int | None:
    """Run a command with its output in a file. Return its exit code, or None if it took too long."""
    quiet = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "UV_PYTHON_DOWNLOADS": "never", "NO_COLOR": "1"}
    with log.open("wb") as output:
        try:
            done = subprocess.run(
                list(map(str, command)),
                cwd=log.parent,
                env=os.environ | quiet,
                input=given.encode(),
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None
    return done.returncode


def environment(folder: Path, *requirements: str) -> Path:
    """Make an environment with these requirements. Return its interpreter."""
    venv.create(folder)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    log = folder / "log"
    if run([sys.executable, "-m", "pip", "--python", python, "install", *requirements], log, 600) != 0:
        sys.exit(f"extras: {' '.join(requirements)} cannot be installed:\n{reason_of(log.read_text('utf-8'))}")
    return python


def version_of(python: Path, distribution: str) -> str:
    code = f"from importlib.metadata import version; print(version({distribution!r}))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def tools_of(folder: Path, pips: Sequence[str], with_uv: bool, pythons: Sequence[str]) -> list[Tool]:
    tools = []
    for number, version in enumerate(pips):
        python = environment(folder / f"pip-{number}", "pip" if version == NEWEST else f"pip=={version}")
        tools.append(Tool(f"pip {version_of(python, 'pip')}", python))
    if with_uv:
        python = environment(folder / "uv", "uv")
        name = f"uv {version_of(python, 'uv')}"
        tools.append(Tool(name, python))
        tools += [Tool(f"{name}, Python {target}", python, target) for target in pythons]
    return tools


def wheel_of(folder: Path) -> Path:
    """Build the wheel of this tree. Return its path."""
    log = folder / "build.log"
    if run([sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder, ROOT], log, 600) != 0:
        sys.exit(f"extras: the wheel of this tree cannot be built:\n{reason_of(log.read_text('utf-8'))}")
    (wheel,) = folder.glob("*.whl")
    return wheel


def resolve(tool: Tool, requirement: str, folder: Path, limit: float) -> Outcome:
    log, report = folder / "log", folder / "report.json"
    report.unlink(missing_ok=True)
    started = time.monotonic()
    command: list[str | Path]
    if tool.name.startswith("uv"):
        command = [tool.python, "-m", "uv", "pip", "compile", "--quiet", "--no-annotate", "--no-header", "-o", report]
        if tool.target is not None:
            command += ["--python-version", tool.target, "--only-binary", ":all:"]
        code = run([*command, "-"], log, limit, requirement)
    else:
        command = [tool.python, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--no-input"]
        code = run([*command, "--progress-bar", "off", "--report", report, requirement], log, limit)
    seconds = time.monotonic() - started
    text = log.read_text("utf-8", errors="replace")
    backtracking = None if tool.name.startswith("uv") else backtracks(text)
    if code is None:
        return Outcome(f"over {limit:g} s{f', {backtracking}' if backtracking else ''}", seconds)
    if code != 0:
        return Outcome("does not resolve", seconds, reason=reason_of(text))
    written = report.read_text("utf-8")
    packages = len(json.loads(written)["install"]) if written.startswith("{") else len(written.splitlines())
    return Outcome(backtracking or "ok", seconds, packages)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("extras", nargs="*", metavar="EXTRA", help="an extra of pyproject.toml; none: all")
    parser.add_argument(
        "--changed-since", nargs="?", const="", metavar="REF", help="only extras that changed since REF"
    )
    parser.add_argument("--pairs", action="store_true", help="also each extra together with each other one")
    parser.add_argument(
        "--pip", action="append", default=[], metavar="VERSION", help=f"a version of pip, or {NEWEST!r}; repeatable"
    )
    parser.add_argument("--uv", action="store_true", help="the newest uv")
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="VERSION",
        help="a version of Python for which uv resolves, too, from wheels alone; repeatable",
    )
    parser.add_argument(
        "--limit", type=float, default=120, metavar="SECONDS", help="for each resolution (default: 120)"
    )
    arguments = parser.parse_args()
    project = project_of((ROOT / "pyproject.toml").read_text("utf-8"))
    if unknown := set(arguments.extras) - set(project.extras):
        parser.error(f"pyproject.toml has no extra {', '.join(sorted(unknown))}; it has {', '.join(project.extras)}")
    chosen = set(arguments.extras or project.extras)
    if arguments.changed_since is not None:
        commit, before = earlier(arguments.changed_since)
        chosen &= set(project.extras if before is None else changed(before, project))
        print(f"extras: {len(chosen)} of {len(project.extras)} changed since {commit}", file=sys.stderr)
        if not chosen:
            print("No requirement of an extra changed.")
            return 0
    default = not (arguments.pip or arguments.uv or arguments.python)
    pips = [OLDEST_PIP, NEWEST] if default else arguments.pip
    rows = rows_of(project, chosen, arguments.pairs)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tools = tools_of(folder, pips, default or arguments.uv or bool(arguments.python), arguments.python)
        wheel = wheel_of(folder)
        outcomes = resolved([row for row in rows if row.same_as is None], tools, wheel, arguments.limit)
    print(table_of(rows, [tool.name for tool in tools], outcomes))
    failed = sum(outcome.result != "ok" for outcome in outcomes.values())
    print(f"extras: {failed} of {len(outcomes)} resolutions failed", file=sys.stderr)
    return bool(failed)


def resolved(rows: Sequence[Row], tools: Sequence[Tool], wheel: Path, limit: float) -> dict[tuple[str, str], Outcome]:
    outcomes: dict[tuple[str, str], Outcome] = {}
    for row, tool in itertools.product(rows, tools):
        requirement = f"toolparity[{','.join(row.extras)}] @ {wheel.as_uri()}"
        outcome = outcomes[row.label, tool.name] = resolve(tool, requirement, wheel.parent, limit)
        place = f"{len(outcomes)}/{len(rows) * len(tools)}"
        print(f"{place}  {row.label}: {tool.name}: {outcome.result}, {outcome.seconds:.1f} s", file=sys.stderr)
        if outcome.reason:
            print(outcome.reason, file=sys.stderr)
    return outcomes


if __name__ == "__main__":
    sys.exit(main())
