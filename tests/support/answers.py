"""One answer of each kind on each wire, as plain bodies: seeds for tests that stream, cut or damage them."""

from __future__ import annotations

from typing import Any

from xai_sdk.proto import chat_pb2

Json = dict[str, Any]


def _chat(message: Json, stop: str, **more: Any) -> Json:
    return {
        "id": "chatcmpl-seed",
        "object": "chat.completion",
        "created": 1,
        "model": "m-1",
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": stop}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
        **more,
    }


def _call(id: str, name: str, arguments: str) -> Json:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


CHAT: dict[str, Json] = {
    "text": _chat({"content": "Grüße, 世界 🎉"}, "stop"),
    "three calls": _chat(
        {
            "content": "Let me see.",
            "reasoning_content": "Two cities\nand a note.",
            "tool_calls": [
                _call("call_a", "weather", '{"city": "Oslo"}'),
                _call("call_b", "weather", '{"city":"Rom","days":[1,2,{"x":"}{"}]}'),
                _call("call_c", "note", ""),
            ],
        },
        "tool_calls",
    ),
    "broken arguments": _chat({"content": None, "tool_calls": [_call("call_a", "f", '{"a": }')]}, "tool_calls"),
    "cut call": _chat(
        {"content": "", "tool_calls": [_call("call_a", "f", '{"a": 1}'), _call("call_b", "g", '{"b": "cu')]}, "length"
    ),
    "custom call": _chat(
        {
            "content": None,
            "tool_calls": [{"id": "call_a", "type": "custom", "custom": {"name": "patch", "input": "*** Begin\n{"}}],
        },
        "tool_calls",
    ),
    "legacy call": _chat({"content": None, "function_call": {"name": "f", "arguments": '{"a":1}'}}, "function_call"),
    "refusal": _chat({"content": None, "refusal": "I will not."}, "stop"),
    "calls under stop": _chat({"content": "ok", "tool_calls": [_call("call_a", "f", "{}")]}, "stop"),
    "two choices": {
        **_chat({"content": "one"}, "stop"),
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "one"}, "finish_reason": "stop"},
            {
                "index": 1,
                "message": {"role": "assistant", "content": None, "tool_calls": [_call("call_z", "f", '{"n":2}')]},
                "finish_reason": "tool_calls",
            },
        ],
    },
}


def _message(content: list[Json], stop: str, **more: Any) -> Json:
    return {
        "id": "msg_seed",
        "type": "message",
        "role": "assistant",
        "model": "m-2",
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {
            "input_tokens": 5,
            "cache_read_input_tokens": 3,
            "cache_creation_input_tokens": 2,
            "output_tokens": 9,
        },
        **more,
    }


def _use(id: str, name: str, given: Json, kind: str = "tool_use", **more: Any) -> Json:
    return {"type": kind, "id": id, "name": name, "input": given, **more}


MESSAGES: dict[str, Json] = {
    "text": _message([{"type": "text", "text": "Grüße, 世界 🎉", "citations": None}], "end_turn"),
    "calls": _message(
        [
            {"type": "thinking", "thinking": "Two cities.", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "ZW5j"},
            {"type": "text", "text": "Let me see."},
            _use("toolu_a", "weather", {"city": "Oslo"}),
            _use("toolu_b", "weather", {"city": "Rom", "days": [1, 2, {"x": "}{"}]}),
            _use("toolu_c", "note", {}, caller={"type": "direct"}),
        ],
        "tool_use",
    ),
    "server tools": _message(
        [
            _use("srvtoolu_a", "web_search", {"query": "q"}, "server_tool_use"),
            {
                "type": "web_search_tool_result",
                "tool_use_id": "srvtoolu_a",
                "content": [{"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": "e"}],
            },
            _use("mcptoolu_a", "lookup", {"k": 1}, "mcp_tool_use", server_name="srv"),
            {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_a", "is_error": False, "content": []},
            {"type": "text", "text": "Done.", "citations": [{"type": "char_location", "cited_text": "x"}]},
        ],
        "end_turn",
    ),
    "paused": _message([_use("srvtoolu_a", "code_execution", {"code": "1"}, "server_tool_use")], "pause_turn"),
    "cut": _message([_use("toolu_a", "f", {"a": 1}), _use("toolu_b", "g", {"b": 2})], "max_tokens"),
    "refusal": _message([{"type": "text", "text": "No."}], "refusal"),
}


def _response(output: list[Json], status: str = "completed", **more: Any) -> Json:
    return {
        "id": "resp_seed",
        "object": "response",
        "created_at": 1,
        "model": "m-3",
        "status": status,
        "output": output,
        "error": None,
        "incomplete_details": None,
        "usage": {
            "input_tokens": 5,
            "input_tokens_details": {"cached_tokens": 2},
            "output_tokens": 9,
            "output_tokens_details": {"reasoning_tokens": 4},
            "total_tokens": 14,
        },
        **more,
    }


def _said(*parts: Json) -> Json:
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": list(parts)}


def _text(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": []}


def _function(id: str, name: str, arguments: str, status: str = "completed") -> Json:
    return {
        "type": "function_call",
        "id": f"fc_{id}",
        "call_id": id,
        "name": name,
        "arguments": arguments,
        "status": status,
    }


RESPONSES: dict[str, Json] = {
    "text": _response([_said(_text("Grüße, 世界 🎉"))]),
    "calls": _response(
        [
            {
                "type": "reasoning",
                "id": "rs_1",
                "encrypted_content": "enc",
                "summary": [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}],
            },
            _said(_text("Let me see."), _text("Really.")),
            _function("call_a", "weather", '{"city": "Oslo"}'),
            _function("call_b", "weather", '{"city":"Rom","days":[1,2,{"x":"}{"}]}'),
            _function("call_c", "note", ""),
            {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_d", "name": "patch", "input": "*** Begin {"},
        ]
    ),
    "hosted": _response(
        [
            {
                "type": "web_search_call",
                "id": "ws_1",
                "status": "completed",
                "action": {"type": "search", "query": "q"},
            },
            {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "srv", "tools": []},
            {
                "type": "mcp_call",
                "id": "mcp_1",
                "name": "look",
                "server_label": "srv",
                "arguments": '{"k":1}',
                "output": "o",
                "error": None,
                "status": "completed",
            },
            {
                "type": "shell_call",
                "id": "sh_1",
                "call_id": "call_s",
                "status": "completed",
                "action": {"commands": ["ls"]},
            },
            {"type": "tool_search_call", "id": "ts_1", "call_id": None, "execution": "server", "arguments": {"q": [1]}},
            {"type": "mcp_approval_request", "id": "apr_1", "name": "rm", "server_label": "srv", "arguments": "{}"},
        ]
    ),
    "cut": _response(
        [_function("call_a", "f", '{"a": 1}'), _function("call_b", "g", '{"b": "cu', "incomplete")],
        "incomplete",
        incomplete_details={"reason": "max_output_tokens"},
    ),
    "refusal": _response([_said({"type": "refusal", "refusal": "I will not."})]),
    "failed": _response([], "failed", error={"code": "server_error", "message": "broke"}, usage=None),
}


def _grpc(*outputs: Json, **more: Any) -> chat_pb2.GetChatCompletionResponse:
    return chat_pb2.GetChatCompletionResponse(
        id="r-seed",
        model="m-4",
        outputs=[{"index": index, **output} for index, output in enumerate(outputs)],
        usage={"prompt_tokens": 5, "completion_tokens": 9, "total_tokens": 18, "reasoning_tokens": 4},
        **more,
    )


def _xai_call(id: str, name: str, arguments: str, kind: str = "CLIENT_SIDE", **more: Any) -> Json:
    return {"id": id, "type": f"TOOL_CALL_TYPE_{kind}_TOOL", "function": {"name": name, "arguments": arguments}, **more}


GRPC: dict[str, chat_pb2.GetChatCompletionResponse] = {
    "text": _grpc(
        {"finish_reason": "REASON_STOP", "message": {"role": "ROLE_ASSISTANT", "content": "Grüße, 世界 🎉"}},
        citations=["https://example.org"],
    ),
    "calls": _grpc(
        {
            "finish_reason": "REASON_TOOL_CALLS",
            "message": {
                "role": "ROLE_ASSISTANT",
                "content": "Let me see.",
                "reasoning_content": "Two cities.",
                "encrypted_content": "enc",
                "tool_calls": [
                    _xai_call("call_a", "weather", '{"city": "Oslo"}'),
                    _xai_call("call_b", "weather", '{"city":"Rom"}'),
                ],
            },
        }
    ),
    "server tools": _grpc(
        {"message": {"role": "ROLE_ASSISTANT", "tool_calls": [_xai_call("s1", "web_search", '{"q":1}', "WEB_SEARCH")]}},
        {
            "message": {
                "role": "ROLE_TOOL",
                "content": "found",
                "tool_calls": [
                    _xai_call("s1", "web_search", '{"q":1}', "WEB_SEARCH", status="TOOL_CALL_STATUS_COMPLETED")
                ],
            }
        },
        {"finish_reason": "REASON_STOP", "message": {"role": "ROLE_ASSISTANT", "content": "Done."}},
    ),
    "cut": _grpc(
        {
            "finish_reason": "REASON_MAX_LEN",
            "message": {"role": "ROLE_ASSISTANT", "tool_calls": [_xai_call("call_a", "f", '{"a": "cu')]},
        }
    ),
}


def _gemini(*parts: Json, finish: str = "STOP", **more: Any) -> Json:
    candidate = {"content": {"role": "model", "parts": list(parts)}, "finishReason": finish, "index": 0, **more}
    figures = {"promptTokenCount": 11, "candidatesTokenCount": 7, "thoughtsTokenCount": 3, "totalTokenCount": 21}
    return {"candidates": [candidate], "usageMetadata": figures, "modelVersion": "m-5", "responseId": "g-seed"}


def _gemini_call(name: str, arguments: Json, **more: Any) -> Json:
    return {"functionCall": {"name": name, "args": arguments, **more}}


GEMINI: dict[str, Json] = {
    "text": _gemini({"text": "Grüße, 世界 🎉", "thoughtSignature": "c2ln"}),
    "calls": _gemini(
        {"text": "Two cities\nand a note.", "thought": True},
        {"text": "Let me see."},
        {**_gemini_call("weather", {"city": "Oslo"}, id="call_a"), "thoughtSignature": "c2ln"},
        _gemini_call("weather", {"city": "Rom", "days": [1, 2, {"x": "}{"}]}),
        _gemini_call("note", {}),
    ),
    "code": _gemini(
        {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        {"inlineData": {"mimeType": "image/png", "data": "AA=="}},
        {"text": "One."},
    ),
    "search": _gemini(
        {"toolCall": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["q"]}}},
        {"toolResponse": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "response": {"found": "it"}}},
        {"text": "It is so."},
        groundingMetadata={
            "webSearchQueries": ["q"],
            "groundingSupports": [{"segment": {"text": "It"}, "groundingChunkIndices": [0]}],
        },
    ),
    "cut": _gemini({"text": "It is"}, finish="MAX_TOKENS"),
    "malformed": _gemini(finish="MALFORMED_FUNCTION_CALL", finishMessage="Malformed function call: f("),
    "blocked": {
        "promptFeedback": {"blockReason": "SAFETY"},
        "usageMetadata": {"promptTokenCount": 11, "totalTokenCount": 11},
        "modelVersion": "m-5",
        "responseId": "g-seed",
    },
}


COHERE: dict[str, Json] = {
    "text": {
        "id": "c-seed",
        "message": {
            "role": "assistant",
            "content": [{"type": "text", "text": "Grüße, 世界 🎉"}],
            "citations": [
                {
                    "start": 0,
                    "end": 5,
                    "text": "Grüße",
                    "sources": [{"type": "document", "id": "doc:0", "document": {"id": "doc:0", "text": "t"}}],
                    "type": "TEXT_CONTENT",
                    "content_index": 0,
                }
            ],
        },
        "finish_reason": "COMPLETE",
        "usage": {
            "billed_units": {"input_tokens": 3, "output_tokens": 9},
            "tokens": {"input_tokens": 5, "output_tokens": 9},
            "cached_tokens": 2,
        },
    },
    "calls": {
        "id": "c-seed",
        "message": {
            "role": "assistant",
            "tool_plan": "I will look at two cities.",
            "tool_calls": [
                {"id": "w_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}},
                {"id": "w_2", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Rom"}'}},
            ],
        },
        "finish_reason": "TOOL_CALL",
        "usage": {"tokens": {"input_tokens": 5, "output_tokens": 9, "reasoning_tokens": 4}},
    },
    "thinking": {
        "id": "c-seed",
        "message": {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "Two cities."}, {"type": "text", "text": "Done."}],
        },
        "finish_reason": "COMPLETE",
    },
    "cut": {
        "id": "c-seed",
        "message": {
            "role": "assistant",
            "tool_calls": [{"id": "f_1", "type": "function", "function": {"name": "f", "arguments": '{"a": "cu'}}],
        },
        "finish_reason": "MAX_TOKENS",
    },
}


def _answer(content: list[Json], stop: str, **more: Any) -> Json:
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": stop,
        "usage": {
            "inputTokens": 5,
            "outputTokens": 9,
            "totalTokens": 19,
            "cacheReadInputTokens": 3,
            "cacheWriteInputTokens": 2,
        },
        "metrics": {"latencyMs": 12},
        **more,
    }


def _tool_use(id: str, name: str, given: Json, **more: Any) -> Json:
    return {"toolUse": {"toolUseId": id, "name": name, "input": given, **more}}


CONVERSE: dict[str, Json] = {
    "text": _answer([{"text": "Grüße, 世界 🎉"}], "end_turn"),
    "calls": _answer(
        [
            {"reasoningContent": {"reasoningText": {"text": "Two cities.", "signature": "c2ln"}}},
            {"reasoningContent": {"redactedContent": "ZW5j"}},
            {"text": "Let me see."},
            _tool_use("tooluse_a", "weather", {"city": "Oslo"}),
            _tool_use("tooluse_b", "weather", {"city": "Rom", "days": [1, 2, {"x": "}{"}]}, type="tool_use"),
            _tool_use("functions.note:2", "note", {}),
        ],
        "tool_use",
    ),
    "server tools": _answer(
        [
            _tool_use("tooluse_a", "nova_code_interpreter", {"snippet": "1"}, type="server_tool_use"),
            {
                "toolResult": {
                    "toolUseId": "tooluse_a",
                    "type": "nova_code_interpreter_result",
                    "status": "success",
                    "content": [{"json": {"stdOut": "1", "isError": False}}],
                }
            },
            {
                "citationsContent": {
                    "content": [{"text": "Done."}],
                    "citations": [{"title": "t", "location": {"web": {"url": "u", "domain": "d"}}}],
                }
            },
        ],
        "end_turn",
    ),
    "cut": _answer([_tool_use("tooluse_a", "f", {"a": 1}), _tool_use("tooluse_b", "g", {"b": 2})], "max_tokens"),
    "guarded": _answer(
        [{"text": "No."}], "guardrail_intervened", trace={"guardrail": {"actionReason": "Guardrail blocked."}}
    ),
}


def _ollama(message: Json, stop: str = "stop") -> Json:
    return {
        "model": "m-6",
        "created_at": "2026-01-01T00:00:00Z",
        "message": {"role": "assistant", **message},
        "done": True,
        "done_reason": stop,
        "total_duration": 12,
        "prompt_eval_count": 5,
        "eval_count": 9,
    }


def _ollama_call(id: str, index: int, name: str, arguments: Json) -> Json:
    return {"id": id, "function": {"index": index, "name": name, "arguments": arguments}}


OLLAMA: dict[str, Json] = {
    "text": _ollama({"content": "Grüße, 世界 🎉"}),
    "calls": _ollama(
        {
            "content": "Let me see.",
            "thinking": "Two cities\nand a note.",
            "tool_calls": [
                _ollama_call("call_a", 0, "weather", {"city": "Oslo"}),
                _ollama_call("call_b", 1, "weather", {"city": "Rom", "days": [1, 2, {"x": "}{"}]}),
                _ollama_call("call_c", 2, "note", {}),
            ],
        }
    ),
    "calls without ids": _ollama(
        {"content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"a": n}}} for n in range(2)]}
    ),
    "cut": _ollama({"content": "It is"}, "length"),
}


def _interaction(*steps: Json, status: str = "completed", **more: Any) -> Json:
    figures = {"total_input_tokens": 5, "total_output_tokens": 9, "total_thought_tokens": 4, "total_tokens": 18}
    head = {"id": "v1-seed", "object": "interaction", "model": "m-7", "status": status}
    return {**head, "steps": list(steps), "usage": figures, **more}


def _output(text: str, **more: Any) -> Json:
    return {"type": "model_output", "content": [{"type": "text", "text": text, **more}]}


def _step_call(id: str, name: str, arguments: Json, **more: Any) -> Json:
    return {"type": "function_call", "id": id, "name": name, "arguments": arguments, **more}


INTERACTIONS: dict[str, Json] = {
    "text": _interaction(_output("Grüße, 世界 🎉")),
    "calls": _interaction(
        {"type": "thought", "signature": "c2ln", "summary": [{"type": "text", "text": "Two cities."}]},
        _output("Let me see."),
        _step_call("call_a", "weather", {"city": "Oslo"}, signature="c2ln"),
        _step_call("call_b", "weather", {"city": "Rom", "days": [1, 2, {"x": "}{"}]}),
        _step_call("call_c", "note", {}),
        status="requires_action",
    ),
    "search": _interaction(
        {"type": "google_search_call", "id": "s1", "arguments": {"queries": ["q"]}, "signature": "c2ln"},
        {"type": "google_search_result", "call_id": "s1", "result": [{"search_suggestions": "s"}], "signature": "c2ln"},
        _output("It is so.", annotations=[{"type": "url_citation", "url": "u", "start_index": 0, "end_index": 2}]),
    ),
    "cut": _interaction(_step_call("call_a", "f", {"a": 1}), _step_call("call_b", "g", {"b": 2}), status="incomplete"),
}

BODIES: dict[str, dict[str, Json]] = {
    "openai.chat": CHAT,
    "openai.responses": RESPONSES,
    "anthropic.messages": MESSAGES,
    "google.gemini": GEMINI,
    "cohere.chat": COHERE,
    "ollama.chat": OLLAMA,
    "google.interactions": INTERACTIONS,
    "bedrock.converse": CONVERSE,
}
