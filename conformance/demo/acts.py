"""The acts of the demo: for each a script, the turns that play it, and what the model says at the end.

The first act plays one answer under each policy. The page shows each turn of an act in a column.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from toolparity.cassettes.scripts import OfferedTool, Round, Say, Script, ScriptedCall, scripts
from toolparity.cassettes.surfaces import SURFACES, Surface
from toolparity.normalizer.conversation import Request
from toolparity.turns.machine.calls import UNKNOWN_OUTCOME

from .emulated_model import results_of

#: The final text of a model, which depends on the results in the request.
Closing = Callable[[Request], str]


class Lane(Struct, frozen=True):
    """One turn of an act. ``limit``: the maximum number of calls that run per answer."""

    policy: str
    lead: str
    limit: int | None = None


class Act(Struct, frozen=True):
    """One act. ``title``: of its button. ``headline`` and ``lead``: what it shows.

    ``closing``: writes the last text of the script, if it depends on the results. ``dialect``: the text-mode dialect in
    which the model writes its calls, and ``written``: these calls with their results. ``approval``: each call needs
    approval. ``slower``: factor for the duration of the tools. ``action``: what the page offers while the calls run:
    "cancel" or "kill".
    """

    id: str
    title: str
    headline: str
    lead: str
    script: Script
    lanes: list[Lane]
    closing: Closing | None = None
    dialect: str | None = None
    written: list[ScriptedCall] = []
    approval: bool = False
    slower: float = 1.0
    action: str | None = None

    @property
    def tool_script(self) -> Script:
        """The script with all calls and their results, for the tools."""
        return replace(self.script, rounds=[*self.script.rounds, Round(list(self.written))])

    @property
    def surfaces(self) -> list[Surface]:
        """The surfaces that play the script."""
        return [surface for surface in SURFACES.values() if surface.plays(self.script)]


def acts() -> dict[str, Act]:
    """Return the acts by id, in the order of the page."""
    three, both, search = (
        scripts()[id] for id in ("parallel-three", "appointments-and-billing", "server-search-and-call")
    )
    listed = [
        Act(
            "policies",
            "Three calls",
            "One answer, three calls: no policy loses one",
            "The same recorded answer under each policy. A dropped call is reported with a warning. The model reads "
            "why the call did not run, and requests it again.",
            three,
            [
                Lane("first", "One call per answer runs."),
                Lane("all", "All calls run, in parallel."),
                Lane("batch", "All calls run, in sequence."),
            ],
        ),
        Act(
            "limit",
            "Limit",
            "A limit drops a call, and says so",
            "The same answer with a limit of two calls. The third call is dropped with a warning. The model reads why, "
            "and requests it again.",
            three,
            [Lane("all", "At most two calls per answer run.", 2)],
        ),
        Act(
            "truncated",
            "Truncated call",
            "Half a call never runs",
            "The answer reaches the token limit inside the second call. The first call is complete and runs. The "
            "second one is rejected: half an argument text is never executed, not even if it happens to parse.",
            _TRUNCATED,
            [Lane("all", "Complete calls run, the truncated one is rejected.")],
        ),
        Act(
            "server-call",
            "Server call",
            "A call that the provider has run is not run again",
            "The provider itself has already executed a web search. It appears in the canonical form as a server call "
            "and never reaches the tools of the application. The client call beside it runs once.",
            search,
            [Lane("all", "Client calls run, server calls do not.")],
        ),
        Act(
            "approval",
            "Approval",
            "No call runs before you allow it",
            "Each call waits until you allow or deny it. The turn is stored while it waits. A denied call gets a "
            "result that says so.",
            both,
            [Lane("all", "Calls run after your decision.")],
            closing=_after_decisions,
            approval=True,
        ),
        Act(
            "cancel",
            "Cancel",
            "A cancelled turn leaves no call open",
            "Cancel the turn while its calls run. The calls are stopped, and each of them gets a result, so the "
            "provider accepts the conversation when it continues.",
            three,
            [Lane("all", "Cancel while the calls run.")],
            slower=5,
            action="cancel",
        ),
        Act(
            "killed-server",
            "Killed server",
            "A killed server loses no call and repeats none",
            "Three reminders are sent one after the other. Kill the server in the middle. The page reconnects to its "
            "successor, and the turn resumes from the log: finished calls keep their results, the call that was "
            "running is not repeated, and the others still run.",
            _REMINDERS,
            [Lane("batch", "Kill the server while a call runs.")],
            closing=_after_reminders,
            slower=3,
            action="kill",
        ),
        Act(
            "text-mode",
            "Text mode",
            "Calls in the text of a model are calls, too",
            "This model writes its calls as markup into its text. They become canonical calls. When the second call "
            "begins, the stream is closed and its rest is not read. The model requests the unread call again.",
            _TEXT_MODE,
            [Lane("first", "The stream is closed at the second call.")],
            dialect="hermes",
            written=[
                ScriptedCall("get_weather", {"city": city}, result={"city": city, "high": high})
                for city, high in (("Faro", 24), ("Braga", 18))
            ],
        ),
    ]
    return {act.id: act for act in listed}


def _after_decisions(request: Request) -> str:
    texts = {call.name: text for call, text in results_of(request)}
    known = [
        "You have one appointment on 20 January." if _ran(texts.get("list_appointments")) else "",
        "You have one open invoice of 150 euros." if _ran(texts.get("open_invoices")) else "",
    ]
    missing = [name for name, text in texts.items() if not _ran(text)]
    denied = f"You did not allow me to use {' and '.join(missing)}." if missing else ""
    return " ".join(filter(None, (*known, denied)))


def _after_reminders(request: Request) -> str:
    outcomes = [(str((call.arguments or {}).get("patient")), text) for call, text in results_of(request)]
    sent = [name for name, text in outcomes if UNKNOWN_OUTCOME not in text]
    unknown = [name for name, text in outcomes if UNKNOWN_OUTCOME in text]
    first = f"Sent: {', '.join(sent)}. " if sent else ""
    doubt = f"The reminder for {' and '.join(unknown)} was interrupted. It may have been sent, so I did not repeat it."
    return first + doubt if unknown else first.strip()


def _ran(text: str | None) -> bool:
    return text is not None and "not allowed" not in text


def _object(*names: str) -> dict[str, object]:
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": list(names)}


_TRUNCATED = Script(
    "demo-truncated",
    "An answer that the token limit ends inside a call",
    [
        Round(
            [
                ScriptedCall("archive_rows", {"table": "visits"}, result={"archived": 1204}),
                ScriptedCall("delete_rows", arguments_text='{"table": "visits", "older_th'),
            ],
            "Archive the visits, then delete those that are older than five years.",
            "length",
        ),
        Round([ScriptedCall("delete_rows", {"table": "visits", "older_than": "5y"}, result={"deleted": 310})]),
        Round([Say("The visits are archived, and 310 rows older than five years are deleted.")]),
    ],
    [
        OfferedTool("archive_rows", "Archives a table.", _object("table"), waiting_hint="Archiving the visits"),
        OfferedTool("delete_rows", "Deletes rows.", _object("table", "older_than"), waiting_hint="Deleting old rows"),
    ],
)

_REMINDERS = Script(
    "demo-reminders",
    "Three reminders",
    [
        Round(
            [
                Say("I will send the three reminders."),
                *(
                    ScriptedCall("send_reminder", {"patient": name}, result={"sent": True})
                    for name in ("Ana", "Ben", "Cleo")
                ),
            ],
            "Send the reminder for tomorrow to Ana, Ben and Cleo.",
        ),
        Round([Say("All reminders are sent.")]),
    ],
    [OfferedTool("send_reminder", "Sends a reminder.", _object("patient"), waiting_hint="Sending the reminders")],
)

_TEXT_MODE = Script(
    "demo-text-mode",
    "Calls that a model writes as text",
    [
        Round(
            [
                Say(
                    "I will look at both cities.\n"
                    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Faro"}}\n</tool_call>\n'
                    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Braga"}}\n</tool_call>'
                )
            ],
            "Where is it warmer tomorrow, in Faro or in Braga?",
        ),
        Round([Say('<tool_call>\n{"name": "get_weather", "arguments": {"city": "Braga"}}\n</tool_call>')]),
        Round([Say("It is warmer in Faro: 24 degrees, against 18 in Braga.")]),
    ],
    [OfferedTool("get_weather", "Tomorrow's weather.", _object("city"), waiting_hint="Looking at the weather")],
    system=(
        "Tool: get_weather(city). Write each call as "
        '<tool_call>{"name": "get_weather", "arguments": {"city": "…"}}</tool_call>.'
    ),
)
