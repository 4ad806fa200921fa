"""Registry of report formats.

A new format is a module in this package with ``render(report) -> bytes``, and a row of `FORMATS`."""

from __future__ import annotations

from importlib import import_module

from .results import Report

#: Format name -> module of this package that renders it, and its use in one line (shown by ``--help``).
FORMATS: dict[str, tuple[str, str]] = {
    "json": ("json", "the results, for rendering, comparison and storage"),
    "junit": ("junit", "JUnit XML, for test viewers"),
    "markdown": ("markdown", "Markdown, for a pull request or a job summary"),
    "badge": ("badge", "a badge, as SVG"),
    "endpoint": ("endpoint", "JSON for badge services"),
    "html": ("html", "a self-contained HTML page"),
}


def render(format: str, report: Report) -> bytes:
    """Render a report in a format of `FORMATS`. The same results give the same bytes. Raises KeyError if unknown."""
    module = import_module(f".{FORMATS[format][0]}", __package__)
    made: bytes = module.render(report)
    return made
