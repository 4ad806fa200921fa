"""Canonical errors, and responses that contain only an error, on all wires."""

from __future__ import annotations

import re
from typing import Any

from .. import json_codec
from ..errors import NotAResponse
from ..model import Error, Response
from .decode_context import Context

#: Plain strings: compiling them on import would cost time, and only errors need them.
_RETRYABLE = (
    r"overload|rate_?limit|throttl|timeout|timed_out|unavailable|internal|server_error|api_error|resource_exhausted"
)


_FINAL = r"invalid|validation|auth|permission|not_found|billing|too_large|unsupported|quota"


def error_of(raw: Any, status: int | None = None) -> Error:
    """Convert an error of any wire (an object, a text or a number) to the canonical error.

    ``status``: the HTTP status, used unless the error itself contains one.
    """
    body = raw
    while isinstance(body, dict) and isinstance(body.get("error"), dict):
        body = body["error"]
    if not isinstance(body, dict):
        body = {"message": body if isinstance(body, str) else "" if body is None else str(body)}
    elif isinstance(body.get("error"), str) and "message" not in body:
        body = {**body, "message": body["error"]}
    code = body.get("code")
    # Error events of the Responses API have the type "error" and name the kind of error in `code`.
    named = (body.get("type"), code, body.get("status"), body.get("error_type"))
    kinds = (k for k in named if isinstance(k, str) and k and k != "error")
    kind = next(kinds, "error")
    message = body.get("message") or body.get("msg") or body.get("detail") or body.get("details") or ""
    for candidate in (body.get("status_code"), code, body.get("status"), status):
        if isinstance(candidate, int) and 400 <= candidate < 600:
            status = candidate
            break
    return Error(kind, message if isinstance(message, str) else str(message), status, _retryable(kind, status), raw)


def _retryable(kind: str, status: int | None) -> bool | None:
    if status is not None and status >= 400:  # a stream that fails later has status 200, which says nothing
        return status in (408, 409, 425, 429) or status >= 500
    kind = kind.lower()
    if re.search(_RETRYABLE, kind):
        return True
    return False if re.search(_FINAL, kind) else None


#: The type of the error of a body that is JSON, but neither a response nor an error.
NO_ANSWER = "no_answer"
#: Members that mark a body as an error, in all dialects.
_OF_ERRORS = ("error", "errors")
#: Members that say what is wrong, and those beside them. Only a body without any other member is an error by itself: a
#: line of a log has a message, too. Recorded are {message}, {id, message}, {error_type, id, message} and {detail};
#: vLLM's ErrorResponse of 2024 has {object, message, type, param, code}, AWS's JSON protocols have {__type, message}.
_WORDS = frozenset(("message", "msg", "detail", "details", "code"))
_BESIDE_WORDS = frozenset(
    ("type", "__type", "object", "status", "status_code", "error_type", "param", "id", "request_id", "requestId")
)


def response_without_output(
    context: Context, data: bytes, *, id: str | None = None, model: str | None = None
) -> Response:
    """Return an error response for a body without model output. Raises NotAResponse if it is not an error either."""
    raw = json_codec.decode(data)
    failed = context.status is not None and context.status >= 400
    if not failed and isinstance(raw, dict):
        failed = any(raw.get(name) not in (None, [], False) for name in _OF_ERRORS) or raw.get("status") == "failed"
        failed = failed or (any(raw.get(name) is not None for name in _WORDS) and raw.keys() <= _WORDS | _BESIDE_WORDS)
    if not failed:
        raise NotAResponse(f"the body is neither a response nor an error of {context.wire}", body=data)
    return error_response(context, raw, id=id, model=model)


def error_response(context: Context, raw: Any, *, id: str | None = None, model: str | None = None) -> Response:
    """Return a response that contains only the error in ``raw``, with its findings."""
    error = error_of(raw, context.status)
    # The schema describes successful bodies, so its findings about an error body mean nothing.
    context.findings = [f for f in context.findings if f.code not in ("unknown-member", "wrong-type")]
    context.find("error-response", f"{error.type}: {error.message}"[:500])
    rejected = raw.get("error") if isinstance(raw, dict) else None
    if isinstance(rejected, dict) and rejected.get("failed_generation") is not None:
        context.find("provider-rejected-call", "failed_generation contains the model's text")
    return context.response(id, model, [], None, error)
