"""JSON results: the run as recorded, without changes."""

from __future__ import annotations

from .results import Report, write


def render(report: Report) -> bytes:
    """Render the run as JSON (schema: `reports/results.schema.json`)."""
    return write(report.run)
