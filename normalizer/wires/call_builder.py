"""Builder of client calls: parsed arguments, unique ids and their findings, on all wires."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from .. import json_codec
from ..model import CallStatus, ToolCall
from .calls import BY_NAME
from .decode_context import Context
from .schema import Wire

#: Maximum number of calls or items in one response. Real responses stay far below; DOS-01 had 16,000 phantom slots.
MAX_CALLS = 4096


parse_object = msgspec.json.Decoder(dict[str, Any]).decode


#: The exceptions of `parse_object`. `CallBuilder.build` then examines the argument text more closely.
NOT_AN_OBJECT = (msgspec.DecodeError, UnicodeError, RecursionError)


def respell_arguments(holder: Wire, member: str, context: Context) -> None:
    """Replace arguments that are JSON but not text, and hence unknown to the schema, by compact JSON (ARG-02).

    ``member``: the name of the member of ``holder`` with the argument text, or with a fragment of it.
    """
    if holder.extra_ is not None and member in holder.extra_ and getattr(holder, member) is None:
        context.find_once("arguments-respelled", "the arguments are JSON, not text")
        setattr(holder, member, json_codec.text(holder.extra_.pop(member)))


class CallBuilder(Struct, gc=False):
    """Builder for the calls of one choice. It keeps their ids unique and attaches findings to the choice.

    ``seen``: name and argument text of the calls built so far, by id.
    """

    context: Context
    choice: int
    response_id: str | None
    seen: dict[str, tuple[str | None, str]]
    #: the declared names; None if they are not known, and then every name is accepted
    names: frozenset[str] | None
    #: names and argument values of the calls that share an id
    shared: dict[str, set[tuple[str | None, str]]] | None = None

    @classmethod
    def of(cls, context: Context, choice: int, response_id: str | None) -> CallBuilder:
        """Return a builder without any calls."""
        return cls(context, choice, response_id, {}, context.declared.names)

    def repeats(self, id: str | None, name: str | None, text: str, free_text: bool = False) -> bool:
        """Report whether a call with this id, name and arguments was built before; the caller then drops it (ID-12).

        Different calls with the same id are not repeats, and both are kept (ID-09). Gateways re-encode arguments, so
        texts that differ are compared by their JSON value. With ``free_text`` only equal texts are repeats.
        """
        first = self.seen.get(id) if id else None
        if id is None or first is None:
            return False
        again = "came twice"
        if first != (name, text):
            from ..arguments import by_value  # imported only when needed

            value = text if free_text else by_value(text)
            if self.shared is None:
                self.shared = {}
            known = self.shared.get(id)
            if known is None:
                known = self.shared[id] = {(first[0], first[1] if free_text else by_value(first[1]))}
            if (name, value) not in known:
                known.add((name, value))
                return False
            again = "is repeated in another spelling"
        self.context.find("duplicate-call", f"{name} ({id}) {again}", self.choice)
        return True

    def regular_call(
        self,
        id: str | None,
        name: str | None,
        text: str,
        kind: str = "function",
        extra: dict[str, Any] | None = None,
        wire_id: str | None = None,
        namespace: str | None = None,
        caller: Any = None,
    ) -> ToolCall | None:
        """Build a call about which there is nothing to report, as nearly all are. The arguments are those of `build`.

        Returns None, without any effect, for a call that `build` has to examine.
        """
        names, seen = self.names, self.seen
        if not id or not name or id in seen or (name.isspace() if names is None else name not in names):
            return None
        if ("\\" in text and "\\u" in text) or "\ufffd" in text:
            return None
        try:
            arguments = parse_object(text)
        except NOT_AN_OBJECT:
            return None
        seen[id] = (name, text)
        extra = {} if extra is None else extra
        return ToolCall(id, name, arguments, text, "complete", kind, wire_id, namespace, caller, extra)

    def regular_without_id(self, block: int, name: str | None, text: str, extra: dict[str, Any]) -> ToolCall | None:
        """Build a call of a wire without ids, about which there is nothing else to report. Else return None.

        ``block``: index of the block. The arguments and the synthetic id are those of `build`.
        """
        names = self.names
        if not name or (name.isspace() if names is None else name not in names) or "\\u" in text or "\ufffd" in text:
            return None
        try:
            arguments = parse_object(text)
        except NOT_AN_OBJECT:
            return None
        return ToolCall(self._synthetic(None, block, extra), name, arguments, text, extra=extra)

    def build(
        self,
        block: int,
        id: str | None,
        name: str | None,
        text: str,
        kind: str = "function",
        extra: dict[str, Any] | None = None,
        cut: bool = False,
        wire_id: str | None = None,
        namespace: str | None = None,
        caller: Any = None,
        free_text: bool = False,
    ) -> ToolCall:
        """Build a client call with its arguments parsed.

        ``block``: index of the block, for findings and synthetic ids. ``text``: the argument text. ``cut``: the
        response was cut inside this call, so its status is "truncated" even if the text parses (TRUNC-01).
        ``free_text``: the text is not JSON by design (custom tools, CUST-01).
        """
        if not (cut or free_text):
            regular = self.regular_call(id, name, text, kind, extra, wire_id, namespace, caller)
            if regular is not None:
                return regular
        if id and id not in self.seen:
            self.seen[id] = (name, text)
        else:
            id = self._synthetic(id, block, extra := dict(extra or ()))
        examined, status = self._examine(name, text, block, kind, cut, free_text)
        extra = {} if extra is None else extra
        return ToolCall(id, name or "", examined, text, status, kind, wire_id, namespace, caller, extra)

    def _examine(
        self, name: str | None, text: str, block: int, kind: str, cut: bool, free_text: bool
    ) -> tuple[dict[str, Any] | None, CallStatus]:
        """Return the arguments and status of a call that needs more than a plain parse, and add its findings."""
        find, choice = self.context.find, self.choice
        from ..arguments import PSEUDO_PARALLEL, Parsed, parse  # imported only when needed

        arguments, status, code = Parsed(None) if free_text else parse(text)
        if cut:
            arguments, status = None, "truncated"
            find("arguments-truncated", f"the response was truncated inside {name}", choice, block)
        elif code:
            find(code, f"{code}: {name}", choice, block)
        if "\ufffd" in text or "\\ufffd" in text.lower():
            find("corrupt-text", f"the arguments of {name} contain U+FFFD", choice, block)
        if not name or name.isspace():
            status, arguments = "invalid", None
            find("nameless-call", "", choice, block)
        names = self.names
        if name and names is not None and name not in names and kind in BY_NAME:
            missing = "pseudo-parallel" if name == PSEUDO_PARALLEL else "unknown-tool"
            find(missing, f"the request does not declare a tool {name!r}", choice, block)
        return arguments, status

    def _synthetic(self, id: str | None, block: int, extra: dict[str, Any]) -> str:
        """Derive a deterministic id from the response's id and the call's position (ID-09, ID-14, GEM-03)."""
        import zlib

        digest = zlib.crc32((self.response_id or "").encode("utf-8", "replace"))
        synthetic = f"call_{digest:08x}_{self.choice}_{len(self.seen)}"
        while synthetic in self.seen:
            synthetic += "x"
        self.seen[synthetic] = (None, "")
        if id:
            extra["id"] = id
            self.context.find(
                "id-duplicate", f"two calls with the id {id!r}; this one is {synthetic}", self.choice, block
            )
        else:
            self.context.find("id-missing", f"no id on the wire; this call is {synthetic}", self.choice, block)
        return synthetic
