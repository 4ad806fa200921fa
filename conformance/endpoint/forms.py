"""What the wires document, where the decoder also accepts what other servers send instead.

Sources: the references and SDKs of the wires (`docs/pages/endpoints.md`), and for the stop reasons `stop-words.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple


class Form(NamedTuple):
    """The documented members of one wire, as paths (see `missing`).

    ``body``, ``event``: of a whole response, and of each event of a stream. ``calls``, ``end``: the stop reasons of
    responses with calls, and of those without. ``usage``: of the usage. ``error``: of a body that refuses a request.
    ``models``: the list of models. ``validated``: the owner refuses requests whose conversation is malformed.
    ``allowed``: returns the tool choice that requires a call of one of several tools.
    """

    calls: tuple[str, ...]
    end: tuple[str, ...]
    usage: tuple[str, ...]
    error: tuple[str, ...]
    models: str
    body: tuple[str, ...] = ()
    event: tuple[str, ...] = ()
    validated: bool = True
    allowed: Callable[[Sequence[str]], Any] | None = None


_CHAT_BODY = ("id", "object", "created", "model", "choices.*.message.role", "choices.*.message.content?")
_RESPONSE = ("id", "object", "created_at", "model", "status", "output")
_MESSAGE = ("id", "type", "role", "model", "content", "usage")
#: Wire -> its form. The error is a text at xAI, and OpenAI's SDKs show it. Together documents the stop reason ``eos``.
#: Ollama loads the model for a request without messages.
FORMS: dict[str, Form] = {
    "openai.chat": Form(
        ("tool_calls", "function_call"),
        ("stop", "eos"),
        ("prompt_tokens", "completion_tokens"),
        ("error|error.message",),
        "data.*.id",
        (*_CHAT_BODY, "choices.*.finish_reason", "choices.*.message.tool_calls.*.type"),
        ("id", "object", "created", "model", "choices.*.index", "choices.*.delta"),
        allowed=lambda names: {
            "type": "allowed_tools",
            "allowed_tools": {
                "mode": "required",
                "tools": [{"type": "function", "function": {"name": name}} for name in names],
            },
        },
    ),
    "openai.responses": Form(
        ("completed",),
        ("completed",),
        ("input_tokens", "output_tokens"),
        ("error|error.message",),
        "data.*.id",
        _RESPONSE,
        ("type", "sequence_number", *(f"response.{name}" for name in _RESPONSE)),
        allowed=lambda names: {
            "type": "allowed_tools",
            "mode": "required",
            "tools": [{"type": "function", "name": name} for name in names],
        },
    ),
    "anthropic.messages": Form(
        ("tool_use",),
        ("end_turn",),
        ("input_tokens", "output_tokens"),
        ("type", "error.type", "error.message"),
        "data.*.id",
        (*_MESSAGE, "stop_reason"),
        ("type", *(f"message.{name}" for name in _MESSAGE)),
    ),
    "google.gemini": Form(
        ("STOP",),
        ("STOP",),
        ("promptTokenCount", "candidatesTokenCount"),
        ("error.code", "error.message", "error.status"),
        "models.*.name",
        allowed=lambda names: {"mode": "ANY", "allowedFunctionNames": [*names]},
    ),
    "google.interactions": Form(
        ("requires_action",),
        ("completed",),
        ("total_input_tokens", "total_output_tokens"),
        ("error.message", "error.code"),
        "models.*.name",
        allowed=lambda names: {"allowed_tools": {"mode": "any", "tools": [*names]}},
    ),
    "bedrock.converse": Form(
        ("tool_use",), ("end_turn",), ("inputTokens", "outputTokens"), ("message",), "modelSummaries.*.modelId"
    ),
    "cohere.chat": Form(
        ("TOOL_CALL",), ("COMPLETE",), ("tokens.input_tokens", "tokens.output_tokens"), ("message",), "models.*.name"
    ),
    "ollama.chat": Form(
        ("stop",), ("stop",), ("prompt_eval_count", "eval_count"), ("error",), "models.*.name", validated=False
    ),
}


def missing(value: Any, paths: Iterable[str]) -> Iterator[str]:
    """Yield the paths whose member is missing or `None` in a value.

    ``*`` is each entry of a list. A member is only missed where the object around it exists. With ``?`` at its
    end, a path names a text that may be missing.
    """
    for path in paths:
        if _misses(value, path.removesuffix("?").split("."), optional=path.endswith("?")):
            yield path.removesuffix("?")


def _misses(value: Any, path: list[str], *, optional: bool) -> bool:
    name, *inner = path
    if name == "*":
        return isinstance(value, list) and any(_misses(entry, inner, optional=optional) for entry in value)
    if not isinstance(value, dict):
        return False
    if inner:
        return _misses(value.get(name), inner, optional=optional)
    found = value.get(name)
    return not isinstance(found, str | None) if optional else found is None
