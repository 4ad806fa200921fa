"""The acknowledgement: one sentence made of the waiting hints of the called tools."""

from __future__ import annotations

import pytest

from toolparity.normalizer.model import ToolCall
from toolparity.normalizer.turns.execution.tools import Tool, Tools
from toolparity.normalizer.turns.narration.acknowledge import acknowledge, hints_of, sentence, spoken


def _tools(**hints: str | None) -> Tools:
    return Tools([Tool(name=name, function=lambda: None, waiting_hint=hint) for name, hint in hints.items()])


def _calls(*names: str) -> list[ToolCall]:
    return [ToolCall(f"call_{number}", name, {}, "{}") for number, name in enumerate(names)]


TOOLS = _tools(
    appointments="looking up your upcoming appointments",
    invoices="checking your billing",
    next="checking your next appointment",
    silent=None,
)


def test_the_hints_of_two_tools_become_one_sentence() -> None:
    """002, Tool Definition with Waiting Hints, Acknowledgement Generation, Implementation Steps: its sentence."""
    told = acknowledge(_calls("appointments", "invoices"), TOOLS)
    assert told == "Sure, I'll look up your upcoming appointments and check your billing."


def test_one_tool_is_told_of_without_ado() -> None:
    assert acknowledge(_calls("next"), TOOLS) == "Let me check your next appointment."


def test_the_order_is_that_of_the_calls() -> None:
    told = acknowledge(_calls("invoices", "appointments"), TOOLS)
    assert told == "Sure, I'll check your billing and look up your upcoming appointments."


def test_a_tool_called_twice_is_told_of_once() -> None:
    told = acknowledge(_calls("invoices", "appointments", "invoices"), TOOLS)
    assert told == "Sure, I'll check your billing and look up your upcoming appointments."
    assert hints_of(_calls("invoices", "invoices"), TOOLS) == ["checking your billing"]


def test_tools_with_the_same_hint_are_told_of_once() -> None:
    tools = _tools(one="checking your billing", other="Checking  your billing.")
    assert acknowledge(_calls("one", "other"), tools) == "Let me check your billing."
    assert hints_of(_calls("one", "other"), tools) == ["checking your billing"]


def test_a_tool_without_a_hint_says_nothing() -> None:
    assert acknowledge(_calls("silent", "invoices"), TOOLS) == "Let me check your billing."
    assert acknowledge(_calls("silent"), TOOLS) is None
    assert acknowledge(_calls("unknown"), TOOLS) is None
    assert acknowledge([], TOOLS) is None
    assert acknowledge(_calls("empty"), _tools(empty=" … ")) is None


@pytest.mark.parametrize(
    ("hints", "told"),
    [
        (
            ["getting the weather", "planning your trip", "making a list"],
            "Sure, I'll get the weather, plan your trip, and make a list.",
        ),
        (
            ["getting the weather", "planning your trip", "making a list", "booking a table"],
            "Sure, I'll get the weather, plan your trip, make a list, and book a table.",
        ),
        (
            ["looking up your order and checking its status", "sending a mail"],
            "Sure, I'll look up your order and check its status, and send a mail.",
        ),
        (["looking up your order, checking its status"], "Let me look up your order, check its status."),
        (["searching"], "Let me search."),
    ],
)
def test_more_hints_are_a_list(hints: list[str], told: str) -> None:
    assert sentence(hints) == told


@pytest.mark.parametrize(
    ("hints", "told"),
    [
        (["checking your billing", "checking your calendar"], "Sure, I'll check your billing and calendar."),
        (
            ["checking the weather in Paris", "checking the weather in Rome", "checking the weather in Oslo"],
            "Sure, I'll check the weather in Paris, Rome, and Oslo.",
        ),
        (
            ["looking up your appointments", "looking up your invoices", "checking the weather"],
            "Sure, I'll look up your appointments and invoices, and check the weather.",
        ),
        (["reading a book", "reading a paper"], "Sure, I'll read a book and a paper."),
        (
            ["checking your calendar", "checking your calendar of May"],
            "Sure, I'll check your calendar and your calendar of May.",
        ),
    ],
)
def test_what_several_hints_begin_with_is_said_once(hints: list[str], told: str) -> None:
    assert sentence(hints) == told


@pytest.mark.parametrize(
    ("hints", "told"),
    [
        (["looking up the price", "looking at the map"], "Sure, I'll look up the price and look at the map."),
        (
            ["searching for hotels in Rome", "searching in the archive"],
            "Sure, I'll search for hotels in Rome and search in the archive.",
        ),
        (
            ["reading and signing the contract", "reading and signing the offer"],
            "Sure, I'll read and sign the contract, and read and sign the offer.",
        ),
        (
            ["checking your billing", "looking up your orders", "checking your calendar"],
            "Sure, I'll check your billing, look up your orders, and check your calendar.",
        ),
    ],
)
def test_what_only_looks_alike_is_said_in_full(hints: list[str], told: str) -> None:
    assert sentence(hints) == told


@pytest.mark.parametrize(
    ("hint", "said"),
    [
        ("looking up your orders", "look up your orders"),
        ("Looking up your orders…", "look up your orders"),
        ("I'm looking up your orders...", "look up your orders"),
        ("now quickly checking the stock", "quickly check the stock"),
        ("searching and summarizing your notes", "search and summarize your notes"),
        ("searching for and collecting data", "search for and collect data"),
        ("checking prices and running costs", "check prices and running costs"),
        ("checking orders and shipping", "check orders and shipping"),
        ("double-checking the sum", "double-check the sum"),
        ("looking up Opening Night", "look up Opening Night"),
    ],
)
def test_a_hint_is_said_as_a_verb(hint: str, said: str) -> None:
    assert spoken(hint) == said


@pytest.mark.parametrize(
    ("hints", "told"),
    [
        (["your billing history"], "One moment: your billing history."),
        (["billing history"], "One moment: billing history."),
        (["Please hold while we fetch your data."], "Please hold while we fetch your data."),
        (["your invoices", "checking the stock"], "Let me check the stock. One moment: your invoices."),
        (["consultation de vos rendez-vous"], "One moment: consultation de vos rendez-vous."),
        (["予約を確認しています"], "One moment: 予約を確認しています."),
    ],
)
def test_a_hint_that_is_no_gerund_is_said_as_it_stands(hints: list[str], told: str) -> None:
    assert sentence(hints) == told


def test_no_hint_makes_a_sentence_of_nothing() -> None:
    assert sentence([]) is None
    assert sentence(["", "  ", "..."]) is None


@pytest.mark.parametrize("hint", ["now", "and", "checking,", ", ,", "-ing", "ing", "now and then", "I'm", "e-mailing"])
def test_odd_hints_are_said_somehow(hint: str) -> None:
    told = sentence([hint, "checking your billing"])
    assert told is not None
    assert "check your billing" in told
