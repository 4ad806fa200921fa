"""What the tests with xAI's SDK need."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _telemetry_reads_no_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """xAI's SDK parses the arguments of every call for its telemetry, and fails if they are cut."""
    monkeypatch.setenv("XAI_SDK_DISABLE_SENSITIVE_TELEMETRY_ATTRIBUTES", "1")
