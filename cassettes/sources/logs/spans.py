"""Spans of calls to a model, by the attributes of OpenTelemetry's GenAI conventions, OpenLLMetry and OpenInference.

Contents are in ``gen_ai.input.messages`` and ``gen_ai.output.messages`` (new conventions), in events of the span (old
ones), in ``gen_ai.prompt.0.role`` and so on (OpenLLMetry), in ``input.value`` and ``llm.input_messages.…``
(OpenInference, which Phoenix uses), in ``langfuse.observation.input`` (the SDK of Langfuse), in ``mlflow.spanInputs``
with the chunks of a stream in events (MLflow), or in ``ai.prompt.messages`` and ``ai.response.…`` (Vercel's AI SDK).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolparity.normalizer.wires.shapes import event_wire, whole_wire

from ...errors import UnreadableSource
from ..json_text import parsed
from ..model import Exchange
from . import conversion
from .conversion import text
from .messages import call

#: Event of the old conventions -> role of its message.
EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
CHOICE = "gen_ai.choice"
#: The event of the new conventions that holds the same attributes as a span.
DETAILS = "gen_ai.client.inference.operation.details"
_OUTPUT = "gen_ai.output.messages"
_PREFIXES = ("gen_ai.", "llm.", "openinference.", "langfuse.observation.", "mlflow.spanOutputs")

#: Operations and kinds of spans that are calls to a model.
_CALLS = frozenset(("chat", "generate_content", "text_completion", "completion", "LLM", "generation", "CHAT_MODEL"))
_KINDS = (
    *("gen_ai.operation.name", "llm.request.type", "openinference.span.kind", "langfuse.observation.type"),
    "mlflow.spanType",
)
#: Attributes that only a span with a response has.
_ANSWERED = ("gen_ai.response.finish_reasons", "gen_ai.usage.output_tokens")
#: The beginning of the names of MLflow's events for the chunks of a stream, and their attribute.
_CHUNKS, _CHUNK = "mlflow.chunk.item.", "mlflow.chunk.value"
_CAPTURE = (
    "pass the file of the log records as well, if they have the messages, or let the instrumentation capture them, as "
    "with OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true"
)

_MODEL = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "langfuse.observation.model.name")
_PROVIDER = ("gen_ai.provider.name", "gen_ai.system", "llm.system")


class WithoutMessages(UnreadableSource):
    """A span of a call to a model without the response, which log records can hold."""


def is_model_span(attributes: dict[str, Any]) -> bool:
    """Return whether a span belongs to a call to a model."""
    return any(key.startswith(_PREFIXES) for key in attributes)


def exchange(
    source: str, line: int | None, attributes: dict[str, Any], events: list[Any], *, failed: bool = False
) -> Iterator[Exchange]:
    """Yield the exchange of a span. ``events``: (name, attributes) of its events. ``failed``: its status is an error.

    Raises WithoutMessages if it is the span of a call to a model, and holds no response.
    """
    for name, more in events:
        if name == DETAILS:
            attributes = {**attributes, **more}
    chunks = [more[_CHUNK] for name, more in events if name.startswith(_CHUNKS) and isinstance(more.get(_CHUNK), str)]
    request, response, finish = _contents(attributes, events)
    if response in (None, "", []):
        if _is_call(attributes) and not failed and not any(name == "exception" for name, _ in events):
            raise WithoutMessages("a span of a model without its messages", hint=_CAPTURE)
        return
    made = conversion.exchange(
        source,
        line,
        format="opentelemetry",
        request=request,
        response=response,
        id=attributes.get("gen_ai.response.id"),
        model=_first(attributes, *_MODEL),
        provider=_first(attributes, *_PROVIDER),
        tools=_tools(attributes),
        usage=_usage(attributes),
        finish=finish,
    )
    event = parsed(chunks[0]) if chunks else None
    if isinstance(event, dict) and (wire := event_wire(event)) is not None:  # the message of MLflow lacks the calls
        made.body = "".join(f"data: {chunk}\n\n" for chunk in chunks).encode()
        made.wire, made.stream = wire, True
    yield made


def _is_call(attributes: dict[str, Any]) -> bool:
    """Return whether a span is a call to a model that did not fail, and not one of a tool, an agent or embeddings."""
    if attributes.get("error.type") is not None or _OUTPUT in attributes:  # an answer without a message
        return False
    kinds = [str(attributes.get(name)).strip('"') for name in _KINDS]  # MLflow writes JSON
    return any(kind in _CALLS for kind in kinds) or (
        all(kind == "None" for kind in kinds) and any(name in attributes for name in _ANSWERED)
    )


def message_of(role: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return the message of an event of the old conventions."""
    made = {"role": role, **body}
    if role == "tool":
        made["tool_call_id"] = body.get("id")
    return made


def _first(attributes: dict[str, Any], *names: str) -> Any:
    return next((attributes[name] for name in names if attributes.get(name)), None)


def _contents(attributes: dict[str, Any], events: list[Any]) -> tuple[Any, Any, str | None]:
    """Return the request, the response, and the stop reason of a response that is not a body."""
    if any(key == _OUTPUT or key.startswith(f"{_OUTPUT}.") for key in attributes):
        return _new_conventions(attributes)
    if attributes.get("langfuse.observation.type") == "generation":
        response = parsed(attributes.get("langfuse.observation.output"))
        return parsed(attributes.get("langfuse.observation.input")), response, None
    for before, after in (("input.value", "output.value"), ("mlflow.spanInputs", "mlflow.spanOutputs")):
        body = parsed(attributes.get(after))
        whole = isinstance(body, dict) and whole_wire(body) is not None
        if whole or (_is_call(attributes) and conversion.is_part_of_body(body)):
            return parsed(attributes.get(before)), body, None
    if "ai.prompt.messages" in attributes:
        calls = parsed(attributes.get("ai.response.toolCalls"))
        texts = {"role": "assistant", "content": attributes.get("ai.response.text"), "tool_calls": calls}
        finish = (text(attributes.get("ai.response.finishReason")) or "").replace("-", "_")
        return parsed(attributes["ai.prompt.messages"]), texts if finish else None, finish
    for before, after in (("llm.input_messages", "llm.output_messages"), ("gen_ai.prompt", "gen_ai.completion")):
        if answers := _indexed(attributes, after):
            return _indexed(attributes, before), answers, text(answers[-1].get("finish_reason"))
    history = [message_of(EVENTS[name], body) for name, body in events if name in EVENTS]
    choices = [body for name, body in events if name == CHOICE]
    if choices:
        response = parsed(choices[0].get("message")) or choices[0]
        return history or None, response, text(choices[0].get("finish_reason"))
    return None, None, None


def _new_conventions(attributes: dict[str, Any]) -> tuple[Any, Any, str | None]:
    request = parsed(attributes.get("gen_ai.input.messages"))
    response = parsed(attributes.get(_OUTPUT))
    if not isinstance(response, list):  # an object was taken for further attributes
        raise UnreadableSource(f"{_OUTPUT} is not a list")
    instructions = parsed(attributes.get("gen_ai.system_instructions"))
    if isinstance(instructions, list) and isinstance(request, list):
        request = [{"role": "system", "parts": instructions}, *request]
    finish = text(response[-1].get("finish_reason")) if response and isinstance(response[-1], dict) else None
    return request, response, "tool_calls" if finish == "tool_call" else finish


def _indexed(attributes: dict[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Return the messages under attributes such as ``<prefix>.0.role``, or under ``<prefix>`` itself."""
    whole = parsed(attributes.get(prefix))
    if isinstance(whole, list):
        return [message for message in whole if isinstance(message, dict)]
    messages: dict[int, dict[str, Any]] = {}
    for key, value in attributes.items():
        number, _, member = key.removeprefix(f"{prefix}.").partition(".")
        if key.startswith(f"{prefix}.") and number.isdigit():
            _put(messages.setdefault(int(number), {}), member.removeprefix("message.").split("."), value)
    return [_with_calls(messages[number]) for number in sorted(messages)]


def _put(target: dict[str, Any], path: list[str], value: Any) -> None:
    *parents, last = path
    for name in parents:
        child = target.setdefault(name, {})
        if not isinstance(child, dict):
            return
        target = child
    target[last] = value


def _with_calls(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message whose calls are a list instead of members "0", "1" and so on."""
    calls = message.get("tool_calls")
    if not isinstance(calls, dict):
        return message
    made = []
    for number in sorted(calls, key=lambda key: int(key) if key.isdigit() else 0):
        entry = calls[number].get("tool_call", calls[number])
        function = entry.get("function", entry)
        made.append(call(entry.get("id"), function.get("name"), function.get("arguments")))
    return {**message, "tool_calls": made}


def _tools(attributes: dict[str, Any]) -> list[Any] | None:
    tools = parsed(attributes.get("gen_ai.tool.definitions"))
    if not isinstance(tools, list):
        return None
    made = []
    for tool in tools:
        flat = isinstance(tool, dict) and tool.get("type") == "function" and "function" not in tool
        made.append({"type": "function", "function": {k: v for k, v in tool.items() if k != "type"}} if flat else tool)
    return made


def _usage(attributes: dict[str, Any]) -> dict[str, Any] | None:
    counts = [attributes.get(f"gen_ai.usage.{name}_tokens") for name in ("input", "output")]
    if not all(isinstance(count, int) for count in counts):
        return None
    usage: dict[str, Any] = {"prompt_tokens": counts[0], "completion_tokens": counts[1]}
    cached = attributes.get("gen_ai.usage.cache_read.input_tokens")
    if isinstance(cached, int):
        usage["prompt_tokens_details"] = {"cached_tokens": cached}
    return usage
