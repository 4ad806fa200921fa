"""Writer for assistant messages: their blocks become Responses items.

Items of the same wire and provider go back unchanged, in their order, with their ids and encrypted reasoning (failures
THINK-07, ID-18). From other wires and providers only text and calls are sent; the rest is reported as lost.
"""

from __future__ import annotations

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
from ..content_writer import FUNCTIONS, ContentWriter, lose_item, lose_kind
from ..surrogates import are_encodable, is_encodable
from ..write_context import AS_WRITTEN, WriteContext
from .schema import WIRE
from .server_calls import INTERNAL, SERVER, parsed, write_server_call

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
#: Keys of a call's ``extra`` that are not sent; its `id` is the call id that two calls shared.
_UNSENT = INTERNAL | {"id"}
#: Extra members of a regular reasoning item with encrypted content.
_REGULAR = frozenset(("id", "summary"))
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


class AssistantWriter(ContentWriter):
    """Writer for the assistant messages of one request.

    ``stateless``: the provider stores no items to refer to (THINK-08). ``kinds``: call id -> kind under which a call of
    the previous message was written, which its result has to use as well.
    """

    def __init__(self, context: WriteContext, stateless: bool) -> None:
        super().__init__(context)
        self.kinds: dict[str, str] = {}
        self._stateless = stateless
        self._follows_reasoning = context.provider in (None, "openai", "azure")
        self._strict = context.provider in ("openai", "azure")

    def learn(self, message: Assistant) -> None:
        """Record the kinds of the calls in a message that is not sent because the provider stores it."""
        self.kinds = {call.id: self._kind(call, message.response) for call in message.response.calls}

    def _kind(self, call: ToolCall, response: Response) -> str:
        if call.kind == "custom" or (call.kind == "unresolved" and response.wire == WIRE):
            return "custom"
        return call.kind if call.kind in KINDS and response.wire == WIRE else "function"

    def regular(self, message: Assistant, call_ids: list[str], out: list[Any]) -> bool:
        """Fast path: append texts, encrypted reasoning and function calls; return False for any other message.

        The ids of the calls are appended to ``call_ids``, even if the result is False.
        """
        response = message.response
        if message.extra or not response.choices:
            return False
        context = self._context
        own = (response.wire == WIRE and response.provider == context.provider) or self._is_own(response)
        names = context.known_names
        before: Any = None
        for block in response.choices[0].blocks:
            kind = type(block)
            if type(block) is ToolCall:
                id, arguments = block.id, block.arguments_text
                call_ids.append(id)
                if (
                    block.wire_id is None
                    and not block.extra
                    and block.kind == "function"
                    and block.namespace is None
                    and block.caller is None
                    and 0 < len(id) <= LONGEST_ID
                    and id.isascii()
                    and arguments.isascii()
                ):
                    name = names.get(block.name) or context.name(block.name)
                    if not (own or arguments):
                        arguments = "{}"
                    out.append({"type": "function_call", "call_id": id, "name": name, "arguments": arguments})
                elif (item := self._regular_call(block, own)) and are_encodable(item):
                    out.append(item)
                else:
                    return False
            elif type(block) is Text and before is not Text:
                text = block.text
                if block.extra or block.annotations:
                    if not own or not are_encodable((text, block.extra, block.annotations)):
                        return False
                    out.append(self._own_message([block], True))
                elif (own or text) and (text.isascii() or is_encodable(text)):
                    out.append({"role": "assistant", "content": text})
                else:
                    return False
            elif own and type(block) is Reasoning and (reasoning := self._regular_reasoning(block)):
                if not are_encodable(reasoning):
                    return False
                out.append(reasoning)
            else:
                return False
            before = kind
        return before is not None and before is not Reasoning

    def write_items(self, message: Assistant, out: list[dict[str, Any]]) -> None:
        """Append the items of one message to ``out``, and report losses."""
        response, lose = message.response, self._context.lose
        self._context.lose_extra(message.extra)
        if not response.choices or not response.choices[0].blocks:
            lose("empty", "an assistant message without content was left out")
            return
        blocks = response.choices[0].blocks
        own = self._is_own(response)
        # Items without an id refer to no reasoning. They have to go without ids if reasoning is left out.
        with_ids = own and all(self._can_return(block) for block in blocks if type(block) is Reasoning)
        begun = len(out)
        self.kinds = {}
        parts: list[Text | Refusal | Opaque] = []  # content parts of the current message item
        for index, block in enumerate(blocks):
            if isinstance(block, (Text, Refusal)) or (isinstance(block, Opaque) and own and block.extra):
                if parts and not _continues(block, parts[-1], own):
                    self._write_message(parts, own, with_ids, out)
                    parts = []
                parts.append(block)
                continue
            if parts:
                self._write_message(parts, own, with_ids, out)
                parts = []
            if type(block) is ToolCall:
                self.kinds[block.id] = "function" if block.kind == "function" else self._kind(block, response)
                out.append(self._call_item(block, response.wire == WIRE, own, with_ids, index))
            elif own:
                self._write_state(block, index, out)
            else:
                lose_item(block, self._context, index)
        if parts:
            self._write_message(parts, own, with_ids, out)
        while self._follows_reasoning and len(out) > begun and out[-1].get("type") == "reasoning":
            out.pop()  # OpenAI rejects reasoning without a following item of its response (THINK-07)
            lose("reasoning", "reasoning at the end of a message was left out")
        if len(out) == begun:
            lose("empty")

    def _is_own(self, response: Response) -> bool:
        """Whether a response goes back to the provider that produced it; an unknown provider counts as the same."""
        provider, target = response.provider, self._context.provider
        return response.wire == WIRE and (provider is None or target is None or provider == target)

    # Text

    def _write_message(
        self, parts: list[Text | Refusal | Opaque], own: bool, with_ids: bool, out: list[dict[str, Any]]
    ) -> None:
        if own:
            out.append(self._own_message(parts, with_ids))
            return
        for part in parts:
            if type(part) is Refusal:
                self._context.lose("refusal")
            elif type(part) is Text and part.annotations:
                self._context.lose("annotations")
            self._context.lose_extra(part.extra, "a text")
        if text := "".join(part.text for part in parts if not isinstance(part, Opaque)):
            out.append({"role": "assistant", "content": text})

    def _own_message(self, parts: list[Text | Refusal | Opaque], with_ids: bool) -> dict[str, Any]:
        first = parts[0].extra
        form = first.get(AS_WRITTEN)
        item: dict[str, Any] = {}
        if form is None or form.startswith("typed"):
            item["type"] = "message"
        item["role"] = "assistant"
        as_text = form in ("text", "typed text") or not first
        if as_text and len(parts) == 1 and type(parts[0]) is Text and not parts[0].annotations:
            if form is None:
                del item["type"]
            item["content"] = parts[0].text
        else:
            item["content"] = [] if form in ("nothing", "typed nothing") else [_part(part) for part in parts]
        for key, value in first.items():
            if key not in INTERNAL and (key != "id" or (with_ids and self._is_accepted_id(value, "message"))):
                item[key] = value
        return item

    # Calls

    def _call_item(self, call: ToolCall, same_wire: bool, own: bool, with_ids: bool, index: int) -> dict[str, Any]:
        context, kind = self._context, call.kind
        if (with_ids or not own) and (regular := self._regular_call(call, own)):
            return regular
        text = call.arguments_text
        if same_wire and kind in KINDS:
            item = self._client_call(call)
        else:
            item = {"type": "function_call", "call_id": context.id(call.id), "name": context.name(call.name)}
            if kind == "custom" or (same_wire and kind == "unresolved"):  # of xAI, which may have run it
                item.update(type="custom_tool_call", input=text)
            elif kind in FUNCTIONS:
                item["arguments"] = text if own else text or "{}"
            else:
                lose_kind(call, context, index)
                item["arguments"] = text or "{}"
        if own:
            if call.wire_id is not None and with_ids and self._is_accepted_id(call.wire_id, item["type"]):
                item["id"] = call.wire_id
            return self._with_members(item, call)
        if call.namespace is not None and context.own:  # the name was restored by `Encoded.restored`
            item["namespace"] = call.namespace
        elif call.namespace is not None or call.caller is not None:
            context.lose("namespace", f"left out of {call.name}: {call.namespace or call.caller}", index)
        context.lose_extra(call.extra, f"the call {call.id}", index)
        return item

    def _regular_call(self, call: ToolCall, own: bool) -> dict[str, Any] | None:
        """Fast path: return the item of a regular function call; None for any other call."""
        call_id, id = call.id, call.wire_id
        special = call.namespace is not None or call.caller is not None
        if call.kind != "function" or (not own and (special or call.extra)):
            return None
        if not (0 < len(call_id) <= LONGEST_ID and (call_id.isascii() or is_encodable(call_id))):
            return None
        name = self._context.known_names.get(call.name) or self._context.name(call.name)
        text = call.arguments_text
        if not own:
            return {"type": "function_call", "call_id": call_id, "name": name, "arguments": text or "{}"}
        extra = call.extra
        if id is None:
            if extra or special:
                return None
            return {"type": "function_call", "call_id": call_id, "name": name, "arguments": text}
        if id[:3] != "fc_":
            return None
        item = {"id": id, "type": "function_call", "call_id": call_id, "name": name, "arguments": text}
        if special or not _UNSENT.isdisjoint(extra):
            return self._with_members(item, call)
        item.update(extra)
        return item

    def _with_members(self, item: dict[str, Any], call: ToolCall) -> dict[str, Any]:
        """Add the members of a call that only this wire has, and return the item."""
        if call.namespace is not None:
            item["namespace"] = call.namespace
        if call.caller is not None:
            item["caller"] = call.caller
        item.update((key, value) for key, value in call.extra.items() if key not in _UNSENT)
        return item

    def _client_call(self, call: ToolCall) -> dict[str, Any]:
        """Return the item for a built-in client tool, whose arguments are one member of the item."""
        kind = call.kind
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

    def _is_accepted_id(self, id: Any, kind: str) -> bool:
        """Whether an item id has the form that the target accepts: OpenAI requires its own prefixes (ID-18)."""
        if self._strict and kind in PREFIXES:
            return isinstance(id, str) and id.startswith(PREFIXES[kind])
        return self._context.provider is not None or not (isinstance(id, str) and id.startswith(("call_", "toolu_")))

    # Reasoning, server calls and opaque blocks

    def _write_state(self, block: Block, index: int, out: list[dict[str, Any]]) -> None:
        """Append the item of any other block of an own response, or report a loss."""
        if isinstance(block, Reasoning) and self._can_return(block):
            out.append(self._regular_reasoning(block) or self._reasoning(block))
        elif isinstance(block, Reasoning) and self._stateless:
            self._context.lose(
                "reasoning", "left out: with store=false, only encrypted reasoning can be sent back", index
            )
        elif isinstance(block, ServerToolCall):
            item = write_server_call(block)
            if not self._is_accepted_id(item.get("id"), item["type"]):
                item.pop("id", None)
            out.append(item)
        elif isinstance(block, ServerToolResult) and isinstance(block.raw, dict) and "type" in block.raw:
            out.append(block.raw)
        elif (
            isinstance(block, ServerToolResult)
            and isinstance(block.raw, dict)
            and out
            and out[-1].get("type") == SERVER.get(block.tool, ("",))[0]
        ):
            out[-1] = {**out[-1], **block.raw}
        elif isinstance(block, ApprovalRequest):
            item = {"type": "mcp_approval_request", "id": block.id, "server_label": block.server, "name": block.name}
            out.append({**item, "arguments": block.arguments_text, **block.extra})
        elif isinstance(block, Opaque) and isinstance(block.raw, dict):
            out.append(block.raw)
        else:
            lose_item(block, self._context, index)

    def _regular_reasoning(self, block: Reasoning) -> dict[str, Any] | None:
        """Fast path: return the item of regular encrypted reasoning; None for any other reasoning."""
        if not block.encrypted or block.extra.keys() != _REGULAR:
            return None
        item = {"type": "reasoning", "encrypted_content": block.encrypted, **block.extra}
        if not self._is_accepted_id(block.extra["id"], "reasoning"):
            del item["id"]
        return item

    def _can_return(self, block: Reasoning) -> bool:
        """Whether reasoning can be sent back."""
        if block.encrypted:
            return True
        if self._stateless:
            return bool(block.extra.get("content"))
        return bool(block.extra.get("id") or block.text)

    def _reasoning(self, block: Reasoning) -> dict[str, Any]:
        extra = block.extra
        item: dict[str, Any] = {"type": extra.get("type", "reasoning")}
        if item["type"] == "reasoning":
            summary = [{"type": "summary_text", "text": block.text}] if block.text and "content" not in extra else []
            item["summary"] = extra.get("summary", summary)
        if block.encrypted is not None:
            item["encrypted_content"] = block.encrypted
        item.update((k, v) for k, v in extra.items() if k not in item and k != "id")
        can_refer = bool(block.encrypted) or not self._stateless
        if "id" in extra and can_refer and self._is_accepted_id(extra["id"], item["type"]):
            item["id"] = extra["id"]
        return item


def _continues(block: Block, before: Block, own: bool) -> bool:
    """Whether a block is one more content part of the message before it."""
    if not own:
        return True
    form = block.extra.get(AS_WRITTEN)
    if form is not None:
        return bool(form == "more")
    return bool(block.extra.get("id") == before.extra.get("id") and AS_WRITTEN not in before.extra)


def _part(block: Text | Refusal | Opaque) -> dict[str, Any]:
    if isinstance(block, Opaque):
        return block.raw if isinstance(block.raw, dict) else {"type": block.wire_type}
    members = block.extra.get("part") or {}
    if isinstance(block, Refusal):
        return {"type": "refusal", "refusal": block.text, **members}
    if members.get("type", "output_text") != "output_text":
        return {"text": block.text, **members}
    if "role" in block.extra:  # a message of another role from a compacted conversation
        return {"type": "input_text", "text": block.text, **members}
    return {"type": "output_text", "text": block.text, "annotations": block.annotations, **members}
