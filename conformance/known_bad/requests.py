"""Defects in requests that the provider refuses, or that omit what it requires to get back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..subjects import FollowUp
from ..subjects.reference import read_answer
from .mutate import by_messages, defect


@defect("answered", "request")
def one_answer_is_missing(body: Any, follow_up: FollowUp) -> Any:
    """Sends only the first result."""
    drop_answers(body, keep=1)
    return body


@defect("answered", "request")
def answers_forgotten(body: Any, follow_up: FollowUp) -> Any:
    """Sends the calls without results."""
    drop_answers(body, keep=0)
    return body


@defect("answered", "request")
def answers_in_separate_messages(body: Any, follow_up: FollowUp) -> Any:
    """Sends each result in a separate message, with other messages between them."""
    if "messages" in body:
        messages = []
        for message in body["messages"]:
            content = message.get("content")
            if isinstance(content, list) and len(content) > 1 and content[0].get("type") == "tool_result":
                for block in content:
                    messages.append({"role": "user", "content": [block]})
                    messages.append({"role": "assistant", "content": "Thanks."})
                messages.pop()
            else:
                messages.append(message)
        body["messages"] = messages
    return body


@defect("answered", "request")
def answered_twice(body: Any, follow_up: FollowUp) -> Any:
    """Sends the last result twice."""
    for items in (body.get("messages"), body.get("input")):
        if isinstance(items, list) and items and _is_answer(items[-1]):
            items.append(items[-1])
    for message in body.get("messages") or []:
        content = message.get("content")
        if isinstance(content, list) and content and content[-1].get("type") == "tool_result":
            content.append(content[-1])
    return body


@defect("answered", "request")
def ids_of_its_own(body: Any, follow_up: FollowUp) -> Any:
    """Gives the results ids that no call has."""
    text = json.dumps(body)
    for key in ("tool_call_id", "tool_use_id"):
        text = text.replace(f'"{key}": "', f'"{key}": "x')
    body = json.loads(text)
    for item in body.get("input") or []:
        if isinstance(item, dict) and str(item.get("type", "")).endswith("_output"):
            item["call_id"] = "x" + item["call_id"]
    return body


@defect("answered", "request")
def answered_as_they_finish(body: Any, follow_up: FollowUp) -> Any:
    """Sends the results in the order in which the tools finished."""
    for key in ("messages", "input"):
        items = body.get(key) or []
        places = [place for place, item in enumerate(items) if _is_answer(item)]
        last = [place for place in places if place >= len(items) - len(follow_up.results)]
        for place, item in zip(last, [items[place] for place in reversed(last)], strict=True):
            items[place] = item
    return body


@defect("answered", "request")
def results_exchanged(body: Any, follow_up: FollowUp) -> Any:
    """Sends each result as the answer to another call."""
    answers = list(_answers(body))[-len(follow_up.results) :] if follow_up.results else []
    for (item, key), told in zip(answers, [other[name] for other, name in answers][::-1], strict=True):
        item[key] = told
    return body


@defect("answered", "request")
def failures_are_successes(body: Any, follow_up: FollowUp) -> Any:
    """Sends errors without the error mark."""
    _strip(body, "is_error")
    return body


@defect("answered", "request")
def failures_of_converse_are_successes(body: Any, follow_up: FollowUp) -> Any:
    """Sends errors to Bedrock without their status."""
    if follow_up.to == "bedrock.converse":
        _strip(body, "status")
    return body


@defect("answered", "request")
def results_without_words(body: Any, follow_up: FollowUp) -> Any:
    """Answers every call without the content that its tool returned."""
    text = json.dumps(body)
    for result in follow_up.results:
        if result.content:
            text = text.replace(json.dumps(result.content)[1:-1], "ok")
    return json.loads(text)


@defect("replay", "request")
def signature_lost(body: Any, follow_up: FollowUp) -> Any:
    """Loses the provider's signatures."""
    _strip(body, "signature")
    return body


@defect("replay", "request")
def encrypted_state_lost(body: Any, follow_up: FollowUp) -> Any:
    """Loses encrypted reasoning."""
    _strip(body, "encrypted_content")
    return body


@defect("replay", "request")
def calls_get_new_ids(body: Any, follow_up: FollowUp) -> Any:
    """Gives calls and results new ids, consistently."""
    text = json.dumps(body)
    for result in follow_up.results:
        text = text.replace(json.dumps(result.call_id), json.dumps("new_" + result.call_id[-12:]))
    return json.loads(text)


@defect("replay", "request")
def streamed_state_lost(body: Any, follow_up: FollowUp) -> Any:
    """Loses signatures, encrypted and redacted state of streams."""
    if follow_up.exchange.stream:
        for key in ("signature", "encrypted_content", "data"):
            _strip(body, key)
    return body


@defect("replay", "request")
def state_of_grpc_lost(body: Any, follow_up: FollowUp) -> Any:
    """Loses encrypted reasoning of gRPC messages."""
    if by_messages(follow_up.to):
        _strip(body, "encrypted_content")
    return body


@defect("replay", "request")
def state_of_converse_lost(body: Any, follow_up: FollowUp) -> Any:
    """Loses redacted reasoning of Converse."""
    _strip(body, "redactedContent")
    return body


@defect("replay", "request")
def thoughts_of_interactions_lost(body: Any, follow_up: FollowUp) -> Any:
    """Sends the steps of an interaction back without the thoughts."""
    if follow_up.to == "google.interactions":
        body["input"] = [step for step in body["input"] if step.get("type") != "thought"]
    return body


@defect("replay", "request")
def plan_of_cohere_lost(body: Any, follow_up: FollowUp) -> Any:
    """Sends Cohere's calls back without their plan."""
    _strip(body, "tool_plan")
    return body


@defect("replay", "request")
def own_arguments_lost(body: Any, follow_up: FollowUp) -> Any:
    """Sends calls back to their provider without arguments."""
    if follow_up.to == follow_up.exchange.wire:
        _empty(body)
    return body


@defect("replay", "request")
def own_words_lost(body: Any, follow_up: FollowUp) -> Any:
    """Sends calls back to their provider without the text beside them."""
    if follow_up.to == follow_up.exchange.wire:
        _speechless(body, "assistant")
    return body


@defect("replay", "request")
def question_forgotten(body: Any, follow_up: FollowUp) -> Any:
    """Sends back the model's text without the user's."""
    _speechless(body, "user")
    return body


@defect("handoff", "request")
def foreign_arguments_lost(body: Any, follow_up: FollowUp) -> Any:
    """Loses the arguments of calls on the way to another provider."""
    if follow_up.to != follow_up.exchange.wire:
        _empty(body)
    return body


@defect("handoff", "request")
def foreign_results_exchanged(body: Any, follow_up: FollowUp) -> Any:
    """Exchanges results on the way to another provider."""
    return results_exchanged(body, follow_up) if follow_up.to != follow_up.exchange.wire else body


@defect("handoff", "request")
def foreign_words_lost(body: Any, follow_up: FollowUp) -> Any:
    """Loses the text beside calls on the way to another provider."""
    if follow_up.to != follow_up.exchange.wire:
        _speechless(body, "assistant")
    return body


@defect("handoff", "request")
def results_for_ollama_without_names(body: Any, follow_up: FollowUp) -> Any:
    """Sends results to Ollama without the name of their tool."""
    _strip(body, "tool_name")
    return body


@defect("handoff", "request")
def foreign_answers_lost(body: Any, follow_up: FollowUp) -> Any:
    """Loses the results on the way to another provider."""
    if follow_up.to != follow_up.exchange.wire:
        drop_answers(body, keep=0)
    return body


def _runs_some(follow_up: FollowUp, policy: str) -> bool:
    """Return whether a request follows several calls under a policy."""
    return follow_up.exchange.policy == policy and _called(follow_up) > 1


def _called(follow_up: FollowUp) -> int:
    response = read_answer(follow_up.exchange)
    return len(response.choices[0].calls) if response.choices else 0


def _last_answers(body: Any, follow_up: FollowUp) -> list[tuple[dict[str, Any], str]]:
    """Return the objects with the results of a response, in the order of its calls."""
    return list(_answers(body))[-_called(follow_up) :]


@defect("answered", "request")
def dropped_calls_go_unanswered(body: Any, follow_up: FollowUp) -> Any:
    """Sends no result for the calls that the policy first drops."""
    if _runs_some(follow_up, "first"):
        drop_answers(body, keep=1)
    return body


@defect("answered", "request")
def dropped_calls_get_a_result(body: Any, follow_up: FollowUp) -> Any:
    """Answers the calls that the policy first drops with the result of the one that ran."""
    if _runs_some(follow_up, "first"):
        (ran, key), *dropped = _last_answers(body, follow_up) or [({}, "")]
        for item, name in dropped:
            item[name] = ran[key]
    return body


@defect("answered", "request")
def dropped_calls_get_no_words(body: Any, follow_up: FollowUp) -> Any:
    """Answers the calls that a policy or a limit drops with nothing."""
    for item, name in _last_answers(body, follow_up)[len(follow_up.results) :]:
        item[name] = ""
    return body


@defect("answered", "request")
def drops_are_successes(body: Any, follow_up: FollowUp) -> Any:
    """Answers the calls that the policy first drops without the error mark."""
    if _runs_some(follow_up, "first"):
        _strip(body, "is_error")
    return body


@defect("answered", "request")
def a_batch_is_one_result(body: Any, follow_up: FollowUp) -> Any:
    """Sends the results of a batch as one, at its first call."""
    if _runs_some(follow_up, "batch"):
        drop_answers(body, keep=1)
    return body


@defect("answered", "request")
def results_of_a_batch_exchanged(body: Any, follow_up: FollowUp) -> Any:
    """Sends each result of a batch as the answer to another call."""
    return results_exchanged(body, follow_up) if follow_up.exchange.policy == "batch" else body


@defect("replay", "request")
def state_lost_under_a_limit(body: Any, follow_up: FollowUp) -> Any:
    """Loses signatures and encrypted reasoning if a limit drops calls."""
    if follow_up.exchange.limit is not None:
        for key in ("signature", "encrypted_content", "thoughtSignature", "reasoningContent"):
            _strip(body, key)
    return body


@defect("replay", "request")
def dropped_calls_lose_their_arguments(body: Any, follow_up: FollowUp) -> Any:
    """Sends calls back without arguments under the policy first."""
    if _runs_some(follow_up, "first"):
        _empty(body)
    return body


@defect("replay", "request")
def words_beside_a_batch_lost(body: Any, follow_up: FollowUp) -> Any:
    """Sends the calls of a batch back without the text beside them."""
    if _runs_some(follow_up, "batch"):
        _speechless(body, "assistant")
    return body


@defect("handoff", "request")
def foreign_drops_go_unanswered(body: Any, follow_up: FollowUp) -> Any:
    """Hands calls that the policy first drops over to another provider without results."""
    if follow_up.to != follow_up.exchange.wire and _runs_some(follow_up, "first"):
        drop_answers(body, keep=1)
    return body


@defect("handoff", "request")
def foreign_batches_lose_their_words(body: Any, follow_up: FollowUp) -> Any:
    """Loses the text beside a batch on the way to another provider."""
    if follow_up.to != follow_up.exchange.wire and _runs_some(follow_up, "batch"):
        _speechless(body, "assistant")
    return body


def _items(body: Any) -> list[dict[str, Any]]:
    items = [*(body.get("messages") or []), *(body.get("input") or [])]
    return [item for item in items if isinstance(item, dict)]


def _answers(body: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each object that holds a tool result, and the name of the member with the result."""
    for item in _items(body):
        if _is_answer(item):
            yield item, "output" if "output" in item else "content"
        content = item.get("content")
        for block in content if isinstance(content, list) else []:
            if block.get("type") == "tool_result":
                yield block, "content"


def _empty(body: Any) -> None:
    """Remove the arguments of all calls."""
    for item in _items(body):
        for call in item.get("tool_calls") or []:
            if "function" in call:
                call["function"]["arguments"] = "{}"
        if item.get("type") == "function_call":
            item["arguments"] = "{}"
        content = item.get("content")
        for block in content if isinstance(content, list) else []:
            if block.get("type") == "tool_use":
                block["input"] = {}


def _speechless(body: Any, who: str) -> None:
    """Replace the texts of a role with a dash."""
    for item in _items(body):
        if str(item.get("role")).removeprefix("ROLE_").lower() != who:
            continue
        if isinstance(item.get("content"), str):
            item["content"] = "-"
        for part in item["content"] if isinstance(item.get("content"), list) else []:
            if "text" in part:
                part["text"] = "-"


def _is_answer(item: Any) -> bool:
    return isinstance(item, dict) and (
        item.get("role") in ("tool", "ROLE_TOOL") or str(item.get("type", "")).endswith("_output")
    )


def drop_answers(body: Any, keep: int) -> None:
    for key in ("messages", "input"):
        items = body.get(key)
        if not isinstance(items, list):
            continue
        seen = 0
        left = []
        for item in items:
            if _is_answer(item):
                seen += 1
                if seen > keep:
                    continue
            content = item.get("content") if isinstance(item, dict) else None
            if isinstance(content, list) and any(b.get("type") == "tool_result" for b in content):
                answers = [b for b in content if b.get("type") == "tool_result"]
                item = {**item, "content": answers[:keep]}  # noqa: PLW2901
                if not item["content"]:
                    continue
            left.append(item)
        body[key] = left


def _strip(value: Any, key: str) -> None:
    if isinstance(value, list):
        for one in value:
            _strip(one, key)
    elif isinstance(value, dict):
        value.pop(key, None)
        for one in value.values():
            _strip(one, key)
