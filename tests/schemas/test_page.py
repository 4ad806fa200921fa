"""The page about tool schemas is up to date."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.page("docs/tool_schemas.py", "docs/tool-schemas.md", "normalizer/schemas/rules")
def test_the_page_is_written_from_the_rules() -> None:
    run = subprocess.run([sys.executable, _DOCS / "tool_schemas.py"], capture_output=True, text=True, check=True)
    assert run.stdout == (_DOCS / "tool-schemas.md").read_text(encoding="utf-8")
