"""The page of a run in a real browser: what people do with it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.reports.browser import SCHEMES, SIZES, Open, axe_findings, photograph
from tests.reports.golden import result, run, verdict
from tests.reports.made_run import SURFACES, made_run
from toolparity.reports import formats
from toolparity.reports.results import Report, SubjectInfo

pytestmark = pytest.mark.page("reports/html")

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


def subjects(page: Page) -> list[str]:
    """The subjects of the heat map from top to bottom."""
    return page.locator(".heat tbody th b").all_inner_texts()


# Filters


def test_the_scenarios_with_most_broken_cases_come_first(opened: Open, data: bytes) -> None:
    page = opened(data, "#subject=subject-02")
    broken = Counter(
        case.scenario
        for case in RUN.results
        if case.subject == "subject-02"
        and any(one.outcome in ("fail", "expected", "new", "error") for one in case.verdicts)
    )
    numbers = [broken[scenario] for scenario in rows(page)]
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[0] > numbers[-1]


def test_the_grid_shows_the_first_subject_of_the_heat_map(opened: Open, data: bytes) -> None:
    page = opened(data)
    assert page.input_value('[name="subject"]') == subjects(page)[0]
    options = page.locator('[name="subject"] option').all_inner_texts()
    assert options == ["all subjects", *subjects(page)]


def test_the_grid_has_every_scenario_and_every_wire_and_no_blank_cell(opened: Open, data: bytes) -> None:
    page = opened(data)
    assert sorted(rows(page)) == [one.id for one in RUN.scenarios]
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
def test_each_filter_leaves_its_rows_and_is_in_the_address(opened: Open, data: bytes, name: str, value: str) -> None:
    page = opened(data)
    page.select_option(f'[name="{name}"]', value)
    expect(page).to_have_url(re.compile(f"#{name}={value}$"))
    expect(page.locator("#filter-count")).to_contain_text(count_text(**{"subject": subjects(page)[0], name: value}))


def count_text(subject: str, **chosen: str) -> str:
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


def test_a_cell_of_the_heat_map_shows_its_failures(opened: Open, data: bytes) -> None:
    page = opened(data)
    cell = page.locator(".heat td a[href*=broken]").nth(1)
    title = re.match(r"(.*), (law.*): (\d+)/(\d+) ", cell.get_attribute("title") or "")
    assert title is not None
    subject, law, (passed, applicable) = title[1], title[2], map(int, title.group(3, 4))
    assert cell.inner_text().replace("\n", "") == f"{passed}/{applicable}"
    assert 0 < passed < applicable
    cell.click()
    assert filters(page) == f"#subject={subject}&law={law}&verdict=broken"
    expect(page.locator("#filter-count")).to_contain_text(f", {applicable - passed} of ")
    expect(page.locator("#scenarios")).to_be_in_viewport()


def test_the_number_of_an_effect_shows_its_cases(opened: Open) -> None:
    made = run(
        result(verdict("fail", effect="lost"), verdict("fail", "stop", effect="executed")),
        result(verdict("expected", effect="lost"), scenario="second"),
        result(verdict("fail", effect="refused"), scenario="third"),
        result(verdict(), scenario="fourth"),
    )
    page = opened(formats.render("html", Report(made)))
    heads = page.locator(".cases").first.locator("thead tr").last.locator("th").all_inner_texts()
    assert heads[2:] == ["applicable", "pass", "executed", "lost", "refused"]
    assert page.locator(".cases").first.locator("tbody td").all_inner_texts() == ["2", "4", "1", "1", "1", "1"]
    page.locator(".cases td a").nth(1).click()
    assert filters(page) == "#subject=mine&effect=lost"
    assert rows(page) == ["second"]


def test_the_name_of_a_subject_shows_its_laws_and_that_of_a_law_its_subjects(opened: Open, data: bytes) -> None:
    page = opened(data)
    page.locator(".heat tbody th a", has_text="subject-02").click()
    assert page.locator("#grid thead th").all_inner_texts() == ["scenario", *(law.id for law in RUN.laws)]
    expect(page.locator("#filter-count")).to_contain_text("subject-02")
    cell = page.locator("#grid tbody tr", has_text="scenario-003").locator("td").nth(2)
    judged = [
        one.outcome
        for case in RUN.results
        if (case.subject, case.scenario) == ("subject-02", "scenario-003")
        for one in case.verdicts
        if one.check == "law-02" and one.outcome != "unsupported"
    ]
    expect(cell.locator("a")).to_have_attribute("title", re.compile(f"[ :]{len(judged)} applicable cases"))
    page.locator(".heat thead a", has_text="law-03").click()
    assert filters(page) == "#by=subject&law=law-03"
    assert page.locator("#grid thead th").all_inner_texts() == ["scenario", *subjects(page)]


def test_where_nothing_matches_a_button_clears_the_filters(opened: Open, data: bytes) -> None:
    page = opened(data, "#subject=subject-02&q=elsewhere")
    page.locator("#grid").get_by_role("button", name="Clear the filters").click()
    expect(page.locator("#grid tbody tr")).to_have_count(12)
    assert filters(page) in ("", "#")


def test_on_a_phone_the_filters_are_one_line_that_names_and_opens_them(opened: Open, data: bytes) -> None:
    page = opened(data, "#subject=subject-02&by=law&q=scenario", size="phone")
    line = page.get_by_text("Filters: subject subject-02, columns law, text scenario")
    form = page.locator("#filters")
    expect(form).to_be_hidden()
    page.set_viewport_size({"width": 844, "height": 390})
    expect(line).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    line.click()
    expect(form).to_be_visible()
    form.get_by_role("button", name="Clear").click()
    expect(page.get_by_text("Filters: none")).to_be_visible()


def test_a_subject_without_cases_is_shown_beside_the_others(opened: Open) -> None:
    listed = [SubjectInfo("mine", "1"), SubjectInfo("unrun", "1")]
    page = opened(formats.render("html", Report(run(result(verdict("fail")), subjects=listed))), "#by=subject")
    assert page.locator("#grid thead th").all_inner_texts() == ["scenario", "mine", "unrun"]
    assert page.locator("#grid tbody td > .mark").nth(1).get_attribute("title") == "one-call, unrun: not run"
    page.select_option('[name="subject"]', "unrun")
    expect(page.locator("#grid")).to_contain_text("No case matches these filters.")


def test_a_run_without_cases_has_nothing_to_clear(opened: Open) -> None:
    page = opened(formats.render("html", Report(run())))
    expect(page.locator("#grid")).to_have_text("No case was run.")
    expect(page.locator("#reasons")).to_have_text("No case was run.")


def test_the_law_and_the_cell_under_the_pointer_or_the_focus_are_described(opened: Open, data: bytes) -> None:
    page = opened(data)
    hint = page.locator("#hint")
    law = page.locator(".heat thead a").nth(1)
    expect(hint).to_contain_text(RUN.laws[0].sentence)
    law.hover()
    expect(hint).to_have_text(law.get_attribute("title") or "")
    cell = page.locator(".heat tbody td a").nth(2)
    cell.focus()
    expect(hint).to_have_text(cell.get_attribute("title") or "")


def test_subjects_as_columns_are_side_by_side(opened: Open, data: bytes) -> None:
    page = opened(data, "#by=subject")
    assert page.locator("#grid thead th").all_inner_texts() == ["scenario", *subjects(page)]


def test_the_address_is_the_state(opened: Open, data: bytes) -> None:
    page = opened(data, "#subject=subject-02&mode=stream&q=scenario-00")
    assert page.input_value('[name="subject"]') == "subject-02"
    assert page.input_value('[name="q"]') == "scenario-00"
    assert len(rows(page)) == 10
    page.click("button[type=reset]")
    expect(page.locator("#grid tbody tr")).to_have_count(12)
    assert filters(page) in ("", "#")


def test_an_address_that_names_unknown_things_is_reported_and_its_other_filters_apply(
    opened: Open, data: bytes
) -> None:
    page = opened(data, "#nowhere&subject=nobody&law=%E0%A4%A&case=a/b/c&__proto__=1&mode=stream")
    alert = page.get_by_role("alert")
    expect(alert).to_be_in_viewport()
    for words in ("section nowhere", "subject nobody", "law %E0%A4%A", "case a/b/c", "filter __proto__"):
        kind, _, name = words.partition(" ")
        expect(alert).to_contain_text(f"This page has no {kind} “{name}”.")
    assert page.input_value('[name="mode"]') == "stream"
    assert not page.locator("dialog").is_visible()
    page.evaluate("location.hash = '#mode=plain'")
    expect(alert).to_be_hidden()


def test_links_to_sections_keep_the_filters_in_the_address(opened: Open, data: bytes) -> None:
    page = opened(data, "#subject=subject-02&law=law-03")
    page.click("nav >> text=Downloads")
    expect(page.locator("#downloads")).to_be_in_viewport()
    assert filters(page) == "#downloads&subject=subject-02&law=law-03"
    page.reload()
    expect(page.locator("#downloads")).to_be_in_viewport()
    expect(page.locator("#filter-count")).to_contain_text("subject-02")


def test_a_deep_link_scrolls_to_the_cases(opened: Open, data: bytes) -> None:
    page = opened(data, "#subject=subject-02&law=law-03")
    expect(page.locator("#scenarios-title")).to_be_in_viewport()
    assert page.locator("#verdict-title").evaluate("element => element.getBoundingClientRect().bottom < 0")


def test_nothing_matches_differs_from_nothing_broken_and_from_nothing_judged(opened: Open) -> None:
    made = run(
        result(verdict(), verdict("fail", "usage")),
        result(verdict("unsupported", "stop"), scenario="second"),
    )
    page = opened(formats.render("html", Report(made)))
    for address, words in {
        "#q=elsewhere": "No case matches these filters.",
        "#law=order": "No law is broken in the 1 case that matches.",
        "#law=stop": "No law was judged in the 1 case that matches.",
    }.items():
        page.evaluate("address => { location.hash = address }", address)
        expect(page.locator("#reasons")).to_have_text(words)
    page.evaluate("location.hash = '#law=usage'")
    expect(page.locator("#reasons")).to_contain_text("because of fail")


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
    subject, scenario = address.removeprefix("#case=").split("/")[:2]
    for words in (
        "The rule: What law-",
        "vanished without a word",
        "Expected (-) and got (+)",
        "On the wire",
        "Canonical blocks",
        "Output of the subject",
        "emulated",
        "ID-",
        f"toolparity check {subject} --scenario {scenario}",
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
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("address", ["", CASE], ids=["page", "evidence"])
def test_axe_finds_nothing(opened: Open, data: bytes, tmp_path: Path, size: str, scheme: str, address: str) -> None:
    page = opened(data, address, size=size, scheme=scheme)
    photograph(page, f"{'evidence' if address else 'page'}-{size}-{scheme}", tmp_path)
    assert axe_findings(page) == []


def test_nothing_is_beside_the_page_on_a_phone(opened: Open, data: bytes) -> None:
    page = opened(data, size="phone")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator("#grid td a").first.click()
    assert page.evaluate("document.getElementById('evidence-body').scrollWidth") <= 390


@pytest.mark.parametrize("size", SIZES)
def test_the_headline_and_the_worst_implementation_are_on_the_first_screen(
    opened: Open, data: bytes, size: str
) -> None:
    page = opened(data, size=size)
    expect(page.locator("h1")).to_be_in_viewport(ratio=1)
    cells = page.locator(".heat tbody tr").first.locator("a.heat-cell")
    assert cells.count() > 10
    for cell in cells.all():
        expect(cell).to_be_in_viewport(ratio=1)
    shares = [
        int(passed.replace(",", "")) / int(applicable.replace(",", ""))
        for text in page.locator(".heat a.whole").all_inner_texts()
        for passed, applicable in [text.split("all laws")[-1].replace("\n", "").split("/")]
    ]
    assert shares == sorted(shares)


def test_the_heat_map_is_one_stop_of_the_tab_key(opened: Open, data: bytes) -> None:
    page = opened(data)
    assert page.locator('.heat tbody td a[tabindex="0"]').count() == 1
    page.locator(".heat tbody td a").first.focus()
    for key in ("ArrowRight", "ArrowDown", "End", "ArrowUp", "Home", "ArrowRight"):
        page.keyboard.press(key)
    address = page.locator(".heat tbody tr").first.locator("td a").nth(1).get_attribute("href")
    assert page.evaluate("document.activeElement.getAttribute('href')") == address
    page.keyboard.press("Enter")
    assert filters(page) == address


def test_the_printed_page_has_the_heat_map_and_no_controls(opened: Open, data: bytes, tmp_path: Path) -> None:
    page = opened(data)
    page.emulate_media(media="print")
    photograph(page, "page-print", tmp_path)
    assert page.locator(".heat").first.is_visible()
    assert not page.locator("#filters").is_visible()
    assert not page.locator("header nav").is_visible()


def test_without_scripts_the_verdict_the_laws_and_the_sources_are_there(opened: Open, data: bytes) -> None:
    page = opened(data, scripts=False)
    for words in ("3 of 3 implementations lose calls", "cases pass", "Recorded from our own servers", "law-07"):
        expect(page.locator("main")).to_contain_text(words)
    judged = {(case.subject, one.check) for case, one in RUN.verdicts() if one.outcome != "unsupported"}
    assert page.locator(".heat tbody td a").count() == len(judged) + 3
    expect(page.locator("noscript")).to_be_visible()
