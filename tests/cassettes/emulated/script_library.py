"""Scripts for behaviour that no shipped script shows: faults, reasoning, hosted tools, unusual arguments."""

from __future__ import annotations

from typing import Any

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

LOOK = OfferedTool("look", "Looks something up.", {"type": "object", "properties": {"what": {"type": "string"}}})
PAGE = Hit("https://example.com/a", "A page", "It was built in 1758.")
OTHER = Hit("https://example.org/b", "Another page", "It has a red roof.")
TEXT = "First this."
_ANSWER = (Say(TEXT), ScriptedCall("look", {"what": "a"}), ScriptedCall("look", {"what": "b"}))


def _one(id: str, *parts: Any, tools: list[OfferedTool] | None = None, hosted: str = "", **members: Any) -> Script:
    """A script of one round; ``members`` are those of the round."""
    return Script(id, id, [Round([*parts], f"Play {id}.", **members)], tools or [], hosted.split())


def _of_rounds(id: str, *rounds: Round, **members: Any) -> Script:
    return Script(id, id, [Round(rounds[0].parts, f"Play {id}.", rounds[0].ending), *rounds[1:]], **members)


_SEARCH = ServerCall("web_search", {"query": "when"}, hits=[PAGE])
_KINDS: tuple[Any, ...] = ("rate_limit", "overloaded", "server_error", "authentication", "cut", "reset")

LIBRARY: dict[str, Script] = {
    script.id: script
    for script in (
        *(_one(kind, fault=Fault(kind, retry_after=3 if kind == "rate_limit" else None)) for kind in _KINDS[:4]),
        *(
            _one(f"{kind}-{after}", *_ANSWER, fault=Fault(kind, after, 3), tools=[LOOK])
            for kind in _KINDS
            for after in (0, 1, 2)
            if kind != "authentication"
        ),
        _one("words", Say("Just words, some of them.")),
        _one("calls", *_ANSWER, tools=[LOOK]),
        _one("characters", *_ANSWER, tools=[LOOK], pieces="characters"),
        _one("whole", *_ANSWER, tools=[LOOK], pieces="whole"),
        _one("own-id", ScriptedCall("look", {"what": "a"}, id="my-own-1"), tools=[LOOK]),
        _one("own-index", ScriptedCall("look", {"what": "a"}, id="call-ä", index=3), tools=[LOOK]),
        _one("nothing", ScriptedCall("look", {}), tools=[LOOK]),
        _one("no-object", ScriptedCall("look", arguments_text="[1,2]"), tools=[LOOK]),
        _one("half-pair", ScriptedCall("look", arguments_text='{"what":"\\ud83d"}'), tools=[LOOK]),
        _one("cut-arguments", ScriptedCall("look", arguments_text='{"wh'), tools=[LOOK], ending="length"),
        _one("refuses", Refuse("I would rather not.")),
        _one("speaks-and-refuses", Say("Well. "), Refuse("I'd rather not.")),
        _one("long-text", Say("Once upon a time there was"), ending="length"),
        _one("long-thought", Think("First of all, one has to consider"), ending="length"),
        _one("filtered", Say("This is how you"), ending="content_filter"),
        _one("thinks", Think("Let me see first."), Say("It is."), ScriptedCall("look", {"what": "a"}), tools=[LOOK]),
        _one("withholds", Think("This is secret.", withheld=True), Say("There it is.")),
        _one(
            "searches",
            ServerCall("web_search", {"query": "when"}, hits=[PAGE, OTHER]),
            Say("In 1758."),
            Say(" So it says."),
            hosted="web_search",
        ),
        _one(
            "two-searches",
            _SEARCH,
            ServerCall("web_search", {"query": "where"}, hits=[OTHER]),
            Say("In 1758."),
            ScriptedCall("look", {"what": "a"}),
            hosted="web_search",
            tools=[LOOK],
        ),
        _one("finds-nothing", ServerCall("web_search", {"query": "x"}, failed="unavailable"), hosted="web_search"),
        _one("reads-x", Think("Hm."), ServerCall("x_search", {"query": "x"}, hits=[PAGE]), hosted="x_search"),
        _one("runs", ServerCall("code_execution", {"code": "print(2+2)"}, output="4\n"), hosted="code_execution"),
        _one("crashes", ServerCall("code_execution", {"code": "1/0"}, failed="unavailable"), hosted="code_execution"),
        _of_rounds(
            "custom",
            Round([ScriptedCall("run_query", arguments_text="SELECT 1;\n", result="1")]),
            Round([Say("One.")]),
            tools=[OfferedTool("run_query", "Runs SQL.", kind="custom")],
        ),
        _of_rounds(
            "pauses",
            Round([Say("A moment."), _SEARCH], ending="pause"),
            Round([Say("In 1758.")]),
            hosted=["web_search"],
        ),
        _of_rounds(
            "continues",
            Round([ScriptedCall("look", {"what": "a"}, result="found")]),
            Round([Say("It was found.")]),
            Round([Say("Nothing more.")], ask="And then?"),
            tools=[LOOK],
        ),
    )
}
