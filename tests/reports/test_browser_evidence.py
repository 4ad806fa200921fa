"""The evidence of a broken law: the difference, what it means, the marked response, and how to repeat it."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from playwright.sync_api import expect

from tests.reports.browser import Open
from tests.reports.golden import HOSTILE, result, run, verdict
from toolparity.reports import formats
from toolparity.reports.reproduction import Reproduction
from toolparity.reports.results import LawInfo, Report, Run

pytestmark = pytest.mark.page("reports/html")

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
