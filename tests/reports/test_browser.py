"""The page of a run in a real browser: what people do with it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from benchmarks.made_run import SURFACES, made_run
from tests.reports.browser import Open, photograph
from tests.reports.golden import result, run, verdict
from toolparity.reports import formats
from toolparity.reports.results import Report

RUN = made_run(3, 12)
CASE = "#case=subject-01/scenario-011/openai.chat/stream/first"


@pytest.fixture(scope="module")
def data() -> bytes:
    return formats.render("html", Report(RUN))


def rows(page: Page) -> list[str]:
    """The scenarios that the grid shows."""
    return page.locator("#grid tbody th b").all_inner_texts()


def filters(page: Page) -> str:
    return str(page.evaluate("location.hash"))


# Filters


def test_the_grid_has_every_scenario_and_every_wire_and_no_blank_cell(opened: Open, data: bytes) -> None:
    page = opened(data)
    assert rows(page) == [one.id for one in RUN.scenarios]
    assert page.locator("#grid thead th").all_inner_texts() == ["scenario", *SURFACES]
    cells = page.locator("#grid tbody td")
    assert cells.count() == 12 * len(SURFACES)
    assert page.locator("#grid tbody td > .mark[title]").count() == cells.count()


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("subject", "subject-02"),
        ("provider", "xai"),
        ("mode", "stream"),
        ("policy", "batch"),
        ("law", "law-03"),
        ("verdict", "fail"),
    ],
)
def test_each_filter_leaves_what_it_says_and_stands_in_the_address(
    opened: Open, data: bytes, name: str, value: str
) -> None:
    page = opened(data)
    page.select_option(f'[name="{name}"]', value)
    expect(page).to_have_url(re.compile(f"#{name}={value}$"))
    expect(page.locator("#filter-count")).to_contain_text(told(**{"subject": "subject-00", name: value}))


def told(subject: str, **chosen: str) -> str:
    """How many cases a filter leaves, counted from the results themselves."""
    found = 0
    for case in RUN.results:
        verdicts = [one for one in case.verdicts if one.check == chosen.get("law", one.check)]
        found += (
            case.subject == subject
            and case.surface.startswith(chosen.get("provider", ""))
            and case.mode == chosen.get("mode", case.mode)
            and case.policy == chosen.get("policy", case.policy)
            and any(one.outcome == chosen.get("verdict", one.outcome) for one in verdicts)
        )
    return f" {found:,} of "


def test_words_are_found_in_titles_reasons_calls_and_ids_of_failures(opened: Open, data: bytes) -> None:
    page = opened(data)
    for words, left in (
        ("ID-07", ["scenario-007"]),
        ("situation of scenario-003", ["scenario-003"]),
        ('look_up_2({"of":"scenario-010"', ["scenario-010"]),
        ("nothing says this", []),
    ):
        page.fill('[name="q"]', words)
        expect(page.locator("#grid tbody th b")).to_have_text(left)
    expect(page.locator("#grid")).to_contain_text("No case matches")


def test_a_filter_with_verdicts_shows_only_rows_that_have_one(opened: Open, data: bytes) -> None:
    page = opened(data, "#subject=subject-01&verdict=fail")
    broken = {
        case.scenario
        for case in RUN.results
        if case.subject == "subject-01" and any(one.outcome == "fail" for one in case.verdicts)
    }
    assert broken
    assert rows(page) == sorted(broken)


def test_a_cell_of_the_laws_shows_its_cases(opened: Open, data: bytes) -> None:
    page = opened(data)
    page.locator(".laws tbody tr").nth(3).locator("td a").nth(2).click()
    assert filters(page).startswith("#subject=subject-02&law=law-03")
    expect(page.locator("#filter-count")).to_contain_text("subject-02")
    expect(page.locator("#scenarios")).to_be_in_viewport()


def test_all_subjects_stand_side_by_side_where_the_columns_are_subjects(opened: Open, data: bytes) -> None:
    page = opened(data, "#by=subject")
    assert page.locator("#grid thead th").all_inner_texts() == ["scenario", "subject-00", "subject-01", "subject-02"]


def test_the_address_is_the_state(opened: Open, data: bytes) -> None:
    page = opened(data, "#subject=subject-02&mode=stream&q=scenario-00")
    assert page.input_value('[name="subject"]') == "subject-02"
    assert page.input_value('[name="q"]') == "scenario-00"
    assert len(rows(page)) == 10
    page.click("button[type=reset]")
    expect(page.locator("#grid tbody tr")).to_have_count(12)
    assert filters(page) in ("", "#")


def test_an_address_that_names_what_is_not_there_is_as_good_as_none(opened: Open, data: bytes) -> None:
    page = opened(data, "#subject=nobody&law=%E0%A4%A&case=a/b/c&__proto__=1&constructor=2")
    assert len(rows(page)) == 12
    assert not page.locator("dialog").is_visible()


def test_links_to_sections_leave_the_filters_alone(opened: Open, data: bytes) -> None:
    page = opened(data, "#subject=subject-02&law=law-03")
    page.click("nav >> text=Downloads")
    expect(page.locator("#downloads")).to_be_in_viewport()
    assert filters(page) == "#subject=subject-02&law=law-03"


# Evidence


def broken_cell(page: Page) -> str:
    """The name of the first cell in which a law is broken."""
    return page.locator("#grid td a.fail").first.get_attribute("href") or ""


def test_a_cell_opens_its_evidence_with_the_mouse(opened: Open, data: bytes) -> None:
    page = opened(data)
    address = broken_cell(page)
    page.locator("#grid td a.fail").first.click()
    panel = page.locator("dialog")
    expect(panel).to_be_visible()
    assert filters(page) == address
    for words in (
        "The rule: What law-",
        "vanished without a word",
        "Expected",
        "Got",
        "On the wire",
        "Canonical blocks",
        "Output of the subject",
        "emulated",
        "ID-",
        "toolparity check subject-00 --scenario scenario-",
    ):
        expect(panel).to_contain_text(words)
    panel.get_by_role("button", name="Close the evidence").click()
    expect(panel).to_be_hidden()
    assert "case=" not in filters(page)


def test_evidence_is_reached_and_left_by_the_keyboard(opened: Open, data: bytes) -> None:
    page = opened(data)
    first = page.locator("#grid td a").first
    first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    here = page.evaluate("document.activeElement.getAttribute('href')")
    assert here == page.locator("#grid tbody tr").first.locator("td a").nth(1).get_attribute("href")
    page.keyboard.press("Enter")
    expect(page.locator("dialog")).to_be_visible()
    assert page.evaluate("document.activeElement.id") == "evidence-title"
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_be_hidden()
    assert page.evaluate("document.activeElement.getAttribute('href')") == here


def test_the_grid_is_one_stop_of_the_tab_key(opened: Open, data: bytes) -> None:
    page = opened(data)
    assert page.locator('#grid a[tabindex="0"]').count() == 1
    page.locator("#grid td a").first.focus()
    page.keyboard.press("ArrowDown")
    assert page.locator('#grid a[tabindex="0"]').count() == 1
    page.keyboard.press("Tab")
    assert not page.evaluate("document.activeElement.closest('#grid')")


def test_a_deep_link_opens_a_case_and_leaves_the_focus_on_its_cell(opened: Open, data: bytes) -> None:
    page = opened(data, f"#subject=subject-01&{CASE[1:]}")
    panel = page.locator("dialog")
    expect(panel).to_be_visible()
    expect(panel).to_contain_text("subject-01 1.0 · openai.chat · stream · policy first")
    expect(panel).to_contain_text("1 of 2 calls is dropped under the policy first")
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(page.locator(":focus")).to_have_attribute("title", re.compile("scenario-011, openai.chat"))


def test_from_one_case_one_goes_to_the_others(opened: Open, data: bytes) -> None:
    page = opened(data, CASE)
    panel = page.locator("dialog")
    panel.get_by_title("xai.grpc, plain, batch").click()
    expect(panel).to_contain_text("xai.grpc · plain · policy batch")
    panel.get_by_text("← before").click()
    expect(panel).to_contain_text("scenario-011")
    page.go_back()
    expect(panel).to_contain_text("xai.grpc · plain · policy batch")
    page.go_back()
    expect(panel).to_contain_text("openai.chat · stream · policy first")


def test_an_id_of_a_failure_leads_to_all_that_guard_against_it(opened: Open, data: bytes) -> None:
    page = opened(data, CASE)
    page.click("dialog .guards a")
    expect(page.locator("dialog")).to_be_hidden()
    assert rows(page) == ["scenario-011"]


def test_reasons_are_counted_and_open_their_first_case(opened: Open, data: bytes) -> None:
    page = opened(data, "#subject=subject-01")
    link = page.locator("#reasons tbody a").first
    words = link.inner_text()
    link.click()
    expect(page.locator("dialog .reason").first).to_contain_text(words)


def test_a_case_in_which_nothing_was_judged_is_not_called_well(opened: Open) -> None:
    made = run(result(verdict("unsupported")), result(verdict(), verdict("unsupported", "stop"), scenario="kept"))
    page = opened(formats.render("html", Report(made)), "#case=mine/one-call/openai.chat/plain/all")
    panel = page.locator("dialog")
    expect(panel).to_contain_text("No law was judged in this case: the subject claims none that applies.")
    page.goto(page.url.replace("one-call", "kept"))
    expect(panel).to_contain_text("No law is broken in this case.")


# For everyone


@pytest.mark.thorough(keep=1, per="{address}")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
@pytest.mark.parametrize("address", ["", CASE], ids=["page", "evidence"])
def test_axe_finds_nothing_serious(
    opened: Open, data: bytes, tmp_path: Path, phone: bool, dark: bool, address: str
) -> None:
    page = opened(data, address, phone=phone, dark=dark)
    shape, colours = "phone" if phone else "desktop", "dark" if dark else "light"
    photograph(page, f"{'evidence' if address else 'page'}-{shape}-{colours}", tmp_path)
    found = Axe().run(page).response["violations"]
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []


def test_nothing_stands_beside_the_page_on_a_phone(opened: Open, data: bytes) -> None:
    page = opened(data, phone=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator("#grid td a").first.click()
    assert page.evaluate("document.getElementById('evidence-body').scrollWidth") <= 390


def test_without_scripts_the_verdict_the_laws_and_the_sources_are_there(opened: Open, data: bytes) -> None:
    page = opened(data, scripts=False)
    for words in ("3 of 3 subjects break a law", "cases that pass", "Recorded from our own servers", "law-07"):
        expect(page.locator("main")).to_contain_text(words)
    assert page.locator(".laws tbody td .mark").count() == 12 * 3
    expect(page.locator("noscript")).to_be_visible()
