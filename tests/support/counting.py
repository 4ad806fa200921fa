"""Work in function calls: a measure that no clock and no other process disturbs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def function_calls(work: Callable[[], Any]) -> int:
    """Return how many functions, of Python and of C, are called while working."""
    count = 0

    def counted(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
