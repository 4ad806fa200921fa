"""The spans and metrics of turns and the content of spans, checked against the semantic conventions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.metrics import NoOpMeter
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics
from opentelemetry.trace import StatusCode

from tests.conformance.pages import DOCS, blocks
from tests.support.events import chat_body
from tests.turns.playing import WIRES, Counting, Emulated, Fault, Round, Say, Think, at_once, call, script
from toolparity import Response
from toolparity.normalizer import json_codec, model
from toolparity.normalizer.conversation import (
    JsonPart,
    MediaPart,
    OpaquePart,
    RawItem,
    Request,
    System,
    TextPart,
    ToolDefinition,
    ToolResult,
    ToolResults,
    User,
)
from toolparity.normalizer.wires.openai_chat.profiles import PROFILES
from toolparity.turns import Backoff, Fallback, Observer, Tool, ToolFailed, Tools, Turn
from toolparity.turns.clients.sdk import SdkClient
from toolparity.turns.orchestration import Coordinator
from toolparity.turns.telemetry.content import request_content, response_content, result_content
from toolparity.turns.telemetry.conventions import (
    DURATION,
    TIME_TO_FIRST_CHUNK,
    TOKEN_USAGE,
    Histogram,
    provider_name,
    server_attributes,
)

from .convention import METRICS, Measured, attributes, deviations, labels_deviate, values_of

PAGE = "telemetry.md"
PLAYED = script([Say("Let me look."), call("look", city="Ulm"), call("count")], [Say("Done.")])
LOOKED = script([call("look")], [Say("Done.")], tools=("look", "count"))
REFUSED = script(Round([Say("Hi")], fault=Fault("authentication")))
OVERLOADED = script(Round([Say("Done.")], fault=Fault("overloaded")))


def nothing() -> None:
    """A tool."""


async def hanging(**_: Any) -> None:
    await asyncio.sleep(60)


def measured(
    played: Any = PLAYED,
    wire: str = "openai.chat",
    *,
    tools: Tools | None = None,
    fails: Any = None,
    kept: Measured | None = None,
    **options: Any,
) -> Measured:
    """Run a turn to its end."""
    kept, offered = kept or Measured(), Counting().tools() if tools is None else tools
    provider = Emulated(wire, played, fails=fails, after=2)
    at_once(Turn(provider, offered, telemetry=kept.telemetry, **options).run("Go."))
    return kept


def deviating(kept: Measured, *, content: bool = False) -> list[str]:
    return [text for span in kept.spans for text in deviations(span, content=content)]


@pytest.mark.thorough(keep=3, per="{content}")
@pytest.mark.parametrize("content", [False, True])
@pytest.mark.parametrize("wire", WIRES)
def test_the_spans_of_a_turn_follow_the_conventions_on_every_wire(wire: str, content: bool) -> None:
    options: Any = {"instructions": "You let boats.", "max_tokens": 500, "temperature": 1, "seed": 7}
    if wire != "openai.chat":  # its model accepts no stop sequences
        options["stop"] = ["END"]
    kept = measured(wire=wire, kept=Measured(agent="Boats", conversation="c-7", content=content), **options)
    assert deviating(kept, content=content) == []
    turn, first, *tools, last = kept.spans
    assert [span.name for span in tools] == ["execute_tool look", "execute_tool count"]
    assert first.name == last.name == f"chat {attributes(first)['gen_ai.request.model']}"
    assert turn.name == "invoke_agent Boats"
    assert turn.parent is None
    assert all(span.parent is not None and span.parent.span_id == turn.context.span_id for span in [first, *tools])
    expected = {"request.max_tokens": 500, "request.temperature": 1.0, "conversation.id": "c-7"}
    assert {name: attributes(last)[f"gen_ai.{name}"] for name in expected} == expected


def test_no_text_of_the_conversation_is_recorded_unless_content_is_switched_on() -> None:
    text = "".join(span.to_json() for span in measured(instructions="Secretly be nice.").spans)
    assert not [word for word in ("Secretly", "Go.", "Let me look", "Ulm", "look ran", "Done.") if word in text]


def test_the_environment_variable_of_the_conventions_switches_content_on(monkeypatch: pytest.MonkeyPatch) -> None:
    on, off = ("true", "SPAN_ONLY", "span_and_event"), ("EVENT_ONLY", "false", "")
    for value in on + off:
        monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", value)
        assert Measured().telemetry.content is (value in on), value
        assert Measured(content=value in off).telemetry.content is (value in off), value


@pytest.mark.parametrize("wire", ["openai.chat", "anthropic.messages", "xai.grpc", "google.gemini"])
def test_each_request_is_a_value_of_the_metrics_and_the_turn_has_the_sum_of_its_tokens(wire: str) -> None:
    """Chat Completions reports no usage of a stream unless the request asks for it."""
    kept = measured(wire=wire)
    points = kept.points()
    assert points.keys() - {TOKEN_USAGE.name} == {DURATION.name, TIME_TO_FIRST_CHUNK.name}
    for name, values in points.items():
        assert [list(labels_deviate(value.attributes, METRICS[name])) for value in values] == [[]] * len(values)
    assert [value.count for value in points[DURATION.name]] == [2]
    turn, *others = map(attributes, kept.spans)
    counted = {value.attributes["gen_ai.token.type"]: value.sum for value in points.get(TOKEN_USAGE.name, ())}
    assert counted.keys() == (set() if wire == "openai.chat" else {"input", "output"})
    for kind, tokens in counted.items():
        name = f"gen_ai.usage.{kind}_tokens"
        assert turn[name] == tokens == sum(span.get(name, 0) for span in others) > 0


def test_a_failed_request_has_the_type_of_its_error_and_no_tokens() -> None:
    points = measured(REFUSED, backoff=None).points()
    assert points.keys() == {DURATION.name}
    assert [value.attributes["error.type"] for value in points[DURATION.name]] == ["authentication"]


def test_metrics_are_defined_as_in_the_package_of_the_conventions_with_the_recommended_buckets() -> None:
    class Meter(NoOpMeter):
        def create_histogram(self, name: str, unit: str = "", description: str = "", **_: Any) -> Any:
            return name, unit, description

    create: dict[Histogram, Any] = {
        TOKEN_USAGE: gen_ai_metrics.create_gen_ai_client_token_usage,
        DURATION: gen_ai_metrics.create_gen_ai_client_operation_duration,
        TIME_TO_FIRST_CHUNK: gen_ai_metrics.create_gen_ai_client_operation_time_to_first_chunk,
    }
    assert [create[histogram](Meter("m")) for histogram in create] == [histogram[:3] for histogram in create]
    seconds = [round(0.01 * 2**power, 2) for power in range(14)]
    [value, *_] = measured().points()[DURATION.name]
    assert list(value.explicit_bounds) == list(TIME_TO_FIRST_CHUNK.boundaries) == seconds
    assert list(TOKEN_USAGE.boundaries) == [4**power for power in range(14)]


def test_a_span_is_the_current_one_while_its_tool_runs_or_its_request_is_sent() -> None:
    """And the turn is a child of the one in which it runs."""
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
    with kept.tracer_provider.get_tracer("app").start_as_current_span("request"):
        at_once(Turn(Noting("openai.chat", PLAYED), tools, telemetry=kept.telemetry).run("Go."))
    request, turn, *others = kept.spans
    assert current == [span.context.span_id for span in others]
    assert trace.get_current_span() is trace.INVALID_SPAN
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
        assert deviating(kept) == []


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
        (REFUSED, {"backoff": None}, ["authentication"] * 2),
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
    assert deviating(kept) == []


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
    for span in (interrupted, kept.span("invoke_agent")):
        assert attributes(span)["error.type"] == "cancelled"


def test_a_turn_that_an_observer_breaks_ends_its_span_with_the_exception() -> None:
    class Broken(Observer):
        async def save(self, state: Any) -> None:
            raise OSError("disk full")

    kept = Measured()
    with pytest.raises(OSError, match="disk full"):
        measured(kept=kept, observers=[Broken()])
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

    for sdk, server in ((Sdk(), ("llm.example", 8443)), (object(), (None, None))):
        kept = Measured()
        at_once(Turn(Local("m", sdk=sdk), telemetry=kept.telemetry).run("Go."))
        chat = attributes(kept.span("chat m"))
        assert (chat.get("server.address"), chat.get("server.port")) == server
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


#: Type of a part -> its required members besides ``type``. Other types may have any members. Source: the ``required``
#: members in `gen-ai-input-messages.json` of open-telemetry/semantic-conventions-genai.
REQUIRED = {
    "text": {"content"},
    "tool_call": {"name"},
    "tool_call_response": {"response"},
    "server_tool_call": {"name", "server_tool_call"},
    "server_tool_call_response": {"server_tool_call_response"},
    "blob": {"modality", "content"},
    "file": {"modality", "file_id"},
    "uri": {"modality", "uri"},
    "reasoning": {"content"},
}


def assert_parts(parts: list[dict[str, Any]]) -> None:
    for part in parts:
        assert isinstance(part["type"], str)
        assert REQUIRED.get(part["type"], set()) <= part.keys(), part
        for details in ("server_tool_call", "server_tool_call_response"):
            assert "type" in part.get(details, {"type": ""})


def assert_messages(text: str) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = json.loads(text)
    for message in messages:
        assert message["role"] in {"system", "user", "assistant", "tool"}
        assert_parts(message["parts"])
    return messages


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
def test_the_messages_of_a_turn_have_the_form_of_the_conventions_on_every_wire(wire: str) -> None:
    played = script([Think("Hm."), Say("Let me look."), call("look", city="Ulm")], [Say("Done.")])
    turn, first, tool, last = map(attributes, measured(played, wire, kept=Measured(content=True)).spans)
    sent = assert_messages(last["gen_ai.input.messages"])
    assert [message["role"] for message in sent] == ["user", "assistant", "tool"]
    [answer] = assert_messages(first["gen_ai.output.messages"])
    [request] = [part for part in answer["parts"] if part["type"] == "tool_call"]
    assert (request["name"], request["arguments"]) == ("look", {"city": "Ulm"})
    [result] = sent[-1]["parts"]
    assert (result["response"], result["id"]) == ("look ran", request["id"])
    assert json.loads(tool["gen_ai.tool.call.arguments"]) == {"city": "Ulm"}
    assert json.loads(tool["gen_ai.tool.call.result"]) == "look ran"
    assert {"type", "name"} <= json.loads(last["gen_ai.tool.definitions"])[0].keys()
    assert "Done." in turn["gen_ai.output.messages"]


def test_every_kind_of_part_block_and_message_has_a_form() -> None:
    parts: list[Any] = [
        TextPart("a"),
        JsonPart({"b": 1}),
        OpaquePart("video_url", {"c": 2}),
        MediaPart("image", "image/png", data="iVBO"),
        MediaPart("image", url="https://x.example/a.png"),
        MediaPart("document", file_id="file-1"),
    ]
    kinds: list[Any] = [
        model.Reasoning("hm"),
        model.Refusal("no"),
        model.ServerToolCall("s", "web_search", "web_search_20250305", '{"query":"Ulm"}'),
        model.ServerToolResult("s", "web_search", raw=[1]),
        model.ApprovalRequest("a", "files", "read"),
        model.Opaque("new", {"x": 1}),
    ]
    item = {"type": "item_reference"}
    given = ToolResults([ToolResult("c", parts), ToolResult("d", [JsonPart([1])])])
    messages: list[Any] = [System([TextPart("Be nice.")]), User(parts), given, RawItem("openai.responses", item)]
    sent = request_content(Request("", None, messages, [ToolDefinition("search", kind="custom")]))
    _, results, raw = assert_messages(sent["gen_ai.input.messages"])
    assert results["parts"][1]["response"] == [1]
    assert raw["parts"][0]["content"] == item
    assert_parts(json.loads(sent["gen_ai.system_instructions"]))
    assert "iVBO" not in sent["gen_ai.input.messages"]
    choice = model.Choice(0, kinds, model.Stop("end_turn", "stop"))
    content = response_content(Response("openai.chat", None, None, None, [choice]))
    [answer] = assert_messages(content["gen_ai.output.messages"])
    assert answer["finish_reason"] == "stop"
    assert json.loads(result_content(ToolResult("c", [TextPart("a")]))["gen_ai.tool.call.result"]) == "a"


def test_content_that_json_cannot_express_is_left_out_and_the_turn_continues(caplog: pytest.LogCaptureFixture) -> None:
    kept = Measured(content=True)
    request = Request("", None, [RawItem("openai.chat", object())])
    with kept.tracer_provider.get_tracer("t").start_as_current_span("s") as span:
        kept.telemetry.record(span, request_content, request)
    assert "gen_ai.input.messages" not in attributes(kept.span("s"))
    assert "a span lacks content" in caplog.text


def test_the_page_example_makes_the_spans_that_the_page_shows() -> None:
    code, shown = (block.text for block in blocks(PAGE))
    names: dict[str, Any] = {}
    exec(compile(code, PAGE, "exec", dont_inherit=True), names)
    kept = Measured()
    played = script([call("find_boat", harbour="Horta")], [Say("Ana.")], tools=("find_boat",))
    outcome = at_once(names["charter"](Emulated("openai.chat", played), "Go.", tracer_provider=kept.tracer_provider))
    assert outcome.text == "Ana."
    assert [span.name for span in kept.spans] == [line.strip() for line in shown.splitlines()]
    assert deviating(kept) == []


def test_the_page_names_every_span_metric_and_attribute() -> None:
    page = (DOCS / PAGE).read_text("utf-8")
    kept = Measured(content=True, agent="a", conversation="c")
    tools = Tools([Tool(name="look", description="Looks.", function=nothing)])
    measured(LOOKED, "anthropic.messages", tools=tools, kept=kept, max_tokens=9)
    names = {name for span in kept.spans for name in attributes(span)}
    families = ("gen_ai.request.", "gen_ai.response.", "gen_ai.usage.")
    assert not [name for name in names if f"`{name}`" not in page and not name.startswith(families)]
    assert not [metric.name for metric in (DURATION, TIME_TO_FIRST_CHUNK, TOKEN_USAGE) if metric.name not in page]
