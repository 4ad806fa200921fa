"""Fixtures of the orchestrated turns: recoveries wait as usual, but the waits take no time."""

from __future__ import annotations

import pytest

from tests.turns.log.conftest import pytest_pyfunc_call
from toolparity.turns.backoff import Backoff
from toolparity.turns.orchestration import coordinator

__all__ = ["pytest_pyfunc_call", "slept"]


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits in seconds. Each has its full length, without the random part."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(coordinator, "DEFAULT", Backoff(jitter=lambda: 1.0, sleep=sleep))
    return waits
