"""Mistakes of readers of Bedrock, Cohere, Ollama and xAI."""

from __future__ import annotations

from typing import Any

from .traffic import Edit, Json, at, becomes, each, gone, holders, ignored, kept, without


def _has(*keys: str) -> Any:
    return lambda item: any(key in item for key in keys)


def _stops(new: str, *old: str) -> Edit:
    return each(becomes("stopReason", new, *old), becomes("stop_reason", new, *old))


def _event(*kinds: str) -> Any:
    """Whether an event has one of these types."""
    return lambda event: any(kind in (event.get("type"), event.get("event_type")) or kind in event for kind in kinds)


def _delta_with(key: str) -> Any:
    return lambda event: key in ((event.get("contentBlockDelta") or {}).get("delta") or {})


def _citations_have_no_text(values: list[Json]) -> None:
    for block in list(holders(values, "citationsContent")):
        block["citationsContent"]["content"] = []


def _server_is_client(values: list[Json]) -> None:
    for holder in holders(values, "type"):
        if holder["type"] == "server_tool_use":
            del holder["type"]
            break


def _one_index(values: list[Json]) -> None:
    """Concatenate the arguments of all calls: the index of a block is not read."""
    index = None
    for holder in holders(values, "contentBlockIndex"):
        if "toolUse" in (holder.get("start") or {}) and index is None:
            index = holder["contentBlockIndex"]
        if index is not None and "toolUse" in (holder.get("delta") or {}):
            holder["contentBlockIndex"] = index


def _billed(values: list[Json]) -> None:
    for usage in holders(values, "billed_units"):
        if "tokens" in usage:
            usage["tokens"] = {key: value for key, value in usage["billed_units"].items() if key.endswith("_tokens")}


def _arguments_of_the_start(values: list[Json]) -> None:
    for event in values:
        if event.get("type") == "tool-call-start":
            for function in holders(event, "arguments"):
                function["arguments"] = ""


def _tool_index_zero(values: list[Json]) -> None:
    for event in values:
        if str(event.get("type")).startswith("tool-call-") and "index" in event:
            event["index"] = 0


def _first_content(values: list[Json]) -> None:
    for message in holders(values, "content"):
        if isinstance(message["content"], list):
            message["content"] = message["content"][:1]
    for event in values:
        if str(event.get("type")).startswith("content-") and event.get("index"):
            event.clear()


def _error_ends(*words: str) -> Edit:
    return becomes("finish_reason", "COMPLETE", *words)


def _done_event_has_no_message(values: list[Json]) -> None:
    if len(values) > 1 and values[-1].get("done"):
        values[-1].pop("message", None)


def _done_event_has_no_calls(values: list[Json]) -> None:
    if len(values) > 1 and values[-1].get("done"):
        (values[-1].get("message") or {}).pop("tool_calls", None)


def _calls_overwritten(values: list[Json]) -> None:
    """Each event with calls replaces the calls of the one before."""
    for message in list(holders(values, "tool_calls"))[:-1]:
        del message["tool_calls"]


def _by_function_index(values: list[Json]) -> None:
    """A call replaces an earlier one with the same index."""
    seen: dict[int, tuple[list[Any], Any]] = {}
    for message in holders(values, "tool_calls"):
        for call in list(message["tool_calls"] or ()):
            index = (call.get("function") or {}).get("index", 0)
            if index in seen:
                seen[index][0].remove(seen[index][1])
            seen[index] = message["tool_calls"], call


def _text_arguments(values: list[Json]) -> None:
    """Arguments that are text, as some servers send them, are not parsed."""
    for function in holders(values, "arguments"):
        if isinstance(function["arguments"], str):
            function["arguments"] = {}


def _ids_from_nothing(values: list[Json]) -> None:
    for message in holders(values, "tool_calls"):
        for call in message["tool_calls"] or ():
            call.setdefault("id", "call_0")
            call["id"] = call["id"] or "call_0"


def _null_content(values: list[Json]) -> None:
    for message in holders(values, "content"):
        if message["content"] is None:
            message.clear()


def _no_figure_is_zero(values: list[Json]) -> None:
    for value in values:
        if value.get("done"):
            value.setdefault("prompt_eval_count", 0)


def _first_output(values: list[Json]) -> None:
    for value in values:
        outputs = value.get("outputs")
        if outputs:
            value["outputs"] = outputs[:1]


def _first_index(values: list[Json]) -> None:
    for value in values:
        if any(output.get("index") for output in value.get("outputs") or ()):
            value["outputs"] = [output for output in value["outputs"] if not output.get("index")]


def _all_client(values: list[Json]) -> None:
    for call in holders(values, "function"):
        if str(call.get("type", "")).startswith("TOOL_CALL_TYPE_"):
            call["type"] = "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL"


def _ends_without_content(values: list[Json]) -> None:
    for output in holders(values, "finish_reason"):
        if len(values) > 1 and output["finish_reason"] not in ("REASON_INVALID", 0):
            output.pop("delta", None)


def _joined_by_name(values: list[Json]) -> None:
    """Ignore a call with the id of an earlier one's tool."""
    seen: set[Any] = set()
    for message in holders(values, "tool_calls"):
        kept_calls = []
        for call in message["tool_calls"] or ():
            name = (call.get("function") or {}).get("name")
            if name not in seen:
                kept_calls.append(call)
            seen.add(name)
        message["tool_calls"] = kept_calls


READERS: dict[str, dict[str, Edit]] = {
    "bedrock.converse": {
        "takes the stop of a guardrail for a normal end": _stops("end_turn", "guardrail_intervened"),
        "takes content_filtered for a normal end": _stops("end_turn", "content_filtered"),
        "takes malformed_tool_use and malformed_model_output for a normal end": _stops(
            "end_turn", "malformed_tool_use", "malformed_model_output"
        ),
        "takes model_context_window_exceeded for a normal end": _stops("end_turn", "model_context_window_exceeded"),
        "takes stop_sequence for a normal end": _stops("end_turn", "stop_sequence"),
        "does not count tokens that were read from the cache": gone("cacheReadInputTokens", "cacheReadInputTokenCount"),
        "does not count tokens that were written to the cache": gone(
            "cacheWriteInputTokens", "cacheWriteInputTokenCount"
        ),
        "loses the text of blocks with citations": each(_citations_have_no_text),
        "loses the citations": each(gone("citations"), ignored(_delta_with("citation"))),
        "does not read the chunks of InvokeModel": ignored(_event("chunk")),
        "ignores an exception in a stream": ignored(lambda event: any(key.endswith("Exception") for key in event)),
        "ignores throttling in a stream": ignored(_event("throttlingException")),
        "ignores the event modelStreamErrorException": ignored(_event("modelStreamErrorException")),
        "loses redacted reasoning": each(
            without("content", lambda block: "redactedContent" in (block.get("reasoningContent") or {})),
            gone("redactedContent"),
        ),
        "loses signatures of reasoning": gone("signature"),
        "runs a call of the provider's tool": _server_is_client,
        "loses results of the provider's tools": without("content", _has("toolResult")),
        "loses images of the model": each(without("content", _has("image")), ignored(_delta_with("image"))),
        "loses the additional fields of a model": gone("additionalModelResponseFields"),
        "loses the trace of a guardrail": gone("trace"),
        "ignores the index of a block in a stream": _one_index,
        "waits for a delta of the input, and loses calls without one": without(
            "content", lambda block: "toolUse" in block and not block["toolUse"].get("input")
        ),
    },
    "cohere.chat": {
        "takes ERROR for a normal end": _error_ends("ERROR"),
        "takes ERROR_TOXIC for a normal end": _error_ends("ERROR_TOXIC"),
        "takes ERROR_LIMIT for a normal end": _error_ends("ERROR_LIMIT"),
        "takes TIMEOUT for a normal end": _error_ends("TIMEOUT"),
        "takes USER_CANCEL for a normal end": _error_ends("USER_CANCEL"),
        "takes STOP_SEQUENCE for a normal end": _error_ends("STOP_SEQUENCE"),
        "ignores the error of message-end": at("delta", lambda event: event["delta"].pop("error", None)),
        "ignores the events with citations": ignored(_event("citation-start", "citation-end", "citation-generation")),
        "loses the citations of a body": gone("citations", beside="role"),
        "loses the plan of a stream's calls": ignored(_event("tool-plan-delta")),
        "loses the plan beside calls": gone("tool_plan", beside="tool_calls"),
        "returns the billed units as the tokens": _billed,
        "does not count cached tokens": gone("cached_tokens"),
        "does not return the tokens of reasoning": gone("reasoning_tokens"),
        "reads nothing of a body of version 1": gone("text", beside="generation_id"),
        "loses the calls of version 1": gone("tool_calls", beside="generation_id"),
        "loses the thinking of the model": each(
            without("content", lambda part: part.get("type") == "thinking"), gone("thinking", beside="thinking")
        ),
        "reads the first content of a message": _first_content,
        "loses arguments that arrive in tool-call-start": _arguments_of_the_start,
        "ignores the index of a call in a stream": _tool_index_zero,
        "ignores calls whose arguments are empty or null": without(
            "tool_calls", lambda call: not (call.get("function") or {}).get("arguments")
        ),
        "loses the log probabilities": gone("logprobs"),
    },
    "ollama.chat": {
        "loses calls in the event with done": _done_event_has_no_calls,
        "reads only the figures of the event with done": _done_event_has_no_message,
        "overwrites calls with those of a later event": _calls_overwritten,
        "overwrites a call with another one of the same index": _by_function_index,
        "reads arguments that are text as no arguments": _text_arguments,
        "gives all calls without an id the same id": _ids_from_nothing,
        "ignores the ids of calls": gone("id"),
        "loses the thinking of the model": gone("thinking"),
        "returns thinking as text": at(
            "thinking", lambda m: m.update(content=m.pop("thinking") + (m.get("content") or ""))
        ),
        "takes done_reason length for a normal end": becomes("done_reason", "stop", "length"),
        "takes done_reason load and unload for a normal end": becomes("done_reason", "stop", "load", "unload"),
        "ignores an error in a stream": ignored(lambda event: "error" in event),
        "returns 0 for a prompt count that the server left out": _no_figure_is_zero,
        "loses images of the model": gone("images"),
        "ends a stream at its first event with done_reason": at("done_reason", lambda event: event.update(done=True)),
        "ignores a message without text beside its calls": _null_content,
        "loses the log probabilities": gone("logprobs"),
    },
    "xai.grpc": {
        "reads the first output of each message": _first_output,
        "reads the outputs with the index 0": _first_index,
        "runs the provider's calls": _all_client,
        "reads one call of each message, the last one": kept("tool_calls", lambda calls: calls[-1:]),
        "takes a second call of the same tool for a repetition": _joined_by_name,
        "ignores that the provider's call failed": each(
            becomes("status", "TOOL_CALL_STATUS_COMPLETED", "TOOL_CALL_STATUS_FAILED"), gone("error_message")
        ),
        "loses the citations": gone("citations", "inline_citations"),
        "does not add the tokens of reasoning to the output": gone("reasoning_tokens"),
        "does not count cached tokens": gone("cached_prompt_text_tokens"),
        "counts the text of a prompt, and not its images": gone("prompt_image_tokens"),
        "takes REASON_MAX_LEN for a normal end": becomes("finish_reason", "REASON_STOP", "REASON_MAX_LEN"),
        "takes REASON_MAX_CONTEXT for a normal end": becomes("finish_reason", "REASON_STOP", "REASON_MAX_CONTEXT"),
        "takes REASON_TIME_LIMIT for a normal end": becomes("finish_reason", "REASON_STOP", "REASON_TIME_LIMIT"),
        "loses encrypted reasoning": gone("encrypted_content"),
        "loses reasoning": gone("reasoning_content"),
        "reads only the finish reason of the last message": _ends_without_content,
        "loses the results of the provider's tools": without(
            "outputs", lambda output: "ROLE_TOOL" in str(output.get("delta") or output.get("message"))
        ),
        "loses the log probabilities": gone("logprobs"),
    },
}
