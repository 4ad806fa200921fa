"""Verification of cassettes without provenance: everything that can be checked without knowing how they were made.

What needs the provenance stays open, and the verdict says so: digest and seal, origin, scenario, and the replay through
the official SDK.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import cast

from toolparity.normalizer.errors import ToolparityError
from toolparity.normalizer.model import Wire
from toolparity.normalizer.wires.registry import is_wire

from ..documents import Document
from ..interchange import Format
from ..interchange.model import CassetteContent, Interaction
from ..library.files import CassettePath
from ..recorder.verify import CassetteProblem, NotApplicable, VerifiedCassette
from ..secrets import scan
from ..sources import Exchange, http
from ..sources.decoding import response_of
from . import files
from .replaying import unplayed
from .scanning import level_of, scannable

#: The steps that need a provenance, and why they were not judged.
OPEN = {
    "digest": "no provenance: changes since the recording cannot be seen",
    "origin": "no provenance: the answers may be real, emulated or written by hand",
    "scenario": "no provenance",
    "sdk": "no provenance: the client that sent the requests is unknown",
}


class ForeignCassette:
    """A cassette of another project under verification."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.document: Document
        self.format: Format
        self.content: CassetteContent

    @property
    def exchanges(self) -> list[tuple[int, Exchange]]:
        """The interactions on known wires, with their numbers."""
        numbered = ((number, _exchange(item)) for number, item in enumerate(self.content.interactions, 1))
        return [(number, exchange) for number, exchange in numbered if is_wire(exchange.wire)]


def _readable(cassette: ForeignCassette) -> Iterator[str]:
    cassette.document, cassette.format = files.load(cassette.path)
    cassette.content = cassette.format.read(cassette.document.data)
    if not cassette.content.interactions:
        yield "it has no interactions"
    for number, item in enumerate(cassette.content.interactions, 1):
        if _is_empty(item):
            yield f"interaction {number}: the response to {item.request.method} has status 200 and no body"


def _scrubbed(cassette: ForeignCassette) -> Iterator[str]:
    leaks = scan(scannable(cassette.document, cassette.format))
    yield from (str(leak) for leak in leaks if level_of(leak) == "credential")


def _decodes(cassette: ForeignCassette) -> Iterator[str]:
    exchanges = cassette.exchanges
    if not exchanges:
        raise NotApplicable("no interaction on a known wire")
    for number, exchange in exchanges:
        try:
            response = response_of(exchange, cast(Wire, exchange.wire))
        except ToolparityError as error:
            yield f"interaction {number}: {error.what}"
            continue
        for finding in response.findings:
            if finding.severity == "error" and (exchange.status or 200) < 400:
                yield f"interaction {number}: {finding.code}: {finding.message}"


def _replays(cassette: ForeignCassette) -> Iterator[str]:
    yield from (f"interaction {number}: {why}" for number, why in unplayed(cassette.content))


#: Name, what it shows, check.
STEPS: tuple[tuple[str, str, Callable[[ForeignCassette], Iterable[str]]], ...] = (
    ("readable", "a known format, with interactions that are complete", _readable),
    ("scrubbed", "the scanner finds no credential", _scrubbed),
    ("decodes", "the normalizer reads every response of a model, and its tool calls", _decodes),
    ("replays", "plain vcrpy plays every interaction, without a network", _replays),
)


def check_file(file: tuple[str, bool]) -> VerifiedCassette | None:
    """Return the verdict on one cassette, or None for a file in a directory that is not a cassette."""
    path, found = file
    verdict = VerifiedCassette(CassettePath(Path(os.path.dirname(path)), Path(path), None, None, None, False))
    cassette = ForeignCassette(path)
    for name, _, judge in STEPS:
        if name != "readable" and "readable" not in verdict.passed:
            verdict.open[name] = "not readable"
            continue
        try:
            problems = [CassetteProblem(name, path, what) for what in judge(cassette)]
        except NotApplicable as reason:
            verdict.open[name] = str(reason)
            continue
        except ToolparityError as error:
            if found and error.what == "not a cassette":
                return None
            unread = name == "readable"
            problems = [CassetteProblem(name, error.where or path, error.what, error.hint, unread=unread)]
        except ModuleNotFoundError:  # the command names the extra
            raise
        except Exception as error:  # a failing step is a bug in toolparity and does not stop the others
            *_, frame = traceback.extract_tb(error.__traceback__)  # the text of the error may contain a secret
            what = f"the step failed: {type(error).__name__} at {os.path.basename(frame.filename)}:{frame.lineno}"
            problems = [CassetteProblem(name, path, what, fault=True)]
        verdict.problems.extend(problems)
        if not problems:
            verdict.passed.append(name)
    verdict.open.update(OPEN)
    return verdict


def _is_empty(item: Interaction) -> bool:
    return item.response.status == 200 and not item.response.body and item.request.method == "POST"


def _exchange(item: Interaction) -> Exchange:
    return http.exchange(
        "",
        None,
        method=item.request.method,
        url=item.request.uri,
        request_headers={},
        request=item.request.body,
        status=item.response.status,
        headers=http.headers_of(item.response.headers),
        body=item.response.body,
    )
