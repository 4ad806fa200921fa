"""The reference subject: this project's own normalizer."""

from __future__ import annotations

import logging
from typing import Any

import msgspec

from toolparity import __version__
from toolparity.normalizer.answers import answer
from toolparity.normalizer.conversation import Request, TextPart, ToolResult
from toolparity.normalizer.decoder import StreamDecoder, normalize
from toolparity.normalizer.errors import ToolparityError
from toolparity.normalizer.model import Response
from toolparity.normalizer.policies import Selection, select, selection_of
from toolparity.normalizer.requests import read_request, write_request

from .claims import READER_CLAIMS
from .interface import FollowUp, SubjectExchange

_builtins = msgspec.to_builtins


class _LogLines(logging.Handler):
    """Collects the log messages while the subject reads."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


class Reference:
    """The normalizer as a subject, with all claims of a reader."""

    name = "normalizer"
    version = __version__
    claims = READER_CLAIMS
    wires = None
    _last: tuple[SubjectExchange, tuple[Request, Response, Selection]] | None = None

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        """Return the canonical form, as `toolparity normalize` writes it."""
        log, lines = logging.getLogger("toolparity"), _LogLines()
        before = log.propagate
        log.addHandler(lines)
        log.propagate = False
        try:
            response = read_answer(exchange)
            selection = select(response, exchange.policy, exchange.limit, None)
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

    def next_request(self, follow_up: FollowUp) -> Any:
        """Write the conversation, extended by the response and its results, for a wire; return the loss codes, too."""
        request, response, selection = self._conversation(follow_up.exchange)
        results = [
            ToolResult(result.call_id, [TextPart(result.content)], result.is_error, result.name)
            for result in follow_up.results
        ]
        messages = [*request.messages, *answer(response, selection, results)]
        extended = msgspec.structs.replace(request, messages=messages)
        encoded = write_request(extended, follow_up.to, provider=follow_up.provider)
        body = encoded.body
        if not isinstance(body, dict):
            from google.protobuf.json_format import MessageToDict

            body = MessageToDict(body, preserving_proto_field_name=True)
        return {"body": body, "losses": [loss.code for loss in encoded.losses]}

    def _conversation(self, exchange: SubjectExchange) -> tuple[Request, Response, Selection]:
        """Return the conversation up to a response, the response, and its calls. Several requests follow each one."""
        if self._last is None or self._last[0] is not exchange:
            response = read_answer(exchange)
            selection = selection_of(response, exchange.policy, exchange.limit)
            request = read_request(exchange.request, exchange.wire, provider=exchange.provider)
            self._last = exchange, (request, response, selection)
        return self._last[1]


def read_answer(exchange: SubjectExchange) -> Response:
    """Return the canonical form of a response. Raises ToolparityError."""
    request = exchange.request
    if not (isinstance(request, dict) and (request.get("tools") or request.get("toolConfig"))):
        request = None
    options: dict[str, Any] = {"provider": exchange.provider, "request": request, "status": exchange.status}
    if not exchange.stream or (exchange.status >= 400 and exchange.body[:1] == b"{"):
        return normalize(exchange.body, exchange.wire, **options)
    decoder = StreamDecoder(exchange.wire, **options)
    for piece in exchange.pieces:
        decoder.feed(piece)
    return decoder.finish()
