"""The judge: findings about responses, requests and conversations, as they happen."""

from __future__ import annotations

import gzip
import json
from typing import Any

from websockets.frames import Frame, Opcode

from tests.support.traffic import CHAT_URL, chat_body, chat_stream
from toolparity import normalize, read_request
from toolparity.audit.proxy.conversations import LiveConversations
from toolparity.audit.proxy.copies import Direction, ExchangeCopy, SessionCopy
from toolparity.audit.proxy.judge import Judge
from toolparity.audit.proxy.judgement import Judgement, JudgeOptions
from toolparity.audit.proxy.lines import TextLines
from toolparity.conversations import ExchangeRecord, record

_TOOLS = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in ("look", "act")]
_TEXT = {"role": "assistant", "content": "done"}
_JSON, _EVENTS = ([(b"content-type", kind)] for kind in (b"application/json", b"text/event-stream"))


class Traffic:
    """Exchanges of `openai.chat`, each with its judgement."""

    def __init__(self, options: JudgeOptions | None = None) -> None:
        self._judge = Judge(options or JudgeOptions())
        self._number = 0

    def exchange(self, messages: list[Any], message: Any = _TEXT, **members: Any) -> Judgement:
        self._number += 1
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
        request = {"model": "m", "messages": messages, "tools": _TOOLS}
        response = {"id": f"r{self._number}", "object": "chat.completion", "model": "m", "choices": [choice]}
        url = "http://localhost/v1/chat/completions"
        copy = ExchangeCopy(self._number, 0.0, "POST", url, [], json.dumps(request).encode(), 200)
        copy.response_headers, copy.chunks, copy.ending = _JSON, [json.dumps(response).encode()], "complete"
        for name, value in members.items():
            setattr(copy, name, value)
        return self._judge(copy)


def _user(text: str) -> Any:
    return {"role": "user", "content": text}


def _calls(*names: str) -> Any:
    functions = [(f"call_a4Kd9Xw2_{name}", {"name": name, "arguments": "{}"}) for name in names]
    calls = [{"id": id, "type": "function", "function": function} for id, function in functions]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _result(name: str) -> Any:
    return {"role": "tool", "tool_call_id": f"call_a4Kd9Xw2_{name}", "content": f"result of {name}"}


def _codes(judgement: Judgement, about: str = "conversation") -> list[str]:
    return [finding.code for finding in judgement.findings if finding.about == about]


def test_the_form_of_a_stream_is_judged() -> None:
    body = chat_stream("look").replace("data: [DONE]\n\n", "data: [DONE]\n\n" * 2).encode()
    found = Traffic().exchange([_user("go")], response_headers=_EVENTS, chunks=[body]).findings
    assert ("stream-form", "events[3] [DONE]: a second [DONE]") in {(each.code, each.message) for each in found}


def test_a_call_that_the_application_drops_is_found_with_the_next_request_and_revoked_by_a_later_one() -> None:
    traffic, lines = Traffic(), list[str]()
    asked, made, write = [_user("go")], _calls("look", "act"), TextLines(lines.append)
    first = traffic.exchange(asked, made)
    second = traffic.exchange([*asked, _calls("look"), _result("look")])
    late = traffic.exchange([*asked, made, _result("look"), _result("act")])
    assert not _codes(first)
    (finding,) = [finding for finding in second.findings if finding.about == "conversation"]
    assert (finding.code, finding.exchange, finding.call_id) == ("dropped-in-fact", 1, "call_a4Kd9Xw2_act")
    assert (second.conversation, second.continues) == (1, 1)
    assert [(revoked.number, revoked.call_id) for revoked in late.revoked] == [(2, "call_a4Kd9Xw2_act")]
    write(first)
    write(second)
    (line,) = lines
    assert "#2 POST /v1/chat/completions m: error: dropped-in-fact" in line
    assert line.endswith("(response of #1)")


def test_a_correct_application_is_not_accused_and_conversations_that_take_turns_stay_apart() -> None:
    traffic = Traffic()
    made = _calls("look", "act")
    answered = [_user("go"), made, _result("look"), _result("act")]
    traffic.exchange([_user("go")], made)
    traffic.exchange([_user("other")], _calls("act"))
    judgements = [
        traffic.exchange(answered),
        traffic.exchange([_user("other"), _calls("act"), _result("act")]),
        traffic.exchange([*answered, _TEXT, _user("more")], _calls("look")),
    ]
    linked = [(judgement.conversation, judgement.continues, _codes(judgement)) for judgement in judgements]
    assert linked == [(1, 1, []), (2, 2, []), (1, 3, [])]
    assert [line.role for line in judgements[0].lines] == ["tool", "tool", "model"]
    for kept in (made, _calls("look")):  # branches without the call that was answered
        branch = traffic.exchange([_user("go"), kept, _result("look")])
        assert "dropped-in-fact" not in _codes(branch)


def test_forgotten_exchanges_leave_nothing_behind() -> None:
    conversations = LiveConversations(kept=10)
    for number in range(1, 200):
        conversations.add(_record(number, _user(f"go {number}")), number)
        assert len(vars(conversations)["_conversations"]) <= 6
    late = conversations.add(_record(200, _user("go 1"), _TEXT, _user("more")), 200)
    assert (late.conversation, late.continues) == (200, None)


def _record(number: int, *messages: Any) -> ExchangeRecord:
    request = read_request({"model": "m", "messages": list(messages)}, "openai.chat")
    return record(f"#{number}", "openai.chat", request, normalize(chat_body(id=f"r{number}"), "openai.chat"))


def test_the_policy_of_the_application_and_the_rules_of_the_provider_decide_about_one_exchange() -> None:
    judgement = Traffic(JudgeOptions("first")).exchange([_user("go")], _calls("look", "act"))
    assert "dropped-call" in {finding.code for finding in judgement.findings}
    assert not Traffic().exchange([_user("go")], _calls("look", "act")).findings
    refused = Traffic().exchange([_user("go"), _result("look")], url=CHAT_URL)
    assert _codes(refused, "request") == ["result-asked-for"]


def test_a_compressed_response_and_a_broken_stream_are_judged_and_other_endpoints_are_not() -> None:
    headers, chunks = [*_JSON, (b"content-encoding", b"gzip")], [gzip.compress(chat_body("look").encode())]
    zipped = Traffic().exchange([_user("go")], chunks=chunks, response_headers=headers)
    assert [call.name for call in zipped.calls] == ["look"]
    broken = {"chunks": [chat_stream("look", end=False).encode()], "ending": "upstream-broke"}
    judgement = Traffic().exchange([_user("go")], **broken, response_headers=_EVENTS)
    assert (judgement.stream, "stream-incomplete" in {finding.code for finding in judgement.findings}) == (True, True)
    models = {"method": "GET", "url": "http://localhost/v1/models", "chunks": [b'{"data": []}']}
    assert Traffic().exchange([], **models).unjudged == "unknown-wire"


def test_a_session_over_websocket_is_one_conversation() -> None:
    text = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look."}]}
    messages: list[tuple[Direction, Any]] = [("sent", {"type": "conversation.item.create", "item": text})]
    answer = {"id": "m", "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}
    call = {"type": "function_call", "name": "look", "arguments": "{}"}
    first, last = (call | {"id": id, "call_id": f"call_ry6l7L3PZ99lpf3{id}"} for id in "ab")
    for item, status in ((first, "completed"), (answer, "completed"), (last, "cancelled")):
        body = {"object": "realtime.response", "id": f"r_{item['id']}", "status": status, "output": [item]}
        messages.append(("received", {"type": "response.created", "response": body | {"output": []}}))
        messages.append(("received", {"type": "response.done", "response": body}))
    frames = [(side, Frame(Opcode.TEXT, json.dumps(m).encode()).serialize(mask=side == "sent")) for side, m in messages]
    copy = ExchangeCopy(1, 0.0, "GET", "ws://localhost/v1/realtime", [], b"", 101, ending="complete")
    copy.session = SessionCopy(1, 6, [(side, bytearray(frame)) for side, frame in frames])
    judgement = Judge(JudgeOptions())(copy)
    assert [call.id[-1] for call in judgement.calls] == ["a", "b"]
    found = {(each.code, each.exchange) for each in judgement.findings}
    assert found == {("dropped-in-fact", 1), ("rejected-call", None)}
