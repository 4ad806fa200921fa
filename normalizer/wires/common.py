"""Decoding steps that all wires share: building calls, unique ids, stop reasons, errors and findings."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .. import json_codec
from ..errors import MalformedBody, NotAResponse
from ..events import Event, StreamError
from ..findings import Finding, finding
from ..model import CallStatus, Choice, Error, Response, Stop, StopReason, ToolCall
from ..readers.marks import RAW, Item, Mark
from .schema import UNFIT, Note, Reader, S
from .stop_words import is_listed

#: Reasons that mean a natural end or nothing at all. `settle` then decides by the blocks of the response.
_YIELDS = frozenset(("end_turn", "unknown"))
#: Reasons that mean that the provider cut the response at its end.
CUTS = frozenset(("max_tokens", "context_window"))
#: Maximum number of calls or items in one response. Real responses stay far below; DOS-01 had 16,000 phantom slots.
MAX_CALLS = 4096
_REFUSALS = frozenset(("refusal", "content_filter"))
#: Reasons that `failed` replaces with "error" when an error ended the response.
_ENDED_WELL = frozenset(("tool_calls", "end_turn", "unknown"))
parse_object = msgspec.json.Decoder(dict[str, Any]).decode
#: The exceptions of `parse_object`. `CallBuilder.build` then examines the argument text more closely.
NOT_AN_OBJECT = (msgspec.DecodeError, UnicodeError, RecursionError)
#: Kinds of calls whose tools a request declares by name.
BY_NAME = frozenset(("function", "custom", "legacy_function"))
#: Maximum number of findings of one code. If there are more, the last one counts the rest.
MANY = 100


class Declared(Struct, frozen=True):
    """The declarations of the request that decoding depends on.

    ``names``: the declared tools; None if the request is not known, and then no call counts as undeclared.
    ``custom``: the tools that take free text. ``n``: the number of requested choices. ``schemas``: parameter schemas by
    tool name, as the request spells them (JSON text on `xai.grpc`).
    """

    names: frozenset[str] | None = None
    custom: frozenset[str] = frozenset()
    n: int = 1
    schemas: dict[str, Any] = {}


class Context(Struct, gc=False):
    """State of one decoding: the caller's options and the findings so far.

    ``status``: the HTTP status. ``respelled``: the body was already parsed, so argument texts are re-encoded JSON.
    """

    wire: str
    provider: str | None = None
    declared: Declared = Declared()
    status: int | None = None
    findings: list[Finding] = []
    respelled: bool = False
    counts: dict[str, int] | None = None
    told: set[str] | None = None

    def find(self, code: str, message: str = "", choice: int | None = None, block: int | None = None) -> None:
        """Add a finding. If there are more than `MANY` of one code, the last one counts the rest.

        ``choice`` and ``block``: indexes in the response.
        """
        if self.counts is None:
            self.counts = {}
        number = self.counts[code] = self.counts.get(code, 0) + 1
        if number <= MANY:
            self.findings.append(finding(code, message, choice, block))
            return
        findings = self.findings
        for place in range(len(findings) - 1, -1, -1):
            if findings[place].code == code:
                findings[place] = finding(code, f"{code}: {number - MANY + 1} more")
                return

    def find_once(self, code: str, message: str = "") -> None:
        """Add a finding unless one with the same message (or code, without a message) was added here before."""
        key = message or code
        if self.told is None:
            self.told = set()
        if key not in self.told:
            self.told.add(key)
            self.find(code, message)

    def take(self, notes: list[Note]) -> None:
        """Convert a schema reader's notes into findings, one per path without list indexes, and clear the list."""
        for note in notes:
            self.find_once(note.kind, f"{note.kind}: {re.sub(_INDEXES, '[]', note.path)}")
        notes.clear()


_INDEXES = r"\[\d+\]"


def read_whole(reader: Reader[S], data: bytes, context: Context) -> S:
    """Parse a complete body into a wire struct, and report the members that do not fit the schema as findings.

    Raises MalformedBody if the bytes are not a JSON object.
    """
    try:
        body = reader.strict(data)
    except UNFIT:
        notes: list[Note] = []
        body = reader.read_leniently(data, notes)
        context.take(notes)
        try:
            data.decode()
        except UnicodeDecodeError as error:
            context.find("corrupt-text", f"the body is not UTF-8 at byte {error.start}: replaced by U+FFFD")
    return body


class CallBuilder(Struct, gc=False):
    """Builder for the calls of one choice. It keeps their ids unique and attaches findings to the choice.

    ``seen``: name and argument text of the calls built so far, by id.
    """

    context: Context
    choice: int
    response_id: str | None
    seen: dict[str, tuple[str | None, str]]
    #: whether every tool name is accepted, because the declared names are not known
    trusting: bool
    #: names and argument values of the calls that share an id
    shared: dict[str, set[tuple[str | None, str]]] | None = None

    @classmethod
    def of(cls, context: Context, choice: int, response_id: str | None) -> CallBuilder:
        """Return a builder without any calls."""
        return cls(context, choice, response_id, {}, context.declared.names is None)

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
        seen = self.seen
        if id and id not in seen:
            seen[id] = (name, text)
        else:
            id = self._synthetic(id, block, extra := dict(extra or ()))
        if not (cut or free_text) and name and self.trusting and text.isascii() and "\\" not in text:
            try:
                arguments = parse_object(text)
            except NOT_AN_OBJECT:
                pass
            else:
                extra = {} if extra is None else extra
                return ToolCall(id, name, arguments, text, "complete", kind, wire_id, namespace, caller, extra)
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
        if not name:
            status, arguments = "invalid", None
            find("nameless-call", "", choice, block)
        names = self.context.declared.names
        if name and names is not None and name not in names and kind in BY_NAME:
            missing = "pseudo-parallel" if name == PSEUDO_PARALLEL else "unknown-tool"
            find(missing, f"the request does not declare a tool {name!r}", choice, block)
        return arguments, status

    def _synthetic(self, id: str | None, block: int, extra: dict[str, Any]) -> str:
        """Derive a deterministic id from the response's id and the call's position (ID-09, ID-14, GEM-03)."""
        import zlib

        digest = zlib.crc32((self.response_id or "").encode("utf-8", "replace"))
        made = f"call_{digest:08x}_{self.choice}_{len(self.seen)}"
        while made in self.seen:
            made += "x"
        self.seen[made] = (None, "")
        if id:
            extra["id"] = id
            self.context.find("id-duplicate", f"two calls with the id {id!r}; this one is {made}", self.choice, block)
        else:
            self.context.find("id-missing", f"no id on the wire; this call is {made}", self.choice, block)
        return made


def settle(
    builder: CallBuilder, reason: StopReason | None, raw: str | None, approvals: int = 0, refusals: int = 0
) -> Stop:
    """Return the effective stop reason, given the wire's reason and the blocks of the choice (law `stop`).

    ``reason``: the wire's reason, mapped; None if the wire gave none. ``raw``: the wire's spelling. ``builder``: the
    builder of the choice's calls. ``approvals`` and ``refusals``: how many such blocks the choice has. Client calls
    replace a natural end; without calls, refusals do, then approval requests. Every other reason is kept.
    Disagreements become findings.
    """
    calls = len(builder.seen)
    if reason == "tool_calls" and calls:
        return Stop("tool_calls", raw)
    context, choice = builder.context, builder.choice
    if approvals:
        context.find("needs-approval", "", choice)
    if reason == "tool_calls":
        context.find("stop-disagrees", f"stop reason {raw!r} without a client call", choice)
        reason = "end_turn"
    elif reason is None:
        context.find("stop-missing", "", choice)
        reason = "unknown"
    elif reason == "unknown" or not (raw is None or is_listed(raw)):
        context.find("stop-unknown", f"stop reason {raw!r}", choice)
    elif calls and reason == "end_turn":
        context.find("stop-disagrees", f"stop reason {raw!r} with {calls} client calls", choice)
    if reason in _YIELDS:
        reason = "tool_calls" if calls else "refusal" if refusals else "pause" if approvals else reason
    if reason in _REFUSALS:
        context.find("refused", f"stop reason {raw!r}", choice)
    elif reason == "pause" and not approvals:
        context.find("paused", "", choice)
    return Stop(reason, raw)


def failed(choices: list[Choice]) -> list[Choice]:
    """Return the choices of a response that an error ended.

    The stop reason "error" replaces "tool_calls", "end_turn" and "unknown" (law `stop`). Other reasons stay.
    """
    return [
        replace(choice, stop=Stop("error", choice.stop.raw)) if choice.stop.reason in _ENDED_WELL else choice
        for choice in choices
    ]


#: Plain strings: compiling them on import would cost time, and only errors need them.
_RETRYABLE = r"overload|rate_?limit|timeout|timed_out|unavailable|internal|server_error|api_error|resource_exhausted"
_FINAL = r"invalid|auth|permission|not_found|billing|too_large|unsupported|quota"


def error_of(raw: Any, status: int | None = None) -> Error:
    """Convert an error of any wire (an object, a text or a number) to the canonical error.

    ``status``: the HTTP status, used unless the error itself contains one.
    """
    body = raw
    while isinstance(body, dict) and isinstance(body.get("error"), dict):
        body = body["error"]
    if not isinstance(body, dict):
        body = {"message": body if isinstance(body, str) else "" if body is None else str(body)}
    elif isinstance(body.get("error"), str) and "message" not in body:
        body = {**body, "message": body["error"]}
    code = body.get("code")
    # Error events of the Responses API have the type "error" and name the kind of error in `code`.
    kinds = (k for k in (body.get("type"), code, body.get("status")) if isinstance(k, str) and k and k != "error")
    kind = next(kinds, "error")
    message = body.get("message") or body.get("msg") or body.get("detail") or body.get("details") or ""
    for candidate in (body.get("status_code"), code, body.get("status"), status):
        if isinstance(candidate, int) and 400 <= candidate < 600:
            status = candidate
            break
    return Error(kind, message if isinstance(message, str) else str(message), status, _retryable(kind, status), raw)


def _retryable(kind: str, status: int | None) -> bool | None:
    if status is not None and status >= 400:  # a stream that fails later has status 200, which says nothing
        return status in (408, 409, 425, 429) or status >= 500
    kind = kind.lower()
    if re.search(_RETRYABLE, kind):
        return True
    return False if re.search(_FINAL, kind) else None


#: Members that mark a body as an error, in all dialects.
_OF_ERRORS = ("error", "errors", "detail", "code", "msg")


def response_without_output(
    context: Context, data: bytes, *, id: str | None = None, model: str | None = None
) -> Response:
    """Return an error response for a body without model output. Raises NotAResponse if it is not an error either."""
    raw = json_codec.decode(data)
    failed = context.status is not None and context.status >= 400
    if not failed and isinstance(raw, dict):
        failed = any(raw.get(name) is not None for name in _OF_ERRORS) or isinstance(raw.get("message"), str)
        failed = failed or raw.get("status") == "failed"
    if not failed:
        raise NotAResponse(f"the body is neither a response nor an error of {context.wire}", body=data)
    return error_response(context, raw, id=id, model=model)


def error_response(context: Context, raw: Any, *, id: str | None = None, model: str | None = None) -> Response:
    """Return a response that contains only the error in ``raw``, with its findings."""
    error = error_of(raw, context.status)
    # The schema describes successful bodies, so its findings about an error body mean nothing.
    context.findings = [f for f in context.findings if f.code not in ("unknown-member", "wrong-type")]
    context.find("error-response", f"{error.type}: {error.message}"[:500])
    rejected = raw.get("error") if isinstance(raw, dict) else None
    if isinstance(rejected, dict) and rejected.get("failed_generation") is not None:
        context.find("provider-rejected-call", "failed_generation contains the model's text")
    response = Response(context.wire, context.provider, id, model, [], None, error)
    return response.with_findings(context.findings)


def first_int(figures: dict[str, Any], *names: str) -> int | None:
    """Return the first of the named usage figures that is an int, or None."""
    for name in names:
        value = figures.get(name)
        if type(value) is int:
            return value
    return None


class StreamBase:
    """Base of all streams: it feeds items to the wire's ``event`` and turns malformed ones into stream errors.

    A wire's Stream implements ``event(name, data, out)`` and ``finish() -> Response``. It may override ``run`` with a
    fast path for the most frequent events, and must pass all others to ``take``.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._notes: list[Note] = []
        self._error: Error | None = None

    def feed(self, items: list[Item], out: list[Event]) -> None:
        """Process the items that a reader produced from the next bytes, and append the resulting events to ``out``."""
        usual: list[bytes] = []
        for name, data in items:
            if (name is None or (name is not RAW and name != "error")) and data[:1] == b"{":
                usual.append(data)
                continue
            if usual:
                self.run(usual, out)
                usual = []
            self.take(name, data, out)
        if usual:
            self.run(usual, out)

    def run(self, payloads: list[bytes], out: list[Event]) -> None:
        """Process the payloads of consecutive events whose SSE names carry no extra information."""
        for data in payloads:
            self.take(None, data, out)

    def take(self, name: str | Mark | None, data: bytes, out: list[Event]) -> None:
        """Process one item. Text outside of events, and data that is not a JSON object, become stream errors."""
        if isinstance(name, Mark):
            # Text between events is an error page, or an error object without framing (SSE-11).
            try:
                self.fail(json_codec.decode(data), out)
            except (ValueError, RecursionError):
                self.fail(data.decode("utf-8", "replace"), out)
            return
        try:
            self.event(name, data, out)
        except MalformedBody:
            text = data.decode("utf-8", "replace")[:500]
            self._context.find("undecodable-event", f"not a JSON object: {text}")
            self.fail({"type": "undecodable_event", "message": text}, out)

    def event(self, name: str | None, data: bytes, out: list[Event]) -> None:
        """Process one event. Raises MalformedBody if its data is not a JSON object."""
        raise NotImplementedError

    @property
    def failure(self) -> Error | None:
        """The last error of the stream, or None."""
        return self._error

    def fail(self, raw: Any, out: list[Event]) -> None:
        """Record a stream error. ``raw``: the error as the provider or the framing reports it."""
        self._error = error_of(raw, self._context.status)
        self._context.find("stream-error", f"{self._error.type}: {self._error.message}"[:500])
        if isinstance(raw, dict) and isinstance(raw.get("error"), dict) and "failed_generation" in raw["error"]:
            self._context.find("provider-rejected-call", "failed_generation contains the model's text")
        out.append(StreamError(self._error))
