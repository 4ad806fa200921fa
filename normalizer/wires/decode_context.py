"""State of one decoding: the options of the caller, the declarations of the request, and the findings."""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from ..findings import Finding, Severity, finding
from ..model import Choice, Error, Response, Usage
from .schema import UNFIT, Note, Reader, S

#: Maximum number of findings of one code. If there are more, the last one counts the rest.
MANY = 100
#: The findings for a call that can have arguments which another one lacks. One that was cut may have those of two.
_SURPLUS = frozenset(("arguments-glued", "arguments-truncated", "nameless-call"))


class Declared(Struct, frozen=True):
    """The declarations of the request that decoding depends on.

    ``names``: the declared tools; None if the request is not known, and then no call counts as undeclared.
    ``custom``: the tools that take free text. ``n``: the number of requested choices. ``schemas``: parameter schemas by
    tool name, as the request spells them (JSON text on `xai.grpc`). ``hosted``: the members and types of the tools
    without a name, which the provider runs. ``named``: the tool choice names a tool, in a form of OpenAI's. With it,
    Chat Completions ends calls with the finish reason `stop`, as documented and recorded.
    """

    names: frozenset[str] | None = None
    custom: frozenset[str] = frozenset()
    n: int = 1
    schemas: dict[str, Any] = {}
    hosted: frozenset[str] = frozenset()
    named: bool = False


class Context(Struct, gc=False):
    """State of one decoding: the caller's options and the findings so far.

    ``status``: the HTTP status. ``respelled``: the body was already parsed, so argument texts are re-encoded JSON.
    """

    wire: str
    provider: str | None = None
    declared: Declared = Declared()
    status: int | None = None
    findings: list[Finding] = []
    respelled: bool = False
    counts: dict[str, int] | None = None
    reported: set[str] | None = None

    def find(
        self,
        code: str,
        message: str = "",
        choice: int | None = None,
        block: int | None = None,
        severity: Severity | None = None,
    ) -> None:
        """Add a finding. If there are more than `MANY` of one code, the last one counts the rest.

        ``choice`` and ``block``: indexes in the response. ``severity``: if it is lower than that of the code.
        """
        if self.counts is None:
            self.counts = {}
        number = self.counts[code] = self.counts.get(code, 0) + 1
        if number <= MANY:
            self.findings.append(finding(code, message, choice, block, severity))
            return
        findings = self.findings
        for index in range(len(findings) - 1, -1, -1):
            if findings[index].code == code:
                findings[index] = finding(code, f"{code}: {number - MANY + 1} more")
                return

    def find_once(self, code: str, message: str = "", severity: Severity | None = None) -> None:
        """Add a finding unless one with the same message (or code, without a message) was added here before."""
        key = message or code
        if self.reported is None:
            self.reported = set()
        if key not in self.reported:
            self.reported.add(key)
            self.find(code, message, severity=severity)

    def report_notes(self, notes: list[Note]) -> None:
        """Convert a schema reader's notes into findings, one per path without list indexes, and clear the list."""
        for note in notes:
            self.find_once(note.kind, f"{note.kind}: {re.sub(_INDEXES, '[]', note.path)}")
        notes.clear()

    def response(
        self,
        id: str | None,
        model: str | None,
        choices: list[Choice],
        usage: Usage | None = None,
        error: Error | None = None,
        complete: bool = True,
        extra: dict[str, Any] | None = None,
    ) -> Response:
        """Return the response with the findings of this decoding."""
        if extra is None:
            extra = {}
        if self.counts is not None:
            if "id-duplicate" in self.counts:
                from .empty_copies import drop_empty_copies  # imported only when needed

                drop_empty_copies(choices, self.findings, self.find)
            if not _SURPLUS.isdisjoint(self.counts):
                from .misplaced_arguments import mark_beside_surplus

                mark_beside_surplus(self, choices)
        response = Response(self.wire, self.provider, id, model, choices, usage, error, complete, extra)
        return response.with_findings(self.findings) if self.findings else response


_INDEXES = r"\[\d+\]"


def read_whole(reader: Reader[S], data: bytes, context: Context) -> S:
    """Parse a complete body into a wire struct, and report the members that do not fit the schema as findings.

    Raises MalformedBody if the bytes are not a JSON object.
    """
    try:
        body = reader.strict(data)
    except UNFIT:
        notes: list[Note] = []
        body = reader.read_leniently(data, notes)
        context.report_notes(notes)
        try:
            data.decode()
        except UnicodeDecodeError as error:
            context.find("corrupt-text", f"the body is not UTF-8 at byte {error.start}: replaced by U+FFFD")
    return body
