"""Mistakes of readers of Gemini and of the Interactions API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .traffic import ARRAY, Edit, Json, becomes, each, gone, holders, ignored, kept, last, renamed, without


def _ends_as_stop(*words: str) -> Edit:
    return becomes("finishReason", "STOP", *words)


def _usage_of_the_first_event(values: list[Json]) -> None:
    for value in values[1:]:
        if "usageMetadata" in values[0] and "usageMetadata" in value:
            value["usageMetadata"] = values[0]["usageMetadata"]


def _last_event_has_no_parts(values: list[Json]) -> None:
    for candidate in holders(values[1:], "finishReason"):
        candidate.pop("content", None)


def _candidates_merged(values: list[Json]) -> None:
    for value in values:
        first, *others = value.get("candidates") or [{}]
        for other in others:
            first.setdefault("content", {}).setdefault("parts", []).extend(
                (other.get("content") or {}).get("parts", [])
            )
        if others:
            value["candidates"] = [first]


def _whole_calls_are_keyed_by_name(values: list[Json]) -> None:
    """One call for each name, as if a later event repeated an earlier one."""
    seen = set()
    for content in holders(values, "parts"):
        for part in [part for part in content["parts"] if "functionCall" in part]:
            if (name := part["functionCall"].get("name")) in seen and name:
                content["parts"].remove(part)
            seen.add(name)


def _code_is_text(values: list[Json]) -> None:
    for part in list(holders(values, "executableCode")):
        part["text"] = part.pop("executableCode").get("code", "")


def _numbers_for_words(values: list[Json]) -> None:
    for candidate in holders(values, "finishReason"):
        if isinstance(candidate["finishReason"], int):
            candidate["finishReason"] = None


def _parts_with_text(items: list[Any]) -> list[Any]:
    """Reads a candidate as text if it has any."""
    texts = [item for item in items if item.get("text") and not item.get("thought")]
    return texts or items


def _no_arrays(values: list[Json]) -> None:
    for value in values:
        if ARRAY in value:
            value.clear()


def _delta(kind: str) -> Any:
    return lambda event: (event.get("delta") or {}).get("type") == kind


def _arguments_are_snapshots(values: list[Json]) -> None:
    """Keep the last arguments of each step."""
    later: set[Any] = set()
    for event in reversed(values):
        if (event.get("delta") or {}).get("type") == "arguments_delta":
            if event.get("index") in later:
                event.clear()
            else:
                later.add(event.get("index"))


def _start_is_empty(values: list[Json]) -> None:
    for event in values:
        step = event.get("step")
        if isinstance(step, dict) and event.get("event_type") == "step.start":
            for key in ("content", "summary", "text"):
                step.pop(key, None)


def _steps_of(*kinds: str) -> Edit:
    """Ignore steps of these types, in a body and in a stream."""

    def edit(values: list[Json]) -> None:
        without("steps", lambda step: step.get("type") in kinds)(values)
        gone_at = {e.get("index") for e in values if (e.get("step") or {}).get("type") in kinds and "index" in e}
        for event in values:
            if event.get("index") in gone_at:
                event.clear()

    return edit


def _call_steps(values: list[Json]) -> Iterator[Json]:
    for holder in holders(values, "type"):
        if holder["type"] == "function_call":
            yield holder


def _call_id_is_name(values: list[Json]) -> None:
    for step in _call_steps(values):
        if "id" in step and "name" in step:
            step["id"] = step["name"]


def _mcp_is_client(values: list[Json]) -> None:
    for holder in holders(values, "type"):
        if holder["type"] == "mcp_server_tool_call":
            holder["type"] = "function_call"


READERS: dict[str, dict[str, Edit]] = {
    "google.gemini": {
        "reads one call of each event, the last one": last("parts", "functionCall"),
        "reads the first part of each content": kept("parts", lambda parts: parts[:1]),
        "ignores arguments that arrive in partialArgs": gone("partialArgs"),
        "takes each piece of a call that continues for a whole call": gone("willContinue"),
        "takes MALFORMED_FUNCTION_CALL for a normal end": _ends_as_stop("MALFORMED_FUNCTION_CALL"),
        "takes UNEXPECTED_TOOL_CALL for a normal end": _ends_as_stop("UNEXPECTED_TOOL_CALL"),
        "takes TOO_MANY_TOOL_CALLS for a normal end": _ends_as_stop("TOO_MANY_TOOL_CALLS"),
        "takes SAFETY for a normal end": _ends_as_stop("SAFETY"),
        "takes RECITATION for a normal end": _ends_as_stop("RECITATION"),
        "takes BLOCKLIST, PROHIBITED_CONTENT and SPII for a normal end": _ends_as_stop(
            "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"
        ),
        "ignores the block reason of a prompt, and returns an empty answer": gone("promptFeedback"),
        "does not count cached tokens": gone("cachedContentTokenCount"),
        "does not add the tokens of thoughts to the output": gone("thoughtsTokenCount"),
        "does not add the tokens of tool results to the input": gone("toolUsePromptTokenCount"),
        "returns the usage of the first event": _usage_of_the_first_event,
        "reads events only, and finds none in a stream that is a JSON array": _no_arrays,
        "loses the signatures of calls": gone("thoughtSignature", beside="functionCall"),
        "skips empty text parts, and loses the signature there": without(
            "parts", lambda part: part.get("text") == "" and "thoughtSignature" in part
        ),
        "loses the signatures of text that is not a thought": gone("thoughtSignature", beside="text"),
        "returns thoughts as text": gone("thought"),
        "ignores the ids of calls": gone("id", beside="args"),
        "ignores calls without args": without(
            "parts", lambda part: "functionCall" in part and not part["functionCall"].get("args")
        ),
        "takes a second call of the same tool for a repetition": _whole_calls_are_keyed_by_name,
        "reads only the finish reason of the last event": _last_event_has_no_parts,
        "reads the text of an event and not the calls beside it": kept("parts", _parts_with_text),
        "returns the code that the provider ran as text": _code_is_text,
        "ignores images and files of the model": without(
            "parts", lambda part: "inlineData" in part or "fileData" in part
        ),
        "loses the sources of an answer": gone("groundingMetadata", "citationMetadata"),
        "returns the parts of all candidates as one answer": _candidates_merged,
        "ignores an error in a stream": ignored(lambda event: "error" in event),
        "does not know finish reasons that are numbers": _numbers_for_words,
        "does not return the model's version": gone("modelVersion"),
    },
    "google.interactions": {
        "loses arguments that arrive whole in step.start": gone("arguments", beside="name"),
        "loses content that arrives in step.start": _start_is_empty,
        "does not know the older member outputs": gone("outputs"),
        "does not know the older events content.start, content.delta and content.stop": ignored(
            lambda event: str(event.get("event_type")).startswith("content.")
        ),
        "takes the last piece of the arguments for all of them": _arguments_are_snapshots,
        "ignores the deltas with signatures": ignored(_delta("thought_signature")),
        "ignores the summaries of thoughts": each(gone("summary"), ignored(_delta("thought_summary"))),
        "takes the status failed for the normal end": each(
            becomes("status", "completed", "failed"), gone("error", "errors")
        ),
        "takes the status cancelled for the normal end": becomes("status", "completed", "cancelled"),
        "takes the status incomplete for the normal end": becomes("status", "completed", "incomplete"),
        "takes the status budget_exceeded for the normal end": becomes("status", "completed", "budget_exceeded"),
        "takes the status requires_action for the normal end": becomes("status", "completed", "requires_action"),
        "ignores the event error": ignored(lambda event: event.get("event_type") == "error"),
        "does not count cached tokens": gone("total_cached_tokens"),
        "does not add the tokens of thoughts to the output": gone("total_thought_tokens"),
        "does not add the tokens of tool results to the input": gone("total_tool_use_tokens"),
        "loses the sources of an answer": gone("annotations"),
        "ignores the searches that the provider ran": _steps_of("google_search_call", "google_search_result"),
        "ignores the pages that the provider read": _steps_of("url_context_call", "url_context_result"),
        "runs calls of remote MCP servers": _mcp_is_client,
        "ignores images of the model": each(
            without("content", lambda part: part.get("type") == "image"),
            without("outputs", lambda part: part.get("type") == "image"),
            ignored(_delta("image")),
        ),
        "takes the name of a function for the id of the call": _call_id_is_name,
        "loses the signatures of calls": gone("signature", beside="name"),
        "reads the id of a call only under call_id": renamed("id", "call_ref"),
    },
}
