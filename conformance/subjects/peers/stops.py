"""The libraries' words for stop reasons. The programs of this folder import it as a top-level module."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

#: The libraries' words for stop reasons -> the canonical reason. Each word is one of OpenAI's Chat Completions
#: (`finish_reason`; Mistral adds `model_length`), of OpenAI's Responses (`status`, `incomplete_details.reason`), of
#: Anthropic's Messages (`stop_reason`), of xAI's service (`finish_reason`), of Cohere's Chat (`finish_reason`), of
#: Bedrock's Converse (`stopReason`), of Gemini (`finishReason`), of Google's Interactions (`status`), of Ollama
#: (`done_reason`), or of a library that has separate words. The programs for Node read the same file.
STOPS: dict[str, str] = json.loads(Path(__file__).with_name("stops.json").read_text("utf-8"))


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
