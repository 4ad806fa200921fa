"""The JSON schemas of scenario and results files, which are beside those files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docs.generate import ROOT
from toolparity.conformance.cases import scenarios
from toolparity.reports import results

#: Path of each schema -> the function that returns it.
SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "cassettes/scenarios/schema.json": scenarios.schema,
    "reports/results.schema.json": results.schema,
}


def files() -> dict[Path, str]:
    """Return the schema files."""
    return {
        ROOT / path: json.dumps(schema(), indent=2, ensure_ascii=False, sort_keys=True) + "\n"
        for path, schema in SCHEMAS.items()
    }
