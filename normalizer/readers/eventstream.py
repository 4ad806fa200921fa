"""Reader of AWS event streams (`application/vnd.amazon.eventstream`), in which Bedrock transports providers' events.

A message consists of total length (4 bytes), headers length (4), CRC-32 of these eight bytes, headers, payload, and
CRC-32 of all bytes before. Source: AWS, Event Stream Encoding.

Bedrock's invoke API sends each event of a model as a `chunk`, as base64 in ``{"bytes": "…"}``. Other APIs name the type
of an event only in its headers. The reader puts it around the payload, ``{"messageStart": {…}}``, as botocore does.
"""

from __future__ import annotations

import struct
from binascii import a2b_base64, crc32
from functools import lru_cache
from typing import Any

import msgspec

from ..errors import EventTooLarge
from .base import StreamEvent

_prelude = struct.Struct(">III").unpack_from
_checksum = struct.Struct(">I").unpack_from


class _Payload(msgspec.Struct):
    bytes: str | None = None


_payload = msgspec.json.Decoder(_Payload).decode
_members = msgspec.json.Decoder(dict[str, Any]).decode
#: The type of the events whose payload has the type itself.
_CHUNK = "chunk"


def looks_like_event_stream(head: bytes) -> bool:
    """Return whether a body begins with a valid prelude. Its checksum makes false positives improbable (1 in 2**32)."""
    if len(head) < 12:
        return False
    _, _, crc = _prelude(head)
    return bool(crc32(head[:8]) == crc)


class EventStreamReader:
    """Reader of AWS event streams; implements `EventReader`."""

    def __init__(self, max_event_bytes: int) -> None:
        self.problems: list[tuple[str, str]] = []
        self._max = max_event_bytes
        self._buffer = bytearray()
        self._lost = False

    def run(self, chunk: bytes) -> list[bytes] | None:
        """Fast path for valid messages whose payloads are JSON objects.

        Return the unwrapped payloads of those that the chunk completes. Return None if the chunk has another message;
        then no byte was consumed and the caller has to pass the chunk to ``feed``.
        """
        buffer = self._buffer
        if self._lost:
            return None
        if buffer:
            if len(buffer) >= 12 and len(buffer) + len(chunk) < _prelude(buffer)[0]:
                buffer += chunk
                return []
            chunk = bytes(buffer) + chunk
        events: list[bytes] = []
        start, end = 0, len(chunk)
        while end - start >= 12:
            size, headers_size, crc = _prelude(chunk, start)
            body = start + 12 + headers_size
            last = start + size - 4
            if size > self._max or body > last or crc32(chunk[start : start + 8]) != crc:
                return None
            if last + 4 > end:
                break
            if crc32(chunk[start + 8 : last], crc) != _checksum(chunk, last)[0]:
                return None
            beginning, payload = _beginning(chunk[start + 12 : body]), chunk[body:last]
            if beginning is None:
                return None
            if beginning:
                events.append(beginning + (payload or b"{}") + b"}")
            elif (event := _unwrapped(payload)) is not None and event[:1] == b"{":
                events.append(event)
            else:
                return None
            start = last + 4
        if buffer or start < end:
            buffer[:] = chunk[start:]
        return events

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        """Return the unwrapped payload of each message that the chunk completes."""
        buffer = self._buffer
        if self._lost:
            return []
        buffer += chunk
        events: list[StreamEvent] = []
        start = 0
        while len(buffer) - start >= 12:
            size, headers_size, crc = _prelude(buffer, start)
            if crc32(buffer[start : start + 8]) != crc or size < 16 + headers_size:
                # The length is unreliable, so the start of the next message is unknown.
                self.problems.append(("undecodable-event", "an event-stream message with a wrong prelude"))
                self._lost = True
                start = len(buffer)
                break
            if size > self._max:
                raise EventTooLarge(f"an event of {size} bytes is longer than {self._max}")
            if len(buffer) - start < size:
                break
            self._message(bytes(buffer[start : start + size]), headers_size, events)
            start += size
        del buffer[:start]
        return events

    def _message(self, message: bytes, headers_size: int, events: list[StreamEvent]) -> None:
        if crc32(message[:-4]) != int.from_bytes(message[-4:], "big"):
            self._fail("an event-stream message with a wrong checksum", events)
            return
        headers, payload = message[12 : 12 + headers_size], message[12 + headers_size : -4]
        beginning = _beginning(headers)
        if beginning is None:
            events.append(("error", msgspec.json.encode({"error": _error(payload, _headers(headers))})))
        elif beginning:
            events.append((None, b"%b%b}" % (beginning, payload or b"{}")))
        elif payload.strip():
            self._chunk(payload, events)

    def _chunk(self, payload: bytes, events: list[StreamEvent]) -> None:
        event = _unwrapped(payload)
        if event is None:
            self._fail("an event-stream message whose bytes are not base64", events)
        elif event.strip():
            events.append((None, event))

    def _fail(self, message: str, events: list[StreamEvent]) -> None:
        """Report a message that cannot be read as a stream error: it may have held a part of a call's arguments."""
        self.problems.append(("undecodable-event", message))
        error = {"type": "undecodable_event", "message": message}
        events.append(("error", msgspec.json.encode({"error": error})))

    def close(self) -> list[StreamEvent]:
        """Report an incomplete message without decoding it, because its checksum is missing."""
        if self._buffer:
            self.problems.append(("unterminated-event", f"{len(self._buffer)} bytes of an incomplete message"))
            self._buffer.clear()
        return []


def _error(payload: bytes, headers: dict[str, str]) -> dict[str, Any]:
    """Return the type of an exception with its members, or else with its text as ``message``."""
    kind = headers.get(":exception-type") or headers.get(":error-code")
    try:
        return {"type": kind, **_members(payload)}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {"type": kind, "message": headers.get(":error-message") or payload.decode("utf-8", "replace")}


def _unwrapped(payload: bytes) -> bytes | None:
    """Return the event of a model in a `chunk`, or None if its bytes are not base64."""
    try:
        inner = _payload(payload).bytes
        return payload if inner is None else a2b_base64(inner)
    except (msgspec.MsgspecError, RecursionError):
        return payload  # not wrapped: the payload itself is the event
    except ValueError:
        return None


@lru_cache(maxsize=64)
def _beginning(headers: bytes) -> bytes | None:
    """Return what precedes the payload of an event: its type, or nothing in a `chunk`; None for an exception."""
    named = _headers(headers)
    if named.get(":exception-type") or named.get(":error-code"):
        return None
    kind = named.get(":event-type", _CHUNK)
    return b"" if kind == _CHUNK else b"{%b:" % msgspec.json.encode(kind)


@lru_cache(maxsize=64)
def _headers(data: bytes) -> dict[str, str]:
    """Return the string headers (type 7), the only type that Bedrock sends. All events of one type have the same."""
    headers: dict[str, str] = {}
    at = 0
    while at + 1 < len(data):
        size = data[at]
        name = data[at + 1 : at + 1 + size].decode("utf-8", "replace")
        at += 1 + size
        if at >= len(data) or data[at] != 7:
            break
        length = int.from_bytes(data[at + 1 : at + 3], "big")
        headers[name] = data[at + 3 : at + 3 + length].decode("utf-8", "replace")
        at += 3 + length
    return headers
