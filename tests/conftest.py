"""Fixtures that several tests share."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import httpcore2
import pytest
from hypothesis import settings

# "ci" takes the same examples each time: there a change is judged, and not luck. Everywhere else new ones are tried.
# Neither has a deadline: how long an example takes depends on what else the machine does.
settings.register_profile("local", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "local"))

# Each client of an SDK reads all certificates of the system, which takes longer than what most tests here ask it for.
# They talk to loopback without TLS: one context does for all.
_http: Any = httpcore2
_http.default_ssl_context = cache(_http.default_ssl_context)


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The folder of recorded traffic, which is no part of this repository."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "recordings"
    if not folder.is_dir():
        pytest.skip(f"no recordings in {folder.parent.name}/{folder.name}")
    return folder
