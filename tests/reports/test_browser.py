"""The page of a run in a real browser: filters, addresses, the keyboard, and each screen at each size and scheme."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace
from playwright.sync_api import Page, expect

from tests.reports import golden, test_browser_content, test_html
from tests.reports.browser import SCHEMES, SIZES, Open, axe_findings, photograph
from tests.reports.golden import SURFACES, made_run, result, run, verdict
from tests.reports.test_html_audit import audited, lost_call, write_traffic
from tests.support.published import published
from tests.support.thoroughness import is_thorough
from toolparity.audit.pages import audit as audit_page
from toolparity.conformance.cli.publish import FOLDER
from toolparity.reports import formats
from toolparity.reports.html import shell
from toolparity.reports.results import BROKEN, Report, Result, Run, SubjectInfo

pytestmark = pytest.mark.page("reports/html", "reports/published")
RUN = made_run(3, 12)
CASE = "#case=subject-01/scenario-011/openai.chat/stream/first"


def html(made: Run) -> bytes:
    return formats.render("html", Report(made))


@pytest.fixture(scope="module")
def data() -> bytes:
    return html(RUN)


def rows(page: Page) -> list[str]:
    """The scenarios that the grid shows."""
    return page.locator("#grid tbody th b").all_inner_texts()


def columns(page: Page) -> list[str]:
    first, *others = page.locator("#grid thead th").all_inner_texts()
    assert first == "scenario"
    return others


def filters(page: Page) -> str:
    return str(page.evaluate("location.hash"))


def subjects(page: Page) -> list[str]:
    """The subjects of the heat map from top to bottom."""
    return page.locator(".heat tbody th b").all_inner_texts()


def cases(**chosen: str) -> Iterator[Result]:
    """The cases that filters leave, from the results themselves."""
    for case in RUN.results:
        verdicts = [one for one in case.verdicts if one.check == chosen.get("law", one.check)]
        if (
            all(getattr(case, name) == chosen[name] for name in ("subject", "mode", "policy") if name in chosen)
            and case.surface.startswith(chosen.get("provider", ""))
            and any(one.outcome == chosen.get("verdict", one.outcome) for one in verdicts)
        ):
            yield case


def test_the_grid_has_every_scenario_and_wire_of_the_first_subject_the_most_broken_first(
    opened: Open, data: bytes
) -> None:
    page = opened(data)
    assert page.input_value('[name="subject"]') == subjects(page)[0]
    assert page.locator('[name="subject"] option').all_inner_texts() == ["all subjects", *subjects(page)]
    assert sorted(rows(page)) == [one.id for one in RUN.scenarios]
    assert columns(page) == [*SURFACES]
    cells = page.locator("#grid tbody td")
    assert cells.count() == page.locator("#grid tbody td > .mark[title]").count() == 12 * len(SURFACES)
    broken = Counter(
        case.scenario for case in cases(subject=subjects(page)[0]) if {*BROKEN} & {one.outcome for one in case.verdicts}
    )
    numbers = [broken[scenario] for scenario in rows(page)]
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[0] > numbers[-1]


def test_each_filter_leaves_its_cases_and_is_in_the_address(opened: Open, data: bytes) -> None:
    page = opened(data)
    first = subjects(page)[0]
    chosen = {"provider": "xai", "mode": "stream", "policy": "batch", "law": "law-03", "verdict": "fail"}
    for name, value in {**chosen, "subject": "subject-02"}.items():
        page.select_option(f'[name="{name}"]', value)
        expect(page).to_have_url(re.compile(f"#{name}={value}$"))
        left = list(cases(**{"subject": first, name: value}))
        expect(page.locator("#filter-count")).to_contain_text(f" {len(left):,} of ")
        if name == "verdict":
            assert left
            assert rows(page) == sorted({case.scenario for case in left})
        page.click("button[type=reset]")
        expect(page.locator("#grid tbody tr")).to_have_count(12)
        assert filters(page) in ("", "#")
    for words, scenarios in (
        ("ID-07", ["scenario-007"]),
        ("situation of scenario-003", ["scenario-003"]),
        ('look_up_2({"of":"scenario-010"', ["scenario-010"]),
        ("no text contains this", []),
    ):
        page.fill('[name="q"]', words)
        expect(page.locator("#grid tbody th b")).to_have_text(scenarios)
    expect(page.locator("#grid")).to_contain_text("No case matches")
    page.locator("#grid").get_by_role("button", name="Clear the filters").click()
    expect(page.locator("#grid tbody tr")).to_have_count(12)


Numbers = dict[tuple[str, str], tuple[int, int]]


def counted(by: str, **chosen: str) -> Numbers:
    """(scenario, column) -> failing and applicable cases."""
    found: Numbers = {}
    for case in cases(**chosen):
        judged = {one.check: one.outcome for one in case.verdicts if one.outcome != "unsupported"}
        judged = {law: outcome for law, outcome in judged.items() if law == chosen.get("law", law)}
        cells = {law: {outcome} for law, outcome in judged.items()}
        if by != "law":
            cells = {getattr(case, by): {*judged.values()}} if judged else {}
        for column, outcomes in cells.items():
            failing, applicable = found.get((case.scenario, column), (0, 0))
            found[case.scenario, column] = failing + bool({*BROKEN} & outcomes), applicable + 1
    return found


def test_each_figure_of_the_grid_and_of_the_reasons(opened: Open, data: bytes) -> None:
    page = opened(data)
    for by, chosen in (
        ("surface", {"subject": "subject-01", "law": "law-03"}),
        ("subject", {"law": "law-02"}),
        ("law", {"subject": "subject-01"}),
        ("surface", {"subject": "subject-02", "provider": "xai", "mode": "stream"}),
    ):
        address = "&".join(f"{name}={value}" for name, value in {**chosen, "by": by}.items())
        page.evaluate("address => { location.hash = address }", address)
        expect(page).to_have_url(re.compile(address))
        found: Numbers = {}
        for scenario, *cells in page.evaluate(
            """() => [...document.querySelectorAll("#grid tbody tr")].map((row) => [
              row.querySelector("th b").textContent,
              ...[...row.querySelectorAll("td")].map((cell) => [cell.querySelector(".mark").title, cell.textContent]),
            ])"""
        ):
            for column, (title, text) in zip(columns(page), cells, strict=True):
                assert title.startswith(f"{scenario}, {column}: ")
                if number := re.search(r"(?:(\d+) of )?(\d+) applicable case", title):
                    found[scenario, column] = int(number[1] or 0), int(number[2])
                    assert text.endswith(f"{number[1]}/{number[2]}") if number[1] else "/" not in text
        assert found == counted(by, **chosen), address
        assert len(found) > 10
    page.evaluate("location.hash = 'subject=subject-01'")
    expect(page.locator("#filter-count")).to_contain_text(" of subject-01")
    more = page.locator("#reasons button")
    while more.is_visible():
        more.click()
    reasons: Counter[tuple[str, str]] = Counter()
    for row in page.locator("#reasons tbody tr").all():
        law, effect, count = (row.locator(cell).first.inner_text() for cell in ("th", "td:nth-child(3)", "td.number"))
        reasons[law, effect] += int(count.replace(",", ""))
    own = [one for case in cases(subject="subject-01") for one in case.verdicts if one.outcome in BROKEN]
    assert reasons == Counter((one.check, one.effect) for one in own)


def test_the_heat_map_links_to_the_failures_of_a_cell_the_laws_of_a_subject_and_the_subjects_of_a_law(
    opened: Open, data: bytes
) -> None:
    page = opened(data)
    cell = page.locator(".heat td a[href*=broken]").nth(1)
    title = re.match(r"(.*), (law.*): (\d+)/(\d+) ", cell.get_attribute("title") or "")
    assert title is not None
    subject, law, (passed, applicable) = title[1], title[2], map(int, title.group(3, 4))
    assert 0 < passed < applicable
    cell.click()
    assert filters(page) == f"#subject={subject}&law={law}&verdict=broken"
    expect(page.locator("#filter-count")).to_contain_text(f", {applicable - passed} of ")
    expect(page.locator("#scenarios")).to_be_in_viewport()
    page.locator(".heat tbody th a", has_text="subject-02").click()
    assert columns(page) == [law.id for law in RUN.laws]
    page.locator(".heat thead a", has_text="law-03").click()
    assert (filters(page), columns(page)) == ("#by=subject&law=law-03", subjects(page))
    hint, focused = page.locator("#hint"), page.locator(".heat tbody td a").nth(2)
    page.locator(".heat thead a").nth(1).hover()
    expect(hint).to_have_text(page.locator(".heat thead a").nth(1).get_attribute("title") or "")
    focused.focus()
    expect(hint).to_have_text(focused.get_attribute("title") or "")


def test_the_number_of_an_effect_shows_its_cases(opened: Open) -> None:
    made = run(
        result(verdict("fail", effect="lost"), verdict("fail", "stop", effect="executed")),
        result(verdict("expected", effect="lost"), scenario="second"),
        result(verdict("fail", effect="refused"), scenario="third"),
        result(verdict(), scenario="fourth"),
    )
    page = opened(html(made))
    heads = page.locator(".cases").first.locator("thead tr").last.locator("th").all_inner_texts()
    assert heads[2:] == ["applicable", "pass", "executed", "lost", "refused"]
    assert page.locator(".cases").first.locator("tbody td").all_inner_texts() == ["2", "4", "1", "1", "1", "1"]
    page.locator(".cases td a").nth(1).click()
    assert (filters(page), rows(page)) == ("#subject=mine&effect=lost", ["second"])


def test_on_a_phone_the_filters_are_one_line_that_names_and_opens_them(opened: Open, data: bytes) -> None:
    page = opened(data, "#subject=subject-02&by=law&q=scenario", size="phone")
    form = page.locator("#filters")
    expect(form).to_be_hidden()
    page.get_by_text("Filters: subject subject-02, columns law, text scenario").click()
    expect(form).to_be_visible()
    form.get_by_role("button", name="Clear").click()
    expect(page.get_by_text("Filters: none")).to_be_visible()
    page.locator("#grid td a").first.click()
    assert page.evaluate("document.getElementById('evidence-body').scrollWidth") <= 390


def test_a_subject_without_cases_is_shown_and_a_run_without_cases_has_nothing_to_clear(opened: Open) -> None:
    listed = [SubjectInfo("mine", "1"), SubjectInfo("unrun", "1")]
    page = opened(html(run(result(verdict("fail")), subjects=listed)), "#by=subject")
    assert columns(page) == ["mine", "unrun"]
    assert page.locator("#grid tbody td > .mark").nth(1).get_attribute("title") == "one-call, unrun: not run"
    page.select_option('[name="subject"]', "unrun")
    expect(page.locator("#grid")).to_contain_text("No case matches these filters.")
    page = opened(html(run()))
    for part in ("#grid", "#reasons"):
        expect(page.locator(part)).to_have_text("No case was run.")


def test_the_address_is_the_state(opened: Open, data: bytes) -> None:
    page = opened(data, "#subject=subject-02&law=law-03&q=scenario-00")
    assert (page.input_value('[name="subject"]'), page.input_value('[name="q"]')) == ("subject-02", "scenario-00")
    assert len(rows(page)) == 10
    expect(page.locator("#scenarios-title")).to_be_in_viewport()
    page.click("nav >> text=Downloads")
    expect(page.locator("#downloads")).to_be_in_viewport()
    assert filters(page) == "#downloads&subject=subject-02&law=law-03&q=scenario-00"
    page.reload()
    expect(page.locator("#downloads")).to_be_in_viewport()
    expect(page.locator("#filter-count")).to_contain_text("subject-02")


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


def test_nothing_matches_differs_from_nothing_broken_and_from_nothing_judged(opened: Open) -> None:
    made = run(result(verdict(), verdict("fail", "usage")), result(verdict("unsupported", "stop"), scenario="second"))
    page = opened(html(made))
    table: dict[str, str | re.Pattern[str]] = {
        "#q=elsewhere": "No case matches these filters.",
        "#law=order": "No law is broken in the 1 case that matches.",
        "#law=stop": "No law was judged in the 1 case that matches.",
        "#law=usage": re.compile("because of fail"),
        "#case=mine/one-call/openai.chat/plain/all": re.compile("because of fail"),
        "#case=mine/second/openai.chat/plain/all": re.compile("No law was judged in this case: the subject claims"),
    }
    for address, words in table.items():
        page.evaluate("address => { location.hash = address }", address)
        expect(page.locator("dialog" if "case" in address else "#reasons")).to_have_text(words)


def test_a_cell_opens_its_evidence_with_the_mouse(opened: Open, data: bytes) -> None:
    page = opened(data)
    cell = page.locator("#grid td a.fail").first
    address = cell.get_attribute("href") or ""
    cell.click()
    panel = page.locator("dialog")
    expect(panel).to_be_visible()
    assert filters(page) == address
    subject, scenario = address.removeprefix("#case=").split("/")[:2]
    parts = ["The rule: What law-", "vanished without a word", "Expected (-) and got (+)", "On the wire"]
    parts += ["Canonical blocks", "Output of the subject", "emulated", "ID-"]
    for words in (*parts, f"toolparity check {subject} --scenario {scenario}"):
        expect(panel).to_contain_text(words)
    panel.get_by_role("button", name="Close the evidence").click()
    expect(panel).to_be_hidden()
    assert "case=" not in filters(page)
    link = page.locator("#reasons tbody a").first
    words = link.inner_text()
    link.click()
    expect(page.locator("dialog .reason").first).to_contain_text(words)


@pytest.mark.parametrize("table", ["#grid", ".heat"])
def test_a_table_is_one_stop_of_the_tab_key_and_arrows_move_in_it(opened: Open, data: bytes, table: str) -> None:
    page = opened(data)
    assert page.locator(f'{table} tbody td a[tabindex="0"]').count() == 1
    page.locator(f"{table} tbody td a").first.focus()
    for key in ("ArrowDown", "ArrowRight", "End", "ArrowUp", "Home", "ArrowRight"):
        page.keyboard.press(key)
    address = page.locator(f"{table} tbody tr").first.locator("td a").nth(1).get_attribute("href")
    focused = "document.activeElement.getAttribute('href')"
    assert page.evaluate(focused) == address
    assert page.locator(f'{table} tbody td a[tabindex="0"]').count() == 1
    page.keyboard.press("Enter")
    if table == ".heat":
        assert filters(page) == address
        return
    expect(page.locator("dialog")).to_be_visible()
    assert page.evaluate("document.activeElement.id") == "evidence-title"
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_be_hidden()
    assert page.evaluate(focused) == address
    page.keyboard.press("Tab")
    assert not page.evaluate("document.activeElement.closest('#grid')")


def test_a_deep_link_opens_a_case_that_links_to_others_and_leaves_the_focus_on_its_cell(
    opened: Open, data: bytes
) -> None:
    page = opened(data, f"#subject=subject-01&{CASE[1:]}")
    panel = page.locator("dialog")
    expect(panel).to_contain_text("subject-01 1.0 · openai.chat · stream · policy first")
    expect(panel).to_contain_text("1 of 2 calls is dropped under the policy first")
    panel.get_by_title("xai.grpc, plain, batch").click()
    expect(panel).to_contain_text("xai.grpc · plain · policy batch")
    panel.get_by_text("← before").click()
    expect(panel).to_contain_text("scenario-011")
    page.go_back()
    expect(panel).to_contain_text("xai.grpc · plain · policy batch")
    page.go_back()
    expect(panel).to_contain_text("openai.chat · stream · policy first")
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(page.locator(":focus")).to_have_attribute("title", re.compile("scenario-011, openai.chat"))
    page.keyboard.press("Enter")
    page.click("dialog .guards a")
    expect(panel).to_be_hidden()
    assert rows(page) == ["scenario-011"]


def test_without_scripts_the_page_has_the_verdict_the_laws_and_the_sources(opened: Open, data: bytes) -> None:
    page = opened(data, scripts=False)
    for words in ("3 of 3 implementations lose calls", "cases pass", "Recorded from our own servers", "law-07"):
        expect(page.locator("main")).to_contain_text(words)
    judged = {(case.subject, one.check) for case, one in RUN.verdicts() if one.outcome != "unsupported"}
    assert page.locator(".heat tbody td a").count() == len(judged) + 3
    expect(page.locator("noscript")).to_be_visible()


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
    for part in ("h1", ".lead", "#effects-title", "#effects tbody th"):
        expect(page.locator(part).first).to_be_in_viewport(ratio=1)
    page.locator(".heat a[href*=broken]").first.click()
    page.locator("#grid tbody td a:not(.dim)").first.click()
    for part in ("Expected", "Got", "On the wire"):
        expect(page.locator("dialog h4", has_text=part).first).to_be_visible()


def everything() -> bytes:
    """The page of a run with every outcome, member and section."""
    made = golden.golden()
    before = golden.run(*(replace(one, verdicts=one.verdicts[:1]) for one in made.results[3:]), golden.result())
    return formats.render("html", Report(made, before, [before], histories=[test_html.HISTORY]))


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
