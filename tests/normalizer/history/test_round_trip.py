"""A request that is read and written back to its provider is the same request, whatever its form."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict, ParseDict
from xai_sdk.proto import chat_pb2

from toolparity.normalizer.conversation import Assistant, Loss, ToolResults, User
from toolparity.normalizer.errors import MalformedBody
from toolparity.normalizer.model import ToolCall, Wire
from toolparity.normalizer.requests import check_request, read_request, write_request
from toolparity.normalizer.wires.history_reader import OpenCalls

Body = dict[str, Any]
PNG = "iVBORw0KGgo="
ASK: Body = {"role": "user", "content": "go"}
SCHEMA: Body = {"type": "object", "properties": {}}


def answer(**members: Any) -> Body:
    return {"role": "assistant", **members}


def by(role: str, *content: Body) -> Body:
    return {"role": role, "content": [*content]}


# Bodies of openai.chat, with a provider that accepts the members of all others.


def chat_call(id: str, name: str = "f", arguments: Any = "{}", **more: Any) -> Body:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def chat_result(id: str, content: Any = "one") -> Body:
    return {"role": "tool", "tool_call_id": id, "content": content}


CUSTOM = {"id": "c", "type": "custom", "custom": {"name": "f", "input": "SELECT 1"}}
THOUGHTS = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
ROUND = [answer(content=None, tool_calls=[chat_call("f:0"), chat_call("f:1")]), chat_result("f:0"), chat_result("f:1")]
LINK = {"type": "image_url", "image_url": "https://example.org/a.png"}
PARTS = [
    {"type": "text", "text": "see", "cache_control": {"type": "ephemeral"}},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}},
    LINK,
    {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
    {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
    {"type": "file", "file": {"file_id": "file-1"}},
    {"type": "video_url", "video_url": {"url": "https://example.org/a.mp4"}},
    {"type": "hologram", "hologram": 1},
]


def chat_round(call: Body, result: Body | None = None, content: str | None = None, **more: Any) -> list[Body]:
    return [answer(content=content, tool_calls=[call], **more), result or chat_result("c")]


SIGNED = [{"type": "reasoning.text", "text": "hm", "signature": "s", "format": "x", "index": 0}]
CHAT: dict[str, list[Body]] = {
    "a repeated id": [
        answer(content=None, tool_calls=[chat_call("x", arguments='{"a":1}'), chat_call("x", "g")]),
        chat_result("x"),
        chat_result("x", "two"),
    ],
    "a call without an id": [
        answer(content=None, tool_calls=[{"type": "function", "function": chat_call("")["function"]}]),
        {"role": "tool", "content": "one"},
    ],
    "ids that are repeated in the next round": ROUND * 2,
    "an old function call": [
        answer(content=None, function_call={"name": "f", "arguments": '{"a": 1}'}),
        {"role": "function", "name": "f", "content": "one"},
    ],
    "one call in both members": chat_round(chat_call("c"), function_call={"name": "f", "arguments": "{}"}),
    "an empty function call": [answer(content="so", function_call={"name": "", "arguments": ""}), ASK],
    "a custom call": chat_round(CUSTOM),
    "arguments that are not JSON": chat_round(chat_call("c", arguments='{"a":1}{"b":2}'), content=""),
    "arguments as an object": chat_round(chat_call("c", arguments={"a": 1}), chat_result("c", None)),
    "a signature of another model": chat_round(chat_call("c", extra_content={"google": {"thought_signature": "c2ln"}})),
    "a failed result": chat_round(chat_call("c"), chat_result("c", "[tool_error] no")),
    "reasoning with details": [answer(content="so", reasoning="hm", reasoning_details=SIGNED)],
    "reasoning under two names": [answer(content="so", reasoning="hm", reasoning_content="hm")],
    "an index that is left over from a stream": chat_round(chat_call("c", index=0), content=""),
    "an image as a result": chat_round(chat_call("c"), {**chat_result("c", [LINK]), "name": "f"}),
    "a result with an empty id": chat_round(chat_call("c"), chat_result(""), content=""),
    "a thought in several texts": [
        answer(content=[{"type": "thinking", "thinking": THOUGHTS}, {"type": "text", "text": "so"}])
    ],
    "sound": [answer(audio={"id": "audio_1"})],
    "a refusal": [answer(content=None, refusal="no")],
    "parts of all kinds": [{"role": "user", "name": "ann", "content": PARTS}],
    "an unknown role": [{"role": "narrator", "content": "once"}],
}
DECLARED = {"name": "f", "description": "d", "parameters": {"type": "object"}, "strict": True, "x": 1}
SETTINGS: Body = {
    "model": "m",
    "messages": [{"role": "developer", "content": "be brief"}, ASK],
    "tools": [
        {"type": "function", "cache_control": {"type": "ephemeral"}, "function": DECLARED},
        {"type": "custom", "custom": {"name": "g", "format": {"type": "text"}}},
        {"type": "browser_search"},
        {"function": {"name": "h"}},
    ],
    "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}},
    "parallel_tool_calls": False,
    "temperature": 0.5,
    "stream": True,
    "vendor": {"a": 1},
}
FUNCTIONS: Body = {
    "messages": [ASK],
    "functions": [{"name": "f", "parameters": {"type": "object"}}],
    "function_call": {"name": "f"},
}

# Bodies of ollama.chat.


def ollama_call(name: str = "f", id: str | None = None, index: int | None = None, **arguments: Any) -> Body:
    function = {"name": name, "arguments": arguments} | ({} if index is None else {"index": index})
    return {"function": function} if id is None else {"id": id, "function": function}


def ollama_result(content: str = "one", **more: Any) -> Body:
    return {"role": "tool", "content": content, **more}


BOTH = answer(content="", tool_calls=[ollama_call("f"), ollama_call("g")])
OLLAMA: dict[str, list[Body]] = {
    "calls without ids, as older servers make them": [BOTH, ollama_result(), ollama_result("two")],
    "results with the name of their tool": [BOTH, ollama_result(tool_name="f"), ollama_result("two", tool_name="g")],
    "ids and positions, as newer servers make them": [
        answer(content="", tool_calls=[ollama_call("f", "a", 0), ollama_call("g", "b", 1)]),
        ollama_result(tool_name="f", tool_call_id="a"),
        ollama_result("two", tool_name="g", tool_call_id="b"),
    ],
    "a name that is not that of the tool": [
        answer(content="", tool_calls=[ollama_call("f", "a")]),
        ollama_result(tool_name="other", tool_call_id="a"),
    ],
    "no content, as the SDK sends it": [
        {"role": "user", "images": [PNG]},
        answer(tool_calls=[ollama_call()]),
        ollama_result(tool_name="f"),
    ],
    "thinking and an image": [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "look", "images": [PNG, "/9j/AAAA"]},
        answer(content="so", thinking="hm"),
        {"role": "user", "content": "and?", "vendor": {"a": 1}},
    ],
    "an image as a result": [
        answer(content="", tool_calls=[ollama_call()]),
        ollama_result("seen", images=[PNG], tool_name="f"),
    ],
    "a message that the server refuses": [{"role": "user", "content": [{"type": "text", "text": "x"}]}],
}

# Bodies of the other wires.


def gemini(*contents: Body, **more: Any) -> Body:
    return {"contents": [{"role": "user", "parts": [{"text": "hi"}]}, *contents], **more}


def gemini_round(response: Body) -> list[Body]:
    called = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}
    return [called, {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": response}}]}]


RESPONSES: list[Body] = [{"output": "a"}, {"result": {"a": 1}}, {"error": "no"}, {"city": "Oslo", "error": None}, {}]
OPENAPI = {"type": "OBJECT", "properties": {"city": {"type": "STRING", "nullable": True, "enum": ["a"]}}}
COHERE_CALL = {"id": "f_1", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
DOCUMENT = {"id": "d", "data": {"title": "t", "text": "x"}}
COHERE_DOCUMENT = [
    answer(tool_plan="I will look.", tool_calls=[COHERE_CALL]),
    {"role": "tool", "tool_call_id": "f_1", "content": [{"type": "document", "document": DOCUMENT}]},
]
#: Citations that do not belong to the first text.
COHERE_CITATIONS = answer(tool_plan="I will look.", content=[{"type": "thinking", "thinking": "hm"}])
COHERE_CITATIONS |= {
    "citations": [
        {"start": 0, "end": 1, "text": "I", "type": "PLAN"},
        {"start": 0, "end": 2, "text": "hm", "content_index": 0, "type": "THINKING_CONTENT"},
    ]
}
#: Calls and parts of Gemini with other members than usual.
GEMINI_CALL = {"role": "model", "parts": [{"functionCall": {"id": "c", "name": "f", "args": {}}}]}
GEMINI_RESULT = {"functionResponse": {"name": "f", "response": {"output": "a"}, "parts": [{"hologram": 1}]}}
GEMINI_MEDIA = (
    {"inlineData": {"mimeType": "image/png", "data": "AAAA", "x": 1}},
    {"inlineData": {"mimeType": "image/png"}},
)
CONVERSE_CALL = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "f", "input": {"x": 1}}}]}
CONVERSE_RESULT = {"toolUseId": "t1", "content": [{"json": {"y": 2}}]}


def converse(*content: Body) -> Body:
    tools = [{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}]
    messages = [{"role": "user", "content": [{"text": "hi"}]}, CONVERSE_CALL, {"role": "user", "content": [*content]}]
    return {"modelId": "m", "messages": messages, "toolConfig": {"tools": tools}}


def xai(role: str, *parts: Any, **more: Any) -> Body:
    content = [{"text": part} if isinstance(part, str) else part for part in parts]
    return {"role": f"ROLE_{role}", **({"content": content} if parts else {}), **more}


def xai_call(id: str, arguments: str = "{}", kind: str = "CLIENT_SIDE", name: str = "f") -> Body:
    state = {"type": f"TOOL_CALL_TYPE_{kind}_TOOL", "status": "TOOL_CALL_STATUS_COMPLETED"}
    return {"id": id, **state, "function": {"name": name, "arguments": arguments}}


SERVED = {"tool_calls": [xai_call("s1", kind="CODE_EXECUTION", name="run")]}
XAI: dict[str, list[Body]] = {
    "content of every kind": [
        xai("SYSTEM", "be brief", "really"),
        xai(
            "USER",
            "look",
            {"image_url": {"image_url": "https://example.org/a.png", "detail": "DETAIL_LOW"}},
            {"image_url": {"image_url": "data:image/png;base64,AAAA", "detail": "DETAIL_AUTO"}},
            {"file": {"file_id": "file_1"}},
            {"file": {"data": "AAE=", "filename": "a.bin", "mime_type": "application/octet-stream"}},
            {"file": {"url": "https://example.org/a.pdf"}},
        ),
        xai("DEVELOPER", "d", name="dev"),
        xai("USER", encrypted_content="zzz"),  # what compaction leaves, which only xAI can read
        xai(
            "ASSISTANT",
            *("a", "b", {"file": {"file_id": "file_2"}}),
            reasoning_content="r",
            encrypted_content="e",
            name="bot",
            tool_calls=[xai_call("c1", '{ "x":1 }')],
        ),
        xai("TOOL", "done", tool_call_id="c1"),
    ],
    "a result behind a message of the user": [
        xai("USER", "go"),
        xai("ASSISTANT", "", tool_calls=[xai_call("c1")]),
        xai("USER", {"file": {"file_id": "file_1"}}),
        xai("TOOL", "attached", tool_call_id="c1"),
        xai("USER", "and now?"),
    ],
    "a result that names no call": [xai("USER", "go"), xai("TOOL", "old")],
    "a call that the provider ran": [
        xai("USER", "go"),
        xai("ASSISTANT", "", **SERVED),
        xai("TOOL", "out", **SERVED, tool_call_id="s1", encrypted_content="enc"),
        xai("ASSISTANT", "done"),
    ],
}
#: For each wire: a case -> its body.
CASES: dict[str, dict[str, Body]] = {
    "openai.chat": {
        **{case: {"messages": [ASK, *messages]} for case, messages in CHAT.items()},
        "settings": SETTINGS,
        "old functions": FUNCTIONS,
    },
    "openai.responses": {
        "parts of unknown types": {
            "input": [by("user", {"type": "hologram", "x": 1}), by("assistant", {"type": "text", "text": "so"}), ASK]
        }
    },
    "ollama.chat": {case: {"model": "m", "messages": messages, "stream": False} for case, messages in OLLAMA.items()},
    "bedrock.converse": {
        "a result as JSON": converse({"toolResult": CONVERSE_RESULT}),
        "a system message and a text without citations": {
            "modelId": "m",
            "messages": [
                {"role": "user", "content": [{"text": "hi"}]},
                {"role": "system", "content": [{"text": "Be brief."}]},
                {"role": "user", "content": [{"text": "go"}]},
                answer(content=[{"citationsContent": {"content": [{"text": "so"}], "citations": []}}]),
                {"role": "user", "content": [{"text": "and?"}]},
            ],
        },
        "a result before a text": converse({"toolResult": CONVERSE_RESULT}, {"text": "?"}),
    },
    "cohere.chat": {
        "a document": {"model": "m", "messages": [ASK, *COHERE_DOCUMENT]},
        "citations": {"model": "m", "messages": [ASK, COHERE_CITATIONS]},
        "strict tools": {
            "model": "m",
            "messages": [ASK],
            "tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}],
            "strict_tools": True,
        },
    },
    "google.gemini": {
        "a result without the id of its call": gemini(GEMINI_CALL, {"role": "user", "parts": [GEMINI_RESULT]}),
        "data with an unknown member, or none": gemini({"role": "user", "parts": [*GEMINI_MEDIA]}),
        "an unknown role": gemini({"role": "narrator", "parts": [{"text": "once"}]}),
        "a schema in OpenAPI": gemini(tools=[{"functionDeclarations": [{"name": "f", "parameters": OPENAPI}]}]),
        **{f"the response {response}": gemini(*gemini_round(response)) for response in RESPONSES},
    },
    "xai.grpc": {case: {"model": "m", "messages": messages} for case, messages in XAI.items()},
}
#: Requests with nearly every documented member. On bedrock.converse, messages of one role are merged.
FULL: dict[str, Body] = json.loads(Path(__file__).with_name("full_requests.json").read_text("utf-8"))
for _wire in (wire for wire in FULL if wire != "bedrock.converse"):  # not a set: all processes have the same order
    CASES.setdefault(_wire, {})["a full request"] = FULL[_wire]
PROVIDERS = {"openai.chat": "openrouter"}


def proto(body: Body) -> Any:
    return ParseDict(body, chat_pb2.GetCompletionsRequest())


def written_back(body: Any, wire: Wire) -> tuple[Any, list[Loss]]:
    encoded = write_request(read_request(body, wire, provider=PROVIDERS.get(wire)))
    return encoded.body, encoded.losses


@pytest.mark.parametrize(("wire", "case"), [(wire, case) for wire, cases in CASES.items() for case in cases])
@pytest.mark.thorough(keep=100)
def test_a_request_comes_back_as_it_was_from_each_of_its_forms(wire: Wire, case: str) -> None:
    body = CASES[wire][case]
    untouched, text = deepcopy(body), json.dumps(body)
    forms = [body, text, text.encode()]
    if wire == "xai.grpc":
        forms += [proto(body), proto(body).SerializeToString()]
    expected = proto(body) if wire == "xai.grpc" else body
    assert [written_back(form, wire) for form in forms] == [(expected, [])] * len(forms)
    assert body == untouched


@pytest.mark.parametrize("body", [b"\xff\xff", "[1]", {"messages": 3}, 7, b'{"model":', {}, object()])
def test_a_body_that_is_not_a_request_is_malformed(body: Any) -> None:
    wires: tuple[Wire, ...] = ("xai.grpc", "anthropic.messages")
    for wire in wires if body != {} else wires[1:]:
        with pytest.raises(MalformedBody):
            read_request(body, wire)


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        ("ollama.chat", b'{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":%s}}]}]}'),
        ("google.gemini", b'{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f","args":%s}}]}]}'),
    ],
)
def test_the_argument_text_is_that_of_the_bytes(wire: Wire, body: bytes) -> None:
    (message,) = read_request(body % b'{ "a" :1.0}', wire).messages
    assert isinstance(message, Assistant)
    assert message.response.calls[0].arguments_text == '{ "a" :1.0}'


# What reading makes of results without ids.


def test_results_without_ids_belong_to_the_calls_of_their_name_in_order() -> None:
    names = ("f", "g", "f")
    calls = [{"functionCall": {"name": name, "args": {}}} for name in names]
    results = [
        {"functionResponse": {"name": name, "response": {"output": text}}}
        for name, text in (("f", "one"), ("f", "two"), ("g", "three"))
    ]
    body, _ = written_back(
        gemini({"role": "model", "parts": calls}, {"role": "user", "parts": results}), "google.gemini"
    )
    assert body["contents"][-1]["parts"] == [results[0], results[2], results[1]]
    body, _ = written_back(
        {"messages": [BOTH, ollama_result(tool_name="g"), ollama_result(tool_name="f")]}, "ollama.chat"
    )
    assert [message["tool_name"] for message in body["messages"][1:]] == ["f", "g"]


@pytest.mark.parametrize("id", ['""', r"\2"], ids=["empty", "numbers"])
def test_results_belong_to_the_calls_with_their_ids_even_if_these_are_empty_or_numbers(id: str) -> None:
    wires = [wire for wire in FULL if id == '""' or wire != "xai.grpc"]  # protobuf has only texts
    calls: dict[str, list[str]] = {wire: [] for wire in wires}
    results: dict[str, list[str]] = {wire: [] for wire in wires}
    for wire in wires:
        given = read_request(re.sub(r'"(call|toolu|tooluse|w)_([12])"', id, json.dumps(FULL[wire])), wire)
        for message in [*given.messages, *read_request(write_request(given).body, wire).messages]:
            if isinstance(message, Assistant):
                calls[wire] += [call.id for call in message.response.calls]
            elif isinstance(message, ToolResults):
                results[wire] += [result.call_id for result in message.results]
    assert results == calls
    assert all(calls.values())


def test_a_result_closes_its_call_and_prefers_one_without_an_id_if_it_has_none() -> None:
    calls = OpenCalls()
    named, plain, other, numbered = (ToolCall(id, name, {}, "{}") for id, name in ("xf", "yf", "zg", "2f"))
    calls.add([("x", named), (None, plain), ("", other), (2, numbered)])
    assert calls.take("y") is None
    assert calls.take(None, "g") is other
    assert calls.take(None, any_id=True) is plain
    assert (calls.take("2"), calls.take(2)) == (None, numbered)
    assert (calls.take(None, "f"), calls.take(None, "f", any_id=True)) == (None, named)
    assert not calls
    calls.add([("", ToolCall("1", "f", {}, "{}", kind="custom")), ("", plain)])
    assert calls.take("", kind="function") is plain


@pytest.mark.parametrize("id", ["", "same"])
def test_results_in_two_messages_answer_two_calls_with_one_id(id: str) -> None:
    calls = [{"toolUse": {"toolUseId": id, "name": name, "input": {}}} for name in ("f", "g")]
    results = [{"toolResult": {"toolUseId": id, "content": [{"text": text}]}} for text in ("one", "two")]
    messages = [by("assistant", *calls), *(by("user", result) for result in results)]
    body = write_request(read_request({"messages": messages}, "bedrock.converse"), "openai.chat").body
    assert [message["content"] for message in body["messages"] if message["role"] == "tool"] == ["one", "two"]


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        ("ollama.chat", {"messages": [answer(tool_calls=[ollama_call()]), ollama_result()] * 3}),
        ("google.gemini", gemini(*gemini_round({"output": "ok"}) * 3)),
    ],
)
def test_invented_ids_differ_from_round_to_round(wire: Wire, body: Body) -> None:
    messages = read_request(body, wire).messages
    ids = [call.id for message in messages if isinstance(message, Assistant) for call in message.response.calls]
    assert len(set(ids)) == 3


# What is written in another form elsewhere.


def test_old_functions_become_tools_for_a_provider_that_knows_only_those() -> None:
    assert write_request(read_request(FUNCTIONS, "openai.chat"), provider="groq").body == {
        "messages": [ASK],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}],
        "tool_choice": {"type": "function", "function": {"name": "f"}},
    }


def test_a_part_of_gemini_without_a_list_gets_one() -> None:
    body, _ = written_back(gemini({"role": "model", "parts": {"text": "so"}}), "google.gemini")
    assert body["contents"][1] == {"role": "model", "parts": [{"text": "so"}]}


def test_a_schema_in_openapi_becomes_json_schema() -> None:
    request = read_request(CASES["google.gemini"]["a schema in OpenAPI"], "google.gemini")
    city = {"type": ["string", "null"], "enum": ["a", None]}
    assert request.tools[0].parameters == {"type": "object", "properties": {"city": city}}


def test_a_document_of_cohere_is_json_elsewhere() -> None:
    request = read_request(CASES["cohere.chat"]["a document"], "cohere.chat")
    other = write_request(request, "openai.chat")
    assert json.loads(other.body["messages"][-1]["content"]) == DOCUMENT
    assert [loss.code for loss in other.losses] == ["reasoning"]


def test_empty_members_of_ollama_are_not_a_loss_elsewhere() -> None:
    body = {"model": "m", "messages": [ASK], "tools": [], "options": {}, "format": ""}
    assert write_request(read_request(body, "ollama.chat"), "openai.chat").losses == []


def test_only_the_messages_behind_the_stored_response_are_sent_and_can_be_read_again() -> None:
    body = {"model": "m", "messages": [xai("TOOL", "ok", tool_call_id="a"), xai("USER", "and?")]}
    stored = {**body, "previous_response_id": "resp_1", "store_messages": True}
    # The results belong to calls that xAI has: they are not orphans.
    assert written_back(stored, "xai.grpc") == (proto(stored), [])
    (loss,) = written_back(body, "xai.grpc")[1]
    assert loss.code == "orphan"


def test_half_a_surrogate_pair_is_replaced_in_texts_and_escaped_in_arguments() -> None:
    """Failure UNI-02: protobuf refuses it."""
    body = {
        "model": "m",
        "tools": [{"type": "function", "function": {"name": "f", "description": "\ud83d"}}],
        "messages": [
            *({"role": role, "content": "cut \ud83d"} for role in ("system", "user")),
            answer(content="cut \ud83d", tool_calls=[chat_call("a", arguments='{"a":"\ud83d"}')]),
            chat_result("a", "cut \udc00"),
        ],
    }
    written = write_request(read_request(body, "openai.chat"), "xai.grpc")
    plain = MessageToDict(written.body, preserving_proto_field_name=True)
    assert [message["content"] for message in plain["messages"]] == [[{"text": "cut \ufffd"}]] * 4
    assert plain["messages"][2]["tool_calls"][0]["function"]["arguments"] == '{"a":"\\ud83d"}'
    assert plain["tools"][0]["function"]["description"] == "\ufffd"
    places = [(loss.code, loss.message_index) for loss in written.losses]
    assert places == [("corrupt-text", place) for place in (0, 1, 2, 3, None)]


# Requests of Cohere's version 1.

SALES = {"name": "sales", "parameters": {"day": "1"}}
DAY = {"type": "str", "description": "The day.", "required": True}
COHERE_V1: Body = {
    "model": "command-r",
    "preamble": "Be brief.",
    "chat_history": [
        {"role": "USER", "message": "Hello"},
        {"role": "CHATBOT", "message": "I will ask.", "tool_calls": [SALES]},
        {"role": "TOOL", "tool_results": [{"call": SALES, "outputs": [{"n": 3}]}]},
        {"role": "CHATBOT", "message": "Three."},
    ],
    "message": "And yesterday?",
    "tools": [{"name": "sales", "parameter_definitions": {"day": DAY, "shops": {"type": "List[int]"}}}],
    "connectors": [{"id": "web-search"}],
    "temperature": 0.3,
}


def test_a_request_of_version_1_of_cohere_becomes_one_of_version_2() -> None:
    encoded = write_request(read_request(COHERE_V1, "cohere.chat"))
    body = encoded.body
    assert check_request(body, "cohere.chat") == []
    assert [m["role"] for m in body["messages"]] == ["system", "user", "assistant", "tool", "assistant", "user"]
    (call,) = body["messages"][2]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"day": "1"}
    document = {"type": "document", "document": {"data": {"n": 3}}}
    assert body["messages"][3] == {"role": "tool", "tool_call_id": call["id"], "content": [document]}
    day, shops = {"type": "string", "description": "The day."}, {"type": "array", "items": {"type": "integer"}}
    schema = {"type": "object", "properties": {"day": day, "shops": shops}, "required": ["day"]}
    assert [tool["function"]["parameters"] for tool in body["tools"]] == [schema]
    assert [(loss.code, loss.message.split()[0]) for loss in encoded.losses] == [("param", "connectors")]


def test_results_of_version_1_of_cohere_without_their_calls_get_them() -> None:
    result = {"call": SALES, "outputs": [{"n": 3}]}
    user, assistant, results = read_request({"message": "?", "tool_results": [result, result]}, "cohere.chat").messages
    assert isinstance(user, User)
    assert isinstance(assistant, Assistant)
    assert isinstance(results, ToolResults)
    ids = [call.id for call in assistant.response.calls]
    assert ids == [answer.call_id for answer in results.results]
    assert len(set(ids)) == 2
