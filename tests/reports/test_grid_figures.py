"""The figures that the scripts of the published page show, recomputed from the results file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.reports.browser import Open
from tests.support.published import published_file
from toolparity.conformance.cli.publish import FOLDER

pytestmark = pytest.mark.page("reports/html", "reports/published")


@pytest.fixture(scope="module", autouse=True)
def forgotten() -> Iterator[None]:
    """Forget the results after the tests of this module."""
    yield
    published_file.cache_clear()


#: Outcomes that the grid counts as failures: a broken law, and a case that the harness could not judge.
FAILING = {"fail", "new", "expected", "error"}
#: Address of the page -> filters.
VIEWS = {
    "#subject=litellm&law=conservation": {"subject": "litellm", "law": "conservation", "by": "surface"},
    "#by=subject&law=incomplete": {"law": "incomplete", "by": "subject"},
    "#subject=langchain&by=law": {"subject": "langchain", "by": "law"},
    "#subject=vercel-ai&provider=xai&mode=stream": {"subject": "vercel-ai", "provider": "xai", "mode": "stream"},
}

Numbers = dict[tuple[str, str], tuple[int, int]]


def cases(filters: dict[str, str]) -> Iterator[dict[str, Any]]:
    """The cases of the results file that the filters leave."""
    for case in published_file()["results"]:
        if (
            case["subject"] == filters.get("subject", case["subject"])
            and case["surface"].startswith(filters.get("provider", ""))
            and case["mode"] == filters.get("mode", case["mode"])
        ):
            yield case


def counted(filters: dict[str, str]) -> Numbers:
    """(scenario, column) -> failing and applicable cases."""
    failing: Counter[tuple[str, str]] = Counter()
    applicable: Counter[tuple[str, str]] = Counter()
    by = filters.get("by", "surface")
    for case in cases(filters):
        judged = {
            one["check"]: one["outcome"]
            for one in case["verdicts"]
            if one["outcome"] != "unsupported" and one["check"] == filters.get("law", one["check"])
        }
        if by == "law":
            for law, outcome in judged.items():
                applicable[case["scenario"], law] += 1
                failing[case["scenario"], law] += outcome in FAILING
        elif judged:
            applicable[case["scenario"], case[by]] += 1
            failing[case["scenario"], case[by]] += bool(FAILING & set(judged.values()))
    return {place: (failing[place], number) for place, number in applicable.items()}


def shown(page: Page) -> Numbers:
    """(scenario, column) -> failing and applicable cases in the descriptions of the cells."""
    found = {}
    rows = page.evaluate(
        """() => [...document.querySelectorAll("#grid tbody tr")].map((row) => [
          row.querySelector("th b").textContent,
          ...[...row.querySelectorAll("td")].map((cell) => [cell.querySelector(".mark").title, cell.textContent]),
        ])"""
    )
    columns = page.locator("#grid thead th").all_text_contents()[1:]
    for scenario, *cells in rows:
        for column, (title, text) in zip(columns, cells, strict=True):
            described = title.removeprefix(f"{scenario}, {column}: ")
            assert described != title
            if number := re.search(r"(?:(\d+) of )?(\d+) applicable case", described):
                found[scenario, column] = int(number[1] or 0), int(number[2])
                assert ("/" in text) is bool(number[1])
                assert not number[1] or text.endswith(f"{number[1]}/{number[2]}")
    return found


@pytest.mark.parametrize("address", VIEWS)
def test_each_figure_of_the_grid(opened: Open, address: str) -> None:
    page = opened((FOLDER / "index.html").read_bytes(), address)
    expected = counted(VIEWS[address])
    assert len(expected) > 20
    assert shown(page) == expected


@pytest.mark.parametrize("subject", ["pydantic-ai", "vercel-ai-agent"])
def test_each_figure_of_the_reasons(opened: Open, subject: str) -> None:
    page = opened((FOLDER / "index.html").read_bytes(), f"#subject={subject}")
    reasons = Counter(
        (one["check"], one.get("effect", ""))
        for case in cases({"subject": subject})
        for one in case["verdicts"]
        if one["outcome"] in FAILING
    )
    more = page.locator("#reasons button")
    while more.is_visible():
        more.click()
    found: Counter[tuple[str, str]] = Counter()
    for row in page.locator("#reasons tbody tr").all():
        law, effect, number = (row.locator(cell).first.inner_text() for cell in ("th", "td:nth-child(3)", "td.number"))
        found[law, effect] += int(number.replace(",", ""))
    assert found == reasons
    total = sum(1 for _ in cases({"subject": subject}))
    expect(page.locator("#filter-count")).to_contain_text(f"{total:,} of {total:,} cases of {subject}")
