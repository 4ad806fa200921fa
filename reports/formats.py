"""Registry of report formats.

A new format is a function of this package that renders a report as bytes, and a row of `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

from .results import Report


class Format(NamedTuple):
    """A module of this package and its function that renders a report, and the help of its option."""

    module: str
    function: str
    help: str


FORMATS: dict[str, Format] = {
    "json": Format("results", "render", "the results, for rendering, comparison and storage"),
    "junit": Format("junit", "render", "JUnit XML, for test viewers"),
    "markdown": Format("markdown", "render", "Markdown, for a pull request or a job summary"),
    "badge": Format("badge", "render", "a badge, as SVG"),
    "endpoint": Format("badge", "render_endpoint", "JSON for badge services"),
    "html": Format("html", "render", "a self-contained HTML page"),
}


def render(format: str, report: Report) -> bytes:
    """Render a report in a format of `FORMATS`. The same results give the same bytes. Raises KeyError if unknown."""
    name = FORMATS[format]
    function: Callable[[Report], bytes] = getattr(import_module(f".{name.module}", __package__), name.function)
    return function(report)
