"""Writes the JSON schemas of scenario and results files beside those files: ``python docs/schemas.py``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolparity.conformance.cases import scenarios
from toolparity.reports import results

ROOT = Path(__file__).resolve().parents[1]
#: Path of each schema -> the function that returns it.
SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "cassettes/scenarios/schema.json": scenarios.schema,
    "reports/results.schema.json": results.schema,
}


def written(schema: dict[str, Any]) -> str:
    """Return the text of a schema file."""
    return json.dumps(schema, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


if __name__ == "__main__":
    for path, make in SCHEMAS.items():
        (ROOT / path).write_text(written(make()), "utf-8")
