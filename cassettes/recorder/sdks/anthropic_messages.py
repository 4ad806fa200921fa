"""Messages through the `anthropic` SDK."""

from __future__ import annotations

from typing import Any

import anthropic

from . import CUT_AT, Asking, AsyncSent, Link, Refusal, Sent
from .openai_common import members

REFUSALS = (anthropic.APIError,)

HOSTED: dict[str, dict[str, Any]] = {
    "anthropic": {
        "web_search": {"type": "web_search_20250305", "name": "web_search"},
        "code_execution": {"type": "code_execution_20250825", "name": "code_execution"},
    }
}
#: The type of a tool -> the beta under which it is offered.
BETAS = {"code_execution_20250825": "code-execution-2025-08-25"}

_LIMIT = 4096
_BUDGET = 1024  # the least that the API takes


def settings(asking: Asking) -> dict[str, Any]:
    """The limit of the answer, which the API wants to be told, and thinking where the script has some."""
    made: dict[str, Any] = {"max_tokens": CUT_AT if asking.cut else _LIMIT}
    if asking.stream:
        made["stream"] = True
    if asking.thinks:
        made["thinking"] = {"type": "enabled", "budget_tokens": _BUDGET}
        made["max_tokens"] = _LIMIT  # it has to be more than the budget
    return made


def client(link: Link) -> anthropic.Anthropic:
    """A client without retries."""
    return anthropic.Anthropic(base_url=link.base, api_key=link.key, timeout=link.timeout, max_retries=0)


def async_client(link: Link) -> anthropic.AsyncAnthropic:
    """The same, asynchronous."""
    return anthropic.AsyncAnthropic(base_url=link.base, api_key=link.key, timeout=link.timeout, max_retries=0)


def sent(client: Any, body: dict[str, Any], stream: bool) -> Sent:
    """Message, or the raw events."""
    answer = client.messages.create(**_arguments(client, body))
    if not stream:
        yield answer
        return
    with answer:
        yield from answer


async def async_sent(client: Any, body: dict[str, Any], stream: bool) -> AsyncSent:
    """The same, asynchronous."""
    answer = await client.messages.create(**_arguments(client, body))
    if not stream:
        yield answer
        return
    async with answer:
        async for event in answer:
            yield event


def refused(error: BaseException) -> Refusal | None:
    """The provider's error: a body of its own, or an event in the midst of a stream (then the status was good)."""
    if not isinstance(error, anthropic.APIStatusError):
        return None
    if error.status_code < 400:
        return Refusal(error.body)
    return Refusal(error.response.content, error.status_code)


def _arguments(client: Any, body: dict[str, Any]) -> dict[str, Any]:
    betas = [BETAS[tool["type"]] for tool in body.get("tools", ()) if tool.get("type") in BETAS]
    headers = {"extra_headers": {"anthropic-beta": ",".join(betas)}} if betas else {}
    return {**members(client.messages.create, body), **headers}
