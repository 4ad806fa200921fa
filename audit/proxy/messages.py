"""Reads the messages of a WebSocket session from its copy, in the worker that records."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct
from websockets.exceptions import InvalidHeader
from websockets.extensions.permessage_deflate import PerMessageDeflate
from websockets.frames import CLOSE, TEXT, Close, Frame, Opcode
from websockets.headers import parse_extension
from websockets.protocol import CLIENT, SERVER, Protocol

from toolparity.normalizer import json_codec

from .copies import Direction, SessionCopy
from .headers import RawHeaders, text_lists

_DATA = (Opcode.TEXT, Opcode.BINARY, Opcode.CONT)
#: The most bytes of all messages, which can be compressed, and the most characters of their texts, which takes a worker
#: about 10 seconds to scrub.
_MOST_BYTES, _MOST_TEXT = 64 << 20, 4 << 20
#: How many bytes are parsed at a time. Compressed frames can expand to 1,000 times as many.
_PORTION = 1 << 14
#: The side that masks its frames, and to which `permessage-deflate` gives the name of its parameters.
_SENDERS: dict[Direction, str] = {"sent": "client", "received": "server"}

#: Sound and pictures in JSON, under the names that OpenAI, xAI and Gemini give them. They take most of a session, say
#: nothing of calls, and look like secrets by chance.
_MEDIA = re.compile(r'("(?:audio|data|delta)"\s*:\s*")((?:[A-Za-z0-9+/_-]|\\/){256,}={0,2})(?=")')
#: What is before and after a text in a stream of events, and what must not be in it.
_EVENT, _END = "data: ", "\n\n"
_LINE_END = re.compile("[\r\n]")


class Message(Struct, omit_defaults=True):
    """A message, or a close frame with its code and reason.

    ``text`` is None if the message is binary and not JSON, which Gemini sends as binary messages. Base64 of sound and
    pictures in it is replaced by its length. ``size``: the bytes of the whole message.
    """

    direction: Direction
    type: str
    size: int
    text: str | None = None
    code: int | None = None


def read_messages(session: SessionCopy, headers: RawHeaders) -> Iterator[Message]:
    """Yield the messages that the copied bytes hold completely, until the limits of their sizes and texts.

    What is not a frame ends its direction. ``headers``: of the response with status 101.
    """
    parameters = _deflate(headers)
    directions = {direction: _Direction(direction, parameters) for direction in _SENDERS}
    size = length = 0
    for direction, data in session.pieces:
        for message in directions[direction].read(data):
            size += message.size
            length += len(message.text or "")
            if size > _MOST_BYTES or length > _MOST_TEXT:
                return
            yield message


def as_stream(messages: list[Message], direction: Direction) -> str:
    """Return the texts of a direction as a stream of events, in which a scrubber finds secrets that are in pieces."""
    texts = (_LINE_END.sub(" ", text) for _, text in _texts(messages, direction))
    return "".join(f"{_EVENT}{text}{_END}" for text in texts)


def replace_texts(messages: list[Message], direction: Direction, stream: str) -> None:
    """Set the texts of a direction from its stream, which was scrubbed. Raises ValueError if its length has changed."""
    place = 0
    for message, text in _texts(messages, direction):
        start = place + len(_EVENT)
        place = start + len(text)
        clean = zip(text, stream[start:place], strict=True)
        message.text = "".join(old if old in "\r\n" else new for old, new in clean)
        place += len(_END)
    if place != len(stream):
        raise ValueError("a text was scrubbed to another length")


def _texts(messages: list[Message], direction: Direction) -> Iterator[tuple[Message, str]]:
    return ((one, one.text) for one in messages if one.direction == direction and one.text is not None)


class _Direction:
    """The frames of one direction."""

    def __init__(self, direction: Direction, parameters: dict[str, str | None] | None) -> None:
        self._name = direction
        self._frames = Protocol(SERVER if direction == "sent" else CLIENT, max_size=_MOST_BYTES)
        self._type = ""
        self._parts: list[bytes] = []
        if parameters is not None:
            side = _SENDERS[direction]
            self._frames.extensions = [
                PerMessageDeflate(
                    remote_no_context_takeover=f"{side}_no_context_takeover" in parameters,
                    local_no_context_takeover=True,
                    remote_max_window_bits=int(parameters.get(f"{side}_max_window_bits") or 15),
                    local_max_window_bits=15,
                )
            ]

    def read(self, data: bytearray) -> Iterator[Message]:
        for start in range(0, len(data), _PORTION):
            self._frames.receive_data(data[start : start + _PORTION])
            self._frames.data_to_send()  # the answers of a real peer
            for frame in self._frames.events_received():
                assert isinstance(frame, Frame)
                if frame.opcode is CLOSE:
                    close = Close.parse(frame.data)
                    yield Message(self._name, "close", len(frame.data), close.reason, close.code)
                elif frame.opcode in _DATA:
                    yield from self._message(frame)

    def _message(self, frame: Frame) -> Iterator[Message]:
        if frame.opcode is not Opcode.CONT:
            self._type, self._parts = ("text" if frame.opcode is TEXT else "binary"), []
        self._parts.append(bytes(frame.data))
        if frame.fin:
            data = b"".join(self._parts)
            yield Message(self._name, self._type, len(data), _text(data, self._type))


def _deflate(headers: RawHeaders) -> dict[str, str | None] | None:
    """Return the parameters with which a response accepts `permessage-deflate` (RFC 7692), or None if it does not."""
    try:
        values = text_lists(headers).get("sec-websocket-extensions", [])
        extensions = [extension for value in values for extension in parse_extension(value)]
    except InvalidHeader:
        return None
    return next((dict(parameters) for name, parameters in extensions if name == "permessage-deflate"), None)


def _text(data: bytes, type: str) -> str | None:
    if type == "binary":
        try:
            json_codec.decode(data)
            text = data.decode()
        except (ValueError, RecursionError):
            return None
    else:
        text = data.decode("utf-8", "replace")
    return _MEDIA.sub(lambda match: f"{match[1]}<{len(match[2])} characters of base64>", text)
