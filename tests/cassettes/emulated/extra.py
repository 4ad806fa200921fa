"""Scripts that no scenario ships: what the emulated providers can do besides."""

from __future__ import annotations

from toolparity.cassettes.scripts import (
    Fault,
    Hit,
    OfferedTool,
    Refuse,
    Round,
    Say,
    Script,
    ScriptedCall,
    ServerCall,
    Think,
)

_WEATHER = OfferedTool(
    "get_weather", "Tomorrow's weather.", {"type": "object", "properties": {"city": {"type": "string"}}}
)
_LISBON = ScriptedCall("get_weather", {"city": "Lisbon"}, result="dry")
_PORTO = ScriptedCall("get_weather", {"city": "Porto"}, result="rain")


def _made(
    id: str, rounds: list[Round], tools: list[OfferedTool] | None = None, hosted: list[str] | None = None
) -> Script:
    first = Round(rounds[0].parts, f"Play {id}.", rounds[0].ending, rounds[0].fault, rounds[0].pieces)
    return Script(id, id, [first, *rounds[1:]], tools or [], hosted or [])


_ALL = (
    _made(
        "custom",
        [Round([ScriptedCall("run_query", arguments_text="SELECT 1;\n", result="1")]), Round([Say("One.")])],
        [OfferedTool("run_query", "Runs SQL.", kind="custom")],
    ),
    _made(
        "x-search",
        [
            Round(
                [
                    Think("Somebody may have posted it."),
                    ServerCall(
                        "x_search", {"query": "lighthouse"}, [Hit("https://x.com/i/status/1", "1", "Built 1758.")]
                    ),
                    Say("It was built in 1758."),
                ]
            )
        ],
        hosted=["x_search"],
    ),
    _made(
        "code",
        [
            Round(
                [
                    Think("This wants a computer."),
                    ServerCall("code_execution", {"code": "print(6 * 7)"}, output="42\n"),
                    Say("It is 42."),
                ]
            )
        ],
        hosted=["code_execution"],
    ),
    _made(
        "search-fails",
        [Round([ServerCall("web_search", {"query": "nothing"}, failed="unavailable"), Say("I could not search.")])],
        hosted=["web_search"],
    ),
    _made(
        "thinks",
        [
            Round([Think("The weather decides."), Say("Let me look."), _LISBON, _PORTO]),
            Round([Think("Dry there, wet here.", withheld=True), Say("Lisbon is dry.")]),
        ],
        [_WEATHER],
    ),
    _made("long-text", [Round([Say("Once upon a time there was")], ending="length")]),
    _made("long-thought", [Round([Think("First of all, one has to consider")], ending="length")]),
    _made("filtered", [Round([Say("This is how you")], ending="content_filter")]),
    _made("ids", [Round([ScriptedCall("get_weather", {"city": "Lisbon"}, id="call-ä", index=3)])], [_WEATHER]),
    _made("characters", [Round([Say("Olá! 👋🏽 Até já."), _LISBON], pieces="characters")], [_WEATHER]),
    _made("whole", [Round([Say("All at once."), _LISBON], pieces="whole")], [_WEATHER]),
    _made("half-pair", [Round([ScriptedCall("get_weather", arguments_text='{"city":"\\ud83d"}')])], [_WEATHER]),
    _made("speaks-and-refuses", [Round([Say("Well. "), Refuse("I'd rather not.")])]),
    *(
        _made(
            f"{kind.replace('_', '-')}-{after}",
            [Round([Say("Let me look."), _LISBON], fault=Fault(kind, after, 3))],
            [_WEATHER],
        )
        for kind in ("rate_limit", "overloaded", "server_error", "cut", "reset")
        for after in (0, 1, 2)
    ),
    *(
        _made(
            f"at-once-{kind.replace('_', '-')}",
            [Round(fault=Fault(kind, retry_after=2 if kind == "rate_limit" else None))],
        )
        for kind in ("rate_limit", "overloaded", "server_error", "authentication")
    ),
)

EXTRA: dict[str, Script] = {script.id: script for script in _ALL}
#: Those that play to their end.
WHOLE = {id: script for id, script in EXTRA.items() if not any(round.fault for round in script.rounds)}
