"""Writes the JSON schemas of the files that scenarios are made of, beside those files: ``python docs/schemas.py``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolparity.cassettes import scripts
from toolparity.conformance.cases import scenarios
from toolparity.reports import results

ROOT = Path(__file__).resolve().parents[1]
#: Where each schema stands, and what makes it.
SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "cassettes/scenarios/schema.json": scripts.schema,
    "conformance/situations/schema.json": scenarios.schema,
    "reports/results.schema.json": results.schema,
}


def written(schema: dict[str, Any]) -> str:
    """A schema as it stands in its file."""
    return json.dumps(schema, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


if __name__ == "__main__":
    for path, make in SCHEMAS.items():
        (ROOT / path).write_text(written(make()), "utf-8")
