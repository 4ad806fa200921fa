"""OpenAI's Responses: bodies, events and error responses.

Reasoning is a separate item. It has a summary if the request asks for one, and encrypted content if ``include`` lists
it. The response echoes the parameters of the request, with defaults for those that are missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from toolparity.normalizer import json_codec

from ..scripts import Part, Say, ScriptedCall, ServerCall, Think
from .encoding import Encoding, named_event
from .openai_rest import body, headers, offered, snapshot
from .openai_rest import error as rest_error
from .responses_items import (
    ItemParts,
    Json,
    OutputItem,
    code_interpreter,
    custom_call,
    function_call,
    hits_before,
    message,
    reasoning,
    runs,
    streamed,
    web_search,
)
from .script_player import Play, ProviderRefusal

__all__ = ("ENCODING", "answer", "error", "events", "headers")

ENCODING = Encoding(indented=True, stores=True)

#: Ending of the script -> reason of an incomplete response.
REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}


class _Model(NamedTuple):
    """What the responses of a model state unless the request does: ``effort`` and ``context`` of its reasoning.

    ``phases``: they mark each message as the final answer, or as commentary before calls.
    """

    effort: str | None = None
    context: str | None = None
    top_p: float = 1.0
    phases: bool = False


#: Beginning of the model's name -> what its responses state in recorded traffic. The first that matches.
_MODELS = {
    "gpt-5.6": _Model("medium", "all_turns", 0.98, phases=True),
    "gpt-5.5": _Model("medium", "current_turn", 0.98, phases=True),
    "gpt-5.4": _Model("none", "current_turn", 0.98, phases=True),
    "gpt-5.3-codex": _Model("medium", "current_turn", 0.98, phases=True),
    "gpt-5.2": _Model("none", "current_turn", 0.98),
    "gpt-5.1-codex": _Model("medium", "current_turn"),
    "gpt-5.1": _Model("none", "current_turn"),
    "gpt-5-chat": _Model(),
    **dict.fromkeys(("gpt-5", "o1", "o3", "o4"), _Model("medium", "current_turn")),
    "": _Model(),
}
_URL_SAFE = str.maketrans("+/", "-_")
#: Default parameters of a web search.
_SEARCH = {
    "return_token_budget": "default",
    "search_content_types": ["text"],
    "search_context_size": "medium",
    "user_location": {"type": "approximate", "city": None, "country": "US", "region": None, "timezone": None},
}
_NO_TOKENS = {
    "input_tokens": 0,
    "input_tokens_details": {"image_tokens": 0, "text_tokens": 0},
    "output_tokens": 0,
    "output_tokens_details": {"image_tokens": 0, "text_tokens": 0},
    "total_tokens": 0,
}


def answer(play: Play) -> Json:
    """Return the body of an answer that is not streamed."""
    response = _response(play, final_status(play), [item.done for item in _items(play, play.parts)])
    response["billing"] = {"payer": "developer"}
    return response


def events(play: Play) -> Iterator[bytes]:
    """Yield the events of the streamed body. Raises ConnectionReset where the script says so."""
    items = _items(play, play.streamed_parts)

    def opening(_name: str) -> Json:
        return _response(play, "in_progress", [])

    def closing() -> Iterator[Json]:
        output = [item.done for item in items]
        if play.fault is None:
            yield {"type": f"response.{final_status(play)}", "response": _response(play, final_status(play), output)}
        elif (refused := play.failure()) is not None:
            error_body = body(refused)
            yield {"type": "error", "error": error_body}
            failed = _response(play, "failed", output)
            failed["error"] = {"code": error_body["code"] or "server_error", "message": error_body["message"]}
            yield {"type": "response.failed", "response": failed}

    padded = (play.body.get("stream_options") or {}).get("include_obfuscation") is not False
    for event in streamed(items, opening, closing):
        yield named_event(_padded(play, event) if padded else event)


def error(refused: ProviderRefusal) -> tuple[int, dict[str, str], Json]:
    """Return the status, additional headers and body of an error response.

    An unknown model gets another message and status than on Chat Completions.
    """
    if refused.rule != "model-known":
        return rest_error(refused)
    words = f"The requested model '{refused.value}' does not exist."
    error_body = {"message": words, "type": "invalid_request_error", "param": "model", "code": "model_not_found"}
    return 400, {}, {"error": error_body}


def _padded(play: Play, event: Json) -> Json:
    """Return the event with ``obfuscation``, which pads deltas to similar lengths. Refusals are not padded."""
    if not event["type"].endswith(".delta") or event["type"] == "response.refusal.delta":
        return event
    room = -len(event["delta"].encode("utf-8", "surrogatepass")) % 16
    return {**event, "obfuscation": play.id(f"pad {event['sequence_number']}", room)}


def _items(play: Play, shown: list[Part]) -> list[OutputItem]:
    items: list[OutputItem] = []
    for run in runs(shown):
        first = run.parts[0]
        if isinstance(first, Think):
            items.append(_reasoning(play, first, run.place))
        elif isinstance(first, ScriptedCall):
            items.append(_call(play, first, run.place))
        elif isinstance(first, ServerCall):
            items.append(_server_call(play, first, run.place))
        else:
            items.append(_message(play, run))
    if play.round.ending in REASONS and items and len(shown) == len(play.parts):
        items[-1] = cut_short(items[-1])
    return items


def cut_short(item: OutputItem) -> OutputItem:
    """Return the item as incomplete, if its type has a status. The answer ended inside it."""
    return item._replace(done={**item.done, "status": "incomplete"}) if "status" in item.done else item


def _message(play: Play, run: ItemParts) -> OutputItem:
    item: Json = {"id": _item_id(play, "msg", run.place), "type": "message", "status": "completed", "content": []}
    if _model(play).phases:
        item["phase"] = "commentary" if play.calls else "final_answer"
    item["role"] = "assistant"
    first = run.parts[0]
    length = len(first.text) if isinstance(first, Say) else 0
    cites = [
        {"type": "url_citation", "end_index": length, "start_index": 0, "title": hit.title, "url": hit.url}
        for hit in hits_before(play, run.place)
    ]
    return message(play, item, run, cites)


def _reasoning(play: Play, thought: Think, place: int) -> OutputItem:
    item: Json = {"id": _item_id(play, "rs", place), "type": "reasoning"}
    if "reasoning.encrypted_content" in _include(play):
        item["content"] = []
        item["encrypted_content"] = _sealed(play, place, 160 + len(thought.text))
    summary = isinstance(play.body.get("reasoning"), dict) and play.body["reasoning"].get("summary")
    return reasoning(play, item, thought.text if summary and not thought.withheld else "")


def _call(play: Play, call: ScriptedCall, place: int) -> OutputItem:
    custom = offered(play, call).kind == "custom"
    item: Json = {"id": _item_id(play, "ctc" if custom else "fc", place)}
    item["type"] = "custom_tool_call" if custom else "function_call"
    item["status"] = "completed"
    item["input" if custom else "arguments"] = call.text
    item["call_id"] = call.id if call.id is not None else "call_" + play.id(f"call {place}")
    item["name"] = call.tool
    return (custom_call if custom else function_call)(item, play.pieces(call.text))


def _server_call(play: Play, call: ServerCall, place: int) -> OutputItem:
    status = "failed" if call.failed is not None else "completed"
    if call.tool == "code_execution":
        code = code_of(call)
        logs = [{"type": "logs", "logs": call.output}] if call.output is not None else []
        shown = logs if "code_interpreter_call.outputs" in _include(play) else None
        item: Json = {"id": _item_id(play, "ci", place), "type": "code_interpreter_call", "status": status}
        item.update(code=code, container_id="cntr_" + play.hex("container"), outputs=shown)
        return code_interpreter(item, play.pieces(code))
    query = str(call.arguments.get("query", ""))
    action: Json = {"type": "search", "queries": [query], "query": query}
    if "web_search_call.action.sources" in _include(play):
        action["sources"] = [{"type": "url", "url": hit.url} for hit in call.hits]
    return web_search(
        {"id": _item_id(play, "ws", place), "type": "web_search_call", "status": status, "action": action}
    )


def code_of(call: ServerCall) -> str:
    """Return the code of a code interpreter call: its ``code`` argument, or all its arguments as JSON text."""
    code = call.arguments.get("code")
    return code if isinstance(code, str) else json_codec.text(call.arguments)


def final_status(play: Play) -> str:
    """Return the final status of the response."""
    return "incomplete" if play.round.ending in REASONS else "completed"


def _response(play: Play, status: str, output: list[Json]) -> Json:
    """Return the response object. ``status``: "in_progress" at the start of a stream."""
    request = play.body
    begins = status == "in_progress"
    reason = REASONS.get(play.round.ending or "") if status == "incomplete" else None
    return {
        "id": _id(play),
        "object": "response",
        "created_at": play.created,
        "status": status,
        "background": False,
        "completed_at": play.created + 2 if status == "completed" else None,
        "error": None,
        "frequency_penalty": 0.0,
        "incomplete_details": {"reason": reason} if reason else None,
        "instructions": request.get("instructions"),
        "max_output_tokens": request.get("max_output_tokens"),
        "max_tool_calls": request.get("max_tool_calls"),
        "model": snapshot(play.model),
        "moderation": None,
        "output": output,
        "parallel_tool_calls": play.request.parallel is not False,
        "presence_penalty": 0.0,
        "previous_response_id": play.request.previous_response_id,
        "prompt_cache_key": request.get("prompt_cache_key"),
        "prompt_cache_retention": request.get("prompt_cache_retention"),
        "reasoning": _effort(play),
        "safety_identifier": request.get("safety_identifier"),
        "service_tier": "auto" if begins else "default",
        "store": request.get("store") is not False,
        "temperature": number(request.get("temperature"), 1.0),
        "text": _text(request.get("text")),
        "tool_choice": request.get("tool_choice") or "auto",
        "tool_usage": {"image_gen": _NO_TOKENS, "web_search": {"num_requests": 0 if begins else _searches(play)}},
        "tools": [_tool(tool) for tool in request.get("tools") or ()],
        "top_logprobs": request.get("top_logprobs") or 0,
        "top_p": number(request.get("top_p"), _model(play).top_p),
        "truncation": request.get("truncation") or "disabled",
        "usage": None if begins or status == "failed" else _usage(play),
        "user": request.get("user"),
        "metadata": request.get("metadata") or {},
    }


def _tool(tool: Json) -> Json:
    """Return a tool definition as the response echoes it, with defaults for missing members."""
    kind = tool.get("type")
    if kind == "function":
        strict = tool.get("strict") is not False
        schema = tool.get("parameters")
        return {
            "type": "function",
            "description": tool.get("description"),
            "name": tool.get("name"),
            "output_schema": None,
            "parameters": _closed(schema) if strict and schema is not None else schema,
            "strict": strict,
        }
    if kind == "custom":
        return {"type": "custom", "format": {"type": "text"}, **tool}
    if kind in ("web_search", "web_search_2025_08_26"):
        return {"type": kind, **_SEARCH, **tool}
    return tool


def _closed(schema: Any) -> Any:
    """Return a schema in the form of strict mode, the default: all properties required, no additional ones."""
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _closed(value) for name, value in schema.items()}
    if schema.get("type") == "object":
        closed["required"] = list(schema.get("properties") or ())
        closed["additionalProperties"] = False
    return closed


def _text(text: Any) -> Json:
    members = text if isinstance(text, dict) else {}
    form = members.get("format") or {"type": "text"}
    if form.get("type") == "json_schema":
        form = {"type": "json_schema", "description": None, "strict": True, **form}
    return {"verbosity": "medium", **members, "format": form}


def _model(play: Play) -> _Model:
    return next(stated for name, stated in _MODELS.items() if play.model.startswith(name))


def _effort(play: Play) -> Json:
    """Return the settings of reasoning. Models that do not reason have no mode."""
    model, asked = _model(play), play.body.get("reasoning")
    default: Json = {"context": model.context, "effort": model.effort, "mode": "standard", "summary": None}
    if model.context is None:
        del default["mode"]
    return default | {name: value for name, value in (asked or {}).items() if value is not None}


def _usage(play: Play) -> Json:
    used = play.usage()
    return {
        "input_tokens": used.input,
        "input_tokens_details": {"cache_write_tokens": 0, "cached_tokens": 0},
        "output_tokens": used.output,
        "output_tokens_details": {"reasoning_tokens": used.reasoning},
        "total_tokens": used.input + used.output,
    }


def _searches(play: Play) -> int:
    return sum(isinstance(part, ServerCall) and part.tool == "web_search" for part in play.parts)


def _sealed(play: Play, place: int, size: int) -> str:
    """Return text that looks like a Fernet token: version 0x80 and four zero bytes of the timestamp, then noise."""
    return "gAAAAAB" + play.opaque(f"encrypted {place}", size).translate(_URL_SAFE)


def number(value: Any, default: float) -> float:
    """Return a parameter of the request as a float, or its default."""
    return float(value) if isinstance(value, (int, float)) else default


def _include(play: Play) -> list[Any]:
    return play.body.get("include") or []


def _id(play: Play) -> str:
    return "resp_" + play.hex("answer", 50)


def _item_id(play: Play, prefix: str, place: int) -> str:
    """Return the id of an item. The ids in one answer share a prefix."""
    return f"{prefix}_{play.hex('answer', 50)[:18]}{play.hex(f'item {place}', 32)}"
