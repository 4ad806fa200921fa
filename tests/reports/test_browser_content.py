"""The page in a browser: the evidence of a broken law, hostile and very long texts, a large run, and what it saves."""

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
from tests.reports.golden import HOSTILE, made_run, result, run, verdict
from toolparity.reports import formats, results
from toolparity.reports.html import shell
from toolparity.reports.reproduction import Reproduction
from toolparity.reports.results import LawInfo, Report, Run

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


CALLS = ['get_weather({"city":"Faro"})', 'list_events({"day":"friday"})']
LOST = verdict("fail", effect="lost", expected=", ".join(CALLS), got=CALLS[0])
SHORTEST = "#case=mine/short/openai.chat/plain/all"
SCRIPT = "# pip install mine==1.0\nimport mine\nprint('[]')\n"


def made() -> Run:
    cases = [result(LOST, scenario=name) for name in ("short", "long")]
    law = LawInfo("order", "The law order is kept.", "must", {"lost": "The call does not run."})
    return replace(run(*cases), laws=[law])


def shown(body: bytes = b'{"calls":["get_weather","list_events"]}', parts: list[str] | None = None) -> bytes:
    parts = parts or ['{"calls":["get_weather",', '"list_events"', "]}"]
    members = {"install": "pip install mine==1.0", "name": "mine.short.py", "script": SCRIPT, "file": "short.json"}
    case = ("mine", "short", "openai.chat", "plain", "all")
    found = Reproduction(*case, law="order", **members, body=body, parts=parts, kind="lost")
    return formats.render("html", Report(made(), reproductions=[found]))


def test_the_panel_shows_the_difference_its_meaning_and_the_marked_response(opened: Open) -> None:
    page = opened(shown(), SHORTEST)
    panel = page.locator("dialog")
    assert panel.locator(".difference .line").all_inner_texts() == [f"  {CALLS[0]}", f"- {CALLS[1]}"]
    expect(panel.locator(".meaning")).to_have_text("For an application: The call does not run.")
    assert panel.locator(".response mark").all_inner_texts() == ['"list_events"']
    assert panel.locator(".response").inner_text() == '{"calls":["get_weather","list_events"]}'
    expect(panel).to_contain_text("the calls that are expected and not in the output")
    parts = ["line\n" * 500, '"list_events"', "\nline" * 500]
    page = opened(shown("".join(parts).encode(), parts), SHORTEST)
    expect(page.locator("dialog .response mark")).to_be_in_viewport()


def test_json_is_compared_by_member_and_other_texts_unchanged(opened: Open) -> None:
    for expected, got, lines in (
        ('{"a":1,"b":2}', '{"a":1,"b":3}', ["  {", '    "a": 1,', '-   "b": 2', '+   "b": 3', "  }"]),
        ('{"a":1}', '{"a"{"a":1}', ['- {"a":1}', '+ {"a"{"a":1}']),
        ("end_turn", "", ["- end_turn", "+ nothing"]),
    ):
        case = result(verdict("fail", expected=expected, got=got, effect="altered"))
        page = opened(formats.render("html", Report(run(case))), "#case=mine/one-call/openai.chat/plain/all")
        assert page.locator("dialog .difference .line").all_inner_texts() == lines


def test_script_and_response_are_downloaded_byte_by_byte(opened: Open) -> None:
    body = b'{"calls":["get_weather\xff","list_events"]}\r\n'
    parts = ['{"calls":["get_weather\ufffd",', '"list_events"', "]}\r\n"]
    page = opened(shown(body, parts), SHORTEST)
    for name, content in (("short.json", body), ("mine.short.py", SCRIPT.encode())):
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Download {name}").click()
        assert download.value.suggested_filename == name
        assert Path(download.value.path()).read_bytes() == content
    expect(page.locator("dialog")).to_contain_text("pip install mine==1.0")


def test_only_the_shortest_case_has_the_response_and_another_one_links_it(opened: Open) -> None:
    page = opened(shown(), "#case=mine/long/openai.chat/plain/all")
    expect(page.locator("dialog .response")).to_have_count(0)
    page.locator("dialog .shortest a").click()
    expect(page.locator("dialog .response")).to_have_count(1)
    assert page.evaluate("location.hash").startswith(SHORTEST)
    page = opened(formats.render("html", Report(made())), SHORTEST)
    expect(page.locator("dialog .difference")).to_have_count(1)
    expect(page.locator("dialog .reproduction, dialog .shortest")).to_have_count(0)


def test_hostile_text_in_a_response_is_only_text(opened: Open) -> None:
    for text in HOSTILE.values():
        page = opened(shown(text.encode("utf-8", "surrogatepass"), [text, text, text]), SHORTEST)
        expect(page.locator("dialog .response")).to_be_visible()
        expect(page.locator("dialog .response img, dialog .response script")).to_have_count(0)
