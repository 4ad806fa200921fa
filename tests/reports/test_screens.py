"""Every screen of the published page and of the audit page, at each size and in each colour scheme."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace
from playwright.sync_api import Page, expect

from tests.reports import golden, test_browser_content, test_versions
from tests.reports.browser import SCHEMES, SIZES, Open, axe_findings, photograph
from tests.reports.test_html_audit import audited, lost_call, write_traffic
from tests.support.published import published
from tests.support.thoroughness import is_thorough
from toolparity.audit.pages import audit as audit_page
from toolparity.conformance.cli.publish import FOLDER
from toolparity.reports import formats
from toolparity.reports.html import shell
from toolparity.reports.results import BROKEN, Report, Result

pytestmark = pytest.mark.page("reports/html", "reports/published")


@cache
def broken_case() -> Result:
    """The first case of the published results in which an implementation breaks a law."""
    run = published()
    tested = {subject.name for subject in run.subjects if subject.role == "implementation"}
    return next(case for case, verdict in run.verdicts() if case.subject in tested and verdict.outcome in BROKEN)


#: The first rows of the largest tables. `--thorough` has axe examine all of them.
_ROWS, _KILLS = "#grid tr:nth-child(-n+4)", "#kills tr:nth-child(-n+4)"
#: Screen of the published page -> its address, an element that it must show, and the part that it shows. All screens
#: are of one page; the first one is that of all other parts.
SCREENS = {
    "first": ("", "h1", None),
    "by-subject": ("#by=subject&law=incomplete", "#grid tbody td a.expected", _ROWS),
    "by-law": ("#subject=litellm&by=law", "#grid tbody td a.expected", _ROWS),
    "filtered": ("#subject=litellm&law=conservation&verdict=broken", "#grid tbody td a.expected", _ROWS),
    "nothing-matches": ("#q=no-case-contains-this", "#grid button", "#scenarios"),
    "evidence": ("{case}", "dialog .broken", "dialog"),
    "unknown": ("#nowhere&subject=nobody", "#unknown", "#unknown"),
    "effects": ("#effects", ".cases", "#effects"),
    "reference": ("#others", "#others .heat", "#others"),
    "kill-matrix": ("#kills", "table.kills", _KILLS),
}


def assert_fits(page: Page, name: str, tmp_path: Path, only: str | None = None, without: Sequence[str] = ()) -> None:
    """Keep a screenshot, and assert that axe finds nothing and that no part is beside the screen."""
    photograph(page, name, tmp_path)
    assert axe_findings(page, only, without) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.thorough(keep=1, per="{screen}")
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("screen", SCREENS)
def test_each_screen_of_the_published_page(opened: Open, tmp_path: Path, screen: str, size: str, scheme: str) -> None:
    address, element, part = SCREENS[screen]
    address = address.format(case=shell.case_link(broken_case()) if "{" in address else "")
    page = opened((FOLDER / "index.html").read_bytes(), address, size=size, scheme=scheme)
    expect(page.locator(element).first).to_be_in_viewport()
    others = [] if part or is_thorough() else ["#grid", "#kills", "#effects", "#others"]
    assert_fits(page, f"published-{screen}-{size}-{scheme}", tmp_path, part, others)


@pytest.mark.parametrize("size", SIZES)
def test_the_first_screen_has_the_headline_and_the_worst_implementation_and_leads_to_the_evidence(
    opened: Open, size: str
) -> None:
    page = opened((FOLDER / "index.html").read_bytes(), size=size)
    for part in ("h1", ".lead", "#hint", ".key", ".heat tbody tr >> nth=0"):
        expect(page.locator(part).first).to_be_in_viewport(ratio=1)
    assert page.locator("#hint").evaluate("hint => hint.scrollHeight <= hint.clientHeight + 1"), "no line is cut off"
    page.locator(".heat a[href*=broken]").first.click()
    page.locator("#grid tbody td a:not(.dim)").first.click()
    for part in ("Expected", "Got", "On the wire"):
        expect(page.locator("dialog h4", has_text=part).first).to_be_visible()


def everything() -> bytes:
    """The page of a run with every outcome, member and section."""
    made = golden.golden()
    before = golden.run(*(replace(one, verdicts=one.verdicts[:1]) for one in made.results[3:]), golden.result())
    return formats.render("html", Report(made, before, [before], histories=[test_versions.HISTORY]))


#: Page -> its content from a folder for input, and its address.
PAGES: dict[str, tuple[Callable[[Path], bytes], str]] = {
    "everything": (lambda folder: everything(), ""),
    "versions": (lambda folder: everything(), "#versions"),
    "reproduction": (lambda folder: test_browser_content.shown(), test_browser_content.SHORTEST),
    "audit": (lambda folder: audit_page.render(audited(write_traffic(folder / "r.jsonl"))), ""),
    "lost-call": (lambda folder: audit_page.render(audited(lost_call(folder / "r.jsonl"))), ""),
}


@pytest.mark.thorough(keep=1, per="{name}")
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", PAGES)
def test_each_part_of_a_page_fits_and_is_accessible(
    opened: Open, tmp_path: Path, name: str, size: str, scheme: str
) -> None:
    make, address = PAGES[name]
    page = opened(make(tmp_path), address, size=size, scheme=scheme)
    if name == "audit":
        for part in ("h1", ".lead", ".policies"):
            expect(page.locator(part)).to_be_in_viewport(ratio=1)
    for summary in [] if name == "reproduction" else page.locator("summary:visible").all():
        summary.click()
    assert_fits(page, f"{name}-{size}-{scheme}", tmp_path)
    bodies = "[...document.querySelectorAll('#evidence-body')]"
    assert page.evaluate(f"{bodies}.every((body) => body.scrollWidth <= body.clientWidth)")


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("size", SIZES)
def test_the_printed_page_has_every_row_and_no_controls(opened: Open, tmp_path: Path, size: str) -> None:
    page = opened((FOLDER / "index.html").read_bytes(), size=size, scheme="dark")
    page.emulate_media(media="print")
    photograph(page, f"published-print-{size}", tmp_path)
    for part in ("nav", "#filters", "#downloads"):
        expect(page.locator(part)).to_be_hidden()
    frames = page.locator(".framed")
    assert frames.count() == 2
    for frame in frames.all():
        assert frame.evaluate("frame => frame.scrollHeight <= frame.clientHeight + 1")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
