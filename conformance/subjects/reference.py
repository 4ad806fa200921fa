"""The reference subject: this project's own normalizer."""

from __future__ import annotations

import logging
from typing import Any

import msgspec

from toolparity import __version__
from toolparity.normalizer.answers import answer
from toolparity.normalizer.conversation import TextPart, ToolResult
from toolparity.normalizer.decoder import StreamDecoder, normalize
from toolparity.normalizer.errors import ToolparityError
from toolparity.normalizer.model import Response
from toolparity.normalizer.policies import select
from toolparity.normalizer.requests import read_request, write_request

from . import CLAIMS, FollowUp, SubjectExchange

_builtins = msgspec.to_builtins


class _Lines(logging.Handler):
    """Collects the log messages while the subject reads."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


class Reference:
    """The normalizer as a subject, with all claims."""

    name = "normalizer"
    version = __version__
    claims = frozenset(CLAIMS)
    wires = None

    def read(self, ask: SubjectExchange) -> dict[str, Any]:
        """Return the canonical form, as `toolparity normalize` writes it."""
        log, lines = logging.getLogger("toolparity"), _Lines()
        before = log.propagate
        log.addHandler(lines)
        log.propagate = False
        try:
            response = read_answer(ask)
            choice = response.choices[0].index if response.choices else 0
            selection = select(response, ask.policy, ask.limit, choice)
        except ToolparityError as error:
            return {"error": str(error)}
        finally:
            log.removeHandler(lines)
            log.propagate = before
        return {
            "response": _builtins(response),
            "selection": _builtins(selection),
            "findings": [finding.code for finding in (*response.findings, *selection.findings)],
            "log": lines.lines,
        }

    def next_request(self, ask: FollowUp) -> Any:
        """Write the conversation, extended by the response and its results, for a wire."""
        read = ask.ask
        response = read_answer(read)
        choice = response.choices[0].index if response.choices else 0
        selection = select(response, "all", None, choice)
        results = [ToolResult(one.call_id, [TextPart(one.content)], one.is_error, one.name) for one in ask.results]
        request = read_request(read.request, read.wire, provider=read.provider)
        turns = [*request.messages, *answer(response, selection, results)]
        grown = msgspec.structs.replace(request, messages=turns)
        body = write_request(grown, ask.to, provider=ask.provider).body
        if isinstance(body, dict):
            return body
        from google.protobuf.json_format import MessageToDict

        return MessageToDict(body, preserving_proto_field_name=True)


def read_answer(ask: SubjectExchange) -> Response:
    """Return the canonical form of a response. Raises ToolparityError."""
    request = ask.request if isinstance(ask.request, dict) and ask.request.get("tools") else None
    told: dict[str, Any] = {"provider": ask.provider, "request": request, "status": ask.status}
    if not ask.stream or (ask.status >= 400 and ask.body[:1] == b"{"):
        return normalize(ask.body, ask.wire, **told)
    decoder = StreamDecoder(ask.wire, **told)
    for piece in ask.pieces:
        decoder.feed(piece)
    return decoder.finish()
