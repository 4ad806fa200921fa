"""How tests read traffic, and what they compare of a response."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tests.support import emit, events
from tests.support.wires import TEXT_WIRES, WIRES
from toolparity import Response, StreamDecoder, ToolCall, normalize, select
from toolparity.cassettes.scripts import Part
from toolparity.normalizer.events import Event
from toolparity.normalizer.policies import POLICIES
from toolparity.normalizer.wires.registry import spec

#: A call: id, name, argument text.
Given = tuple[str | None, str | None, str]
#: Every wire, plain and streamed; the second list leaves out bodies that carry arguments as JSON, not as text.
FORMS = [(wire, stream) for wire in WIRES for stream in (False, True)]
TEXT_FORMS = [
    (wire, stream) for wire, stream in FORMS if wire in TEXT_WIRES and (stream or not spec(wire).parsed_arguments)
]
_NO_NAME = "a_name_that_is_left_out"


def feed(wire: str, pieces: Iterable[Any], **options: Any) -> tuple[Response, list[Event]]:
    """Return the response and the canonical events of a stream in these pieces."""
    decoder = StreamDecoder(wire, **options)
    found = [event for piece in pieces for event in decoder.feed(piece)]
    return decoder.finish(), found


def decoded(wire: str, frames: bytes | Sequence[bytes], **options: Any) -> Response:
    """Return the response of a stream. Bytes are fed whole and byte by byte; both must give the same."""
    if wire == "xai.grpc":
        return feed(wire, [frames] if isinstance(frames, bytes) else frames, **options)[0]
    body = frames if isinstance(frames, bytes) else b"".join(frames)
    whole, _ = feed(wire, [body], **options)
    bytewise, _ = feed(wire, [body[at : at + 1] for at in range(len(body))], **options)
    assert bytewise == whole
    assert bytewise.findings == whole.findings
    return whole


def decode_stream(wire: str, body: bytes | Iterable[bytes], **options: Any) -> Response:
    """Return the response of a stream, whole or in pieces."""
    return feed(wire, [body] if isinstance(body, bytes) else body, **options)[0]


def chat(*chunks: dict[str, Any], finish: str | None = "tool_calls", **options: Any) -> Response:
    """Decode a stream of chunks; its end is added. A plain piece of a call becomes its own chunk."""
    sent = [each if "choices" in each else events.chunk(each) for each in chunks]
    if finish is not None:
        sent.append(events.chunk(finish=finish))
    return decode_stream("openai.chat", events.sse(*sent, done=True), **options)


def responses(*items: dict[str, Any], end: dict[str, Any] | None = None, **options: Any) -> Response:
    """Decode a stream of `responses_events`."""
    return decode_stream("openai.responses", events.sse(*events.responses_events(*items, end=end)), **options)


def anthropic(*blocks: dict[str, Any], stop: str = "tool_use", **options: Any) -> Response:
    """Decode a stream of events; the message around them is added."""
    return decode_stream("anthropic.messages", events.anthropic_stream(*blocks, stop=stop), **options)


def both(wire: str, parts: Sequence[Part], stop: str, **options: Any) -> list[Response]:
    """Return the responses of the plain and of the streamed form of an answer."""
    plain = normalize(emit.emit_body(wire, parts, stop), wire, **options)
    return [plain, decoded(wire, emit.emit_stream(wire, parts, stop), **options)]


def traffic(wire: str, streamed: bool, calls: Sequence[Given], size: int = 3) -> list[bytes]:
    """Return these calls as the wire carries them, whole or with argument texts in pieces of ``size``.

    Where an id or a name is None, the wire has no such member.
    """
    parts = [
        emit.scripted_call(events.cut(text, size), f"{_NO_NAME}_{number}" if id is None else id, name or _NO_NAME)
        for number, (id, name, text) in enumerate(calls)
    ]
    if not streamed:
        return [emit.edited(wire, emit.emit_body(wire, parts), _without_placeholders)]
    return emit.damage(wire, emit.emit_stream(wire, parts), _without_placeholders)


def respond(wire: str, streamed: bool, calls: Sequence[Given], size: int = 3, **options: Any) -> Response:
    """Return the response with these calls, see `traffic`."""
    sent = traffic(wire, streamed, calls, size)
    return decode_stream(wire, sent, **options) if streamed else normalize(sent[0], wire, **options)


def _without_placeholders(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_placeholders(each) for key, each in value.items() if not _is_placeholder(each)}
    if isinstance(value, list):
        return list(map(_without_placeholders, value))
    for output in getattr(value, "outputs", ()):
        message = output.delta if hasattr(output, "delta") else output.message
        for call in message.tool_calls:
            call.id = "" if _is_placeholder(call.id) else call.id
            call.function.name = "" if _is_placeholder(call.function.name) else call.function.name
    return value


def _is_placeholder(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(_NO_NAME)


# What to compare


def triples(response: Response) -> list[tuple[str, str, Any]]:
    """Id, name and arguments of the first choice's calls."""
    return [(call.id, call.name, call.arguments) for call in response.calls]


def texts(response: Response) -> list[tuple[str, str, str]]:
    """Id, name and argument text of the first choice's calls."""
    return [(call.id, call.name, call.arguments_text) for call in response.calls]


def shapes(response: Response) -> list[tuple[str, Any, str]]:
    """Name, arguments and status of the first choice's calls."""
    return [(call.name, call.arguments, call.status) for call in response.calls]


def codes(response: Response) -> list[str]:
    """The finding codes, in order."""
    return [finding.code for finding in response.findings]


def only(response: Response) -> ToolCall:
    """The one call that there must be."""
    (call,) = response.calls
    return call


def ran(response: Response, policy: str = "all") -> list[str]:
    """The ids of the calls that a policy keeps."""
    return [ref.id for ref in select(response, policy).kept]


def assert_not_executed(response: Response, calls: int | None = None) -> None:
    """No policy keeps or merely drops a call of this response: every one is rejected."""
    places = [(choice.index, at, block.id) for choice, at, block in response.walk() if isinstance(block, ToolCall)]
    if calls is not None:
        assert len(places) == calls
    for policy in POLICIES:
        selection = select(response, policy)
        assert (selection.kept, selection.dropped) == ([], [])
        assert [(ref.choice, ref.block, ref.id) for ref in selection.rejected] == places
