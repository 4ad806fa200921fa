"""HTML report: one file for a browser that makes no requests. The same results give the same bytes.

results -> columns: each text and each verdict once
        -> embedded data -> scripts: grid, lists, evidence, downloads
        -> template: verdict, changes, sources and laws, readable without scripts
"""

from __future__ import annotations

from ..escape import cut
from ..results import Report
from ..statistics import count_verdicts, occurring_effects, standings
from . import changes, history, kills, overview, sources
from .columns import Columns
from .embed import embedded
from .shell import page

STYLES = ("base.css", "run.css", "panel.css", "print.css")
#: In dependency order.
SCRIPTS = (
    "text.js",
    "data.js",
    "state.js",
    "filter.js",
    "grid.js",
    "lists.js",
    "evidence.js",
    "downloads.js",
    "main.js",
)


def render(report: Report) -> bytes:
    """Render the page in UTF-8."""
    run = report.run
    columns = Columns(run)
    tallies = overview.tallies(columns)
    figures = count_verdicts(run)
    subjects = standings(run, figures)
    data = embedded(run, columns)
    context = {
        "run": run,
        "title": f"{', '.join(cut(subject.name, 60) for subject in run.subjects[:3])}: conformance",
        "headline": overview.headline(run, tallies, subjects),
        "effects": [(effect, figures.effects[effect], means) for effect, means in occurring_effects(figures.effects)],
        "counts": overview.counts(run, tallies),
        "subjects": overview.subjects(run, tallies, subjects),
        "laws": overview.laws(run, tallies),
        "changes": changes.changes(report),
        "sources": sources.sources(run),
        "kills": kills.matrix(run),
        "history": history.history(report),
        "data": data.data,
        "shortened": data.shortened,
    }
    return page("run.html.j2", context, styles=STYLES, scripts=SCRIPTS)
