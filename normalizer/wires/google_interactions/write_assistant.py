"""Writer for assistant messages: their blocks become steps.

Steps of the same wire and provider go back unchanged, with the signatures of thoughts and of the provider's calls. From
other wires and providers only text and calls are sent; the rest is reported as lost.
"""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...arguments import parse
from ...conversation import Assistant, ToolResult
from ...model import (
    ApprovalRequest,
    Block,
    Opaque,
    Reasoning,
    Refusal,
    Response,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
)
from ..surrogates import is_encodable
from ..write_context import AS_WRITTEN, WriteContext, shallow_copy
from .blocks import CONTENT, EMPTY_STEP, NEXT_STEP
from .parts import KINDS
from .results import regular_result
from .schema import TOOLS, WIRE, ServerCall

_FUNCTIONS = frozenset(("function", "legacy_function"))
#: Canonical tool -> type of the provider's call.
_CALLS = {tool: kind.__struct_config__.tag for kind, tool in TOOLS.items() if issubclass(kind, ServerCall)}
#: Keys of ``extra`` that are not members of a content.
_OF_STEP = (AS_WRITTEN, "step_error")


class AssistantWriter:
    """Writer for the assistant messages of one request.

    ``names``: canonical call id -> name of the call on the wire, which its result repeats. ``inputs``: the arguments
    that `regular` wrote, in which the caller has to look for lone surrogates.
    """

    def __init__(self, context: WriteContext) -> None:
        self.names: dict[str, str] = {}
        self.inputs: list[dict[str, Any]] = []
        self._context = context

    def fork(self, context: WriteContext) -> AssistantWriter:
        """Return an independent copy, for another request."""
        other = shallow_copy(self)
        other._context = context
        other.names, other.inputs = self.names.copy(), []
        return other

    def learn(self, message: Assistant) -> None:
        """Record the names of the calls in a message that is not sent because the provider stores it."""
        for call in message.response.calls:
            self.names[call.id] = self._context.name(call.name)

    def regular(self, message: Assistant, call_ids: list[str], out: list[Any]) -> bool:
        """Fast path: append signed thoughts, texts and regular function calls; return False for any other message.

        The ids of the calls are appended to ``call_ids``, even if the result is False.
        """
        response = message.response
        if message.extra or not response.choices:
            return False
        context, inputs = self._context, self.inputs
        own, accepts, names, plain = (
            self._is_own(response),
            context.accepts_id,
            context.known_names,
            context.plain_length,
        )
        before: Any = None
        for block in response.choices[0].blocks:
            kind = type(block)
            if type(block) is ToolCall:
                id, arguments = block.id, block.arguments
                if block.extra or arguments is None or block.kind != "function" or block.caller or block.namespace:
                    return False
                if (len(id) > plain or not (id.isascii() and id.isidentifier())) and not accepts(id):
                    return False
                name = names.get(block.name) or context.name(block.name)
                self.names[id] = name
                call_ids.append(id)
                inputs.append(arguments)
                out.append({"type": "function_call", "id": id, "name": name, "arguments": arguments})
            elif type(block) is Text and before is not Text:
                text = block.text
                if not text or block.extra or block.annotations or not (text.isascii() or is_encodable(text)):
                    return False
                out.append({"type": "model_output", "content": [{"type": "text", "text": text}]})
            elif own and type(block) is Reasoning and not block.extra and block.encrypted is None:
                if not (block.text.isascii() or is_encodable(block.text)):
                    return False
                out.append(_thought(block))
            else:
                return False
            before = kind
        return before is not None

    def regular_results(self, results: list[ToolResult], call_ids: list[str], out: list[Any]) -> bool:
        """Append results of one plain text each to ``out``, and report whether all are regular and in order."""
        for result, id in zip(results, call_ids, strict=True):
            step = regular_result(result, id, self.names[id])
            if step is None:
                return False
            out.append(step)
        return True

    def write(self, message: Assistant, out: list[dict[str, Any]]) -> None:
        """Append the steps of one message to ``out``, and report losses."""
        response, lose = message.response, self._context.lose
        self._context.lose_extra(message.extra)
        own = self._is_own(response)
        begun = len(out)
        output: dict[str, Any] | None = None  # the current output step
        for index, block in enumerate(response.choices[0].blocks if response.choices else ()):
            if (content := self._content(block, own, index)) is not None:
                if output is None or str(block.extra.get(AS_WRITTEN)).startswith((NEXT_STEP, EMPTY_STEP)):
                    output = {"type": "model_output", "content": []}
                    out.append(output)
                if block.extra.get(AS_WRITTEN) != EMPTY_STEP or not own:
                    output["content"].append(content)
                if own and "step_error" in block.extra:
                    output["error"] = block.extra["step_error"]
                continue
            step = self._step(block, own, index)
            if step is not None:
                output = None
                out.append(step)
        if len(out) == begun:
            lose("empty", "an assistant message without content was left out")

    def _is_own(self, response: Response) -> bool:
        """Whether a response goes back to the provider that produced it; an unknown provider counts as the same."""
        provider, target = response.provider, self._context.provider
        return response.wire == WIRE and (provider is None or target is None or provider == target)

    # Contents of an output

    def _content(self, block: Block, own: bool, index: int) -> dict[str, Any] | None:
        """Return the content of an output for a block; None if the block is a step or is left out."""
        if isinstance(block, Text):
            if not own:
                if block.annotations:
                    self._context.lose("annotations", block=index)
                self._context.lose_extra(block.extra, "a text", index)
                return {"type": "text", "text": block.text} if block.text else None
            annotations = {"annotations": block.annotations} if block.annotations else {}
            extra = {k: v for k, v in block.extra.items() if k not in _OF_STEP}
            return {"type": "text", "text": block.text, **annotations, **extra}
        if isinstance(block, Refusal):
            self._context.lose("refusal", block=index)
            return {"type": "text", "text": block.text} if block.text else None
        if not own:
            return None
        if isinstance(block, ServerToolResult) and isinstance(block.raw, dict) and block.raw.get("type") in KINDS:
            return block.raw
        if isinstance(block, Opaque) and CONTENT in str(block.extra.get(AS_WRITTEN)) and isinstance(block.raw, dict):
            return block.raw
        return None

    # Steps

    def _step(self, block: Block, own: bool, index: int) -> dict[str, Any] | None:
        """Return the step for a block that is not text; None if it is left out, which is reported."""
        if isinstance(block, ToolCall):
            return self._call(block, own, index)
        if own:
            if isinstance(block, Reasoning):
                return _thought(block)
            if isinstance(block, ServerToolCall):
                return _server_call(block)
            if isinstance(block, (ServerToolResult, Opaque)) and isinstance(block.raw, dict):
                return block.raw
        self._lose(block, index)
        return None

    def _call(self, call: ToolCall, own: bool, index: int) -> dict[str, Any]:
        context, arguments = self._context, call.arguments
        if arguments is None:
            # A custom tool is declared here as a function with one text parameter (ARG-08, INV-02).
            text = call.arguments_text
            parsed = parse(text).arguments
            arguments = {"input": text} if call.kind == "custom" else {"_raw": text} if parsed is None else parsed
            if "_raw" in arguments:
                context.lose("arguments", block=index)
        name = self.names[call.id] = context.name(call.name)
        step = {"type": "function_call", "id": context.id(call.id), "name": name, "arguments": arguments}
        if call.kind not in _FUNCTIONS:
            context.lose("kind", f"{call.name}: a {call.kind} call was written as a function call", index)
        if own:
            return {**step, **{k: v for k, v in call.extra.items() if k not in step}}
        if call.namespace is not None or call.caller is not None:
            context.lose("namespace", block=index)
        context.lose_extra(call.extra, f"the call {call.id}", index)
        return step

    def _lose(self, block: Block, index: int) -> None:
        lose = self._context.lose
        if isinstance(block, Reasoning):
            lose("reasoning", block=index)
        elif isinstance(block, ServerToolCall):
            lose("server-tool", f"{block.name or block.tool} ({block.id}) was left out", index)
        elif isinstance(block, ServerToolResult):
            lose("server-tool", f"the result of {block.tool} ({block.call_id}) was left out", index)
        elif isinstance(block, ApprovalRequest):
            lose("server-tool", f"the approval request for {block.name} on {block.server} was left out", index)
        elif isinstance(block, Opaque):
            lose("opaque", f"a block of type {block.wire_type!r} was left out", index)


def _thought(block: Reasoning) -> dict[str, Any]:
    """Return a thought unchanged. Its signature is the state that the provider needs back."""
    step: dict[str, Any] = {"type": "thought"}
    if block.signature is not None:
        step["signature"] = block.signature
    summary = block.extra.get("summary")
    if isinstance(summary, list):
        return {**step, **block.extra}
    written = {**step, **block.extra}
    if block.text:
        written["summary"] = [{"type": "text", "text": block.text, **(summary or {})}]
    return written


def _server_call(block: ServerToolCall) -> dict[str, Any]:
    raw = block.extra.get("step")
    if isinstance(raw, dict):  # a step of an unknown type, or a client call whose result followed
        return raw
    step: dict[str, Any] = {"type": _CALLS.get(block.tool, f"{block.tool}_call"), "id": block.id}
    if block.name:
        step["name"] = block.name
    if block.arguments_text:
        try:
            step["arguments"] = json_codec.decode(block.arguments_text)
        except ValueError:
            step["arguments"] = {}
    return {**step, **block.extra}
