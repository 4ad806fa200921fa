"""The page in a browser with hostile and very long texts, with a large run, and what it saves."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from urllib.parse import quote

import pytest
from msgspec.structs import replace
from playwright.sync_api import Page, expect

from tests.reports import golden
from tests.reports.browser import Open, photograph
from tests.reports.golden import HOSTILE, result, run, verdict
from tests.reports.made_run import made_run
from toolparity.reports import formats, results
from toolparity.reports.html import shell
from toolparity.reports.results import Report, Run

pytestmark = pytest.mark.page("reports/html")


def page(made: Run) -> bytes:
    return formats.render("html", Report(made))


def saved(opened: Page, name: str) -> bytes:
    """What the button of this name gives."""
    with opened.expect_download() as download:
        opened.get_by_role("button", name=name, exact=True).click()
    return Path(download.value.path()).read_bytes()


def test_hostile_texts_are_shown_and_not_run(opened: Open) -> None:
    made = golden.golden()
    data = formats.render("html", Report(made, golden.run(), [made]))
    for name, words in {
        "markup": "<img src=x onerror=alert(1)></td></table><!-- ]]>",
        "markdown": "[e](javascript:f) ![g](http://h.example/i.png)",
        "control": r"bell \x07, escape \x1b[31mred\x1b[0m",
        "bidi": r"user\u202etxt.exe\u2066 mark\u200f",
        "lines": r"two\r\nthree\u2028four",
        "half": r"half \ud83d of a pair",
    }.items():
        shown = opened(data, f"#case=mine/hostile-{name}/openai.chat/stream/first")
        panel = shown.locator("dialog")
        expect(panel.locator(".reason").nth(1)).to_contain_text(words)
        for part in (".said .calls dd", ".said .dropped dd", ".said .warnings dd"):
            assert words in panel.locator(part).first.inner_text()
        assert shown.locator("img, iframe, object, main script").count() == 0
        assert shown.locator("script").count() == 2


def test_every_name_can_be_an_address_and_an_argument_of_the_command(opened: Open) -> None:
    names = (*HOSTILE.values(), "a/b", "a&b=c", "#", "%", "ä€😀")
    cases = [result(verdict("fail"), subject=name, scenario=name, surface=name) for name in names]
    quoted = result(verdict("fail"), subject="a'b; rm -rf $HOME", scenario="x y")
    shown = opened(page(run(*cases, quoted)))
    for case in (*cases, quoted):
        shown.evaluate("address => { location.hash = address }", shell.case_link(case))
        expect(shown.locator("dialog")).to_be_visible()
        expect(shown.locator(".command pre")).to_contain_text(case.subject[:1])
        if case is quoted:
            expect(shown.locator(".command pre")).to_have_text(
                "toolparity check 'a'\\''b; rm -rf $HOME' --scenario 'x y' --surface openai.chat --mode plain"
                " --policy all --no-baseline --unreleased"
            )
        shown.keyboard.press("Escape")
        expect(shown.locator("dialog")).to_be_hidden()


@pytest.mark.thorough
def test_texts_of_ten_megabytes_do_not_stop_it(opened: Open) -> None:
    long = "0123456789" * 1_000_000
    report = results.SubjectReport([f"{long}({long})"], [long], warnings=[long])
    made = replace(result(verdict("fail", reason=long, round=0, expected=long, got=long)), rounds=[report])
    traffic = results.Traffic(made.scenario, made.surface, made.mode, [results.WireExcerpt(long, len(long), long)])
    shown = opened(page(run(made, traffic=[traffic])), shell.case_link(made))
    expect(shown.locator("dialog .reason")).to_contain_text("… [of 10,000,000 characters]")
    assert len(shown.locator("dialog").inner_text()) < 40_000


def test_the_page_saves_the_results_of_which_it_was_made(opened: Open) -> None:
    for made in (golden.golden(), made_run(2, 6)):
        given = results.read(saved(opened(page(made)), "Results as JSON"))
        assert given == replace(made, results=[replace(one, seconds=0.0) for one in made.results])
        assert page(given) == page(made)


def test_the_saved_table_has_every_verdict_and_no_formula(opened: Open) -> None:
    formula = '=HYPERLINK("http://h.example")'
    made = run(
        result(verdict("fail", reason=formula), verdict("fail", "stop", reason='a "b",\r\nc')),
        result(verdict(), subject="other"),
    )
    shown = opened(page(made))
    rows = list(csv.reader(io.StringIO(saved(shown, "Verdicts as CSV").decode(), newline="")))
    assert rows[0][:3] == ["subject", "scenario", "surface"]
    reasons = [("mine", f"'{formula}"), ("mine", 'a "b",\r\nc'), ("other", "")]
    assert [(row[0], row[8]) for row in rows[1:]] == reasons
    left = saved(shown, "Verdicts of the filtered cases as CSV").decode().splitlines()
    assert all(line.startswith(("subject,", "mine,", 'c"')) for line in left)


@pytest.mark.thorough
def test_the_large_run_opens_filters_and_shows_its_evidence(opened: Open, tmp_path: Path) -> None:
    made = made_run()
    shown = opened(page(made))
    expect(shown.locator("#grid tbody tr")).to_have_count(200)
    shown.select_option('[name="subject"]', "*")
    expect(shown.locator("#filter-count")).to_contain_text("120,000 of 120,000 cases of 20 subjects")
    shown.select_option('[name="by"]', "subject")
    expect(shown.locator("#grid tbody td")).to_have_count(4_000)
    photograph(shown, "large-by-subject", tmp_path)
    shown.fill('[name="q"]', "vanished without a word in subject-07")
    expect(shown.locator("#filter-count")).not_to_contain_text("120,000 of 120,000")
    shown.locator("#grid td a:not(.dim)").first.click()
    expect(shown.locator("dialog .reason")).to_contain_text("vanished without a word in subject-07")
    assert f"q={quote('vanished without a word')}" in shown.url
