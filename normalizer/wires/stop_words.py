"""The providers' words for stop reasons, in one table for all wires (`docs/pages/stop-words.md`).

A word has the same meaning for every provider and wire. Spelling does not matter: `MAX_TOKENS`, `maxTokens` and
`FINISH_REASON_MAX_TOKENS` are all the word `max_tokens`. If a word has two parts, as on Gemini's OpenAI endpoint
(`function_call_filter: MALFORMED_FUNCTION_CALL`), the reason of higher severity applies.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from ..model import DEAD_STOPS, StopReason

#: Where each source documents its words. `WORDS` refers to these keys.
SOURCES: dict[str, str] = {
    "ai-sdk": "Vercel AI SDK, LanguageModelV2FinishReason (gateways pass its words on)",
    "anthropic": "anthropic.types.beta.BetaStopReason",
    "assistants": "OpenAI Assistants and Azure AI agents: status and incomplete_details.reason of runs and messages",
    "bedrock": "Amazon Bedrock, Converse stopReason",
    "cohere": "cohere.types.ChatFinishReason (v1 and v2)",
    "deepseek": "DeepSeek, Create Chat Completion: finish_reason",
    "ernie": "Baidu Qianfan, ERNIE chat: finish_reason",
    "error-codes": "error codes of OpenAI's API, which gateways pass on as the reason",
    "gemini": "google.genai.types.FinishReason and BlockedReason",
    "gemini-live": "google.genai.types.LiveServerContent: interrupted",
    "gemini-openai": "Gemini's OpenAI endpoint, `function_call_filter: …` and `content_filter: …` (as its users saw)",
    "glm": "Z.ai and Zhipu GLM, chat completion: finish_reason",
    "groq": "groq.types.chat.chat_completion.Choice",
    "hunyuan": "Tencent Hunyuan, ChatCompletions: FinishReason",
    "interactions": "google.genai.interactions.Interaction: status",
    "letta": "letta.schemas.letta_stop_reason.StopReasonType",
    "litellm": "litellm.litellm_core_utils.core_helpers._FINISH_REASON_MAP",
    "llama-cpp": "llama.cpp server: finish_reason and stop_type; llama-cpp-python: abort",
    "lmdeploy": "lmdeploy.serve.openai.protocol: finish_reason",
    "lmstudio": "LM Studio, LLMPredictionStopReason",
    "minimax": "MiniMax, ChatCompletion: finish_reason",
    "mistral": "mistralai.models.ChatCompletionChoiceFinishReason",
    "mlx": "mlx-lm server: finish_reason",
    "ollama": "Ollama, done_reason",
    "openai": "openai.types.chat.chat_completion.Choice",
    "openrouter": "OpenRouter, finish_reason and native_finish_reason",
    "realtime": "openai.types.realtime.RealtimeResponseStatus",
    "responses": "openai.types.responses.Response: status and incomplete_details.reason",
    "sglang": "SGLang, srt.managers.schedule_batch.BaseFinishReason",
    "tensorrt-llm": "tensorrt_llm.executor.result.CompletionOutput: finish_reason",
    "tgi": "Hugging Face Text Generation Inference, FinishReason",
    "titan": "Amazon Titan, completionReason",
    "together": "together.types.common.FinishReason",
    "vllm": "vllm.v1.engine.FINISH_REASON_STRINGS",
    "watsonx": "IBM watsonx.ai, TextChatResultChoice and TextGenResult: finish_reason, stop_reason",
    "xai": "xai_api.FinishReason",
}


class Word(Struct, frozen=True):
    """A row of `WORDS`. ``sources``: keys of `SOURCES`, separated by spaces."""

    reason: StopReason
    sources: str


def _rows(reason: StopReason, words: dict[str, str]) -> dict[str, Word]:
    return {word: Word(reason, sources) for word, sources in words.items()}


#: The meaning of each word, by its normalized spelling (`fold`).
WORDS: dict[str, Word] = {
    **_rows(
        "end_turn",
        {
            "stop": "openai vllm sglang llama-cpp tgi glm minimax deepseek mistral gemini ollama xai mlx hunyuan",
            "end_turn": "anthropic bedrock openrouter letta",
            "eos": "together llama-cpp",
            "eos_token": "tgi watsonx",
            "eos_found": "lmstudio",
            "complete": "cohere bedrock",
            "completed": "responses openrouter realtime assistants interactions",
            "idle": "interactions",
            "finished": "titan",
            "normal": "ernie",
            "load": "ollama",
            "unload": "ollama",
        },
    ),
    **_rows(
        "tool_calls",
        {
            "tool_calls": "openai vllm sglang glm minimax deepseek mistral xai watsonx ai-sdk lmstudio",
            "tool_call": "together cohere",
            "tool_use": "anthropic bedrock",
            "function_call": "openai groq ernie",
            "requires_action": "assistants interactions",
        },
    ),
    **_rows(
        "max_tokens",
        {
            "length": "openai vllm sglang tgi glm minimax deepseek mistral ollama titan together ai-sdk mlx",
            "max_tokens": "anthropic bedrock gemini cohere watsonx assistants",
            "max_output_tokens": "responses openrouter realtime",
            "max_output": "minimax",
            "max_completion_tokens": "assistants",
            "max_tokens_exceeded": "letta",
            "max_len": "xai",
            "continuation": "gemini",
            "limit": "llama-cpp",
            "token_limit": "watsonx",
            "max_predicted_tokens_reached": "lmstudio",
            # A time limit cuts a response like a token limit does (XAI-11).
            "time_limit": "xai watsonx",
            "timeout": "tensorrt-llm cohere",
            # An unfinished response was cut, too; these words do not say by which limit.
            "incomplete": "responses realtime assistants interactions",
            "budget_exceeded": "interactions",
            "not_finished": "watsonx",
        },
    ),
    **_rows(
        "context_window",
        {
            "model_context_window_exceeded": "anthropic bedrock glm",
            "model_length": "mistral",
            "max_context": "xai",
            "max_prompt_tokens": "assistants",
            "context_length_reached": "lmstudio",
            "context_length_exceeded": "error-codes",
            "context_window_exceeded": "error-codes",
            "context_window_overflow_in_system_prompt": "letta",
            "error_limit": "cohere",
        },
    ),
    **_rows(
        "stop_sequence",
        {
            "stop_sequence": "anthropic bedrock cohere tgi watsonx",
            "stop_string_found": "lmstudio",
            "stop_criteria_met": "titan",
            "word": "llama-cpp",
        },
    ),
    **_rows("refusal", {"refusal": "anthropic"}),
    **_rows(
        "content_filter",
        {
            "content_filter": "openai responses realtime ai-sdk ernie gemini-openai",
            "content_filtered": "bedrock titan",
            "guardrail_intervened": "bedrock",
            "sensitive": "glm hunyuan litellm",
            "safety": "gemini",
            "recitation": "gemini",
            "language": "gemini",
            "blocklist": "gemini",
            "prohibited_content": "gemini",
            "spii": "gemini",
            "model_armor": "gemini",
            "jailbreak": "gemini",
            "image_safety": "gemini",
            "image_prohibited_content": "gemini",
            "image_recitation": "gemini",
            "escalation": "gemini litellm",
            "pup_limited_disabled": "gemini",
            "error_toxic": "cohere",
        },
    ),
    **_rows(
        "pause",
        {
            "pause_turn": "anthropic",
            "max_messages": "responses",
            "steered": "responses",
            "requires_approval": "letta",
            "requires_continuation": "interactions",
        },
    ),
    **_rows("compaction", {"compaction": "anthropic"}),
    **_rows(
        "malformed_call",
        {
            "malformed_function_call": "gemini openrouter",
            "function_call_filter": "gemini-openai",
            "unexpected_tool_call": "gemini",
            "malformed_tool_use": "bedrock",
            "invalid_tool_call": "letta",
        },
    ),
    **_rows(
        "error",
        {
            "error": "openrouter mistral vllm lmdeploy watsonx cohere ai-sdk letta",
            "network_error": "glm litellm",
            "insufficient_system_resource": "deepseek",
            "insufficient_credits": "letta",
            "llm_api_error": "letta",
            "invalid_llm_response": "letta",
            "no_tool_call": "letta",
            "max_steps": "letta",
            "abort": "vllm sglang llama-cpp lmdeploy",
            "aborted": "deepseek",
            "cancelled": "responses realtime tensorrt-llm watsonx letta interactions",
            "canceled": "responses",
            "client_cancelled": "realtime",
            "turn_detected": "realtime",
            "interrupted": "gemini-live",
            "user_cancel": "cohere",
            "user_stopped": "lmstudio",
            "model_unloaded": "lmstudio",
            "run_cancelled": "assistants",
            "run_expired": "assistants",
            "run_failed": "assistants",
            "expired": "assistants",
            "failed": "responses realtime lmstudio interactions",
            "repetition": "vllm",
            "too_many_tool_calls": "gemini",
            "malformed_response": "gemini",
            "malformed_model_output": "bedrock",
            "missing_thought_signature": "gemini",
            "image_other": "gemini",
            "no_image": "gemini",
            "other": "gemini ai-sdk",
            "rag_query_when_rag_disabled": "titan",
            "server_error": "error-codes",
            "rate_limit_exceeded": "error-codes",
        },
    ),
    **_rows(
        "unknown",
        {
            "unspecified": "gemini",
            "unknown": "ai-sdk",
        },
    ),
}

#: Meanings of the parts of a word that `WORDS` does not list. After a new word for an error, a filter or a cut, the
#: calls of the response must not run.
PARTS: dict[str, StopReason] = {
    "abort": "error",
    "aborted": "error",
    "cancelled": "error",
    "canceled": "error",
    "crashed": "error",
    "error": "error",
    "exception": "error",
    "failed": "error",
    "failure": "error",
    "interrupted": "error",
    "malformed": "malformed_call",
    "blocked": "content_filter",
    "filter": "content_filter",
    "filtered": "content_filter",
    "guardrail": "content_filter",
    "moderation": "content_filter",
    "sensitive": "content_filter",
    "unsafe": "content_filter",
    "violation": "content_filter",
    "refused": "refusal",
    "exceeded": "max_tokens",
    "length": "max_tokens",
    "limit": "max_tokens",
    "timeout": "max_tokens",
    "truncated": "max_tokens",
}

#: The reason of a word, as listed, in capitals, and as xAI spells it.
REASONS: dict[str, StopReason] = {
    word: row.reason for listed, row in WORDS.items() for word in (listed, listed.upper(), f"REASON_{listed.upper()}")
}
# Patterns as text: they are compiled when a word needs them, and not by `import toolparity`.
_HUMP = r"(?<=[a-z0-9])(?=[A-Z])"
_PREFIX = r"(?:(?:finish|stop)_?)?reason_"


def fold(word: str) -> str:
    """Normalize a word to the spelling of the table: snake case without the name of its enum."""
    plain = re.sub(_HUMP, "_", word.strip().rpartition(".")[2])
    return re.sub(_PREFIX, "", re.sub(r"[\s-]+", "_", plain).lower(), count=1)


def reason_of(raw: str) -> StopReason:
    """Return the meaning of a provider's word, or "unknown" if neither the word nor any of its parts is listed."""
    return REASONS.get(raw) or REASONS.get(raw.lower()) or _folded(raw)


def is_listed(raw: str) -> bool:
    """Report whether `WORDS` lists a word, in any spelling."""
    return raw in REASONS or raw.lower() in WORDS or any(fold(part) in WORDS for part in raw.split(":"))


def _folded(raw: str) -> StopReason:
    return _most_severe(_part(part) for part in reversed(raw.split(":")))


def _part(raw: str) -> StopReason:
    word = fold(raw)
    return REASONS.get(word) or _most_severe(PARTS[part] for part in word.split("_") if part in PARTS)


def _most_severe(reasons: Iterable[StopReason]) -> StopReason:
    """Return the first reason that forbids running calls, else the first known one, else "unknown"."""
    known = [reason for reason in reasons if reason != "unknown"]
    return next((reason for reason in known if reason in DEAD_STOPS), known[0] if known else "unknown")
