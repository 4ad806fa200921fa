"""The demo in a browser: its chat, the opening screen, one button for each act, and the pictures of a turn."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.conformance.demo.conftest import Demo, Opens
from tests.reports.browser import SCHEMES, SIZES, axe_findings, photograph
from tests.support.thoroughness import pairwise
from tests.support.wires import PLAYED_WIRES as WIRES
from toolparity.conformance.demo.acts import acts

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


def test_a_dropped_call_is_shown_with_a_warning(demo: Demo, opens: Opens) -> None:
    page = opens("#chat")
    ask(page, BOTH, limit="1")
    expect_over(page)
    warning = page.get_by_role("alert")
    expect(warning).to_contain_text("2 calls requested; processing list_appointments (call_")
    expect(warning).to_contain_text("dropped open_invoices (call_")
    expect(card(page, "open_invoices").locator(".sign")).to_contain_text("dropped")
    expect(card(page, "open_invoices").locator(".outcome")).to_have_text("the limit is 1")
    expect(card(page, "open_invoices").locator(".result")).to_contain_text("not executed")


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
    expect(page.locator(".said.failed")).to_contain_text("the provider failed")


FINAL = "Pack for Porto: your train leaves at ten, and it will rain there."
ENDED = "ended: natural completion"
#: The decisions on the calls of the opening screen under the policy first.
FIRST = ["kept", "dropped", "dropped", "kept", "dropped", "kept"]
#: Acts that end by themselves.
STAGED = [id for id in acts() if id not in ("killed-server", "approval", "cancel")]


def lane(page: Page, policy: str) -> Locator:
    return page.locator(f'.lane[data-policy="{policy}"]')


def signs(column: Locator) -> list[str]:
    return [str(sign) for sign in column.locator(".call").evaluate_all("rows => rows.map(row => row.dataset.sign)")]


def act(page: Page, title: str) -> None:
    page.get_by_role("navigation").get_by_role("button", name=title, exact=True).click()


def expect_ended(page: Page) -> None:
    expect(page.locator(".lane")).not_to_have_count(0)  # a page that is being loaded has none yet
    for column in page.locator(".lane").all():
        expect(column.locator(".state")).to_have_text(ENDED)


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("surface", WIRES)
def test_the_opening_screen_plays_one_answer_under_three_policies(demo: Demo, opens: Opens, surface: str) -> None:
    page = opens()
    expect_ended(page)
    page.locator("#act-surface").select_option(surface)
    expect(page.locator("#wire-note")).to_contain_text(surface)
    expect_ended(page)
    assert signs(lane(page, "first")) == FIRST
    assert signs(lane(page, "all")) == signs(lane(page, "batch")) == ["kept"] * 3
    for policy in ("first", "all", "batch"):
        expect(lane(page, policy).locator(".said").last).to_have_text(FINAL)
    warnings = lane(page, "first").get_by_role("alert")
    expect(warnings.first).to_contain_text("3 calls requested; processing get_weather (")
    expect(warnings).to_have_count(2)
    expect(lane(page, "all").get_by_role("alert")).to_have_count(0)
    expect(lane(page, "first").locator(".back pre").first).to_contain_text("This call was not executed: policy first")
    expect(lane(page, "all").locator(".back pre")).to_have_count(1)
    expect(page.locator("#canonical tbody tr.tool_call")).to_have_count(3)
    expect(page.locator("#wire")).to_contain_text("get_weather")
    assert page.locator("#wire mark").count() >= 1


def test_a_policy_runs_alone_and_a_page_that_is_loaded_again_shows_the_same_turns(demo: Demo, opens: Opens) -> None:
    page = opens()
    expect_ended(page)
    expect(page.locator(".lane .summary")).to_have_text(
        [
            "Answers 2 and 3: the 2 dropped calls are requested again and run.",
            *["3 of 3 calls executed, none is dropped."] * 2,
        ]
    )
    dropped = lane(page, "first").locator(".call[data-sign=dropped] .outcome")
    again = [f"policy first keeps one call; requested again in answer {answer}" for answer in (2, 2, 3)]
    expect(dropped).to_have_text(again)
    url = page.url  # read before the click: the page may change it before the next statement runs
    before = page.evaluate("location.hash").split("/")[1].split(",")
    page.get_by_role("button", name="Run with policy all").click()
    expect(page).not_to_have_url(url)
    expect_ended(page)
    hash = page.evaluate("location.hash")
    after = hash.split("/")[1].split(",")
    assert [one == other for one, other in zip(before, after, strict=True)] == [True, False, True]
    page.reload()
    expect_ended(page)
    assert (page.evaluate("location.hash"), signs(lane(page, "first"))) == (hash, FIRST)
    page.locator("#act-stream").select_option("plain")
    expect(page.locator("#wire-note")).to_contain_text("1 piece")
    expect_ended(page)
    assert signs(lane(page, "first")) == FIRST


#: Act -> the decision on each call, the line that sums them up, and words of what the model gets back.
OUTCOMES = {
    "Limit": (
        ["kept", "kept", "dropped", "kept"],
        "Answer 2: the dropped call is requested again and runs.",
        "the limit is 2",
    ),
    "Truncated call": (["kept", "rejected", "kept"], "2 of 3 calls executed, 1 is rejected.", "not executed"),
    "Server call": (["server", "kept"], "1 of 1 calls executed, none is dropped.", ""),
    "Text mode": (
        ["kept", "unread", "kept"],
        "The rest of answer 1 is not read. 2 calls read, 2 run.",
        "<tool_response>",
    ),
}


@pytest.mark.parametrize("title", OUTCOMES)
def test_an_act_shows_the_decision_on_each_call_and_sums_them_up(demo: Demo, opens: Opens, title: str) -> None:
    decisions, summary, words = OUTCOMES[title]
    page = opens()
    act(page, title)
    expect_ended(page)
    assert signs(page.locator(".lane")) == decisions
    expect(page.locator(".call .outcome", has_text="returned")).to_have_count(decisions.count("kept"))
    expect(page.locator(".lane .summary")).to_have_text([summary])
    expect(page.locator(".lane .back").first).to_contain_text(words)
    if title == "Text mode":
        unread = page.locator(".round").first.locator(".call[data-sign=unread]")
        expect(unread.locator(".arguments")).to_contain_text('"arguments": {"city": "Braga"}')
        expect(unread.locator(".outcome")).to_have_text("a tool (#2): the limit is 1")
        expect(page.locator("#wire-note")).to_have_text(re.compile(r"openai\.chat, \d+ pieces read, \d+ not read"))
        expect(page.locator("#wire .unread")).not_to_have_count(0)


def test_calls_are_allowed_and_denied_with_the_keyboard(demo: Demo, opens: Opens) -> None:
    page = opens("#approval")
    expect(page.get_by_role("button", name="Deny")).to_have_count(2)
    assert axe_findings(page) == []
    page.get_by_role("button", name="Allow list_appointments").press("Enter")
    expect(page.locator(".call").first.locator(".outcome")).to_have_text("returned")
    page.get_by_role("button", name="Deny open_invoices").press("Enter")
    expect_ended(page)
    expect(page.locator(".call").nth(1).locator(".outcome")).to_have_text("denied")
    expect(page.locator(".said").last).to_contain_text("You did not allow me to use open_invoices.")


def test_a_cancelled_turn_gives_each_running_call_a_result(demo: Demo, opens: Opens) -> None:
    demo.pace.gate.clear()
    page = opens("#cancel")
    expect(page.locator("progress")).to_have_count(3)
    assert axe_findings(page) == []
    page.get_by_role("button", name="Cancel the turn").click()
    expect(page.locator(".lane .state")).to_have_text("ended: cancelled")
    expect(page.locator(".call .outcome", has_text="cancelled")).to_have_count(3)
    expect(page.locator(".summary")).to_have_text("3 of 3 calls started, 3 interrupted, none is dropped.")


def test_the_timelines_of_all_policies_have_one_axis(demo: Demo, opens: Opens) -> None:
    page = opens()
    expect_ended(page)
    figures = page.locator(".timeline")
    expect(figures).to_have_count(3)
    expect(figures.nth(0).locator("figcaption")).to_contain_text("first: 4 model calls")
    expect(figures.nth(1).locator("figcaption")).to_contain_text("all: 2 model calls")
    assert len(set(page.locator(".timeline .axis").all_text_contents())) == 1
    expect(figures.nth(0).locator("li.model")).to_have_count(4)
    expect(figures.nth(0).locator("li.tool")).to_have_count(3)
    usage = demo.trace(page.evaluate("location.hash").split("/")[1].split(",")[1])["exchanges"]
    tokens = sum(exchange["response"]["usage"]["input_tokens"] for exchange in usage)
    expect(figures.nth(1).locator("figcaption")).to_contain_text(f"{tokens} tokens in")


def test_the_state_diagram_shows_the_phase_of_the_chosen_turn(demo: Demo, opens: Opens) -> None:
    demo.pace.gate.clear()
    page = opens()
    phase, now = page.locator("#phase"), page.locator("#states .phase.now")
    expect(phase).to_have_text("acting")
    expect(now).to_have_attribute("data-phase", "acting")
    expect(page.locator("#states .arrow.now")).to_have_attribute("data-to", "acting")
    demo.pace.gate.set()
    expect(now).to_have_attribute("data-phase", "over")
    expect(page.locator("#inside-turn option")).to_have_text(["first", "all", "batch"])


@pytest.mark.thorough(keep=1, per="{name}")
@pytest.mark.parametrize(("name", "size", "scheme"), pairwise(["chat", *STAGED], list(SIZES), SCHEMES))
def test_the_chat_and_every_act_are_accessible_and_unclipped_at_every_size(
    demo: Demo, opens: Opens, name: str, size: str, scheme: str, tmp_path: Path
) -> None:
    page = opens(f"#{name}", size=size, scheme=scheme)
    if name == "chat":
        ask(page, BOTH, limit="1")
        expect_over(page)
    else:
        expect_ended(page)
    expect(page.locator(".pieces tbody tr" if name == "chat" else ".timeline").first).to_be_visible()
    photograph(page, f"demo-{name}-{size}-{scheme}", tmp_path)
    assert axe_findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    clipped = page.locator(".lane, .lane *").evaluate_all(
        "elements => elements.filter(one => getComputedStyle(one).overflowY !== 'visible' && "
        "one.scrollHeight > one.clientHeight + 1).map(one => one.className)"
    )
    assert clipped == []
