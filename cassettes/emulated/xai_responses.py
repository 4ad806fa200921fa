"""xAI's Responses: bodies, events and error responses.

Differences from OpenAI: ids are UUIDs, deltas have no padding, each call is one delta, and reasoning always shows its
text. Searches on X are ``custom_tool_call`` items without a result from the client. If ``include`` asks for encrypted
reasoning, a reasoning item (``tco_``) with the encrypted results follows the server calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from toolparity.normalizer import json_codec

from ..scripts import Part, Say, ScriptedCall, ServerCall, Think
from .encoding import Encoding, named_event
from .openai_responses import REASONS, code_of, cut_short, final_status, number
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
from .script_player import Play
from .xai_rest import answering, body, error, headers

__all__ = ("ENCODING", "answer", "error", "events", "headers")

ENCODING = Encoding("text/event-stream", stores=True)

#: Server tool -> the member of usage that counts its calls.
_COUNTED = {"web_search": "web_search_calls", "x_search": "x_search_calls", "code_execution": "code_interpreter_calls"}


def answer(play: Play) -> Json:
    """Return the body of an answer that is not streamed."""
    return _response(play, final_status(play), [item.done for item in _items(play, play.parts)])


def events(play: Play) -> Iterator[bytes]:
    """Yield the events of the streamed body. Raises ConnectionReset where the script says so."""
    items = _items(play, play.streamed_parts)

    def opening(_name: str) -> Json:
        return _response(play, "in_progress", [])

    def closing() -> Iterator[Json]:
        if play.fault is None:
            output = [item.done for item in items]
            yield {"type": f"response.{final_status(play)}", "response": _response(play, final_status(play), output)}
        elif (refused := play.failure()) is not None:
            yield {"type": "error", **body(refused)}

    for event in streamed(items, opening, closing):
        yield named_event(event)


def _items(play: Play, shown: list[Part]) -> list[OutputItem]:
    items: list[OutputItem] = []
    counts: dict[str, int] = {}
    all_parts = runs(shown)
    for run, following in zip_longest(all_parts, all_parts[1:]):
        first = run.parts[0]
        number = counts[type(first).__name__] = counts.get(type(first).__name__, -1) + 1
        if isinstance(first, Think):
            items.append(_reasoning(play, first, number))
        elif isinstance(first, ScriptedCall):
            items.append(_call(play, first, number))
        elif isinstance(first, ServerCall):
            items.append(_server_call(play, first, number))
            if not (following and isinstance(following.parts[0], ServerCall)):
                items += _returned(play, number)
        else:
            items.append(_message(play, run, number))
    if play.round.ending in REASONS and items and len(shown) == len(play.parts):
        items[-1] = cut_short(items[-1])
    return items


def _message(play: Play, run: ItemParts, number: int) -> OutputItem:
    item: Json = {"content": [], "id": _item_id(play, "msg", number), "role": "assistant", "type": "message"}
    first = run.parts[0]
    length = len(first.text) if isinstance(first, Say) else 0
    cites = [
        {"type": "url_citation", "url": hit.url, "start_index": 0, "end_index": length, "title": str(place)}
        for place, hit in enumerate(hits_before(play, run.place), 1)
    ]
    return message(play, {**item, "status": "completed"}, run, cites)


def _reasoning(play: Play, thought: Think, number: int) -> OutputItem:
    item: Json = {"id": _item_id(play, "rs", number), "summary": [], "type": "reasoning"}
    shown = "" if thought.withheld else thought.text
    item_made = reasoning(play, {**item, "status": "completed"}, shown)
    if _encrypts(play):
        item_made.done["encrypted_content"] = play.opaque(f"encrypted {number}", 160 + len(thought.text))
    return item_made._replace(added={**item, "status": "in_progress"})


def _returned(play: Play, number: int) -> list[OutputItem]:
    """Return a reasoning item with the encrypted results of the server calls, if the request asks for it."""
    if not _encrypts(play):
        return []
    id = f"tco_{_id(play)}_{_server_id(play, number)}"
    item: Json = {"id": id, "summary": [], "type": "reasoning"}
    secret = f"{id}_{play.opaque(f'returned {number}', 300)}"
    return [
        OutputItem({**item, "status": "in_progress"}, [], {**item, "status": "completed", "encrypted_content": secret})
    ]


def _call(play: Play, call: ScriptedCall, number: int) -> OutputItem:
    call_id = call.id if call.id is not None else f"call-{play.uuid('calls')}-{number}"
    item: Json = {"arguments": call.text, "call_id": call_id, "name": call.tool, "type": "function_call"}
    item["id"] = f"fc_{_id(play)}_{number}"
    item["status"] = "completed"
    return function_call(item, [call.text] if call.text else [])


def _server_call(play: Play, call: ServerCall, number: int) -> OutputItem:
    status = "failed" if call.failed is not None else "completed"
    if call.tool == "x_search":
        id = "xs_call_" + play.id(f"search {number}", 8, alphabet="0123456789")
        text = json_codec.text(call.arguments)
        item: Json = {"call_id": id, "input": text, "name": "x_keyword_search", "type": "custom_tool_call"}
        item.update(id=f"ctc_{_id(play)}_{id}", status=status)
        return custom_call(item, [text])
    id = f"{_id(play)}_{_server_id(play, number)}"
    if call.tool == "code_execution":
        code = code_of(call)
        item = {"id": f"ci_{id}", "type": "code_interpreter_call", "status": status, "code": code}
        item["container_id"] = ""
        item["outputs"] = [{"type": "logs", "logs": call.output}] if call.output is not None else []
        return code_interpreter(item, [code])
    sources = [{"type": "url", "url": hit.url} for hit in call.hits]
    action = {"type": "search", "query": str(call.arguments.get("query", "")), "sources": sources}
    item_made = web_search({"id": f"ws_{id}", "type": "web_search_call", "status": status, "action": action})
    return item_made._replace(added={**item_made.done, "status": "in_progress"})


def _response(play: Play, status: str, output: list[Json]) -> Json:
    """Return the response object. ``status``: "in_progress" at the start of a stream."""
    request = play.body
    begins = status == "in_progress"
    reason = REASONS.get(play.round.ending or "") if status == "incomplete" else None
    return {
        "created_at": play.created,
        "completed_at": play.created + 2 if status == "completed" else None,
        "id": _id(play),
        "max_output_tokens": request.get("max_output_tokens"),
        "model": answering(play.model),
        "object": "response",
        "output": output,
        "parallel_tool_calls": play.request.parallel is not False,
        "previous_response_id": play.request.previous_response_id,
        "reasoning": _effort(request.get("reasoning"), streamed=request.get("stream") is True),
        "temperature": number(request.get("temperature"), 0.7),
        "text": {"format": {"type": "text"}, **(request.get("text") or {})},
        "tool_choice": request.get("tool_choice") or "auto",
        "tools": [_tool(tool) for tool in request.get("tools") or ()],
        "top_p": number(request.get("top_p"), 0.95),
        "usage": None if begins else _usage(play),
        "user": request.get("user"),
        "incomplete_details": {"reason": reason} if reason else None,
        "status": status,
        "store": request.get("store") is not False,
        "metadata": {**(request.get("metadata") or {}), "system_fingerprint": "fp_" + play.hex("fingerprint", 16)},
        "background": False,
        "service_tier": "default",
        "truncation": "disabled",
        "top_logprobs": request.get("top_logprobs") or 0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "prompt_cache_key": request.get("prompt_cache_key"),
        "max_tool_calls": request.get("max_tool_calls"),
        "safety_identifier": None,
        "error": None,
        "instructions": request.get("instructions"),
    }


def _effort(reasoning: Any, *, streamed: bool) -> Json:
    """Return the ``reasoning`` member. Streamed responses do not report the defaults."""
    members = reasoning if isinstance(reasoning, dict) else {}
    default: Json = {"effort": None, "summary": None} if streamed else {"effort": "low", "summary": "detailed"}
    return {name: members.get(name) or value for name, value in default.items()}


def _tool(tool: Json) -> Json:
    """Return a tool definition as the response echoes it."""
    if tool.get("type") == "function":
        names = ("type", "description", "name", "parameters")
        return {**{name: tool.get(name) for name in names}, "strict": tool.get("strict") or False}
    if tool.get("type") == "web_search":
        return {"type": "web_search", "search_context_size": tool.get("search_context_size") or "medium"}
    return tool


def _usage(play: Play) -> Json:
    used = play.usage()
    ran = [part.tool for part in play.parts if isinstance(part, ServerCall)]
    usage: Json = {
        "input_tokens": used.input,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": used.output,
        "output_tokens_details": {"reasoning_tokens": used.reasoning},
        "total_tokens": used.input + used.output,
        "num_sources_used": 0,
        "num_server_side_tools_used": len(ran),
        "cost_in_usd_ticks": 2000 * used.input + 5000 * used.output,
    }
    if ran:
        names = (
            *_COUNTED.values(),
            "file_search_calls",
            "mcp_calls",
            "document_search_calls",
            "image_generation_calls",
        )
        usage["server_side_tool_usage_details"] = {
            name: sum(_COUNTED.get(tool) == name for tool in ran) for name in names
        }
    usage["context_details"] = {"input_tokens": used.input, "output_tokens": used.output}
    return usage


def _encrypts(play: Play) -> bool:
    return "reasoning.encrypted_content" in (play.body.get("include") or ())


def _id(play: Play) -> str:
    return play.uuid("answer")


def _item_id(play: Play, prefix: str, number: int) -> str:
    """Return the id of an item: the response's id, with a number from the second item of its kind on."""
    return f"{prefix}_{_id(play)}" + (f"_{number}" if number else "")


def _server_id(play: Play, number: int) -> str:
    return f"call-{play.uuid('server calls')}-{number}"
