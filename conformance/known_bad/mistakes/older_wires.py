"""Mistakes of readers of Chat Completions, Responses and Messages."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from .traffic import Edit, Json, becomes, each, gone, holders, ignored, kept, without


def _kind(*kinds: str) -> Any:
    return lambda item: item.get("type") in kinds


def _summed(values: list[Json]) -> None:
    """Add the usage of all chunks."""
    usages = [value["usage"] for value in values if isinstance(value.get("usage"), dict)]
    for one, two in pairwise(usages):
        for key in ("prompt_tokens", "completion_tokens"):
            if isinstance(two.get(key), int) and isinstance(one.get(key), int):
                two[key] += one[key]


def _usage_with_choices(values: list[Json]) -> None:
    """Skip a chunk without choices, and with it its usage."""
    for value in values:
        if len(values) > 1 and not value.get("choices"):
            value.pop("usage", None)


def _usage_without_choices(values: list[Json]) -> None:
    for value in values:
        if len(values) > 1 and value.get("choices"):
            value.pop("usage", None)


def _typed_calls(values: list[Json]) -> None:
    for message in holders(values, "message"):
        calls = (message["message"] or {}).get("tool_calls")
        if isinstance(calls, list):
            message["message"]["tool_calls"] = [call for call in calls if call.get("type") == "function"]


def _typed_deltas(values: list[Json]) -> None:
    """Skip the first fragment of a streamed call if it has no type."""
    for delta in holders(values, "delta"):
        calls = (delta["delta"] or {}).get("tool_calls") if isinstance(delta["delta"], dict) else None
        if isinstance(calls, list):
            delta["delta"]["tool_calls"] = [call for call in calls if not call.get("id") or call.get("type")]


def _content_list(values: list[Json]) -> None:
    for message in holders(values, "content"):
        if isinstance(message["content"], list):
            message["content"] = ""


def _last_chunk_has_no_delta(values: list[Json]) -> None:
    for choice in holders(values, "delta"):
        if choice.get("finish_reason"):
            choice["delta"] = {}


def _whole_copy(values: list[Json]) -> None:
    """Read the item of the last event, and no deltas: what is missing there is lost."""
    for value in values:
        if str(value.get("type")).endswith(".delta"):
            value.clear()


def _usage_of_the_start(values: list[Json]) -> None:
    for value in values:
        if value.get("type") == "message_delta":
            value.pop("usage", None)


def _input_of_the_start(values: list[Json]) -> None:
    """Take only the output of message_delta: a later input count is lost."""
    for value in values:
        if value.get("type") == "message_delta":
            for key in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"):
                (value.get("usage") or {}).pop(key, None)


def _output_added(values: list[Json]) -> None:
    start = next((holder["usage"] for holder in holders(values[:1], "usage") if isinstance(holder["usage"], dict)), {})
    for value in values:
        if value.get("type") == "message_delta" and isinstance((value.get("usage") or {}).get("output_tokens"), int):
            value["usage"]["output_tokens"] += start.get("output_tokens") or 0


def _start_text(values: list[Json]) -> None:
    for value in values:
        block = value.get("content_block")
        if isinstance(block, dict):
            for key in ("text", "thinking"):
                if block.get(key):
                    block[key] = ""


def _start_input(values: list[Json]) -> None:
    for value in values:
        block = value.get("content_block")
        if isinstance(block, dict) and block.get("input"):
            block["input"] = {}


def _stops(new: str, *old: str) -> Edit:
    return becomes("stop_reason", new, *old)


def _delta(*kinds: str) -> Any:
    return lambda event: isinstance(event.get("delta"), dict) and event["delta"].get("type") in kinds


def _details(key: str, *names: str) -> Edit:
    def edit(values: list[Json]) -> None:
        for usage in holders(values, key):
            for name in names:
                (usage[key] or {}).pop(name, None)

    return edit


def _status_decides(values: list[Json]) -> None:
    """A response without an error object is a success."""
    for response in holders(values, "status"):
        if response["status"] == "failed" and not response.get("error") and "output" in response:
            response["status"] = "completed"
    for value in values:
        if value.get("type") == "response.failed" and not (value.get("response") or {}).get("error"):
            value["type"] = "response.completed"


def _cut_is_complete(values: list[Json]) -> None:
    for response in holders(values, "incomplete_details"):
        if response.get("status") == "incomplete":
            response.update(status="completed", incomplete_details=None)
    for value in values:
        if value.get("type") == "response.incomplete":
            value["type"] = "response.completed"


def _items(*kinds: str) -> Edit:
    """Ignore the items of these types."""

    def edit(values: list[Json]) -> None:
        without("output", _kind(*kinds))(values)
        ids = {e.get("output_index") for e in values if (e.get("item") or {}).get("type") in kinds}
        for value in values:
            if "output_index" in value and value["output_index"] in ids:
                value.clear()

    return edit


def _refusal_is_text(values: list[Json]) -> None:
    for part in holders(values, "refusal"):
        if part.get("type") == "refusal":
            part.update(type="output_text", text=part.pop("refusal"), annotations=[])


READERS: dict[str, dict[str, Edit]] = {
    "openai.chat": {
        "ignores calls without a type": _typed_calls,
        "ignores streamed calls without a type": _typed_deltas,
        "loses reasoning_content": gone("reasoning_content"),
        "loses the member reasoning of Groq, OpenRouter and vLLM": gone("reasoning"),
        "loses the reasoning details of OpenRouter": gone("reasoning_details"),
        "reads content that is a list as no text": _content_list,
        "adds the usage of all chunks": _summed,
        "ignores usage in chunks without choices": _usage_with_choices,
        "ignores usage in chunks with choices": _usage_without_choices,
        "loses the usage under x_groq": gone("x_groq"),
        "does not return cached tokens": gone("cached_tokens"),
        "does not return the cached tokens of DeepSeek": gone("prompt_cache_hit_tokens"),
        "loses the refusal": gone("refusal"),
        "loses the older function_call": gone("function_call"),
        "loses the sources of an answer": gone("annotations", "citations", "search_results"),
        "loses the audio of an answer": gone("audio", beside="content"),
        "takes content_filter for a normal end": becomes("finish_reason", "stop", "content_filter"),
        "takes finish_reason error for a normal end": becomes("finish_reason", "stop", "error"),
        "reads only the finish reason of the last chunk": _last_chunk_has_no_delta,
        "ignores an error in a stream": ignored(lambda event: bool(event.get("error"))),
        "ignores the error of a choice": gone("error", beside="finish_reason"),
        "ignores custom calls": without("tool_calls", _kind("custom")),
        "loses the log probabilities": gone("logprobs"),
        "loses the signature of Gemini's calls in extra_content": gone("extra_content"),
        "loses the images of an answer": gone("images"),
    },
    "openai.responses": {
        "takes a failed response without an error object for a success": _status_decides,
        "takes an incomplete response for a complete one": _cut_is_complete,
        "takes a cancelled response for a complete one": becomes("status", "completed", "cancelled"),
        "reads the items of the end, and no deltas": _whole_copy,
        "returns a refusal as text": _refusal_is_text,
        "loses the text of reasoning that is not a summary": each(
            without("content", _kind("reasoning_text")),
            ignored(lambda event: str(event.get("type")).startswith("response.reasoning_text")),
        ),
        "loses the summaries of reasoning": each(
            kept("summary", lambda parts: []), ignored(lambda event: "reasoning_summary" in str(event.get("type")))
        ),
        "loses the sources of an answer": each(
            becomes("annotations", lambda value: []), ignored(lambda event: "annotation" in str(event.get("type")))
        ),
        "ignores custom calls": _items("custom_tool_call"),
        "ignores calls of remote MCP servers": _items("mcp_call", "mcp_list_tools"),
        "loses generated images": _items("image_generation_call"),
        "loses compaction items": _items("compaction"),
        "ignores calls of the computer": _items("computer_call"),
        "ignores calls of the shell": _items("local_shell_call", "shell_call", "apply_patch_call"),
        "does not return cached tokens": _details("input_tokens_details", "cached_tokens"),
        "does not return the tokens of reasoning": _details("output_tokens_details", "reasoning_tokens"),
        "does not return the tokens that were written to the cache": _details(
            "input_tokens_details", "cache_write_tokens", "cache_creation_tokens"
        ),
        "ignores the event error": ignored(_kind("error")),
        "loses the phase of a message": gone("phase"),
        "loses the namespace of a call": gone("namespace"),
    },
    "anthropic.messages": {
        "returns the usage of message_start": _usage_of_the_start,
        "takes only the output count of message_delta": _input_of_the_start,
        "adds the output count of message_delta to that of message_start": _output_added,
        "does not count tokens that were read from the cache": gone("cache_read_input_tokens"),
        "does not count tokens that were written to the cache": gone("cache_creation_input_tokens"),
        "does not return the tokens of thinking": gone("thinking_tokens"),
        "loses text that arrives in content_block_start": _start_text,
        "loses input that arrives in content_block_start": _start_input,
        "loses the citations": each(gone("citations"), ignored(_delta("citations_delta"))),
        "loses redacted thinking": without("content", _kind("redacted_thinking")),
        "loses the data of redacted thinking in streams": gone("data", beside="type"),
        "takes pause_turn for a normal end": _stops("end_turn", "pause_turn"),
        "takes refusal for a normal end": _stops("end_turn", "refusal"),
        "takes stop_sequence for a normal end": _stops("end_turn", "stop_sequence"),
        "takes model_context_window_exceeded for a normal end": _stops("end_turn", "model_context_window_exceeded"),
        "loses the details of a refusal": gone("stop_details"),
        "loses which stop sequence ended the answer": gone("stop_sequence"),
        "loses the container of code execution": gone("container"),
        "ignores the event error": ignored(_kind("error")),
        "loses signatures of thinking": each(gone("signature"), ignored(_delta("signature_delta"))),
        "loses blocks of unknown types": without(
            "content", _kind("image", "document", "container_upload", "compaction", "fallback")
        ),
        "loses the caller of a call": gone("caller"),
    },
}
