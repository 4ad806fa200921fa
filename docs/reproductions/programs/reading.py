"""Reads the public objects of the libraries into plain values. Standard library only."""


def completion(answer):
    """Return the content of a Chat Completions object."""
    calls = []
    for choice in answer.choices:
        fields = getattr(choice.message, "provider_specific_fields", None) or {}
        results = [*(fields.get("tool_results") or []), *(fields.get("web_search_results") or [])]
        ran = {result.get("tool_use_id") for result in results}
        held = choice.message.tool_calls or ()
        for call in (one if isinstance(one, dict) else one.model_dump() for one in held):
            body, member = (call["custom"], "input") if call["type"] == "custom" else (call["function"], "arguments")
            if call["id"] not in ran:
                call_of = {"name": body.get("name") or "", "arguments_text": body.get(member) or ""}
                calls.append({"id": call["id"], **call_of})
        if legacy := getattr(choice.message, "function_call", None):
            calls.append({"name": legacy.name or "", "arguments_text": legacy.arguments})
    first = answer.choices[0] if answer.choices else None
    native = (getattr(first, "provider_specific_fields", None) or {}).get("native_finish_reason")
    return {
        "calls": calls,
        "text": first.message.content or "" if first else "",
        "stop": native or (first.finish_reason if first else None),
        "refusal": refusal(first.message) if first else None,
        "usage": usage(getattr(answer, "usage", None), "prompt", "completion"),
    }


def refusal(message):
    """Return the text of a message's refusal; LiteLLM has it among the provider's fields."""
    fields = getattr(message, "provider_specific_fields", None) or {}
    return getattr(message, "refusal", None) or fields.get("refusal")


def added_up(chunks):
    """Return the content of Chat Completions chunks: text is concatenated, calls are assembled by index."""
    calls, text, refusal, stop, counts = {}, "", "", None, None
    for chunk in chunks:
        counts = chunk.usage or counts
        for choice in chunk.choices:
            delta = choice.delta
            if choice.index == 0:
                text += delta.content or ""
                refusal += getattr(delta, "refusal", None) or ""
                stop = choice.finish_reason or stop
            parts = [(part.index, part.id, part.function) for part in delta.tool_calls or ()]
            if legacy := getattr(delta, "function_call", None):
                parts.append((None, None, legacy))
            for index, id, function in parts:
                call = calls.setdefault((choice.index, index), {"id": None, "name": "", "arguments_text": ""})
                call["id"] = id or call["id"]
                call["name"] += getattr(function, "name", None) or ""
                call["arguments_text"] += getattr(function, "arguments", None) or ""
    totals = usage(counts, "prompt", "completion")
    return {"calls": list(calls.values()), "text": text, "stop": stop, "refusal": refusal, "usage": totals}


CALLS = {
    "function_call": ("", "arguments"),
    "custom_tool_call": ("", "input"),
    "computer_call": ("computer", "action"),
    "local_shell_call": ("local_shell", "action"),
    "shell_call": ("shell", "action"),
    "apply_patch_call": ("apply_patch", "operation"),
}


def item_calls(items):
    """Return the calls among output items, without those whose output is among them: the provider ran these."""
    answered = {item.get("call_id") for item in items if str(item.get("type")).endswith("_output")} - {None}
    calls = []
    for item in items:
        if item.get("type") in CALLS and item.get("call_id") not in answered:
            name, member = CALLS[item["type"]]
            calls.append({"id": item.get("call_id"), "name": item.get("name") or name, "arguments": item.get(member)})
    return calls


def response(answer):
    """Return the content of a Responses object."""
    items = [item if isinstance(item, dict) else item.model_dump(exclude_unset=True) for item in answer.output]
    parts = [part for item in items if item.get("type") == "message" for part in item.get("content") or ()]
    reason = getattr(getattr(answer, "incomplete_details", None), "reason", None)
    return {
        "calls": item_calls(items),
        "text": "".join(part["text"] for part in parts if part.get("type") == "output_text"),
        "stop": reason or getattr(answer, "status", None),
        "refusal": any(part.get("type") == "refusal" for part in parts),
        "approval": any(item.get("type") == "mcp_approval_request" for item in items),
        "usage": usage(answer.usage, "input", "output"),
    }


def last(events):
    """Return the response of the terminal event."""
    ends = [event for event in events if event.type in ("response.completed", "response.incomplete", "response.failed")]
    if not ends:
        raise RuntimeError("the stream ended without its last event")
    return ends[-1].response


def langchain(messages):
    """Return the content of LangChain's messages, one for each choice."""
    calls, rejected = [], []
    for message in messages:
        calls += [{"id": call["id"], "name": call["name"], "arguments": call["args"]} for call in message.tool_calls]
        if legacy := message.additional_kwargs.get("function_call"):
            calls.append({"name": legacy.get("name") or "", "arguments_text": legacy.get("arguments") or ""})
        parts = [part for part in message.content if isinstance(part, dict)]
        read = ("function_call", "custom_tool_call")
        calls += [call for call in item_calls(parts) if not any(part.get("type") in read for part in parts)]
        for call in message.invalid_tool_calls:
            rejected.append({"id": call["id"], "name": call["name"] or "", "arguments_text": call["args"] or ""})
    first, metadata = messages[0], messages[0].response_metadata
    reason = (metadata.get("incomplete_details") or {}).get("reason")
    members = {
        "stop": metadata.get("finish_reason") or metadata.get("stop_reason") or reason or metadata.get("status"),
        "refusal": first.additional_kwargs.get("refusal")
        or any(isinstance(part, dict) and part.get("type") == "refusal" for part in first.content),
    }
    counts = first.usage_metadata or {}
    into, out = counts.get("input_token_details") or {}, counts.get("output_token_details") or {}
    values = [counts.get("input_tokens"), counts.get("output_tokens"), into.get("cache_read"), out.get("reasoning")]
    members["usage"] = named([*values, into.get("cache_creation")]) if counts else None
    return {"calls": calls, "rejected": rejected, "text": first.text, **members}


def pydantic_ai(answer):
    """Return the content of Pydantic AI's model response."""
    calls = []
    for part in answer.parts:
        if part.part_kind == "tool-call":
            member = "arguments_text" if isinstance(part.args, str) and part.args else "arguments"
            id = None if part.tool_call_id.startswith("pyd_ai_") else part.tool_call_id
            calls.append({"id": id, "name": part.tool_name, member: part.args or {}})
    details, counts = answer.provider_details or {}, answer.usage
    reasoning = counts.output_reasoning_tokens or counts.details.get("reasoning_tokens")
    values = [counts.input_tokens, counts.output_tokens, counts.cache_read_tokens, reasoning]
    return {
        "calls": calls,
        "text": "".join(part.content or "" for part in answer.parts if part.part_kind == "text"),
        "stop": details.get("finish_reason") or answer.finish_reason,
        "refusal": details.get("refusal"),
        "complete": answer.state == "complete",
        "usage": named([*values, counts.cache_write_tokens]),
    }


def usage(counts, into, out):
    """Return the token counts of an object with OpenAI's members."""
    if counts is None:
        return None
    more, less = (getattr(counts, f"{word}_tokens_details", None) for word in (into, out))
    values = [getattr(counts, f"{word}_tokens") for word in (into, out)]
    details = [(more, "cached_tokens"), (less, "reasoning_tokens"), (more, "cache_write_tokens")]
    return named([*values, *(getattr(held, member, None) for held, member in details)])


def named(values):
    """Return five token counts with the names that all programs use."""
    names = ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens", "cache_write_tokens")
    return dict(zip(names, values, strict=True))
