"""The picture of the README shows the published results, like the headline below it."""

from __future__ import annotations

from docs.generate import report_picture


def test_the_picture_is_made_from_the_published_results() -> None:
    made_from = report_picture.text_of(report_picture.PICTURE.read_bytes(), report_picture.KEYWORD)
    assert made_from == report_picture.digest(), "make it again: python -m docs.generate.report_picture"
