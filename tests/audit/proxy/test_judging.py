"""The judge: findings about responses, requests and conversations, as they happen."""

from __future__ import annotations

import gzip
import json
from typing import Any

from tests.support.traffic import chat_body
from toolparity import normalize, read_request
from toolparity.audit.proxy.conversations import LiveConversations
from toolparity.audit.proxy.copies import ExchangeCopy
from toolparity.audit.proxy.judge import Judge
from toolparity.audit.proxy.judgement import JudgedFinding, Judgement, JudgeOptions
from toolparity.audit.proxy.lines import TextLines
from toolparity.conversations import ExchangeRecord, record

_TOOLS = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in ("look", "act")]


class Traffic:
    """Exchanges of `openai.chat`, each with its judgement."""

    def __init__(self, options: JudgeOptions | None = None) -> None:
        self._judge = Judge(options or JudgeOptions())
        self._number = 0

    def exchange(self, messages: list[Any], message: Any, **members: Any) -> Judgement:
        self._number += 1
        stop = "tool_calls" if message.get("tool_calls") else "stop"
        choice = {"index": 0, "message": message, "finish_reason": stop, "logprobs": None}
        request = {"model": "m", "messages": messages, "tools": _TOOLS}
        response = {"id": f"r{self._number}", "object": "chat.completion", "created": 1, "model": "m"}
        url = "http://localhost/v1/chat/completions"
        copy = ExchangeCopy(self._number, 0.0, "POST", url, [], json.dumps(request).encode(), 200)
        copy.response_headers = [(b"content-type", b"application/json")]
        copy.chunks = [json.dumps(response | {"choices": [choice]}).encode()]
        copy.ending = "complete"
        for name, value in members.items():
            setattr(copy, name, value)
        return self._judge(copy)


def _user(text: str) -> Any:
    return {"role": "user", "content": text}


def _calls(*names: str) -> Any:
    calls = [
        {"id": f"call_a4Kd9Xw2_{name}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        for name in names
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _result(name: str) -> Any:
    return {"role": "tool", "tool_call_id": f"call_a4Kd9Xw2_{name}", "content": f"result of {name}"}


def _conversation(judgement: Judgement) -> list[JudgedFinding]:
    return [finding for finding in judgement.findings if finding.about == "conversation"]


_TEXT = {"role": "assistant", "content": "done"}


def test_a_call_that_the_application_drops_is_found_with_the_next_request_and_revoked_by_a_later_one() -> None:
    traffic, lines = Traffic(), list[str]()
    asked, made, write = [_user("go")], _calls("look", "act"), TextLines(lines.append)
    first = traffic.exchange(asked, made)
    second = traffic.exchange([*asked, _calls("look"), _result("look")], _TEXT)
    late = traffic.exchange([*asked, made, _result("look"), _result("act")], _TEXT)
    assert not _conversation(first)
    (finding,) = _conversation(second)
    assert (finding.code, finding.exchange, finding.call_id) == ("dropped-in-fact", 1, "call_a4Kd9Xw2_act")
    assert (second.conversation, second.continues) == (1, 1)
    assert [(revoked.number, revoked.call_id) for revoked in late.revoked] == [(2, "call_a4Kd9Xw2_act")]
    write(first)
    write(second)
    (line,) = lines
    assert "#2 POST /v1/chat/completions m: error: dropped-in-fact" in line
    assert line.endswith("(response of #1)")


def test_a_correct_application_is_not_accused() -> None:
    traffic = Traffic()
    made = _calls("look", "act")
    asked, answered = [_user("go")], [_user("go"), made, _result("look"), _result("act")]
    judgements = [
        traffic.exchange(asked, made),
        traffic.exchange(answered, _TEXT),
        traffic.exchange([*answered, _TEXT, _user("more")], _calls("look")),
        traffic.exchange([*asked, made, _result("look")], _TEXT),  # a branch
    ]
    assert [_conversation(judgement) for judgement in judgements[:3]] == [[], [], []]
    assert [judgement.conversation for judgement in judgements[:3]] == [1, 1, 1]
    assert [line.role for line in judgements[1].lines] == ["tool", "tool", "model"]
    assert "dropped-in-fact" not in {finding.code for finding in _conversation(judgements[3])}


def test_conversations_that_take_turns_stay_apart() -> None:
    traffic = Traffic()
    traffic.exchange([_user("one")], _calls("look"))
    traffic.exchange([_user("two")], _calls("act"))
    one = traffic.exchange([_user("one"), _calls("look"), _result("look")], _TEXT)
    two = traffic.exchange([_user("two"), _calls("act"), _result("act")], _TEXT)
    assert [(j.conversation, j.continues, _conversation(j)) for j in (one, two)] == [(1, 1, []), (2, 2, [])]


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


def test_the_policy_of_the_application_decides_what_is_dropped() -> None:
    judgement = Traffic(JudgeOptions("first")).exchange([_user("go")], _calls("look", "act"))
    assert "dropped-call" in {finding.code for finding in judgement.findings}
    assert not Traffic().exchange([_user("go")], _calls("look", "act")).findings


def test_a_request_that_the_provider_refuses_is_a_finding_about_the_request() -> None:
    url = "https://api.openai.com/v1/chat/completions"
    judgement = Traffic().exchange([_user("go"), _result("look")], _TEXT, url=url)
    assert [finding.code for finding in judgement.findings if finding.about == "request"] == ["result-asked-for"]


def test_a_compressed_response_and_a_broken_stream_are_judged_and_other_endpoints_are_not() -> None:
    choice: Any = {"index": 0, "message": _calls("look")}
    body = json.dumps({"id": "r", "object": "chat.completion", "choices": [choice]}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-encoding", b"gzip")]
    zipped = Traffic().exchange([_user("go")], _TEXT, chunks=[gzip.compress(body)], response_headers=headers)
    assert [call.name for call in zipped.calls] == ["look"]
    event = {"id": "r", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "a"}}]}
    members: Any = {"chunks": [b"data: " + json.dumps(event).encode() + b"\n\n"], "ending": "upstream-broke"}
    headers = [(b"content-type", b"text/event-stream")]
    broken = Traffic().exchange([_user("go")], _TEXT, **members, response_headers=headers)
    assert (broken.stream, "stream-incomplete" in {finding.code for finding in broken.findings}) == (True, True)
    models = {"method": "GET", "url": "http://localhost/v1/models", "chunks": [b'{"data": []}']}
    assert Traffic().exchange([], _TEXT, **models).unjudged == "unknown-wire"
