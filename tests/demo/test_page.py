"""The demo's page in a browser: what is shown, when, and that nothing of a turn is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

from tests.demo.conftest import Demo
from tests.reports.browser import photograph
from tests.wires import WIRES

BOTH = "I am c-204. Show me my appointments and what I still owe."
SAID = "You have one appointment on 20 January, and one open invoice of 150 euros."
ACKNOWLEDGED = "Sure, I'll look up your appointments and check your billing."

Opens = Callable[..., Page]


@pytest.fixture
def opens(browser: Browser, demo: Demo) -> Iterator[Opens]:
    """Opens the page. At the end it has asked no one but the demo, and nothing went wrong on it.

    ``lost``: connections are cut in this test, and the browser says so.
    """
    problems: list[str] = []
    contexts = []
    lost = False

    def complain(what: str) -> None:
        problems.append(what)

    def make(fragment: str = "", *, cuts: bool = False, **options: Any) -> Page:
        nonlocal lost
        lost = lost or cuts
        context = browser.new_context(viewport={"width": 1360, "height": 900}, reduced_motion="reduce", **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        expect.set_options(timeout=20_000)
        page.on("console", lambda message: complain(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complain(f"error: {error}"))
        page.on("dialog", lambda dialog: (complain(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: None if _own(request.url, demo) else complain(f"request: {request.url}"))
        page.goto(demo.address + fragment)
        expect(page.locator("#surface option")).to_have_count(6)
        return page

    yield make
    for context in contexts:
        context.close()
    if lost:
        problems = [one for one in problems if "ERR_INCOMPLETE_CHUNKED_ENCODING" not in one]
    assert problems == []


def _own(address: str, demo: Demo) -> bool:
    return address.startswith((demo.address, "data:"))


def ask(page: Page, words: str, **settings: str) -> None:
    for name, value in settings.items():
        field = page.locator(f"#{name}")
        if value == "on":
            field.check()
        elif name == "limit":
            field.fill(value)
        else:
            field.select_option(value)
    page.locator("#message").fill(words)
    page.get_by_role("button", name="Send").click()


def card(page: Page, name: str) -> Locator:
    return page.locator(".call").filter(has=page.locator(".name", has_text=name))


def expect_over(page: Page, reason: str = "natural_completion") -> None:
    expect(page.locator(".ended")).to_contain_text(reason)


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("surface", WIRES)
def test_the_acknowledgement_is_seen_before_the_results(demo: Demo, opens: Opens, surface: str) -> None:
    demo.pace.gate.clear()
    page = opens()
    ask(page, BOTH, surface=surface)
    expect(page.locator(".ack")).to_have_text(ACKNOWLEDGED)
    expect(page.locator("#turns").get_by_text(ACKNOWLEDGED)).to_have_count(1)
    for name in ("list_appointments", "open_invoices"):
        expect(card(page, name).locator(".state")).to_have_text("running")
        expect(card(page, name).get_by_role("progressbar")).to_be_visible()
    expect(page.locator(".call .result")).to_have_count(0)
    demo.pace.gate.set()
    expect(page.locator(".call .result")).to_have_count(2)
    expect_over(page)
    expect(page.locator(".said").last).to_have_text(SAID)
    expect(page.get_by_role("progressbar")).to_have_count(0)
    for name in ("list_appointments", "open_invoices"):
        expect(card(page, name).locator(".state")).to_have_text("returned")


def test_a_connection_that_breaks_is_resumed_and_nothing_is_lost(demo: Demo, opens: Opens) -> None:
    demo.cutter.cuts = [6, 1, 9]
    page = opens(cuts=True)
    ask(page, BOTH)
    expect_over(page)
    expect(page.locator(".said").last).to_have_text(SAID)
    expect(page.locator(".ack")).to_have_count(1)
    events = demo.events(page.locator(".turn").get_attribute("data-turn") or "")
    expect(page.locator("#integrity")).to_have_text(f"{len(events)} events, none missing")
    shown = page.locator("#events li").evaluate_all("lines => lines.map(line => Number(line.dataset.seq))")
    assert shown == list(range(len(events)))
    first, *later = demo.cutter.seen[:4]
    assert first is None
    # which event was the last one before each cut depends on how many came in one piece
    told = [int(one) for one in later if one is not None]
    assert told
    assert told == sorted(told)


def test_a_page_that_is_loaded_again_shows_the_turn_again(demo: Demo, opens: Opens) -> None:
    demo.pace.gate.clear()
    page = opens()
    ask(page, BOTH)
    expect(page.locator(".ack")).to_have_text(ACKNOWLEDGED)
    page.reload()
    expect(page.locator(".ack")).to_have_text(ACKNOWLEDGED)
    demo.pace.gate.set()
    expect_over(page)
    expect(page.locator(".said").last).to_have_text(SAID)


def test_what_is_dropped_is_warned_of(demo: Demo, opens: Opens) -> None:
    page = opens()
    ask(page, BOTH, limit="1")
    expect_over(page)
    warning = page.get_by_role("alert")
    expect(warning).to_contain_text("2 calls were requested; processing list_appointments (call_")
    expect(warning).to_contain_text("dropped open_invoices (call_")
    expect(card(page, "open_invoices").locator(".state")).to_have_text("dropped")
    expect(card(page, "open_invoices").locator(".result")).to_contain_text("not executed")


def test_under_first_one_call_is_made(demo: Demo, opens: Opens) -> None:
    page = opens()
    ask(page, BOTH, policy="first")
    expect_over(page)
    expect(page.locator(".call")).to_have_count(1)


def test_the_raw_wire_stands_beside_the_canonical_blocks(demo: Demo, opens: Opens) -> None:
    page = opens()
    ask(page, BOTH, surface="anthropic.messages")
    expect_over(page)
    expect(page.locator("#wire .answer")).to_have_count(2)
    expect(page.locator("#wire .answer").first).to_contain_text("event: content_block_start")
    expect(page.locator("#wire .request").first).to_contain_text(BOTH)
    turn = page.locator(".turn").get_attribute("data-turn") or ""
    kept = demo.logged(lambda log: log.turn(turn))
    cells = "rows => rows.map(row => [...row.cells].slice(0, 3).map(cell => cell.textContent))"
    assert page.locator("#blocks tr").evaluate_all(cells) == [
        [str(block.sequence), block.block_type, block.text_content or ""] for block in kept.blocks
    ]


def test_calls_are_allowed_and_denied_one_by_one(demo: Demo, opens: Opens) -> None:
    page = opens()
    ask(page, BOTH, approval="on")
    expect(page.get_by_role("button", name="Allow")).to_have_count(2)
    card(page, "list_appointments").get_by_role("button", name="Allow").click()
    expect(card(page, "list_appointments").locator(".state")).to_have_text("returned")
    card(page, "open_invoices").get_by_role("button", name="Deny").click()
    expect_over(page)
    expect(card(page, "open_invoices").locator(".result")).to_contain_text("not allowed")
    expect(page.locator(".said").last).to_have_text(SAID)


def test_a_turn_can_be_cancelled(demo: Demo, opens: Opens) -> None:
    demo.pace.gate.clear()
    page = opens()
    ask(page, BOTH)
    expect(page.locator(".ack")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect_over(page, "cancelled")
    expect(page.locator(".call .result")).to_have_count(2)


def test_what_tools_and_models_say_is_shown_and_never_run(demo: Demo, opens: Opens) -> None:
    from toolparity.cassettes.scripts import scripts

    script = scripts()["results-that-look-like-markup"]
    page = opens()
    ask(page, script.ask)
    expect_over(page)
    results = [str(call.result) for round in script.rounds for call in round.calls]
    assert any("<" in result for result in results)
    for number, result in enumerate(results):
        expect(page.locator(".call .result").nth(number)).to_have_text(result, use_inner_text=False)
    expect(page.locator("#turns script, #turns img, #turns iframe")).to_have_count(0)


def test_a_failure_of_the_provider_is_told(demo: Demo, opens: Opens) -> None:
    page = opens()
    ask(page, "What is the meaning of all this?")
    expect_over(page, "provider_failed")
    expect(page.locator(".said.failed")).to_contain_text("no script begins with these words")


def test_a_question_can_be_chosen(demo: Demo, opens: Opens) -> None:
    page = opens()
    page.locator("#scripts").select_option(BOTH)
    expect(page.locator("#message")).to_have_value(BOTH)


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_it(demo: Demo, opens: Opens, scheme: str, tmp_path: Path) -> None:
    page = opens(color_scheme=scheme)
    ask(page, BOTH, limit="1")
    expect_over(page)
    expect(page.locator("#wire .answer")).to_have_count(2)
    photograph(page, f"demo-{scheme}", tmp_path)
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
