"""Counting of WebSocket messages while they pass, without keeping any of their bytes (RFC 6455, section 5.2)."""

from __future__ import annotations

_TEXT, _BINARY, _CLOSE = 1, 2, 8
#: The length of a frame -> how many bytes of its header hold a longer one.
_EXTENDED = {126: 2, 127: 8}
_MASK_BYTES = 4


class MessageCount:
    """Counts the messages of one direction.

    ``messages``: how many began. ``closed``: whether a close frame began; nothing after it counts.
    """

    def __init__(self) -> None:
        self.messages = 0
        self.closed = False
        self._header = bytearray()
        self._payload = 0

    def add(self, data: bytes) -> None:
        """Count in the next bytes, which can end anywhere in a frame."""
        place, end = 0, len(data)
        while place < end and not self.closed:
            if self._payload:
                passed = min(self._payload, end - place)
                self._payload -= passed
                place += passed
                continue
            missing = self._missing()
            self._header += data[place : place + missing]
            place += missing
            if not self._missing():
                self._frame()

    def _missing(self) -> int:
        """Return how many bytes the header still needs, as far as is known."""
        header = self._header
        if len(header) < 2:
            return 2 - len(header)
        masked = _MASK_BYTES if header[1] & 0x80 else 0
        return 2 + _EXTENDED.get(header[1] & 0x7F, 0) + masked - len(header)

    def _frame(self) -> None:
        kind, length = self._header[0] & 0x0F, self._header[1] & 0x7F
        extended = _EXTENDED.get(length, 0)
        self._payload = int.from_bytes(self._header[2 : 2 + extended]) if extended else length
        self.messages += kind in (_TEXT, _BINARY)
        self.closed = kind == _CLOSE
        self._header.clear()
