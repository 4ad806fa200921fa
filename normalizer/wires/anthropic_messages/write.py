"""Writer for requests of the Messages API: it converts the canonical conversation to a request body.

Assistant turns from this wire are sent back unchanged, with signed thinking, server calls and their results, and
opaque blocks (THINK-01, THINK-02, SRV-03). Turns from other wires are written with the block types of this wire.
"""

from __future__ import annotations

import re
from copy import copy
from typing import Any

from ...arguments import parse
from ...conversation import (
    Assistant,
    Encoded,
    Message,
    Part,
    RawItem,
    Request,
    System,
    TextPart,
    ToolResult,
    ToolResults,
    User,
)
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
from ...pairing import answers_at, paired_segment, segment_end
from ..surrogates import replace_beside, replace_in_messages
from ..write_context import OF_RESULTS, IdStyle, NameStyle, WriteContext, merged, unrepresented
from .fast_path import usual_answer, usual_results
from .parts import blocks_of, kind_of
from .read import WIRE
from .request_params import members
from .server_calls import ServerPairs

IDS = IdStyle(r"[a-zA-Z0-9_-]+", prefix="toolu_")
#: Format of the provider's ids for server calls.
SERVER_IDS = re.compile(r"srvtoolu_[a-zA-Z0-9_]+")
#: The API's error messages give 128 as the maximum length. Aliases keep to the documented 64.
NAMES = NameStyle(r"[a-zA-Z0-9_-]{1,128}")
#: Providers of Claude, which accept each other's signatures, server blocks and ids.
FAMILY = frozenset((None, "anthropic", "bedrock", "vertex", "google", "azure"))
#: Content of an error result without content, which the provider would refuse.
FAILED = "The tool failed and said nothing."
#: Content of an error result whose content is not text, and therefore follows the results.
FAILED_BESIDE = "The tool failed; what it returned follows."
_THINKING = frozenset(("thinking", "redacted_thinking"))
_AT_HOME = frozenset(("function", "legacy_function"))


def write(request: Request, provider: str | None = None) -> Encoded:
    """Convert a request to a body of the Messages API, and return it with its losses and aliases.

    ``provider``: the provider that receives the request; None is treated like Anthropic.
    """
    writer = Writer(request, provider)
    writer.add(request.messages, 0, len(request.messages))
    return writer.encoded()


class Writer:
    """Incremental writer for the turns of a request.

    ``basis``: everything except the turns that the messages depend on. ``settled``: whether later turns leave the
    messages so far unchanged.
    """

    settled = True

    def __init__(self, request: Request, provider: str | None) -> None:
        self.basis = (request.wire, provider)
        self._request = request
        self._system: Any = None
        self._messages: list[dict[str, Any]] = []
        self._container: str | None = None
        self._context = WriteContext(WIRE, provider, IDS, NAMES)
        self._own = request.wire == WIRE
        self._strict = provider in FAMILY
        self._leading = True
        self._said_last: dict[str, Any] | None = None  # the last assistant message
        self._ids: dict[str, str] = {}  # canonical call id -> id on the wire, for tool results
        self._used: set[str] = set()
        self._times: dict[str, int] = {}  # how often each repeated id was used
        self._served = ServerPairs()

    def fork(self, request: Request) -> Writer:
        """Return an independent copy, for a request of the same basis that begins with the same turns."""
        other = copy(self)
        other._request = request
        other._context = self._context.fork()
        other._messages = self._messages[:]
        other._ids, other._times = self._ids.copy(), self._times.copy()
        other._used, other._served = self._used.copy(), self._served.fork()
        return other

    def add(self, turns: list[Message], start: int, stop: int) -> None:
        """Write the turns from index ``start`` up to ``stop``. Both must be boundaries (`pairing.is_boundary`).

        Regular turns take the fast path.
        """
        begun = len(self._messages)
        while (start := self._usual_turns(turns, start, stop)) < stop:
            end = segment_end(turns, start, stop)
            for place, turn in paired_segment(turns, self._context.repaired, start, end):
                if type(turn) is Assistant and place >= self._served.end:
                    self._served.survey(turns, place, stop)
                self._turn(turn, place)
            start = end
        continued = bool(self._messages) and self._messages[-1] is self._said_last
        replace_in_messages(self._messages, begun, self._context)
        if continued:
            self._said_last = self._messages[-1]

    def encoded(self) -> Encoded:
        """Return the body with its losses and aliases. Do not use the writer afterwards: the body is not a copy."""
        self._close()
        body = members(self._request, self._context, self._system, self._messages, self._container)
        return self._context.encoded(replace_beside(body, "messages", self._context))

    def _usual_turns(self, turns: list[Message], place: int, stop: int) -> int:
        """Write regular turns with the fast path, and return the index of the first turn that is not regular.

        Regular turns are a user's plain text, and text and function calls with all tool results in plain texts.
        """
        if self._served.pending:
            return place
        messages, used, context = self._messages, self._used, self._context
        put = messages.append
        while place < stop:
            turn = turns[place]
            kind = type(turn)
            if kind is User:
                parts = turn.parts  # type: ignore[union-attr]
                if turn.extra or not turn.plain or len(parts) != 1 or type(part := parts[0]) is not TextPart:  # type: ignore[union-attr]
                    return place
                text = part.text
                if part.extra or not text or text.isspace():
                    return place
                put({"role": "user", "content": text})
            elif kind is Assistant:
                asked: list[str] = []
                said = usual_answer(turn, used, context, asked)  # type: ignore[arg-type]
                if said is None:
                    return place
                if asked:
                    answers = answers_at(place + 1, turns, stop, asked)
                    if answers is None or (message := usual_results(answers)) is None:
                        return place
                    used.update(asked)
                    put(said)
                    put(message)
                    place += 1
                else:
                    put(said)
                    self._said_last = said
            else:
                return place
            self._leading = False
            place += 1
        return place

    def _turn(self, turn: Message, index: int) -> None:
        kind = type(turn)
        if kind is System:
            self._instructions(turn, index)  # type: ignore[arg-type]
            return
        self._leading = False
        if kind is Assistant:
            self._assistant(turn, index)  # type: ignore[arg-type]
        elif kind is ToolResults:
            self._results(turn, index)  # type: ignore[arg-type]
        elif kind is User:
            self._user(turn, index)  # type: ignore[arg-type]
        else:
            self._other(turn, index)  # type: ignore[arg-type]

    def _close(self) -> None:
        """Remove white space from the end of a final assistant message, which the model is to continue."""
        last = self._messages[-1] if self._messages else None
        if last is not self._said_last or last is None:
            return
        content = list(last["content"])
        while content and kind_of(content[-1]) == "text" and content[-1]["text"] != content[-1]["text"].rstrip():
            block = content.pop()
            if text := block["text"].rstrip():  # an empty text is refused, too
                content.append({**block, "text": text})
        if content == last["content"]:
            return
        self._context.lose("empty", "white space at the end of an answer that is to be continued was cut")
        self._messages[-1:] = [{**last, "content": content}] if content else []

    def _add(self, role: str, content: Any, extra: dict[str, Any], index: int) -> None:
        """Append a message. Each turn keeps separate messages and so its bytes, as the API concatenates them itself."""
        if extra and not self._own:
            self._lost_extra(extra, index)
            extra = {}
        self._messages.append({"role": role, "content": content, **extra})

    def _said(self, parts: list[Part], plain: bool, index: int) -> Any:
        """Return the content of a message or tool result that is not model output."""
        if plain and len(parts) == 1:
            part = parts[0]
            if type(part) is TextPart and part.text and not part.extra:
                return part.text
        return blocks_of(parts, self._own, self._context, index)

    def _instructions(self, turn: System, index: int) -> None:
        content = self._said(turn.parts, turn.plain, index)
        if self._leading:
            self._lost_extra(turn.extra, index)
            if self._system:
                held = self._system
                blocks = [{"type": "text", "text": held}] if isinstance(held, str) else held
                self._system = blocks + ([{"type": "text", "text": content}] if isinstance(content, str) else content)
            else:
                self._system = content or None
        elif self._own:
            self._add("system", content, turn.extra, index)
        elif content:  # only some models accept system messages here, so they become user text
            words = content if isinstance(content, str) else "\n".join(b["text"] for b in content if "text" in b)
            self._context.lose("order", "instructions in mid-conversation were told as the user's words", index)
            self._add("user", [{"type": "text", "text": f"<system>\n{words}\n</system>"}], {}, index)

    def _user(self, turn: User, index: int) -> None:
        content = self._said(turn.parts, turn.plain, index)
        if _says(content):
            self._add("user", content, turn.extra, index)
        else:
            self._context.lose("empty", "a user turn without content was left out", index)

    def _other(self, turn: RawItem, index: int) -> None:
        if turn.wire == WIRE:
            self._messages.append(turn.raw)
        else:
            self._context.lose("opaque", f"an item of {turn.wire} was left out", index)

    # results

    def _results(self, turn: ToolResults, index: int) -> None:
        """Write one message with all tool results, and other content after it (HIST-02, HIST-05, ORD-02)."""
        after: list[dict[str, Any]] = []
        blocks = [self._result(result, after, index) for result in turn.results]
        self._add("user", blocks, turn.extra, index)
        if after:
            self._add("user", after, {}, index)

    def _result(self, result: ToolResult, after: list[dict[str, Any]], index: int) -> dict[str, Any]:
        content = self._said(result.parts, result.plain, index)
        block: dict[str, Any] = {
            "type": "tool_result",
            "tool_use_id": self._ids.get(result.call_id) or self._context.id(result.call_id),
        }
        if result.is_error and not isinstance(content, str):
            content = self._failed(result, content, after, index)
        if content:
            block["content"] = content
        if result.is_error:
            block["is_error"] = True
        if result.extra:
            if self._own:
                return merged(block, result.extra)
            self._lost_extra(result.extra, index, None, *OF_RESULTS)
        return block

    def _failed(self, result: ToolResult, content: list[Any], after: list[dict[str, Any]], index: int) -> Any:
        """Return the content of an error result, which may be only text. The rest goes to ``after``, with a label."""
        words = [one for one in content if kind_of(one) == "text"]
        if len(words) < len(content):
            self._context.lose("order", "what is no text in an error result was put after the results", index)
            after.append({"type": "text", "text": f"Returned by {result.name or result.call_id}:"})
            after += [one for one in content if kind_of(one) != "text"]
            return words or FAILED_BESIDE
        if not content:
            self._context.lose("empty", "an error result without content got a placeholder", index)
        return words or FAILED

    # model output

    def _assistant(self, turn: Assistant, index: int) -> None:
        response = turn.response
        given = response.choices[0].blocks if response.choices else []
        own = self._is_own(response)
        if own:
            container = response.extra.get("container")
            if isinstance(container, dict) and isinstance(container.get("id"), str):
                self._container = container["id"]
        blocks: list[dict[str, Any]] = []
        for place, block in enumerate(given):
            kind = type(block)
            if kind is ToolCall:
                blocks.append(self._call(block, own, index, place))  # type: ignore[arg-type]
                continue
            if kind is Text:
                written = self._text(block, own, index, place)  # type: ignore[arg-type]
            elif own:
                written = self._kept(block, index, place)
            else:
                written = self._told(block, index, place)
            if written is not None:
                blocks.append(written)
        while blocks and kind_of(blocks[-1]) in _THINKING:  # from a cut response; refused at the end of a turn
            blocks.pop()
            self._context.lose("reasoning", "thinking that nothing follows was left out", index)
        if _says(blocks):
            self._add("assistant", blocks, turn.extra, index)
            self._said_last = self._messages[-1]
        else:
            self._context.lose("empty", "an assistant turn without content was left out", index)

    def _is_own(self, response: Response) -> bool:
        if response.wire != WIRE:
            return False
        provider = self._context.provider
        return response.provider == provider or (response.provider in FAMILY and provider in FAMILY)

    def _call(self, call: ToolCall, own: bool, index: int, place: int) -> dict[str, Any]:
        context = self._context
        canonical = call.id
        id = context.id(canonical)
        if id in self._used:  # here ids must be unique in the whole request, elsewhere only in a turn (ID-10, ID-21)
            while id in self._used:
                self._times[canonical] = number = self._times.get(canonical, 1) + 1
                id = context.id(f"{canonical}#{number}")
            context.ids[id] = canonical
        self._used.add(id)
        self._ids[canonical] = id
        given = call.arguments
        if given is None:
            given = _as_object(call)
            if "_raw" in given:
                context.lose("arguments", turn=index, block=place)
        block: dict[str, Any] = {"type": "tool_use", "id": id, "name": context.name(call.name), "input": given}
        if call.kind not in _AT_HOME:
            context.lose("kind", f"{call.name}, a {call.kind} call, was carried as a function call", index, place)
        if own:
            if call.caller is not None:
                block["caller"] = call.caller
            return merged(block, call.extra) if call.extra else block
        if call.namespace is not None or call.caller is not None:
            context.lose("namespace", turn=index, block=place)
        if call.extra:
            self._lost_extra(call.extra, index, place)
        return block

    def _lost_extra(self, extra: dict[str, Any], index: int, place: int | None = None, *known: str) -> None:
        if lost := unrepresented(extra, *known):
            self._context.lose("extra", f"left out: {', '.join(lost)}", index, place)

    def _text(self, block: Text, own: bool, index: int, place: int) -> dict[str, Any] | None:
        if not block.text:  # refused when empty
            return None
        written: dict[str, Any] = {"type": "text", "text": block.text}
        if own:
            if block.annotations:
                written["citations"] = block.annotations
            return merged(written, block.extra) if block.extra else written
        if block.annotations:
            self._context.lose("annotations", turn=index, block=place)
        if block.extra:
            self._lost_extra(block.extra, index, place)
        return written

    def _kept(self, block: Block, index: int, place: int) -> dict[str, Any] | None:
        """Write a block of a response from this wire."""
        kind = type(block)
        if kind is Reasoning:
            return self._thinking(block, index, place)  # type: ignore[arg-type]
        if kind is ServerToolCall:
            return self._server_call(block, index, place)  # type: ignore[arg-type]
        if kind is ServerToolResult:
            return self._server_result(block, index, place)  # type: ignore[arg-type]
        if kind is Opaque and isinstance(block.raw, dict):  # type: ignore[union-attr]
            return block.raw  # type: ignore[union-attr]
        return self._told(block, index, place)

    def _thinking(self, block: Reasoning, index: int, place: int) -> dict[str, Any] | None:
        """Write thinking unchanged, as it is signed (THINK-01, THINK-02). Claude refuses it unsigned (THINK-03)."""
        extra = block.extra
        if extra.get("type") == "compaction":
            kept: dict[str, Any] = {"type": "compaction", "content": None if block.redacted else block.text}
            if block.encrypted is not None:
                kept["encrypted_content"] = block.encrypted
            if block.signature is not None:
                kept["signature"] = block.signature
            return merged(kept, extra)
        if block.redacted and block.encrypted:
            return merged({"type": "redacted_thinking", "data": block.encrypted}, extra)
        if block.signature or not self._strict:
            return merged({"type": "thinking", "thinking": block.text, "signature": block.signature or ""}, extra)
        self._context.lose("unsigned-reasoning", turn=index, block=place)
        return None

    def _server_call(self, call: ServerToolCall, index: int, place: int) -> dict[str, Any] | None:
        """Write a server call if its result is there or may still come; otherwise report a loss."""
        if call.id not in self._served.whole:
            self._context.lose("server-tool", f"{call.name} ({call.id}) has no result in its turn", index, place)
            return None
        if call.tool == "mcp":
            known = "server_name" in call.extra
        else:
            known = not self._strict or SERVER_IDS.fullmatch(call.id) is not None
        if not known:  # a call from another provider, or an MCP call without its server
            self._context.lose("server-tool", f"{call.name} ({call.id}) is none that this provider made", index, place)
            return None
        self._served.begun.add(call.id)
        kind = "mcp_tool_use" if call.tool == "mcp" else "server_tool_use"
        given = _object(call.arguments_text)
        return merged({"type": kind, "id": call.id, "name": call.name, "input": given}, call.extra)

    def _server_result(self, result: ServerToolResult, index: int, place: int) -> dict[str, Any] | None:
        id = result.call_id
        if isinstance(result.raw, dict) and (id == "" or (id in self._served.whole and id in self._served.begun)):
            return result.raw
        self._context.lose("server-tool", f"a {result.tool} result for {id} stands alone", index, place)
        return None

    def _told(self, block: Block, index: int, place: int) -> dict[str, Any] | None:
        """Report the loss of a block without a counterpart on this wire. A refusal becomes text."""
        context = self._context
        kind = type(block)
        if kind is Refusal:
            context.lose("refusal", turn=index, block=place)
            return {"type": "text", "text": block.text} if block.text else None  # type: ignore[union-attr]
        if kind is Reasoning:
            context.lose("reasoning", turn=index, block=place)
        elif kind is Opaque:
            context.lose("opaque", f"a block of type {block.wire_type!r} was left out", index, place)  # type: ignore[union-attr]
        elif kind in (ServerToolCall, ServerToolResult, ApprovalRequest):
            context.lose("server-tool", turn=index, block=place)
        return None


def _says(content: Any) -> bool:
    """Report whether a message content is more than white space."""
    if isinstance(content, str):
        return not content.isspace() and bool(content)
    return any(kind_of(block) != "text" or not str(block.get("text")).isspace() for block in content)


def _as_object(call: ToolCall) -> dict[str, Any]:
    """Return an input for a call whose arguments are not an object (ARG-08, INV-02)."""
    if call.kind == "custom":  # declared here as a function with one text parameter
        return {"input": call.arguments_text}
    return _object(call.arguments_text)


def _object(text: str) -> dict[str, Any]:
    """Return the object in an argument text, or the text under `_raw`. NaN and infinity are not JSON (NUM-02)."""
    given = parse(text).arguments
    return {"_raw": text} if given is None else given
