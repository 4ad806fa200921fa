"""An audit as SARIF 2.1.0, which code scanning services and editors show at the lines of the input.

A result has the meaning of its finding code and the places: names of files without credentials that the scrubber
recognizes. Of the traffic it has the name of the tool, and a digest of the id of the call or exchange.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from toolparity import __version__
from toolparity.normalizer.findings import CODES as FINDINGS
from toolparity.turns.secrets import scrubbed

from .conversations import CODES as CONVERSATION_CODES
from .summary import ALL_CODES, SEVERITIES, Audit, position

#: How many findings of each code an audit for SARIF keeps with their places.
KEPT = 1_000
#: The most results of a run that GitHub accepts. Its limit of 10 MB, compressed, is ten times as much as they take.
_MOST = 25_000
#: The longest path in bytes that Linux opens. A longer name, which only an archive can have, is cut.
_LONGEST = 4_096
_LEVELS = {"info": "note", "warning": "warning", "error": "error"}
_TOOL_NAME = re.compile(r"[A-Za-z_][\w.-]{0,63}", re.ASCII)


class _Found(NamedTuple):
    """A finding. ``identity``: the id of what it is about, if that has one."""

    code: str
    wire: str
    place: str
    identity: str | None
    tool: str | None = None
    response: str | None = None


def render(audit: Audit) -> tuple[dict[str, Any], int]:
    """Return the audit as SARIF, and how many findings were left out. The audit must have kept `KEPT` findings."""
    found = sorted(_found(audit), key=lambda one: -SEVERITIES.index(ALL_CODES[one.code].severity))[:_MOST]
    codes = sorted({one.code for one in found})
    repository = _repository()
    numbers: Counter[str] = Counter()
    results = [_result(one, codes.index(one.code), numbers) for one in found]
    left_out = sum(sum(audit.findings_of(wire).values()) for wire in audit.wires) - len(results)
    notes = [
        f"{count:,} {what}"
        for count, what in (
            (left_out, "findings are counted by the audit, but not listed here"),
            (audit.faults, "places or exchanges could not be read"),
        )
        if count
    ]
    driver = {
        "name": "toolparity",
        "version": __version__,
        **({"informationUri": repository} if repository else {}),
        "rules": [_rule(code, repository) for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": "toolparity-audit/"},
        "columnKind": "utf16CodeUnits",
        "invocations": [
            {
                "executionSuccessful": not audit.faults,
                "toolExecutionNotifications": [{"level": "warning", "message": {"text": note}} for note in notes],
            }
        ],
        "results": results,
    }
    document = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return document, left_out


def _found(audit: Audit) -> Iterator[_Found]:
    for one in audit.conversations.findings:
        place, response = one.request_place, one.response_place
        yield _Found(one.code, one.wire, place, one.call_id, one.call_name, response)
    for code, examples in audit.examples.items():
        for example in examples:
            yield _Found(code, example.wire, example.place, example.id)


def _rule(code: str, repository: str | None) -> dict[str, Any]:
    row = ALL_CODES[code]
    page = "audit.md" if code in CONVERSATION_CODES else "findings.md" if code in FINDINGS else "recordings.md"
    return {
        "id": code,
        "shortDescription": {"text": row.means},
        "fullDescription": {"text": row.means},
        "help": {"text": row.do, "markdown": row.do},
        **({"helpUri": f"{repository}/blob/HEAD/docs/pages/{page}"} if repository else {}),
        "defaultConfiguration": {"level": _LEVELS[row.severity]},
        "properties": {"tags": ["tool-calls"], "problem.severity": row.severity},
    }


def _result(one: _Found, rule: int, numbers: Counter[str]) -> dict[str, Any]:
    path, _ = position(one.place)
    digest = blake2b(
        "\0".join((one.code, one.wire, _uri(path), one.identity or "")).encode("utf-8", "replace"), digest_size=8
    )
    print_of = digest.hexdigest()
    numbers[print_of] += 1
    row = ALL_CODES[one.code]
    text = row.means
    if one.tool and _TOOL_NAME.fullmatch(one.tool) and scrubbed(one.tool) == one.tool:
        text += f" The tool: {one.tool}."
    result: dict[str, Any] = {
        "ruleId": one.code,
        "ruleIndex": rule,
        "level": _LEVELS[row.severity],
        "message": {"text": text},
        "locations": [_location(one.place)],
        # GitHub compares the fingerprint of this name. The number changes if equal findings are added before this one.
        "partialFingerprints": {"primaryLocationLineHash": f"{print_of}:{numbers[print_of]}"},
        "properties": {"wire": one.wire},
    }
    if one.response is not None:
        result["relatedLocations"] = [{"id": 1, "message": {"text": "the response"}, **_location(one.response)}]
    return result


def _location(place: str) -> dict[str, Any]:
    path, number = position(place)
    location: dict[str, Any] = {"physicalLocation": {"artifactLocation": {"uri": _uri(path)}}}
    if number and place.endswith(f":{number}"):
        location["physicalLocation"]["region"] = {"startLine": number}
    elif number:
        location["logicalLocations"] = [{"name": f"exchange {number}", "kind": "element"}]
    return location


def _uri(path: str) -> str:
    """Return a path as a URI, relative to the working directory if it is below it, as code scanning expects."""
    path = scrubbed(path)
    if "://" not in path:
        file, here = Path(os.path.abspath(path)), Path.cwd()
        if not file.is_relative_to(here):
            return file.as_uri()[:_LONGEST]
        path = file.relative_to(here).as_posix()
    return quote(path.encode("utf-8", "surrogateescape")[:_LONGEST], safe="/:@!$&'()*+,;=~%" if "://" in path else "/~")


def _repository() -> str | None:
    try:
        urls = metadata("toolparity").get_all("Project-URL") or []
    except PackageNotFoundError:
        return None
    return dict(url.split(", ", 1) for url in urls).get("Repository")
