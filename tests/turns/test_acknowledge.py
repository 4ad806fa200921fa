"""The acknowledgement: one sentence made of the waiting hints of the called tools."""

from __future__ import annotations

import pytest

from toolparity.normalizer.model import ToolCall
from toolparity.turns.execution.tool import Tool
from toolparity.turns.execution.tools import Tools
from toolparity.turns.narration.acknowledge import acknowledge

#: Hints with dots and spaces at their end, as well as none, are those of the tools `other`, `empty` and `silent`.
HINTS = {
    "appointments": "looking up your upcoming appointments",
    "invoices": "checking your billing",
    "other": "Checking  your billing.",
    "next": "checking your next appointment",
    "empty": " … ",
    "silent": None,
}


def acknowledged(hints: dict[str, str | None], called: str) -> str | None:
    tools = Tools([Tool(name=name, function=lambda: None, waiting_hint=hint) for name, hint in hints.items()])
    calls = [ToolCall(f"call_{number}", name, {}, "{}") for number, name in enumerate(called.split())]
    return acknowledge(calls, tools)


@pytest.mark.parametrize(
    ("called", "text"),
    [
        ("appointments invoices", "Looking up your upcoming appointments and checking your billing."),
        ("invoices appointments", "Checking your billing and looking up your upcoming appointments."),
        ("invoices appointments invoices", "Checking your billing and looking up your upcoming appointments."),
        ("next", "Checking your next appointment."),
        ("invoices other", "Checking your billing."),
        ("silent invoices", "Checking your billing."),
        ("silent unknown empty", None),
        ("", None),
    ],
)
def test_the_hints_of_the_called_tools_become_one_sentence_in_call_order(called: str, text: str | None) -> None:
    """002, Tool Definition with Waiting Hints, Acknowledgement Generation, Implementation Steps, Single Tool."""
    assert acknowledged(HINTS, called) == text


@pytest.mark.parametrize(
    ("hints", "text"),
    [
        ("searching", "Searching."),
        ("x", "X."),
        ("getting the weather|planning your trip|making a list", "Getting the weather, planning your trip, and making a list."),  # noqa: E501
        ("looking up your order and checking its status|sending a mail", "Looking up your order and checking its status, and sending a mail."),  # noqa: E501
        ("Looking at the weather|Checking the calendar", "Looking at the weather and checking the calendar."),
        ("your invoices|FTP upload", "Your invoices and FTP upload."),
        ("Please hold while we fetch your data", "Please hold while we fetch your data."),
        ("consultando sus citas|revisando su factura", "Consultando sus citas. Revisando su factura."),
        ("Termine suchen|Rechnung prüfen", "Termine suchen. Rechnung prüfen."),
        ("élément en cours de recherche", "Élément en cours de recherche."),
        ("проверяю счёт|ищу записи", "Проверяю счёт. Ищу записи."),
        ("予約を確認しています。|請求を確認しています！", "予約を確認しています。請求を確認しています。"),
        ("正在查询您的预约|正在核对账单", "正在查询您的预约。正在核对账单。"),
        ("예약을 확인하고 있습니다", "예약을 확인하고 있습니다."),
        ("आपकी बुकिंग देख रहे हैं।", "आपकी बुकिंग देख रहे हैं।"),
        ("أبحث عن مواعيدك|أراجع فاتورتك", "أبحث عن مواعيدك. أراجع فاتورتك."),
        ("กำลังตรวจสอบการจอง|กำลังตรวจสอบใบแจ้งหนี้", "กำลังตรวจสอบการจอง กำลังตรวจสอบใบแจ้งหนี้"),
        ("ვამოწმებ ანგარიშს", "ვამოწმებ ანგარიშს."),
        ("予約 42", "予約 42。"),
        ("42", "42."),
    ],
)  # fmt: skip
def test_hints_of_any_language_are_sentences(hints: str, text: str) -> None:
    tools: dict[str, str | None] = {f"t{number}": hint for number, hint in enumerate(hints.split("|"))}
    assert acknowledged(tools, " ".join(tools)) == text
