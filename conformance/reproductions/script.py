"""Writes the script that reproduces a failure: at most 20 lines that need only the library and the response's file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from toolparity.reports.results import brief

from ..subjects import distribution_of
from ..subjects.peers import PEERS
from .code import Code
from .failure import Failure
from .servers import SERVERS
from .topics import topic_of

#: The maximum number of lines of a script, and of characters in a line.
LINES, COLUMNS = 20, 120


class Script:
    """The script for a failure.

    ``text``: the program. ``name``: its file name. ``install``: the command that installs what it needs. ``server``:
    the code of its server. ``node``: it is JavaScript.
    """

    def __init__(self, failure: Failure) -> None:
        subject, code, response = failure.result.subject, failure.code, failure.response
        peer, topic = PEERS.get(subject), topic_of(failure)
        node = self.node = peer is not None and peer.runtime == "node"
        server = self.server = SERVERS[code.server](failure.ask, response.file, response.status)
        self.name = f"{subject}.{response.stem}.{'mjs' if node else 'py'}"
        self.install = _install(code.packages, _versions(subject, failure.version), node=node)
        names = [name for name in topic.names(failure) if name in code.values]
        comment = "//" if node else "#"
        parts = [
            imports_of([*server.imports, *code.imports], node=node),
            list(server.lines),
            _last(code, raises=failure.is_refusal or not failure.is_of_agent, node=node),
            _print(code, names, node=node),
        ]
        expected = brief(f"{comment} expected: {' '.join(topic.expected(failure).split())}", COLUMNS)
        self.text = "\n".join(_laid_out(parts, f"{comment} {self.install}", expected)) + "\n"


def imports_of(lines: Iterable[str], *, node: bool) -> list[str]:
    """Return the imports once; in Python those of modules in one line, then those of members."""
    if node:
        return list(dict.fromkeys(lines))
    modules = sorted({line.removeprefix("import ") for line in lines if line.startswith("import ")})
    members = sorted({line for line in lines if line.startswith("from ")}, key=str.lower)
    return [f"import {', '.join(modules)}"] * bool(modules) + members


def _last(code: Code, *, raises: bool, node: bool) -> list[str]:
    """Return the lines of the library. Unless it ``raises``, an error about a second request is suppressed."""
    if raises:
        return list(code.lines)
    *before, last = code.lines
    if node:
        return [*before, f"try {{ {last} }} catch {{}} // the second request fails"]
    return [*before, f"try: {last}", "except Exception: pass  # the second request fails"]


def _print(code: Code, names: Sequence[str], *, node: bool) -> list[str]:
    """Return the lines that print the values as JSON, in one line if it is short enough."""
    if node:
        start, end = "console.log(JSON.stringify({", "}));"
        members = [f"{name}: {code.values[name]}" for name in names]
        short = f"{start} {', '.join(members)} {end}"
    else:
        start, end = "print(json.dumps({", "}, default=str))"
        members = [f'"{name}": {code.values[name]}' for name in names]
        short = f"{start}{', '.join(members)}{end}"
    lines = [short] if len(short) <= COLUMNS else [start, *(f"    {member}," for member in members), end]
    return [*lines, *["process.exit();"] * node]


def _laid_out(parts: Sequence[Sequence[str]], install: str, expected: str) -> list[str]:
    """Return the lines with both comments and blank lines between the parts, as far as there is room."""
    room = LINES - sum(map(len, parts))
    lines = [install] * (room > 0)
    for number, part in enumerate(parts):
        lines += [""] * (0 < number <= room - 2)
        lines += part
    return [*lines, *[expected] * (room > 1)]


def _install(packages: Sequence[str], versions: dict[str, str], *, node: bool) -> str:
    """Return the command that installs packages, in the known versions."""
    separator = "@" if node else "=="
    named = [
        f"{package}{separator}{versions[name]}" if (name := package.partition("[")[0]) in versions else package
        for package in packages
    ]
    return f"{'npm' if node else 'pip'} install {' '.join(named)}"


def _versions(subject: str, version: str) -> dict[str, str]:
    """Return distribution -> version: the pinned ones, if the library was tested in its pinned version."""
    peer = PEERS.get(subject)
    if peer is None:
        return {distribution_of(subject): version}
    if version != peer.pinned:
        return {peer.distribution: version}
    text = peer.pins.read_text("utf-8")
    if peer.runtime == "node":
        packages = json.loads(text)["packages"]
        return {name.removeprefix("node_modules/"): entry["version"] for name, entry in packages.items() if name}
    lines = (line.split()[0].partition("==") for line in text.splitlines() if "==" in line.partition(" ")[0])
    return {name: number.rstrip(";") for name, _, number in lines}
