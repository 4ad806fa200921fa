"""The chat of the demo in a browser: it shows a turn in its order, and loses nothing of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.conformance.demo.conftest import Demo, Opens
from tests.reports.browser import SCHEMES, SIZES, axe_findings, photograph
from tests.support.wires import PLAYED_WIRES as WIRES

pytestmark = pytest.mark.page("conformance/demo")

BOTH = "I am c-204. Show me my appointments and what I still owe."
TEXT = "You have one appointment on 20 January, and one open invoice of 150 euros."
ACKNOWLEDGED = "Sure, I'll look up your appointments and check your billing."


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


def expect_over(page: Page, reason: str = "natural completion") -> None:
    expect(page.locator("#connection")).to_have_text(f"ended: {reason}")


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("surface", WIRES)
def test_the_acknowledgement_is_seen_before_the_results(demo: Demo, opens: Opens, surface: str) -> None:
    demo.pace.gate.clear()
    page = opens("#chat")
    ask(page, BOTH, surface=surface)
    expect(page.locator(".ack")).to_have_text(ACKNOWLEDGED)
    page.reload()
    expect(page.locator(".ack")).to_have_text(ACKNOWLEDGED)
    expect(page.locator("#turns").get_by_text(ACKNOWLEDGED)).to_have_count(1)
    for name in ("list_appointments", "open_invoices"):
        expect(card(page, name).locator(".outcome")).to_have_text("running")
        expect(card(page, name).get_by_role("progressbar")).to_be_visible()
    expect(page.locator(".call .result:not(:empty)")).to_have_count(0)
    demo.pace.gate.set()
    expect(page.locator(".call .result:not(:empty)")).to_have_count(2)
    expect_over(page)
    expect(page.locator(".said").last).to_have_text(TEXT)
    expect(page.get_by_role("progressbar")).to_have_count(0)
    for name in ("list_appointments", "open_invoices"):
        expect(card(page, name).locator(".outcome")).to_have_text("returned")


def test_a_connection_that_breaks_is_resumed_and_nothing_is_lost(demo: Demo, opens: Opens) -> None:
    demo.cutter.cuts = [6, 1, 9]
    page = opens("#chat")
    ask(page, BOTH)
    expect_over(page)
    expect(page.locator(".said").last).to_have_text(TEXT)
    expect(page.locator(".ack")).to_have_count(1)
    events = demo.events(page.locator("#turns .lane").get_attribute("data-turn") or "")
    expect(page.locator("#integrity")).to_have_text(f"{len(events)} events, none missing")
    shown = page.locator("#events li").evaluate_all("lines => lines.map(line => Number(line.dataset.seq))")
    assert shown == list(range(len(events)))
    first, *later = demo.cutter.seen[:4]
    assert first is None
    # the last event before a cut depends on how many came in one piece
    resumed_after = [int(one) for one in later if one is not None]
    assert resumed_after
    assert resumed_after == sorted(resumed_after)


def test_each_piece_on_the_wire_is_shown_beside_its_canonical_events(demo: Demo, opens: Opens) -> None:
    page = opens("#chat")
    ask(page, BOTH, surface="anthropic.messages")
    expect_over(page)
    expect(page.locator("#inside-answer option")).to_have_count(2)
    expect(page.locator("#request")).to_contain_text(BOTH)
    rows = page.locator(".pieces tbody tr")
    starts = rows.filter(has=page.locator(".chip.block_start", has_text="tool_call open_invoices"))
    expect(starts).to_have_count(1)
    expect(starts.locator("pre")).to_contain_text("event: content_block_start")
    turn = page.locator("#turns .lane").get_attribute("data-turn") or ""
    first, second = demo.trace(turn)["exchanges"]
    expect(rows).to_have_count(len(first["pieces"]))
    page.locator("#inside-answer").select_option("1")
    expect(rows).to_have_count(len(second["pieces"]))


def test_texts_of_tools_and_models_are_shown_and_never_run(demo: Demo, opens: Opens) -> None:
    from toolparity.cassettes.scripts import scripts

    script = scripts()["results-that-look-like-markup"]
    page = opens("#chat")
    ask(page, script.ask)
    expect_over(page)
    results = [str(call.result) for round in script.rounds for call in round.calls]
    assert any("<" in result for result in results)
    for number, result in enumerate(results):
        expect(page.locator(".call .result").nth(number)).to_have_text(result, use_inner_text=False)
    expect(page.locator("#turns script, #turns img, #turns iframe")).to_have_count(0)


def test_a_failure_of_the_provider_is_shown(demo: Demo, opens: Opens) -> None:
    page = opens("#chat")
    page.locator("#scripts").select_option(BOTH)
    expect(page.locator("#message")).to_have_value(BOTH)
    ask(page, "What is the meaning of all this?")
    expect_over(page, "provider failed")
    expect(page.locator(".said.failed")).to_contain_text("no script begins with these words")


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_chat_is_accessible_at_every_size(demo: Demo, opens: Opens, size: str, scheme: str, tmp_path: Path) -> None:
    page = opens("#chat", size=size, scheme=scheme)
    ask(page, BOTH, limit="1")
    expect_over(page)
    expect(page.locator(".pieces tbody tr").first).to_be_visible()
    photograph(page, f"demo-chat-{size}-{scheme}", tmp_path)
    assert axe_findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
