"""The libraries' words for stop reasons. The programs of this folder import it as a top-level module."""

from __future__ import annotations

from typing import Any

#: The libraries' words for stop reasons -> the canonical reason. Each word is one of OpenAI's Chat Completions
#: (`finish_reason`; Mistral adds `model_length`), of OpenAI's Responses (`status`, `incomplete_details.reason`), of
#: Anthropic's Messages (`stop_reason`), of xAI's service (`finish_reason`), of Cohere's Chat (`finish_reason`), of
#: Bedrock's Converse (`stopReason`), of Gemini (`finishReason`), of Google's Interactions (`status`), of Ollama
#: (`done_reason`), or of a library that has separate words.
STOPS = {
    "stop": "end_turn",
    "end_turn": "end_turn",
    "completed": "end_turn",
    "load": "end_turn",
    "unload": "end_turn",
    "complete": "end_turn",
    "reason_stop": "end_turn",
    "stop_sequence": "stop_sequence",
    "tool_calls": "tool_calls",
    "tool_call": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "reason_tool_calls": "tool_calls",
    "requires_action": "tool_calls",
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "incomplete": "max_tokens",
    "budget_exceeded": "max_tokens",
    "reason_max_len": "max_tokens",
    "reason_time_limit": "max_tokens",
    "timeout": "max_tokens",
    "model_context_window_exceeded": "context_window",
    "model_length": "context_window",
    "reason_max_context": "context_window",
    "content_filter": "content_filter",
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
    "safety": "content_filter",
    "recitation": "content_filter",
    "blocklist": "content_filter",
    "prohibited_content": "content_filter",
    "spii": "content_filter",
    "language": "content_filter",
    "model_armor": "content_filter",
    "jailbreak": "content_filter",
    "malformed_function_call": "malformed_call",
    "unexpected_tool_call": "malformed_call",
    "too_many_tool_calls": "error",
    "malformed_response": "error",
    "missing_thought_signature": "error",
    "malformed_tool_use": "malformed_call",
    "malformed_model_output": "error",
    "refusal": "refusal",
    "pause_turn": "pause",
    "requires_continuation": "pause",
    "compaction": "compaction",
    "error": "error",
    "failed": "error",
    "cancelled": "error",
}


def stop_of(word: Any, *, calls: Any = (), refusal: Any = None, approval: Any = None) -> str:
    """Return the canonical stop reason of a library's word; a missing word is "unknown".

    A caller sees the content of the response beside the word. So a plain end, and a word that the table does not have,
    is "tool_calls" with ``calls``. Without calls, a plain end is "refusal" with the text of a ``refusal``, and "pause"
    if the provider asks for an ``approval``.
    """
    reason = STOPS.get(str(word).lower(), "unknown")
    if calls and (reason == "end_turn" or (reason == "unknown" and word)):
        return "tool_calls"
    if reason == "end_turn" and (refusal or approval):
        return "refusal" if refusal else "pause"
    return reason
