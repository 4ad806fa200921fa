"""HTML report: one file for a browser that makes no requests. The same results give the same bytes.

results -> columns: each text and each verdict once
        -> embedded data -> scripts: grid, lists, evidence, downloads
        -> template: verdict, changes, sources and laws, readable without scripts
"""

from __future__ import annotations

from ..results import Report
from .page import render

__all__ = ["Report", "render"]
