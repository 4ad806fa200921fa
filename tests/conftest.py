"""Fixtures that several tests share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The folder of recorded traffic, which is no part of this repository."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "recordings"
    if not folder.is_dir():
        pytest.skip(f"no recordings in {folder.parent.name}/{folder.name}")
    return folder
