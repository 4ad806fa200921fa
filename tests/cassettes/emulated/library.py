"""Scripts for what the shipped ones do not show: faults, reasoning, hosted tools, unusual arguments."""

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

LOOK = OfferedTool("look", "Looks something up.", {"type": "object", "properties": {"what": {"type": "string"}}})
PAGE = Hit("https://example.com/a", "A page", "It was built in 1758.")
OTHER = Hit("https://example.org/b", "Another page", "It has a red roof.")


def one(id: str, *parts: object, ask: str | None = None, **of: object) -> Script:
    """A script of one round. Names of its fields go to the round, ``tools`` and ``hosted`` to the script."""
    beside = {name: of.pop(name) for name in ("tools", "hosted", "parallel") if name in of}
    round = Round(parts=list(parts), ask=ask or f"Play {id}.", **of)  # type: ignore[arg-type]
    return Script(id=id, title=id, rounds=[round], **beside)  # type: ignore[arg-type]


_ANSWER = (Say("First this."), ScriptedCall("look", {"what": "a"}), ScriptedCall("look", {"what": "b"}))
_FAULTS = ("rate_limit", "overloaded", "server_error", "authentication")

LIBRARY: dict[str, Script] = {
    script.id: script
    for script in (
        *(one(kind, fault=Fault(kind, retry_after=3 if kind == "rate_limit" else None)) for kind in _FAULTS),  # type: ignore[arg-type]
        *(
            one(f"late-{kind}", *_ANSWER, fault=Fault(kind, after=1), tools=[LOOK])  # type: ignore[arg-type]
            for kind in ("overloaded", "server_error", "cut", "reset")
        ),
        one("said", Say("Just words, some of them.")),
        one("calls", *_ANSWER, tools=[LOOK]),
        one("letters", *_ANSWER, tools=[LOOK], pieces="characters"),
        one("whole", *_ANSWER, tools=[LOOK], pieces="whole"),
        one("own-id", ScriptedCall("look", {"what": "a"}, id="my-own-1"), tools=[LOOK]),
        one("nothing", ScriptedCall("look", {}), tools=[LOOK]),
        one("no-object", ScriptedCall("look", arguments_text="[1,2]"), tools=[LOOK]),
        one("refuses", Refuse("I would rather not.")),
        one(
            "thinks", Think("Let me see first."), Say("There it is."), ScriptedCall("look", {"what": "a"}), tools=[LOOK]
        ),
        one("withholds", Think("Nobody may read this.", withheld=True), Say("There it is.")),
        one(
            "searches",
            ServerCall("web_search", {"query": "when"}, hits=[PAGE, OTHER]),
            Say("In 1758."),
            Say(" So it is said."),
            hosted=["web_search"],
        ),
        one(
            "searches-twice",
            ServerCall("web_search", {"query": "when"}, hits=[PAGE]),
            ServerCall("web_search", {"query": "where"}, hits=[OTHER]),
            Say("In 1758."),
            ScriptedCall("look", {"what": "a"}),
            hosted=["web_search"],
            tools=[LOOK],
        ),
        one(
            "finds-nothing", ServerCall("web_search", {"query": "x"}, failed="max_uses_exceeded"), hosted=["web_search"]
        ),
        one("reads-x", ServerCall("x_search", {"query": "x"}, hits=[PAGE]), Say("A lot."), hosted=["x_search"]),
        one(
            "runs",
            ServerCall("code_execution", {"code": "print(2+2)"}, output="4\n"),
            Say("4"),
            hosted=["code_execution"],
        ),
        one("crashes", ServerCall("code_execution", {"code": "1/0"}, failed="unavailable"), hosted=["code_execution"]),
        Script(
            id="pauses",
            title="pauses",
            hosted=["web_search"],
            rounds=[
                Round(
                    ask="Play pauses.",
                    parts=[Say("A moment."), ServerCall("web_search", {"query": "when"}, hits=[PAGE])],
                    ending="pause",
                ),
                Round(parts=[Say("In 1758.")]),
            ],
        ),
        Script(
            id="goes-on",
            title="goes-on",
            tools=[LOOK],
            rounds=[
                Round(ask="Play goes-on.", parts=[ScriptedCall("look", {"what": "a"}, result="found")]),
                Round(parts=[Say("It was found.")]),
                Round(ask="And then?", parts=[Say("Nothing more.")]),
            ],
        ),
    )
}
