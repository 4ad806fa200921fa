"""Measure the HTML report of the largest run that it is designed for: `python -m benchmarks.page [--turns N]`.

The run has 20 subjects x 200 scenarios x 5 surfaces x 2 modes x 3 policies. Rendering alternates with decoding the JSON
of the same results, so that their ratio is stable on a busy machine. If a browser is installed, it opens the page from
disk as often.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from tabulate import tabulate

from toolparity.reports import formats, results
from toolparity.reports.results import Report

from .made_run import made_run
from .measure import measure

RENDER_GOAL_S = 5.0
OPEN_GOAL_S = 2.0
SIZE_GOAL = 2_000_000
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync"]


def main() -> int:
    """Run the benchmark and print the table. Returns 0 whether or not the goals hold."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page", description=__doc__)
    parser.add_argument("--turns", type=int, default=5)
    turns = parser.parse_args().turns
    made = made_run()
    data = results.write(made)
    page = formats.render("html", Report(made))
    jobs = {"render": lambda: formats.render("html", Report(made)), "json": lambda: json.loads(data)}
    times = measure("page", jobs, turns, 0.0)
    rendered = times.microseconds("render") / 1e6
    ratio = f"{times.ratio('render', 'json'):.2f} x json.loads of the results"
    rows: list[list[str]] = [
        ["results", f"{len(data) / 1e6:.1f} MB, {len(made.results):,} cases", "", "", ""],
        ["render", f"{rendered:.2f} s", ratio, f"≤ {RENDER_GOAL_S:g} s", _yes(rendered <= RENDER_GOAL_S)],
        ["page", f"{len(page) / 1e6:.2f} MB", "", f"< {SIZE_GOAL / 1e6:g} MB", _yes(len(page) < SIZE_GOAL)],
    ]
    rows += _opened(page, turns)
    print(tabulate(rows, ["what", "figure", "ratio", "goal", "holds"], disable_numparse=True))
    return 0


def _opened(page: bytes, turns: int) -> list[list[str]]:
    """Measure the time until the grid is shown, and until its largest view, subjects by scenarios, is drawn."""
    path = next((found for name in _BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        return [["open", "no browser is installed", "", "", ""]]
    from playwright.sync_api import sync_playwright

    opened, drawn, cpu = [], [], []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "page.html"
        file.write_bytes(page)
        browser = playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        for _ in range(turns):
            shown = browser.new_page()
            session = shown.context.new_cdp_session(shown)
            session.send("Performance.enable", {"timeDomain": "threadTicks"})
            began = time.perf_counter()
            shown.goto(file.as_uri())
            shown.locator("#grid td").first.wait_for()
            opened.append(time.perf_counter() - began)
            cpu.append(_cpu(session))
            drawn.append(float(shown.evaluate(_REDRAWN)) / 1e3)
            shown.close()
        browser.close()
    told = median(opened)
    return [
        [
            "open",
            f"{told:.2f} s",
            f"{median(cpu):.2f} s of its thread",
            f"≤ {OPEN_GOAL_S:g} s",
            _yes(told <= OPEN_GOAL_S),
        ],
        ["all subjects", f"{median(drawn):.2f} s", "4,000 cells drawn and laid out", "", ""],
    ]


_REDRAWN = """() => {
  const began = performance.now();
  history.replaceState(null, "", "#by=subject");
  dispatchEvent(new HashChangeEvent("hashchange"));
  document.getElementById("grid").getBoundingClientRect();
  return performance.now() - began;
}"""


def _cpu(session: Any) -> float:
    """Return the seconds of CPU time of the page's thread."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return float(next(one["value"] for one in metrics if one["name"] == "ThreadTime"))


def _yes(holds: bool) -> str:
    return "yes" if holds else "NO"


if __name__ == "__main__":
    sys.exit(main())
