"""HTML report: one file for a browser that makes no requests. The same results give the same bytes.

results -> statistics -> template: headline, heat map, cases by effect, readable without scripts
        -> columns: each text and each verdict once
        -> embedded data, compressed -> scripts: grid, lists, evidence, downloads
"""

from __future__ import annotations

from ..results import ROLES, Report
from ..statistics import count_verdicts
from ..subject_groups import FEW, groups
from . import changes, history, kills, overview, sources, versions
from .columns import Columns
from .embed import embedded
from .shell import page

STYLES = ("base.css", "run.css", "versions.css", "panel.css", "print.css")
#: In dependency order.
SCRIPTS = (
    "text.js",
    "data.js",
    "state.js",
    "filter.js",
    "grid.js",
    "lists.js",
    "difference.js",
    "reproduction.js",
    "evidence.js",
    "downloads.js",
    "main.js",
)


def render(report: Report) -> bytes:
    """Render the page in UTF-8."""
    run = report.run
    figures = count_verdicts(run)
    columns = Columns(run, (item.name for group in groups(run, figures) for item in group.standings))
    data = embedded(run, columns, report.reproductions)
    headline = overview.headline(run, figures)
    context = {
        "run": run,
        "title": headline.text,
        "headline": headline,
        "heat_maps": overview.heat_maps(run, figures),
        "size": overview.size(run, figures),
        "shades": overview.SHADES,
        "few": FEW,
        "counts": overview.counts(figures),
        "subjects": overview.subjects(run),
        "laws": overview.laws(run),
        "roles": ROLES,
        "changes": changes.changes(report),
        "sources": sources.sources(run),
        "kills": kills.matrix(run),
        "history": history.history(report),
        "libraries": versions.libraries(report),
        "data": data.data,
        "shortened": data.shortened,
    }
    return page("run.html.j2", context, styles=STYLES, scripts=SCRIPTS)
