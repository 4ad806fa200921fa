"""Streamed `reasoning_details`."""

from __future__ import annotations

from typing import Any


class Details:
    """Collects OpenRouter's `reasoning_details`; a fragment with index and type of the last entry continues it."""

    __slots__ = ("_entries", "_growing")

    def __init__(self) -> None:
        self._entries: list[Any] = []
        self._growing: dict[str, list[str]] = {}

    def add(self, news: list[Any]) -> None:
        """Add the details of one chunk."""
        for detail in news:
            last = self._entries[-1] if self._entries else None
            if not isinstance(detail, dict):
                self._close()
                self._entries.append(detail)
                continue
            if (
                not isinstance(last, dict)
                or last.get("index") != detail.get("index")
                or last.get("type") != detail.get("type")
            ):
                self._close()
                last = {}
                self._entries.append(last)
            for key, value in detail.items():
                if key in ("text", "summary", "data") and isinstance(value, str):
                    self._growing.setdefault(key, []).append(value)
                    last.setdefault(key, "")
                elif value is not None or key not in last:
                    last[key] = value

    @property
    def begun(self) -> bool:
        """Whether any detail has arrived."""
        return bool(self._entries)

    def _close(self) -> None:
        for key, pieces in self._growing.items():
            self._entries[-1][key] = "".join(pieces)
        self._growing = {}

    def whole(self) -> list[Any]:
        """Return all details with their fragments concatenated."""
        self._close()
        return self._entries
