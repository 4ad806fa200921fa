"""Packages that some tests need and that an extra installs."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import pytest


def package(name: str, *, extra: str) -> Any:
    """Import a package. Without it the test is skipped, or fails where TOOLPARITY_SKIP_NOTHING is set, as in CI."""
    try:
        return import_module(name)
    except ImportError:
        reason = f"{name} is not installed; it comes with the extra {extra}"
    if os.environ.get("TOOLPARITY_SKIP_NOTHING"):
        pytest.fail(reason)
    pytest.skip(reason, allow_module_level=True)
