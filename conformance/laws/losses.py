"""The losses that a subject reports for its next request, and those that it has to report.

An oracle reads the conversation. A subject may report losses in any words; then only their number is compared. If all
of them are toolparity's codes, each code must be right: what a request lacks is reported, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from msgspec import Struct

from toolparity.cassettes.stated import MEDIA, without
from toolparity.normalizer import json_codec
from toolparity.normalizer.wires.registry import spec
from toolparity.normalizer.wires.write_context import LOSSES

from ..answer import NextRequest
from ..cases.case import CaseRound
from ..oracle import facts
from ..oracle.history import conversation, turns
from ..oracle.responses import Irregular, Json, WireBlock, leaves, parsed_arguments, read
from ..oracle.settings import STRUCTURE, TRANSPORT, Tool, asked_settings, declared_tools, has_choice, settings, tools
from ..subjects import SubjectExchange
from .law import Failure
from .matching import json_equal

#: The types of the blocks that not every wire can carry, as reasons name them, and the member to look for.
_KINDS = {
    "reasoning": ("reasoning", "text"),
    "refusal": ("refusal", "text"),
    "server_tool_call": ("server calls", "arguments_text"),
}


def wrong_losses(round: CaseRound, request: NextRequest, wire: str, *, canonical: bool) -> Iterator[Failure]:
    """Yield what a request for a wire lacks and the losses do not report, and the losses that are none.

    ``canonical``: whether the subject returns the canonical form, so that it has all content.
    """
    if request.losses is None:
        return
    if canonical and LOSSES.keys() >= set(request.losses):
        yield from _wrong_codes(round, request.body, wire, set(request.losses))
    elif canonical and wire == round.exchange.wire and _expected(round, request.body, wire) == {}:
        reason = "the request goes back to its provider, and losses are reported"
        yield Failure(round.number, reason, [], request.losses, effect="misreported")
    elif wire != round.exchange.wire and len(missing := uncarried(round.exchange, request.body)) > len(request.losses):
        reason = f"the request for {wire} does not have the {', '.join(missing)}, and the losses do not report it"
        yield Failure(round.number, reason, missing, request.losses, effect="lost")


def uncarried(exchange: SubjectExchange, body: Any) -> list[str]:
    """Return the kinds of content in the first choice of a response of which a request lacks at least one.

    An empty list, if the response is irregular: its reading is not unique.
    """
    try:
        choices = read(exchange).choices
    except Irregular:
        return []
    sent = json_codec.text(body)
    missing: dict[str, None] = {}
    for block in choices[0].blocks if choices else ():
        kind, member = _KINDS.get(block.members["type"], ("", ""))
        text = block.members.get(member)
        if isinstance(text, str) and text and json_codec.text(text)[1:-1] not in sent:
            missing[kind] = None
    return list(missing)


def _wrong_codes(round: CaseRound, body: Any, wire: str, reported: set[str]) -> Iterator[Failure]:
    wanted = _expected(round, body, wire)
    if wanted is None:
        wanted, reported = _expected_by_calls(round, wire), reported & {"arguments"}
    missing = sorted(code for code, required in wanted.items() if required and code not in reported)
    if missing:
        reason = f"the losses of the request for {wire} do not report {', '.join(missing)}"
        yield Failure(round.number, reason, missing, sorted(reported), effect="lost")
    if invented := sorted(reported - wanted.keys()):
        reason = f"the request for {wire} reports losses that it does not have: {', '.join(invented)}"
        yield Failure(round.number, reason, sorted(wanted), invented, effect="misreported")


def _expected(round: CaseRound, body: Any, wire: str) -> dict[str, bool] | None:
    """Return each code that a request may report -> whether it must; None if the conversation is not unique."""
    if not isinstance(round.exchange.request, dict):
        return None
    try:
        choices = read(round.exchange).choices
    except Irregular:
        return None
    handed_over = _HandedOver(round, choices[0].blocks if choices else [], body, wire)
    expected = _own(handed_over) if wire == round.exchange.wire else _foreign(handed_over)
    return {loss.code: loss.required for loss in expected if loss.possible}


def _expected_by_calls(round: CaseRound, wire: str) -> dict[str, bool]:
    """Return the loss of arguments that are not an object, which the scenario states, for a response without a reading.

    Nothing else is judged then, and a code that is not stated may be reported.
    """
    calls = [call for call in round.expected.calls if call.choice == 0 and call.kind == "function"]
    invalid = wire == round.exchange.wire and any(call.status == "invalid" for call in calls)
    return {"arguments": spec(wire).parsed_arguments and invalid}


class _Loss(NamedTuple):
    """A code of `LOSSES`. ``possible``: whether it may be reported. ``required``: whether it must be."""

    code: str
    possible: bool
    required: bool


class _HandedOver(Struct, dict=True):
    """A response with its conversation, and the request into which it was written."""

    round: CaseRound
    blocks: list[WireBlock]
    body: Json
    wire: str

    @property
    def request(self) -> Json:
        request: Json = self.round.exchange.request
        return request

    def of_type(self, *types: str) -> list[Json]:
        """Return the members of the response's blocks of these types."""
        return [block.members for block in self.blocks if block.members["type"] in types]

    @cached_property
    def sent_earlier(self) -> list[Json]:
        """All objects in the items that the model said earlier, and in those of the results."""
        items = conversation(self.request)[1]
        return list(_objects([item for item in items if not str(item.get("role")).lower().endswith("user")]))

    @cached_property
    def tools(self) -> list[Tool]:
        """The tools of the client that the request declared."""
        return tools(self.request, self.round.exchange.wire)

    @cached_property
    def settings(self) -> tuple[Json, Json]:
        """The settings of the earlier request, and of the one into which it was written."""
        return asked_settings(self.round.exchange), settings(self.body, self.wire)

    def has_text(self, text: str) -> bool:
        return json_codec.text(text)[1:-1] in json_codec.text(self.body)


def _objects(value: Any) -> Iterator[Json]:
    if isinstance(value, dict):
        yield value
    for member in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(member)


def _own(handed_over: _HandedOver) -> Iterator[_Loss]:
    """Yield the losses of a request that goes back to its own wire: what its provider refuses to take back."""
    reasoning = handed_over.of_type("reasoning")
    unsigned = any(not (block["signature"] or block["encrypted"]) for block in reasoning)
    takes_objects = spec(handed_over.wire).parsed_arguments
    yield _both("unsigned-reasoning", facts(handed_over.wire).signed_thinking and unsigned)
    yield _both("reasoning", handed_over.request.get("store") is False and unsigned)
    yield _both("arguments", takes_objects and _has_other_arguments(handed_over))
    yield _both("param", "thinking" in handed_over.request and "thinking" not in handed_over.body)


def _foreign(handed_over: _HandedOver) -> Iterator[_Loss]:
    """Yield the losses of a request for another wire: what only the provider of the response has."""
    for rule in (_foreign_content, _foreign_members, _foreign_tools, _foreign_settings, _moved_text):
        yield from rule(handed_over)


def _foreign_content(handed_over: _HandedOver) -> Iterator[_Loss]:
    """Yield the losses of blocks: reasoning, what the provider ran, refusals and blocks without a meaning elsewhere."""
    earlier, reasoning = handed_over.sent_earlier, handed_over.of_type("reasoning")
    thought = [each for each in earlier if each.get("type") in _THOUGHTS or _has([each], *_THOUGHT_MEMBERS)]
    lost = any(
        block["signature"] or block["encrypted"] or not handed_over.has_text(block["text"]) for block in reasoning
    )
    yield _Loss("reasoning", bool(reasoning or thought or _has(earlier, "encrypted_content")), lost)
    yield _both("server-tool", bool(handed_over.of_type(*_OF_SERVERS)) or any(map(_is_of_server, earlier)))
    yield _both("refusal", bool(handed_over.of_type("refusal")))
    asked, stated = handed_over.settings
    unmarked = asked.get("cache") != stated.get("cache") and _has_cache_points(handed_over)
    yield _both("opaque", bool(handed_over.of_type("opaque")) or unmarked)


def _foreign_members(handed_over: _HandedOver) -> Iterator[_Loss]:
    """Yield the losses of members of texts and calls."""
    earlier = handed_over.sent_earlier
    cited = any(text["annotations"] for text in handed_over.of_type("text"))
    yield _Loss("annotations", cited or _has(earlier, "annotations", "citations"), cited)
    yield _both("arguments", spec(handed_over.wire).parsed_arguments and _has_other_arguments(handed_over))
    called = any(call["namespace"] or call["caller"] for call in handed_over.of_type("tool_call"))
    yield _both("namespace", called or _has(earlier, "caller", "namespace"))
    asked, stated = handed_over.settings
    unmarked = asked.get("cache") != stated.get("cache") and not _has_cache_points(handed_over)
    has_extra = _has_extra(handed_over) or unmarked
    calls = [block for block in handed_over.blocks if block.members["type"] == "tool_call"]
    unknown = any(name not in _OF_CALLS for block in calls for name, _ in leaves(block.source))
    has_media = not MEDIA.isdisjoint(asked)  # names of documents, details of images
    yield _Loss("extra", has_extra or unknown or has_media, has_extra)


def _foreign_tools(handed_over: _HandedOver) -> Iterator[_Loss]:
    """Yield the losses of declared tools."""
    declared = handed_over.tools
    yield _both("hosted-tool", len(declared) < len(declared_tools(handed_over.request)))
    yield _both("kind", not facts(handed_over.wire).custom_tools and any(tool.schema is None for tool in declared))


def _foreign_settings(handed_over: _HandedOver) -> Iterator[_Loss]:
    """Yield the losses of settings, and what the request gets because its provider requires it."""
    request, declared, target = handed_over.request, handed_over.tools, facts(handed_over.wire)
    asked, stated = handed_over.settings
    unlimited = not any(request.get(name) for name in _LIMITS)
    has_default = {"": False, "limit": unlimited, "tools": not declared}[target.required]
    yield _Loss("default", has_default or "format" in asked, required=False)  # nothing is lost
    yield _Loss("model", _is_model_foreign(handed_over), required=False)  # its name is sent unchanged
    yield _both("parallel", asked.get("parallel calls") is False and not target.parallel)
    yield _both("tool-choice", not has_choice(asked["tool choice"], handed_over.wire))
    lost = any(asked[name] != stated.get(name) for name in MEDIA & asked.keys())
    yield _Loss("media", lost or "document" in asked, lost)  # the wire may refuse the name of a document
    strict = not target.strict and any(tool.strict for tool in declared)
    kept = {name for name, value in asked.items() if json_equal(value, stated.get(name))}
    others = without(request, handed_over.round.exchange.wire, kept)
    left_out = {name for name, value in others.items() if _is_left_out(handed_over, name, value)}
    silent = TRANSPORT | ({"n"} if request.get("n") == 1 else set())
    has_name = "format" in asked  # of the schema, which some wires lack
    yield _Loss("param", bool(left_out) or strict or has_name, bool(left_out - silent) or strict)


def _moved_text(handed_over: _HandedOver) -> Iterator[_Loss]:
    """Yield the loss of the order, on a wire that has calls after all text."""
    if not facts(handed_over.wire).calls_last:
        return
    types = [block.members["type"] for block in handed_over.blocks]
    after = types[types.index("tool_call") :] if "tool_call" in types else []
    model_spoke = any(speaker == "model" for speaker, _ in turns(handed_over.request))
    yield _Loss("order", model_spoke or not {"text", "reasoning"}.isdisjoint(after), "text" in after)


def _is_model_foreign(handed_over: _HandedOver) -> bool:
    """Return whether the wire's owner has other models than that of the earlier request."""
    target, model = spec(handed_over.wire), handed_over.request.get("model")
    is_unknown = isinstance(model, str) and re.match(target.models, model) is None
    return bool(target.models) and (target.owner != handed_over.round.exchange.provider or is_unknown)


def _has_cache_points(handed_over: _HandedOver) -> bool:
    """Return whether the marks for the cache are separate objects."""
    return '"cachePoint"' in json_codec.text(handed_over.request)


def _both(code: str, holds: bool) -> _Loss:
    """Return a loss that must be reported if it may be."""
    return _Loss(code, holds, holds)


def _has_extra(handed_over: _HandedOver) -> bool:
    """Return whether a text or a call has members that only its provider knows: Google's signatures, a phase."""
    said = [block for block in handed_over.blocks if block.members["type"] in ("text", "tool_call")]
    made = [each for block in said for each in _objects(block.source)]
    earlier = [
        each
        for each in handed_over.sent_earlier
        if each.get("thought") is not True and not each.keys().isdisjoint(("text", "functionCall"))
    ]
    phased = _has([*made, *handed_over.sent_earlier], "phase")
    return phased or _has(made, "extra_content", "signature") or _has([*made, *earlier], "thoughtSignature")


#: Members of calls that mean nothing in a request.
_OF_CALLS = ("id", "status", "type")
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_THOUGHT_MEMBERS = ("reasoning_content", "reasoningContent", "tool_plan", "thinking", "thought")
_THOUGHTS = ("thinking", "redacted_thinking", "reasoning", "thought")
#: The members of Gemini's parts with what the provider ran.
_SERVER_PARTS = ("executableCode", "codeExecutionResult", "toolCall", "toolResponse")
_OF_SERVERS = ("server_tool_call", "server_tool_result", "approval_request")


def _has(objects: list[Json], *names: str) -> bool:
    return any(each.get(name) for each in objects for name in names)


def _is_of_server(item: Json) -> bool:
    """Return whether an object of a conversation is a call that the provider ran, or its result."""
    type = str(item.get("type", ""))
    ran_by_provider = type.startswith("TOOL_CALL_TYPE_") and not type.endswith("CLIENT_SIDE_TOOL")
    is_call = type.endswith("_call") and type not in ("function_call", "custom_tool_call")
    is_result = type.endswith("_result") and type not in ("tool_result", "function_result")
    is_part = not item.keys().isdisjoint(_SERVER_PARTS)
    return ran_by_provider or is_call or is_result or is_part or type == "server_tool_use"


def _has_other_arguments(handed_over: _HandedOver) -> bool:
    """Return whether a call of the conversation has arguments that should be a JSON object and are none."""
    calls = [call for call in handed_over.of_type("tool_call") if call["kind"] != "custom"]
    texts = [call["arguments_text"] for call in calls]
    texts += [each["arguments"] for each in handed_over.sent_earlier if isinstance(each.get("arguments"), str)]
    return any(parsed_arguments(text)[1] != "complete" for text in texts)


def _is_left_out(handed_over: _HandedOver, name: str, value: Any) -> bool:
    """Return whether a request has no member with the value of this setting of the earlier request."""
    if name == "toolConfig" and isinstance(value, dict):
        return bool(value.keys() - {"tools", "toolChoice", "functionCallingConfig"})
    if name in STRUCTURE or value is None:
        return False
    if name in ("inferenceConfig", "generationConfig") and isinstance(value, dict):
        return any(_is_left_out(handed_over, inner, member) for inner, member in value.items())
    held = [
        member
        for holder in (handed_over.body, *handed_over.body.values())
        if isinstance(holder, dict)
        for key, member in holder.items()
        if (key == name if name in TRANSPORT else key not in TRANSPORT)
    ]
    return not any(json_equal(value, member) for member in held)
