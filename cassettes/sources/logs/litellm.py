"""Logs of LiteLLM: the payload of its logging callbacks, and rows of its table LiteLLM_SpendLogs.

{"id", "call_type", "model", "messages", "response", "model_parameters", "custom_llm_provider", …}
{"request_id", "call_type", "model", "messages", "response", "proxy_server_request", …}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...errors import UnreadableSource
from ..json_text import parsed
from ..model import Exchange
from . import conversion

#: Call types whose responses hold no message of a model.
_OTHERS = ("embedding", "image", "transcription", "speech", "moderation", "rerank", "text_completion", "file", "batch")


def claims(item: dict[str, Any]) -> bool:
    """Return whether a JSON object has this format."""
    return isinstance(item.get("call_type"), str) and "messages" in item and "response" in item


def exchanges(source: str, line: int | None, item: dict[str, Any]) -> Iterator[Exchange]:
    """Yield the exchange. Raises UnreadableSource if LiteLLM was configured not to log contents."""
    if any(word in item["call_type"] for word in _OTHERS):
        return
    response = parsed(item["response"])
    if response in (None, "", {}) and item.get("error_str"):
        response = {"error": {"message": item["error_str"], "type": "error"}}
    if response in (None, "", {}) or response == "redacted-by-litellm":
        raise UnreadableSource(
            "the log entry has no response", hint="LiteLLM stores it with store_prompts_in_spend_logs"
        )
    sent = parsed(item.get("proxy_server_request"))
    request = sent if isinstance(sent, dict) and ("messages" in sent or "input" in sent) else parsed(item["messages"])
    parameters = parsed(item.get("model_parameters"))
    tools = parameters.get("tools") if isinstance(parameters, dict) else None
    yield conversion.exchange(
        source,
        line,
        format="litellm",
        request=request or None,
        response=response,
        id=item.get("id") or item.get("request_id"),
        model=item.get("model"),
        provider=item.get("custom_llm_provider"),
        tools=tools,
    )
