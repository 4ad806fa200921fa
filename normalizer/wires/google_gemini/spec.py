"""Spec of the wire `google.gemini`: generateContent and streamGenerateContent of the Gemini API and of Vertex AI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import json_codec
from ..grammar import Grammar, Unit
from ..limits import Boundary
from ..registry import History, Shape, WireSpec
from ..sdk_objects import model_json
from .spelling import use_standard_base64

if TYPE_CHECKING:
    from ..decode_context import Declared

#: Members that the SDK adds to a response: the HTTP response, the value parsed from JSON, and its own calls of tools.
_ADDED = {"sdk_http_response": True, "parsed": True, "automatic_function_calling_history": True}
#: Members beside `candidates` that only responses of this wire have.
_MARKS = frozenset(("usageMetadata", "modelVersion", "responseId", "promptFeedback"))
_RESPONSE = Shape(body=True, event=True, marked=True)
_UNMARKED = Shape(body=True, event=True)
_ERROR = Shape(error=True, marked=True)


def shape(body: dict[str, Any]) -> Shape | None:
    """See `Shape`. A whole body and the events of a stream have the same form.

    An error has the code of HTTP and the name of a code of gRPC (google.rpc.Code), which errors of no other wire have.
    """
    if isinstance(body.get("candidates"), list):
        return _UNMARKED if _MARKS.isdisjoint(body) else _RESPONSE
    if isinstance(body.get("promptFeedback"), dict) or ("modelVersion" in body and "usageMetadata" in body):
        return _RESPONSE
    error = body.get("error")
    if len(body) == 1 and isinstance(error, dict) and type(error.get("code")) is int:
        status = error.get("status")
        return _ERROR if isinstance(status, str) and status.isupper() else None
    return None


def boundary(event: dict[str, Any]) -> Boundary:
    """See `Boundary`. An event with a finish reason can be the last, or a whole response, or one of many."""
    listed, id = event.get("candidates"), event.get("responseId", event.get("response_id"))
    candidates = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    continued = frozenset(map(_index, candidates))
    finished = frozenset(
        _index(candidate) for candidate in candidates if candidate.get("finishReason") or candidate.get("finish_reason")
    )
    return Boundary(
        id if isinstance(id, str) and id else None,
        continued=continued,
        finished=finished,
        counted=counted(event.get("usageMetadata")),
        empty=not any(map(_says, candidates)),
    )


def _says(candidate: dict[str, Any]) -> bool:
    content = candidate.get("content")
    parts = content.get("parts") if isinstance(content, dict) else None
    return any(part != {"text": ""} for part in parts) if isinstance(parts, list) else False


def counted(figures: Any) -> tuple[int, int] | None:
    """Return the tokens of the prompt, and all tokens, of an event's figures, or None if they are missing."""
    if not isinstance(figures, dict):
        return None
    prompt, total = figures.get("promptTokenCount"), figures.get("totalTokenCount")
    return (prompt, total) if isinstance(prompt, int) and isinstance(total, int) else None


def _index(candidate: dict[str, Any]) -> int:
    index = candidate.get("index")
    return index if isinstance(index, int) else 0


def sdk_bytes(source: Any, event: bool) -> bytes:
    """Return the JSON of an object of the `google-genai` SDK."""
    body = json_codec.decode(model_json(source, _ADDED))
    use_standard_base64(body)
    return json_codec.encode(body)


def declared(request: Any) -> Declared:
    """Return the functions that a request declares, as parsed JSON, and the number of candidates that it requests."""
    from .tools import declared_functions

    return declared_functions(request)


GRAMMAR = Grammar(
    "https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse",
    (Unit("candidate", end="finishReason finish_reason", at="candidates", keys="index"),),
    refused="promptFeedback.blockReason",
)

SPEC = WireSpec(
    name="google.gemini",
    package=__package__,
    owner="google",
    history=History("contents", ("model",), counted="items"),
    models=r"gemini|gemma",
    parsed_arguments=True,
    parsed_streams=True,
    anonymous_calls=True,
    path="/v1/models/{model}:generateContent",
    stream_path="/v1/models/{model}:streamGenerateContent",
    version="/v1beta",  # https://ai.google.dev/api
    stream_query="?alt=sse",
    key_header="x-goog-api-key",
    models_path="/v1/models",
    hosts=("generativelanguage.googleapis.com", "aiplatform.googleapis.com"),
    addresses=(r":(stream)?[gG]enerateContent$",),
    sdk="google-genai",
    sdk_modules=("google.genai.types",),
    sdk_bytes=sdk_bytes,
    shape=shape,
    boundary=boundary,
    declared=declared,
    grammar=GRAMMAR,
)
