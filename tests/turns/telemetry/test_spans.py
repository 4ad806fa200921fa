"""The spans of turns, checked against the semantic conventions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.trace import StatusCode

from tests.support.events import chat_body
from tests.turns.playing import WIRES, Counting, Emulated, Fault, Round, Say, at_once, call, script
from toolparity.normalizer import json_codec
from toolparity.normalizer.wires.openai_chat.profiles import PROFILES
from toolparity.turns import Backoff, Fallback, Observer, Tool, ToolFailed, Tools, Turn
from toolparity.turns.clients.sdk import SdkClient
from toolparity.turns.orchestration import Coordinator
from toolparity.turns.telemetry.conventions import provider_name, server_attributes

from .convention import deviations, values_of
from .measuring import Measured, attributes

PLAYED = script([Say("Let me look."), call("look", city="Ulm"), call("count")], [Say("Done.")])

LOOKED = script([call("look")], [Say("Done.")], tools=("look", "count"))
OVERLOADED = script(Round([Say("Done.")], fault=Fault("overloaded")))


def nothing() -> None:
    """A tool."""


async def hanging(**_: Any) -> None:
    await asyncio.sleep(60)


def measured(
    played: Any = PLAYED, wire: str = "openai.chat", tools: Tools | None = None, fails: Any = None, **options: Any
) -> Measured:
    """Run a turn to its end."""
    kept, offered = Measured(), Counting().tools() if tools is None else tools
    provider = Emulated(wire, played, fails=fails, after=2)
    at_once(Turn(provider, offered, telemetry=kept.telemetry, **options).run("Go."))
    return kept


@pytest.mark.thorough(keep=3, per="{content}")
@pytest.mark.parametrize("content", [False, True])
@pytest.mark.parametrize("wire", WIRES)
def test_the_spans_of_a_turn_follow_the_conventions_on_every_wire(wire: str, content: bool) -> None:
    kept = Measured(agent="Boats", conversation="c-7", content=content)
    options: Any = {"instructions": "You let boats.", "max_tokens": 500, "temperature": 1, "seed": 7}
    if wire != "openai.chat":  # its model accepts no stop sequences
        options["stop"] = ["END"]
    at_once(Turn(Emulated(wire, PLAYED), Counting().tools(), telemetry=kept.telemetry, **options).run("Go."))
    assert {span.name: list(deviations(span, content=content)) for span in kept.spans} == {
        span.name: [] for span in kept.spans
    }
    turn, first, *tools, last = kept.spans
    assert [span.name for span in tools] == ["execute_tool look", "execute_tool count"]
    assert first.name == last.name == f"chat {attributes(first)['gen_ai.request.model']}"
    assert turn.name == "invoke_agent Boats"
    assert turn.parent is None
    assert all(span.parent is not None and span.parent.span_id == turn.context.span_id for span in [first, *tools])
    assert attributes(last)["gen_ai.request.max_tokens"] == 500
    assert attributes(last)["gen_ai.request.temperature"] == 1.0
    assert attributes(last)["gen_ai.conversation.id"] == "c-7"


def test_no_text_of_the_conversation_is_recorded_unless_content_is_switched_on() -> None:
    text = "".join(span.to_json() for span in measured(instructions="Secretly be nice.").spans)
    assert not [word for word in ("Secretly", "Go.", "Let me look", "Ulm", "look ran", "Done.") if word in text]


def test_the_environment_variable_of_the_conventions_switches_content_on(monkeypatch: pytest.MonkeyPatch) -> None:
    on, off = ("true", "SPAN_ONLY", "span_and_event"), ("EVENT_ONLY", "false", "")
    for value in on + off:
        monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", value)
        assert Measured().telemetry.content is (value in on), value
        assert Measured(content=value in off).telemetry.content is (value in off), value


def test_the_usage_of_a_turn_is_the_sum_of_its_requests() -> None:
    turn, *others = measured(wire="anthropic.messages").spans
    chats = [attributes(span) for span in others if span.name.startswith("chat")]
    for name in ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"):
        assert attributes(turn)[name] == sum(chat[name] for chat in chats) > 0


def test_a_span_is_the_current_one_while_its_tool_runs_or_its_request_is_sent() -> None:
    current: list[Any] = []

    def note() -> Any:
        current.append(trace.get_current_span().get_span_context().span_id)
        return "noted"

    class Noting(Emulated):
        async def ask(self, body: Any) -> AsyncIterator[Any]:
            note()
            async for chunk in super().ask(body):
                yield chunk

    async def look(**_: Any) -> str:
        return str(note())

    kept = Measured()
    tools = Tools([Tool(name="look", function=look), Tool(name="count", function=lambda **_: note())])
    at_once(Turn(Noting("openai.chat", PLAYED), tools, telemetry=kept.telemetry).run("Go."))
    _, *others = kept.spans
    assert current == [span.context.span_id for span in others]
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_a_turn_is_a_child_of_the_span_in_which_it_runs() -> None:
    kept = Measured()
    with kept.tracer_provider.get_tracer("app").start_as_current_span("request"):
        at_once(Turn(Emulated("openai.chat", PLAYED), Counting().tools(), telemetry=kept.telemetry).run("Go."))
    request, turn = kept.span("request"), kept.span("invoke_agent")
    assert turn.parent is not None
    assert turn.parent.span_id == request.context.span_id


@pytest.mark.parametrize(
    ("function", "outcome"),
    [
        (lambda: (_ for _ in ()).throw(ToolFailed("closed")), "failed"),
        (lambda: (_ for _ in ()).throw(KeyError("x")), "raised"),
        (object, "unsayable"),
        (hanging, "timeout"),
    ],
)
def test_a_failed_tool_is_an_error_of_its_span_but_not_of_the_turn(function: Any, outcome: str) -> None:
    """A tool that runs in place of it has its own span."""
    fallback = None if function is hanging else Fallback("count")
    failing = Tool(name="look", function=function, timeout=0.05, fallback=fallback)
    tools = Tools([failing, Tool(name="count", function=nothing)])
    for offered in (Tools([Tool(name="look", function=function, timeout=0.05)]), tools):
        kept = measured(LOOKED, tools=offered)
        assert attributes(kept.span("execute_tool look"))["error.type"] == outcome
        assert kept.span("invoke_agent").status.status_code is StatusCode.UNSET
        assert not [text for span in kept.spans for text in deviations(span)]


def test_calls_that_do_not_run_have_no_span() -> None:
    tools = Tools([Tool(name="look", function=nothing, approval=True), Tool(name="count")])
    played = script([call("look"), call("count"), call("post")], [Say("Done.")])
    kept = measured(played, tools=tools, approve=lambda _: False)
    assert not [span.name for span in kept.spans if span.name.startswith("execute_tool")]


def refuse(request: Any) -> Any:
    raise ValueError("too long")


@pytest.mark.parametrize(
    ("played", "options", "errors"),
    [
        (script(Round([Say("Hi")], fault=Fault("authentication"))), {"backoff": None}, ["authentication"] * 2),
        (OVERLOADED, {"backoff": Backoff(attempts=2, first=0.0)}, ["overloaded"] * 3),
        (PLAYED, {"prepare": refuse}, ["ValueError"] * 2),
        (PLAYED, {"fails": {0: ConnectionResetError("reset")}}, ["ConnectionResetError"] * 2),
    ],
)
def test_an_error_of_a_request_is_the_error_of_its_span_and_of_the_turn(
    played: Any, options: dict[str, Any], errors: list[str]
) -> None:
    """Each retry is a separate request."""
    kept = measured(played, **options)
    assert [attributes(span).get("error.type") for span in kept.spans] == errors
    assert not [text for span in kept.spans for text in deviations(span)]


@pytest.mark.parametrize("in_tool", [False, True])
def test_a_turn_whose_consumer_leaves_ends_its_spans_as_cancelled(in_tool: bool) -> None:
    kept = Measured()

    async def leave() -> None:
        tools = Tools([Tool(name="look", function=hanging)])
        stream = Turn(Emulated("openai.chat", PLAYED), tools, telemetry=kept.telemetry).stream("Go.")
        async for event in stream:
            if type(event).__name__ == ("CallStarted" if in_tool else "TurnBlockStart"):
                await asyncio.sleep(0)
                break
        await stream.aclose()  # type: ignore[attr-defined]

    at_once(leave())
    interrupted = kept.span("execute_tool look") if in_tool else kept.spans[1]
    assert attributes(interrupted)["error.type"] == "cancelled"
    assert attributes(kept.span("invoke_agent"))["error.type"] == "cancelled"


def test_a_turn_that_an_observer_breaks_ends_its_span_with_the_exception() -> None:
    class Broken(Observer):
        async def save(self, state: Any) -> None:
            raise OSError("disk full")

    kept = Measured()
    turn = Turn(Emulated("openai.chat", PLAYED), Counting().tools(), telemetry=kept.telemetry, observers=[Broken()])
    with pytest.raises(OSError, match="disk full"):
        at_once(turn.run("Go."))
    assert attributes(kept.span("invoke_agent"))["error.type"] == "OSError"


def test_a_coordinated_turn_has_the_same_spans() -> None:
    kept = Measured()
    at_once(Coordinator(Emulated("openai.chat", PLAYED), Counting().tools(), telemetry=kept.telemetry).run("Go."))
    assert [span.name for span in kept.spans] == [span.name for span in measured().spans]


def test_the_server_of_a_request_is_the_one_that_its_client_knows() -> None:
    class Local(SdkClient):
        wire = "openai.chat"

        async def ask(self, body: Any) -> AsyncIterator[Any]:  # type: ignore[override]
            yield json_codec.encode(chat_body(finish="stop", content="Done."))

    class Sdk:
        base_url = "https://llm.example:8443/v1"

    for provider in (Local("m", sdk=Sdk()), Local("m", sdk=object())):
        kept = Measured()
        at_once(Turn(provider, telemetry=kept.telemetry).run("Go."))
        chat = attributes(kept.span("chat m"))
        known = isinstance(provider._sdk(), Sdk)
        assert (chat.get("server.address"), chat.get("server.port")) == (
            ("llm.example", 8443) if known else (None, None)
        )
        assert "gen_ai.request.stream" not in chat


def test_the_address_of_a_server_can_have_any_form() -> None:
    assert server_attributes("http://localhost/v1") == {"server.address": "localhost", "server.port": 80}
    assert server_attributes("api.x.ai") == {"server.address": "api.x.ai", "server.port": 443}
    assert server_attributes("https://[::1]:99999") == server_attributes(None) == server_attributes("") == {}


def test_providers_have_the_names_of_the_conventions() -> None:
    known = values_of("GenAiProviderNameValues")
    names = {provider_name(profile) for profile in PROFILES} | {provider_name(None, wire) for wire in WIRES}
    assert names & known >= {"openai", "anthropic", "x_ai", "azure.ai.openai", "mistral_ai", "groq", "deepseek"}
    assert {"cohere", "aws.bedrock", "gcp.gemini"} <= names
    known_names = {name.replace("_", "").replace(".", "") for name in known}
    assert not [name for name in names - known if name.replace("_", "").replace("-", "") in known_names]
