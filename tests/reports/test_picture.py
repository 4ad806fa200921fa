"""The picture of the README shows the published results, like the headline below it."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_picture_is_made_from_the_published_results() -> None:
    program = runpy.run_path(str(ROOT / "docs" / "report_picture.py"))
    made_from = program["text_of"](program["PICTURE"].read_bytes(), program["KEYWORD"])
    assert made_from == program["digest"](), "make it again: python docs/report_picture.py"
