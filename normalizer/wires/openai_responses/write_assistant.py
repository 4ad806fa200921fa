"""Write assistant turns as Responses items.

Items of the same wire and provider go back unchanged, in their order, with their ids and encrypted reasoning (failures
THINK-07, ID-18). From other wires and providers only text and calls are sent; the rest is reported as lost.
"""

from __future__ import annotations

from copy import copy
from typing import Any

from ...conversation import Assistant
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
from ..write_context import WriteContext, unrepresented
from .parts import AS_WRITTEN
from .server_calls import NOTES, SERVER, parsed, server_call

WIRE = "openai.responses"
#: Call ids are limited only in length.
LONGEST_ID = 64
#: Kind of a call with a separate item type -> the member that holds its arguments.
KINDS = {
    "computer": "action",
    "local_shell": "action",
    "shell": "action",
    "apply_patch": "operation",
    "tool_search": "arguments",
}
_FUNCTIONS = frozenset(("function", "legacy_function"))
#: Keys of a call's ``extra`` that are not sent; its `id` is the call id that two calls shared.
_OURS = NOTES | {"id"}
#: Extra members of a regular reasoning item with encrypted content.
_USUAL = frozenset(("id", "summary"))
#: Item type -> prefix of OpenAI's item ids.
PREFIXES = {
    "message": "msg_",
    "reasoning": "rs_",
    "function_call": "fc_",
    "custom_tool_call": "ctc_",
    "web_search_call": "ws_",
    "code_interpreter_call": "ci_",
    "file_search_call": "fs_",
    "mcp_list_tools": "mcpl_",
    "mcp_approval_request": "mcpr_",
}


class AssistantWriter:
    """Writes the assistant turns of one request. ``stateless``: the provider stores no items to refer to (THINK-08)."""

    def __init__(self, context: WriteContext, stateless: bool) -> None:
        self._context = context
        self._stateless = stateless
        self._finishes = context.provider in (None, "openai", "azure")
        self._strict = context.provider in ("openai", "azure")
        #: call id -> kind under which a call of the previous turn was written, which its result has to use as well
        self.kinds: dict[str, str] = {}
        self._target = context.provider

    def fork(self, context: WriteContext) -> AssistantWriter:
        """Return a copy in the same state, for another request."""
        other = copy(self)
        other._context = context
        return other

    def learn(self, turn: Assistant) -> None:
        """Record the kinds of the calls in a turn that is not sent because the provider keeps it."""
        self.kinds = {call.id: self._kind(call, turn.response) for call in turn.response.calls}

    def _kind(self, call: ToolCall, response: Response) -> str:
        if call.kind == "custom" or (call.kind == "unresolved" and response.wire == WIRE):
            return "custom"
        return call.kind if call.kind in KINDS and response.wire == WIRE else "function"

    def usual(self, turn: Assistant, index: int, asked: list[str]) -> list[dict[str, Any]] | None:
        """Fast path: return the items of a turn of texts, encrypted reasoning and function calls; None for any other.

        Adds the ids of its calls to ``asked``. ``index``: position of the turn, for losses.
        """
        response = turn.response
        if turn.extra or not response.choices:
            return None
        native = self._is_native(response)
        simple = self._simple
        out: list[dict[str, Any]] = []
        before: Any = None
        for block in response.choices[0].blocks:
            kind = type(block)
            if type(block) is ToolCall:
                item = simple(block, native)
                if item is None:
                    return None
                asked.append(block.id)
                out.append(item)
            elif type(block) is Text and before is not Text:
                if not (block.extra or block.annotations) and (native or block.text):
                    out.append({"role": "assistant", "content": block.text})
                elif native:
                    self._message([block], True, False, index, out)
                else:
                    return None
            elif native and type(block) is Reasoning and (sealed := self._sealed(block)):
                out.append(sealed)
            else:
                return None
            before = kind
        return out if out and before is not Reasoning else None

    def items(self, turn: Assistant, index: int, out: list[dict[str, Any]]) -> None:
        """Append the items of one turn to ``out``. ``index``: position of the turn, for losses."""
        response = turn.response
        if lost := unrepresented(turn.extra):
            self._context.lose("extra", f"{', '.join(lost)} of an answer", index)
        if not response.choices or not response.choices[0].blocks:
            self._context.lose("empty", "an answer without content", index)
            return
        blocks = response.choices[0].blocks
        own, native = response.wire == WIRE, self._is_native(response)
        bare = not native or self._loses_state(blocks)
        begun = len(out)
        kinds = self.kinds = {}
        message: list[Text | Refusal | Opaque] = []
        for number, block in enumerate(blocks):
            kind = type(block)
            if kind is Text or kind is Refusal or (kind is Opaque and native and block.extra):
                if message and not _continues(block, message[-1], native):
                    self._message(message, native, bare, index, out)
                    message = []
                message.append(block)  # type: ignore[arg-type]
                continue
            if message:
                self._message(message, native, bare, index, out)
                message = []
            if type(block) is ToolCall:
                kinds[block.id] = "function" if block.kind == "function" else self._kind(block, response)
                out.append(self._call(block, own, native, bare, index, number))
            elif native and type(block) is Reasoning and (sealed := self._sealed(block)):
                out.append(sealed)
            else:
                self._state(block, native, index, number, out)
        if message:
            self._message(message, native, bare, index, out)
        while self._finishes and len(out) > begun and out[-1].get("type") == "reasoning":
            out.pop()  # OpenAI rejects reasoning without a following item of its response (THINK-07)
            self._context.lose("reasoning", "nothing of the same answer follows it", index)
        if len(out) == begun:
            self._context.lose("empty", "", index)

    def _is_native(self, response: Response) -> bool:
        """Whether a response goes back to the provider that produced it; an unknown provider counts as the same."""
        provider, target = response.provider, self._target
        return response.wire == WIRE and (provider is None or target is None or provider == target)

    def _loses_state(self, blocks: list[Block]) -> bool:
        """Whether reasoning is left out. The other items must then go without the ids that refer to it."""
        thoughts = [block for block in blocks if type(block) is Reasoning and not block.encrypted]
        return bool(thoughts) and not all(map(self._replayable, thoughts))

    # Text

    def _message(
        self, blocks: list[Text | Refusal | Opaque], native: bool, bare: bool, index: int, out: list[dict[str, Any]]
    ) -> None:
        if not native:
            self._foreign_message(blocks, index, out)
            return
        first = blocks[0].extra
        form = first.get(AS_WRITTEN)
        item: dict[str, Any] = {}
        if form is None or form.startswith("typed"):
            item["type"] = "message"
        item["role"] = "assistant"
        spoken = form in ("text", "typed text") or not first
        if spoken and len(blocks) == 1 and type(blocks[0]) is Text and not blocks[0].annotations:
            if form is None:
                del item["type"]
            item["content"] = blocks[0].text
        else:
            item["content"] = [] if form in ("nothing", "typed nothing") else [_part(block) for block in blocks]
        for key, value in first.items():
            if key not in NOTES and not (key == "id" and (bare or not self._genuine(value, "message"))):
                item[key] = value
        out.append(item)

    def _foreign_message(self, blocks: list[Text | Refusal | Opaque], index: int, out: list[dict[str, Any]]) -> None:
        text = "".join(block.text for block in blocks if not isinstance(block, Opaque))
        for block in blocks:
            if type(block) is Refusal:
                self._context.lose("refusal", "", index)
            elif type(block) is Text and block.annotations:
                self._context.lose("annotations", "", index)
            if block.extra and (lost := unrepresented(block.extra)):
                self._context.lose("extra", f"{', '.join(lost)} of a text", index)
        if text:
            out.append({"role": "assistant", "content": text})

    # Calls

    def _call(self, call: ToolCall, own: bool, native: bool, bare: bool, index: int, number: int) -> dict[str, Any]:
        kind, id = call.kind, call.wire_id
        context = self._context
        item: dict[str, Any]
        if not (native and bare) and (simple := self._simple(call, native)):
            return simple
        if kind in _FUNCTIONS:
            arguments = call.arguments_text
            item = {
                "type": "function_call",
                "call_id": context.id(call.id),
                "name": context.name(call.name),
                "arguments": arguments if native or arguments else "{}",
            }
        elif kind == "custom" or (own and kind == "unresolved"):  # a call of xAI that may have been a server call
            item = {
                "type": "custom_tool_call",
                "call_id": context.id(call.id),
                "name": context.name(call.name),
                "input": call.arguments_text,
            }
        elif own and kind in KINDS:
            item = self._client(call, kind)
        else:
            context.lose("kind", f"{call.name}: a call of kind {kind}", index, number)
            item = {
                "type": "function_call",
                "call_id": context.id(call.id),
                "name": context.name(call.name),
                "arguments": call.arguments_text or "{}",
            }
        if native:
            if id is not None and not bare and self._genuine(id, item["type"]):
                item["id"] = id
            self._with_members(item, call)
            return item
        if call.namespace is not None or call.caller is not None:
            context.lose("namespace", f"{call.name} of {call.namespace or call.caller}", index, number)
        if lost := unrepresented(call.extra):
            context.lose("extra", f"{', '.join(lost)} of the call {call.id}", index, number)
        return item

    def _simple(self, call: ToolCall, native: bool) -> dict[str, Any] | None:
        """Fast path: return the item of a regular function call; None for any other call."""
        call_id, id = call.id, call.wire_id
        special = call.namespace is not None or call.caller is not None
        if call.kind != "function" or (not native and (special or call.extra)):
            return None
        if not (0 < len(call_id) <= LONGEST_ID and is_encodable(call_id)):
            return None
        name = self._context.named.get(call.name) or self._context.name(call.name)
        text = call.arguments_text
        if not native:
            return {"type": "function_call", "call_id": call_id, "name": name, "arguments": text or "{}"}
        extra = call.extra
        if id is None:
            if extra or special:
                return None
            return {"type": "function_call", "call_id": call_id, "name": name, "arguments": text}
        if id[:3] != "fc_":
            return None
        item = {"id": id, "type": "function_call", "call_id": call_id, "name": name, "arguments": text}
        if special or not _OURS.isdisjoint(extra):
            return self._with_members(item, call)
        item.update(extra)
        return item

    def _with_members(self, item: dict[str, Any], call: ToolCall) -> dict[str, Any]:
        """Add the members of a call that only this wire has, and return the item."""
        if call.namespace is not None:
            item["namespace"] = call.namespace
        if call.caller is not None:
            item["caller"] = call.caller
        item.update((key, value) for key, value in call.extra.items() if key not in _OURS)
        return item

    def _client(self, call: ToolCall, kind: str) -> dict[str, Any]:
        """Return the item for a built-in client tool, whose arguments are one member of the item."""
        member = call.extra.get("member") or KINDS[kind]
        value = parsed(call.arguments_text)
        if kind == "computer" and isinstance(value, dict) and isinstance(value.get("actions"), list):
            member = "actions"
        if isinstance(value, dict) and value.keys() == {member} and isinstance(value[member], list):
            value = value[member]
        item = {"type": f"{kind}_call", "call_id": self._context.id(call.id), member: value}
        if kind == "tool_search":
            item["execution"] = "client"
        if kind == "computer":
            item["pending_safety_checks"] = []
        item["status"] = "completed"
        return item

    def _genuine(self, id: Any, kind: str) -> bool:
        """Whether an item id has the form that the target accepts: OpenAI requires its own prefixes (ID-18)."""
        if self._strict and kind in PREFIXES:
            return isinstance(id, str) and id.startswith(PREFIXES[kind])
        return self._context.provider is not None or not (isinstance(id, str) and id.startswith(("call_", "toolu_")))

    # Reasoning, server calls and opaque blocks

    def _state(self, block: Block, native: bool, index: int, number: int, out: list[dict[str, Any]]) -> None:
        lose = self._context.lose
        if type(block) is Reasoning:
            if native and self._replayable(block):
                out.append(self._reasoning(block))
            elif native and self._stateless:
                lose("reasoning", "reasoning without encrypted content cannot be found with store=false", index, number)
            else:
                lose("reasoning", "", index, number)
        elif type(block) is ServerToolCall:
            if native:
                item = server_call(block)
                if not self._genuine(item.get("id"), item["type"]):
                    item.pop("id", None)
                out.append(item)
            else:
                lose("server-tool", f"{block.name or block.tool} ({block.id})", index, number)
        elif type(block) is ServerToolResult:
            if native and isinstance(block.raw, dict):
                if "type" in block.raw:
                    out.append(block.raw)
                    return
                if out and out[-1].get("type") == SERVER.get(block.tool, ("",))[0]:
                    out[-1] = {**out[-1], **block.raw}
                    return
            lose("server-tool", f"what came of {block.tool} ({block.call_id})", index, number)
        elif type(block) is ApprovalRequest and native:
            item = {"type": "mcp_approval_request", "id": block.id, "server_label": block.server, "name": block.name}
            out.append({**item, "arguments": block.arguments_text, **block.extra})
        elif type(block) is ApprovalRequest:
            lose("server-tool", f"a question whether {block.name} may run on {block.server}", index, number)
        elif type(block) is Opaque:
            if native and isinstance(block.raw, dict):
                out.append(block.raw)
            else:
                lose("opaque", f"a block of type {block.wire_type!r}", index, number)

    def _sealed(self, block: Reasoning) -> dict[str, Any] | None:
        """Fast path: return the item of regular encrypted reasoning; None for any other reasoning."""
        if not block.encrypted or block.extra.keys() != _USUAL:
            return None
        item = {"type": "reasoning", "encrypted_content": block.encrypted, **block.extra}
        if not self._genuine(block.extra["id"], "reasoning"):
            del item["id"]
        return item

    def _replayable(self, block: Reasoning) -> bool:
        if block.encrypted:
            return True
        if self._stateless:
            return bool(block.extra.get("content"))
        return bool(block.extra.get("id") or block.text)

    def _reasoning(self, block: Reasoning) -> dict[str, Any]:
        extra = block.extra
        item: dict[str, Any] = {"type": extra.get("type", "reasoning")}
        if item["type"] == "reasoning":
            spoken = [{"type": "summary_text", "text": block.text}] if block.text and "content" not in extra else []
            item["summary"] = extra.get("summary", spoken)
        if block.encrypted is not None:
            item["encrypted_content"] = block.encrypted
        lost = self._stateless and not block.encrypted
        item.update((k, v) for k, v in extra.items() if k not in item and k != "id")
        if "id" in extra and not lost and self._genuine(extra["id"], item["type"]):
            item["id"] = extra["id"]
        return item


def _continues(block: Block, before: Block, native: bool) -> bool:
    """Whether a block is one more content part of the message before it."""
    if not native:
        return True
    form = block.extra.get(AS_WRITTEN)
    if form is not None:
        return bool(form == "more")
    return bool(block.extra.get("id") == before.extra.get("id") and AS_WRITTEN not in before.extra)


def _part(block: Text | Refusal | Opaque) -> dict[str, Any]:
    if isinstance(block, Opaque):
        return block.raw if isinstance(block.raw, dict) else {"type": block.wire_type}
    own = block.extra.get("part") or {}
    if isinstance(block, Refusal):
        return {"type": "refusal", "refusal": block.text, **own}
    if own.get("type", "output_text") != "output_text":
        return {"text": block.text, **own}
    if "role" in block.extra:  # a message of another role from a compacted conversation
        return {"type": "input_text", "text": block.text, **own}
    return {"type": "output_text", "text": block.text, "annotations": block.annotations, **own}
