"""Every figure of the reports: counted by hand for a run of every kind of case, and recounted for the publication."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace

from docs.generate import report_picture
from tests.reports.golden import golden, result, run, verdict
from tests.reports.test_html import Read
from tests.support.published import published_file
from toolparity.conformance.cli.publish import FOLDER
from toolparity.reports import formats
from toolparity.reports.results import BROKEN, Report, Result, Role, Run, SubjectInfo, SubjectReport
from toolparity.reports.terminal import render
from toolparity.reports.text import sections

ROOT = Path(__file__).resolve().parents[2]
#: A test of the publication.
PAGE = pytest.mark.page("reports/published", "README.md")


def mixed() -> Run:
    """Subjects of every role, two of them of one library, and cases with several effects, outcomes and laws."""
    roles: dict[str, Role] = {"mine": "implementation", "yours": "implementation", "ours": "reference"}
    roles["bad"] = "known-bad"
    cases = [
        result(verdict("fail", effect=first), verdict("expected", "stop", effect=second), subject=name, scenario=place)
        for name, place, first, second in (
            ("mine", "a", "misreported", "executed"),
            ("mine", "b", "refused", "misreported"),
            ("yours", "a", "altered", "duplicated"),
            ("bad", "a", "malformed", "refused"),
            ("bad", "b", "executed", "lost"),
        )
    ]
    cases += [
        result(verdict("error"), verdict("pass", "stop"), scenario="c"),
        result(verdict("unsupported"), subject="yours", scenario="d"),
        replace(result(verdict("unsupported"), subject="yours", scenario="g"), rounds=[SubjectReport(["f()"])]),
        result(subject="yours", scenario="e"),
        result(verdict("stale"), verdict("unsupported", "stop"), subject="ours"),
        result(verdict("expected", "usage", effect="lost"), subject="yours", scenario="f"),
    ]
    subjects = [SubjectInfo(name, "1", role=role) for name, role in roles.items()]
    return run(
        *cases, subjects=[replace(one, library="one") if one.name in ("mine", "yours") else one for one in subjects]
    )


HEADLINE = (
    "2 of 2 implementations (entry points of 1 library) lose, duplicate or alter calls or content, or let calls run"
    " that must not run, on at least one wire"
)
#: Texts of the page of `mixed`, without line breaks.
SHOWN = [
    HEADLINE,
    "0 of 5 cases pass; 1 of the 4 failing cases is listed in a baseline of expected failures.",
    "mine 1 all laws 0 /3 ! order 0 /3 ! stop 1 /3 \u2013 no applicable case",
    "yours 1 all laws 0 /2 order 0 /1 stop 0 /1 usage 0 /1",
    "ours 1 all laws 1 /1 order 1 /1 \u2013 no applicable case",
    "bad 1 all laws 0 /2 order 0 /2 stop 0 /2",
    "mine laws broken 2 applicable 3 pass 0 executed 1 lost 0 duplicated 0 misreported 1 undecided 1 not judged 0"
    " not applicable 0 not asked 0 not run 5",
    "yours laws broken 3 applicable 2 pass 0 executed 0 lost 1 duplicated 1 misreported 0 undecided 0 not judged 1"
    " not applicable 1 not asked 1 not run 3",
    "ours laws broken 0 applicable 1 pass 1 executed 0 malformed 0 not run 7",
    "bad laws broken 2 applicable 2 pass 0 executed 1 malformed 1 not run 6",
    *("error: 1 verdict", "fail: 5 verdicts", "stale: 1 verdict", "known failure: 6 verdicts", "pass: 1 verdict"),
    "11 cases, 17 verdicts, in 12.3 s",
    "Reference and deliberately faulty subjects reference This project's own code.",
]
#: The descriptions of its cells.
TIPS = [
    "mine, all laws: 0/3 applicable cases pass, 1 executed, 1 misreported, 1 undecided, 5 not run",
    "mine, order: 0/3 applicable cases pass, 1 misreported, 1 refused, 1 undecided, 5 not run",
    "mine, stop: 1/3 applicable cases pass, 1 executed, 1 misreported, 5 not run,"
    " 2 of the failures listed in a baseline",
    "yours, all laws: 0/2 applicable cases pass, 1 lost, 1 duplicated, 1 not judged, 1 not applicable, 1 not asked,"
    " 3 not run, 1 of the failures listed in a baseline",
    "yours, order: 0/1 applicable cases pass, 1 altered, 1 not judged, 2 not applicable, 1 not asked, 3 not run",
    "yours, stop: 0/1 applicable cases pass, 1 duplicated, 3 not applicable, 1 not asked, 3 not run,"
    " 1 of the failures listed in a baseline",
    "yours, usage: 0/1 applicable cases pass, 1 lost, 3 not applicable, 1 not asked, 3 not run,"
    " 1 of the failures listed in a baseline",
    "ours, all laws: 1/1 applicable cases pass, 7 not run",
    "ours, order: 1/1 applicable cases pass, 7 not run",
    "bad, all laws: 0/2 applicable cases pass, 1 executed, 1 malformed, 6 not run",
    "bad, order: 0/2 applicable cases pass, 1 executed, 1 malformed, 6 not run",
    "bad, stop: 0/2 applicable cases pass, 1 lost, 1 refused, 6 not run, 2 of the failures listed in a baseline",
]
#: Lines of its Markdown.
LINES = [
    "## \u274c Tool calls of 2 implementations: 0 of 5 cases pass, stale baseline",
    f"**{HEADLINE}.**",
    "| `order` | \u2757 0/3 (1 error) | \u274c 0/1 |",
    "| `stop` | \u274c 1/3 (2 expected) | \u274c 0/1 (1 expected) |",
    "| `usage` | \u00b7 | \u274c 0/1 (1 expected) |",
    "| all laws | **0/3** | **0/2** |",
    "| `mine` | 2 | 3 | 0 | 1 | 0 | 0 | 1 | 1 | 0 | 0 | 0 | 5 |",
    "| `yours` | 3 | 2 | 0 | 0 | 1 | 1 | 0 | 0 | 1 | 1 | 1 | 3 |",
    "| `stop` | \u2b1c | \u274c 0/2 (2 expected) |",
    "| `ours` | 0 | 1 | 1 | 0 | 0 | 7 |",
    "| `bad` | 2 | 2 | 0 | 1 | 1 | 6 |",
]


#: Lines of its report at a terminal, with single spaces.
PRINTED = [
    "order 0/3 (1 error) 0/1",
    "stop 1/3 (2 expected) 0/1 (1 expected)",
    "mine 2 3 0 1 0 0 1 1 0 0 0 5",
    "yours 3 2 0 0 1 1 0 0 1 1 1 3",
    "Reference and deliberately faulty subjects: laws kept, of the cases to which each applies",
    "bad 2 2 0 1 1 6",
]


def test_a_behaviour_counts_once_in_the_order_of_rows_and_both_counts_are_shown() -> None:
    cases: list[Result] = []
    for name, count, reason in (("often", 9, "x (expected: it)"), ("varied", 3, "x (expected: {})"), ("plain", 2, "x")):
        found = [verdict("expected", "order", reason=reason.format(number)) for number in range(count)]
        found += [verdict("pass", "order")] * 20
        cases += [result(one, subject=name, scenario=f"s{number}") for number, one in enumerate(found)]
    report = Report(run(*cases))
    text = formats.render("markdown", report).decode()
    head, _, *rows = text[text.index("| subject | laws") :].splitlines()[:5]
    assert head.startswith("| subject | laws that it breaks | behaviours | applicable | pass |")
    assert [row[2:25] for row in rows] == [
        "`varied` | 1 | 3 | 23 |",
        "`plain` | 1 | 2 | 22 | ",
        "`often` | 1 | 1 | 29 | ",
    ]
    page = Read(formats.render("html", report).decode()).text
    assert " often laws broken 1 behaviours 1 applicable 29 pass 20 " in " ".join(page.split())


def test_each_figure_of_page_markdown_terminal_and_badge() -> None:
    printed = [
        " ".join(line.split()) for line in render(sections(Report(mixed())), width=10_000, colour=False).splitlines()
    ]
    assert [line for line in PRINTED if line not in printed] == []
    page, markdown, badge = (
        formats.render(name, Report(mixed())).decode() for name in ("html", "markdown", "endpoint")
    )
    read = Read(page)
    assert [words for words in SHOWN if words not in read.text] == []
    cells = [attrs["title"] for _, attrs in read.tags if "heat-cell" in (attrs.get("class") or "")]
    assert cells == TIPS
    assert [line for line in LINES if line not in markdown.splitlines()] == []
    shown = json.loads(badge)
    assert (shown["label"], shown["message"]) == ("tool calls: 2 implementations", "0 of 5 cases pass, stale baseline")


def test_each_figure_of_the_kill_matrix_and_of_the_sources() -> None:
    text = Read(formats.render("html", Report(golden())).decode()).text
    for figures in ("live 2 Recorded", "imported 1 Recorded", "emulated 2 Recorded", "written 1 ", " 4 1 alive: "):
        assert figures in text
    assert "never-stops It never stops. 2 0 Downloads" in text
    assert "1 of 2 fail the law written for them. Laws that no known-bad subject needs: stop ." in text


#: In another process, which decodes all published results: the files of the publication whose figures are not theirs.
RENDERED = """
import re
from toolparity.conformance.cli.publish import FOLDER, HISTORY, RESULTS, files
from toolparity.reports.files import load, load_history

histories = [load_history(path) for path in sorted((FOLDER / HISTORY).glob("*.json"))]
for name, made in files(load(FOLDER / RESULTS), histories).items():
    kept = (FOLDER / name).read_bytes()
    if name == "index.html":
        made, kept = (re.findall(rb"[\\d,]+", re.sub(rb"(?s)<(script|style).*?</", b"", one)) for one in (made, kept))
    if made != kept:
        print(name)
"""


@PAGE
def test_the_published_files_have_the_figures_of_the_published_results() -> None:
    done = subprocess.run([sys.executable, "-c", RENDERED], capture_output=True, text=True, check=True)
    assert done.stdout == ""


@PAGE
def test_the_headline_of_the_readme_and_the_badge_have_the_recounted_share() -> None:
    file = published_file()
    tested = {one["name"] for one in file["subjects"] if one.get("role", "implementation") == "implementation"}
    kept: dict[bool, Counter[bool]] = {True: Counter(), False: Counter()}
    for case in file["results"]:
        if judged := {one["outcome"] for one in case["verdicts"]} & {*BROKEN, "pass", "stale"}:
            kept[case["subject"] in tested][judged <= {"pass", "stale"}] += case["subject"] in (*tested, "normalizer")
    share, own = (f"{counts[True]:,} of {counts.total():,} cases pass" for counts in kept.values())
    published_file.cache_clear()
    readme, report = (" ".join(path.read_text("utf-8").split()) for path in (ROOT / "README.md", FOLDER / "README.md"))
    (headline,) = re.findall(r"\*\*(\d+ of \d+ implementations.*?)\.\*\*", report)
    assert f"[current results](reports/published/README.md), {headline}; {share}." in readme
    assert "](reports/published/badge.svg)](reports/published/README.md)" in readme
    assert json.loads((FOLDER / "badge.json").read_bytes())["message"] == own
    assert f"<title>tool calls: normalizer (reference): {own}</title>" in (FOLDER / "badge.svg").read_text("utf-8")


def test_the_picture_of_the_readme_is_made_from_the_published_results() -> None:
    made_from = report_picture.text_of(report_picture.PICTURE.read_bytes(), report_picture.KEYWORD)
    assert made_from == report_picture.digest(), "make it again: python -m docs.generate.report_picture"
