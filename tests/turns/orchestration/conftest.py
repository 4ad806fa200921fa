"""Fixtures of the orchestrated turns: recoveries wait as usual, but the waits take no time."""

from __future__ import annotations

import pytest

from tests.turns.playing import RecordingSleep
from toolparity.turns.orchestration import coordinator


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits in seconds. Each has its full length, without the random part."""
    recording = RecordingSleep()
    monkeypatch.setattr(coordinator, "DEFAULT", recording.backoff())
    return recording.slept
