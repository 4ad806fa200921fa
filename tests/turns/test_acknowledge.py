"""The acknowledgement: one sentence made of the waiting hints of the called tools."""

from __future__ import annotations

import pytest

from toolparity.normalizer.model import ToolCall
from toolparity.turns.execution.tool import Tool
from toolparity.turns.execution.tools import Tools
from toolparity.turns.narration.acknowledge import acknowledge, hints_of, sentence


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
    text = acknowledge(_calls("appointments", "invoices"), TOOLS)
    assert text == "Looking up your upcoming appointments and checking your billing."


def test_the_hint_of_one_tool_becomes_a_sentence() -> None:
    assert acknowledge(_calls("next"), TOOLS) == "Checking your next appointment."


def test_hints_are_in_call_order() -> None:
    text = acknowledge(_calls("invoices", "appointments"), TOOLS)
    assert text == "Checking your billing and looking up your upcoming appointments."


def test_a_tool_called_twice_is_mentioned_once() -> None:
    text = acknowledge(_calls("invoices", "appointments", "invoices"), TOOLS)
    assert text == "Checking your billing and looking up your upcoming appointments."
    assert hints_of(_calls("invoices", "invoices"), TOOLS) == ["checking your billing"]


def test_tools_with_the_same_hint_are_mentioned_once() -> None:
    tools = _tools(one="checking your billing", other="Checking  your billing.")
    assert acknowledge(_calls("one", "other"), tools) == "Checking your billing."
    assert hints_of(_calls("one", "other"), tools) == ["checking your billing"]


def test_a_tool_without_a_hint_is_not_mentioned() -> None:
    assert acknowledge(_calls("silent", "invoices"), TOOLS) == "Checking your billing."
    assert acknowledge(_calls("silent"), TOOLS) is None
    assert acknowledge(_calls("unknown"), TOOLS) is None
    assert acknowledge([], TOOLS) is None
    assert acknowledge(_calls("empty"), _tools(empty=" … ")) is None


@pytest.mark.parametrize(
    ("hints", "text"),
    [
        (["searching"], "Searching."),
        (
            ["getting the weather", "planning your trip", "making a list"],
            "Getting the weather, planning your trip, and making a list.",
        ),
        (
            ["looking up your order and checking its status", "sending a mail"],
            "Looking up your order and checking its status, and sending a mail.",
        ),
        (["looking up your order, checking its status"], "Looking up your order, checking its status."),
        (["Looking at the weather", "Checking the calendar"], "Looking at the weather and checking the calendar."),
        (["your invoices", "FTP upload"], "Your invoices and FTP upload."),
        (["Please hold while we fetch your data"], "Please hold while we fetch your data."),
        (["searching", "checking"], "Searching and checking."),
        (["x"], "X."),
    ],
)
def test_several_hints_form_one_sentence(hints: list[str], text: str) -> None:
    assert sentence(hints) == text


@pytest.mark.parametrize(
    ("hints", "text"),
    [
        (["consultando sus citas", "revisando su factura"], "Consultando sus citas. Revisando su factura."),
        (["Termine suchen", "Rechnung prüfen"], "Termine suchen. Rechnung prüfen."),
        (["rekening bekijken", "afspraken zoeken"], "Rekening bekijken. Afspraken zoeken."),
        (["je cherche vos rendez-vous, et vos factures"], "Je cherche vos rendez-vous, et vos factures."),
        (["élément en cours de recherche"], "Élément en cours de recherche."),
        (["проверяю счёт", "ищу записи"], "Проверяю счёт. Ищу записи."),
        (["予約を確認しています"], "予約を確認しています。"),
        (["予約を確認しています。", "請求を確認しています！"], "予約を確認しています。請求を確認しています。"),
        (["正在查询您的预约", "正在核对账单"], "正在查询您的预约。正在核对账单。"),
        (
            ["예약을 확인하고 있습니다", "청구서를 확인하고 있습니다"],
            "예약을 확인하고 있습니다. 청구서를 확인하고 있습니다.",
        ),
        (["आपकी बुकिंग देख रहे हैं।"], "आपकी बुकिंग देख रहे हैं।"),
        (["أبحث عن مواعيدك", "أراجع فاتورتك"], "أبحث عن مواعيدك. أراجع فاتورتك."),
        (["กำลังตรวจสอบการจอง", "กำลังตรวจสอบใบแจ้งหนี้"], "กำลังตรวจสอบการจอง กำลังตรวจสอบใบแจ้งหนี้"),
        (["ვამოწმებ ანგარიშს"], "ვამოწმებ ანგარიშს."),
        (["3 Termine suchen"], "3 Termine suchen."),
        (["予約 42"], "予約 42。"),
        (["42"], "42."),
    ],
)
def test_hints_of_any_language_are_sentences(hints: list[str], text: str) -> None:
    tools = _tools(**{f"t{number}": hint for number, hint in enumerate(hints)})
    assert acknowledge(_calls(*tools), tools) == text


def test_empty_hints_form_no_sentence() -> None:
    assert sentence([]) is None
    assert acknowledge(_calls("a", "b", "c"), _tools(a="", b="  ", c="...")) is None
