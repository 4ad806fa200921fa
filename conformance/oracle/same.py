"""Keys of caches that compare objects by identity: the cases of a scenario share requests and responses."""

from __future__ import annotations

from typing import Any


class Same:
    """A value as a key of a cache, by the identity of ``part``. The cache keeps it, so no other object gets its id."""

    def __init__(self, value: Any, part: object) -> None:
        self.value, self._part = value, part

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self._part is other._part

    def __hash__(self) -> int:
        return id(self._part)
