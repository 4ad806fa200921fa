"""One request of each wire that holds nearly every documented member, for tests that walk them."""

from __future__ import annotations

from typing import Any

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
SCHEMA = {"type": "object", "properties": {"city": {"type": "string", "description": "Where."}}, "required": ["city"]}

CHAT: dict[str, Any] = {
    "model": "gpt-4o",
    "messages": [
        {"role": "developer", "content": "Be brief.", "name": "chief"},
        {"role": "user", "content": "What is the weather?", "name": "ann"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "And here?"},
                {"type": "image_url", "image_url": {"url": "https://x.test/a.png", "detail": "low"}},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
                {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
                {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
                {"type": "file", "file": {"file_id": "file-1"}},
            ],
        },
        {
            "role": "assistant",
            "content": "Let me look.",
            "refusal": "No secrets.",
            "reasoning_content": "Two cities.",
            "name": "bot",
            "audio": {"id": "audio_1"},
            "annotations": [{"type": "url_citation", "url_citation": {"url": "https://x.test", "title": "t"}}],
            "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}},
                {"id": "call_2", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}},
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "name": "thermometer", "content": "5 degrees"},
        {"role": "tool", "tool_call_id": "call_2", "content": [{"type": "text", "text": "patched"}]},
        {"role": "user", "content": "Thanks."},
    ],
    "tools": [
        {
            "type": "function",
            "function": {"name": "weather", "description": "Tells it.", "parameters": SCHEMA, "strict": True},
        },
        {"type": "custom", "custom": {"name": "patch", "description": "Patches.", "format": {"type": "text"}}},
    ],
    "tool_choice": {"type": "function", "function": {"name": "weather"}},
    "parallel_tool_calls": False,
    "temperature": 0.25,
    "top_p": 0.5,
    "max_completion_tokens": 321,
    "stop": ["END"],
    "n": 2,
    "seed": 7,
    "user": "u1",
    "metadata": {"k": "v"},
    "store": True,
    "logprobs": True,
    "top_logprobs": 3,
    "logit_bias": {"50256": -100},
    "frequency_penalty": 0.1,
    "presence_penalty": 0.2,
    "reasoning_effort": "low",
    "response_format": {"type": "json_schema", "json_schema": {"name": "r", "schema": SCHEMA, "strict": True}},
    "service_tier": "flex",
    "stream": True,
    "stream_options": {"include_usage": True},
    "modalities": ["text"],
    "prediction": {"type": "content", "content": "x"},
    "web_search_options": {"search_context_size": "low"},
    "verbosity": "low",
    "safety_identifier": "s1",
    "prompt_cache_key": "p1",
}

RESPONSES: dict[str, Any] = {
    "model": "gpt-5",
    "instructions": "Be brief.",
    "input": [
        {"role": "developer", "content": "In English."},
        {"role": "user", "content": "What is the weather?"},
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "And here?"},
                {"type": "input_image", "image_url": "https://x.test/a.png", "detail": "low"},
                {"type": "input_image", "file_id": "file-1", "detail": "auto"},
                {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"},
            ],
        },
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "Hm."}],
            "encrypted_content": "e",
        },
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "phase": "commentary",
            "content": [
                {
                    "type": "output_text",
                    "text": "Let me look.",
                    "annotations": [{"type": "url_citation", "url": "https://x.test", "title": "t", "start_index": 0}],
                },
                {"type": "refusal", "refusal": "No secrets."},
            ],
        },
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "weather",
            "arguments": '{"city":"Oslo"}',
            "status": "completed",
            "namespace": "home",
        },
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_2", "name": "patch", "input": "*** Begin"},
        {
            "type": "tool_search_call",
            "id": "tsc_1",
            "call_id": "call_3",
            "execution": "client",
            "arguments": {"goal": "weather"},
            "status": "completed",
        },
        {"type": "function_call_output", "call_id": "call_1", "output": "5 degrees", "id": "fco_1"},
        {"type": "custom_tool_call_output", "call_id": "call_2", "output": [{"type": "input_text", "text": "patched"}]},
        {
            "type": "tool_search_output",
            "call_id": "call_3",
            "execution": "client",
            "status": "completed",
            "tools": [{"type": "function", "name": "found", "parameters": SCHEMA, "strict": False}],
        },
        {"role": "user", "content": "Thanks."},
    ],
    "tools": [
        {"type": "function", "name": "weather", "description": "Tells it.", "parameters": SCHEMA, "strict": False},
        {"type": "custom", "name": "patch", "description": "Patches.", "format": {"type": "text"}},
        {"type": "web_search", "search_context_size": "low"},
        {"type": "tool_search", "execution": "client"},
    ],
    "tool_choice": {"type": "function", "name": "weather"},
    "parallel_tool_calls": False,
    "temperature": 0.25,
    "top_p": 0.5,
    "max_output_tokens": 321,
    "max_tool_calls": 4,
    "metadata": {"k": "v"},
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "reasoning": {"effort": "low", "summary": "auto"},
    "text": {"format": {"type": "text"}, "verbosity": "low"},
    "truncation": "auto",
    "service_tier": "flex",
    "user": "u1",
    "background": False,
    "stream": True,
    "safety_identifier": "s1",
    "prompt_cache_key": "p1",
}

ANTHROPIC: dict[str, Any] = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 321,
    "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {"role": "user", "content": "What is the weather?"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "And here?", "cache_control": {"type": "ephemeral"}},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                {"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}},
                {
                    "type": "document",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"},
                    "title": "a.pdf",
                    "context": "A bill.",
                    "citations": {"enabled": True},
                },
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Two cities.", "signature": "sig"},
                {"type": "redacted_thinking", "data": "sealed"},
                {
                    "type": "text",
                    "text": "Let me look.",
                    "citations": [{"type": "char_location", "cited_text": "c", "document_index": 0}],
                },
                {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
                {
                    "type": "web_search_tool_result",
                    "tool_use_id": "srvtoolu_1",
                    "content": [{"type": "web_search_result", "url": "https://x.test", "title": "t"}],
                },
                {
                    "type": "tool_use",
                    "id": "toolu_1",
                    "name": "weather",
                    "input": {"city": "Oslo"},
                    "cache_control": {"type": "ephemeral"},
                },
                {"type": "tool_use", "id": "toolu_2", "name": "weather", "input": {"city": "Rome"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "content": [
                        {"type": "text", "text": "5 degrees"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                    ],
                    "cache_control": {"type": "ephemeral"},
                },
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": "no such city", "is_error": True},
            ],
        },
        {"role": "user", "content": "Thanks."},
    ],
    "tools": [
        {
            "name": "weather",
            "description": "Tells it.",
            "input_schema": SCHEMA,
            "strict": True,
            "cache_control": {"type": "ephemeral"},
        },
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 2},
    ],
    "tool_choice": {"type": "tool", "name": "weather", "disable_parallel_tool_use": True},
    "temperature": 0.25,
    "top_p": 0.5,
    "top_k": 9,
    "stop_sequences": ["END"],
    "metadata": {"user_id": "u1"},
    "service_tier": "auto",
    "stream": True,
    "output_config": {"effort": "low"},
    "context_management": {"edits": []},
    "container": "container_1",
}

XAI: dict[str, Any] = {
    "model": "grok-4",
    "messages": [
        {"role": "ROLE_SYSTEM", "content": [{"text": "Be brief."}], "name": "chief"},
        {"role": "ROLE_USER", "content": [{"text": "What is the weather?"}], "name": "ann"},
        {
            "role": "ROLE_USER",
            "content": [
                {"text": "And here?"},
                {"image_url": {"image_url": "https://x.test/a.png", "detail": "DETAIL_LOW"}},
            ],
        },
        {
            "role": "ROLE_ASSISTANT",
            "content": [{"text": "Let me look."}],
            "reasoning_content": "Two cities.",
            "encrypted_content": "sealed",
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL",
                    "status": "TOOL_CALL_STATUS_COMPLETED",
                    "function": {"name": "weather", "arguments": '{"city":"Oslo"}'},
                }
            ],
        },
        {"role": "ROLE_TOOL", "tool_call_id": "call_1", "name": "thermometer", "content": [{"text": "5 degrees"}]},
        {"role": "ROLE_USER", "content": [{"text": "Thanks."}]},
    ],
    "tools": [
        {
            "function": {
                "name": "weather",
                "description": "Tells it.",
                "strict": True,
                "parameters": '{"type":"object","properties":{}}',
            }
        },
        {"web_search": {"excluded_domains": ["x.test"]}},
    ],
    "tool_choice": {"function_name": "weather"},
    "parallel_tool_calls": False,
    "temperature": 0.25,
    "top_p": 0.5,
    "max_tokens": 321,
    "stop": ["END"],
    "n": 2,
    "seed": 7,
    "user": "u1",
    "logprobs": True,
    "top_logprobs": 3,
    "frequency_penalty": 0.1,
    "presence_penalty": 0.2,
    "reasoning_effort": "EFFORT_LOW",
    "response_format": {"format_type": "FORMAT_TYPE_JSON_OBJECT"},
    "store_messages": True,
    "use_encrypted_content": True,
    "max_turns": 3,
}

COHERE: dict[str, Any] = {
    "model": "command-a-03-2025",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is the weather?"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "And here?"},
                {"type": "image_url", "image_url": {"url": "https://x.test/a.png", "detail": "low"}},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
            ],
        },
        {
            "role": "assistant",
            "tool_plan": "I will look at two cities.",
            "content": [{"type": "thinking", "thinking": "Two cities."}, {"type": "text", "text": "Let me look."}],
            "citations": [{"start": 0, "end": 3, "text": "Let", "sources": [{"type": "document", "id": "doc:0"}]}],
            "tool_calls": [
                {"id": "w_1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}},
                {"id": "w_2", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Rome"}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "w_1", "content": "5 degrees"},
        {
            "role": "tool",
            "tool_call_id": "w_2",
            "content": [
                {"type": "text", "text": "found"},
                {"type": "document", "document": {"data": {"title": "Rome", "text": "9 degrees"}, "id": "doc:1"}},
            ],
        },
        {"role": "user", "content": "Thanks."},
    ],
    "tools": [
        {"type": "function", "function": {"name": "weather", "description": "Tells it.", "parameters": SCHEMA}},
    ],
    "strict_tools": True,
    "tool_choice": "REQUIRED",
    "documents": [{"id": "doc:0", "data": {"text": "t"}}],
    "citation_options": {"mode": "ENABLED"},
    "safety_mode": "STRICT",
    "max_tokens": 321,
    "stop_sequences": ["END"],
    "temperature": 0.25,
    "seed": 7,
    "frequency_penalty": 0.1,
    "presence_penalty": 0.2,
    "k": 9,
    "p": 0.5,
    "logprobs": True,
    "thinking": {"type": "enabled", "token_budget": 100},
    "priority": 1,
    "stream": True,
}
OLLAMA: dict[str, Any] = {
    "model": "qwen3",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is the weather here?", "images": [PNG]},
        {
            "role": "assistant",
            "content": "Let me look.",
            "thinking": "One city.",
            "tool_calls": [
                {"id": "call_1", "function": {"index": 0, "name": "weather", "arguments": {"city": "Oslo"}}},
            ],
        },
        {"role": "tool", "content": "5 degrees", "tool_name": "weather", "tool_call_id": "call_1"},
        {"role": "user", "content": "Thanks."},
    ],
    "tools": [
        {
            "type": "function",
            "function": {"name": "weather", "description": "Tells it.", "parameters": SCHEMA},
        },
    ],
    "stream": True,
    "think": "low",
    "format": "json",
    "keep_alive": "5m",
    "truncate": False,
    "shift": False,
    "logprobs": True,
    "top_logprobs": 3,
    "options": {"temperature": 0.25, "num_predict": 321, "stop": ["END"], "seed": 7, "num_ctx": 4096},
}
INTERACTIONS: dict[str, Any] = {
    "model": "gemini-3-flash-preview",
    "system_instruction": "Be brief.",
    "input": [
        {
            "type": "user_input",
            "content": [
                {
                    "type": "text",
                    "text": "Weather?",
                    "annotations": [{"type": "url_citation", "url": "https://x.test"}],
                },
                {"type": "image", "data": PNG, "mime_type": "image/png", "resolution": "low"},
                {"type": "document", "data": "AAAA", "mime_type": "application/pdf"},
                {"type": "audio", "data": "AAAA", "mime_type": "audio/wav"},
            ],
        },
        {"type": "thought", "signature": "c2ln", "summary": [{"type": "text", "text": "Two cities."}]},
        {
            "type": "model_output",
            "content": [
                {
                    "type": "text",
                    "text": "Let me look.",
                    "annotations": [{"type": "url_citation", "url": "https://x.test", "title": "t"}],
                }
            ],
        },
        {"type": "google_search_call", "id": "s1", "arguments": {"queries": ["q"]}, "signature": "c2ln"},
        {"type": "google_search_result", "call_id": "s1", "result": [{"search_suggestions": "s"}], "signature": "c2ln"},
        {
            "type": "function_call",
            "id": "call_1",
            "name": "weather",
            "arguments": {"city": "Oslo"},
            "signature": "c2ln",
        },
        {"type": "function_call", "id": "call_2", "name": "weather", "arguments": {"city": "Rome"}},
        {
            "type": "function_result",
            "call_id": "call_1",
            "name": "weather",
            "result": [
                {"type": "text", "text": "5 degrees"},
                {"type": "image", "data": PNG, "mime_type": "image/png"},
            ],
        },
        {"type": "function_result", "call_id": "call_2", "name": "weather", "result": "no such city", "is_error": True},
        {"type": "user_input", "content": [{"type": "text", "text": "Thanks."}]},
    ],
    "tools": [
        {
            "type": "function",
            "name": "weather",
            "description": "Tells it.",
            "parameters": SCHEMA,
            "defer_loading": True,
        },
        {"type": "google_search", "search_types": ["web_search"]},
    ],
    "generation_config": {
        "tool_choice": {"allowed_tools": {"mode": "any", "tools": ["weather"]}},
        "temperature": 0.25,
        "top_p": 0.5,
        "max_output_tokens": 321,
        "stop_sequences": ["END"],
        "seed": 7,
        "thinking_level": "low",
        "thinking_summaries": "auto",
    },
    "response_format": [{"type": "text", "mime_type": "application/json", "schema": SCHEMA}],
    "store": False,
    "background": False,
    "service_tier": "flex",
    "labels": {"k": "v"},
    "safety_settings": [{"type": "harassment", "threshold": "block_none"}],
    "cached_content": "cachedContents/1",
}
CONVERSE: dict[str, Any] = {
    "modelId": "us.anthropic.claude-sonnet-4-6",
    "system": [{"text": "Be brief."}, {"cachePoint": {"type": "default"}}],
    "messages": [
        {"role": "user", "content": [{"text": "What is the weather?"}]},
        {
            "role": "user",
            "content": [
                {"guardContent": {"text": {"text": "And here?", "qualifiers": ["query"]}}},
                {"image": {"format": "png", "source": {"bytes": PNG}}},
                {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://bucket/a.png"}}}},
                {
                    "document": {
                        "format": "pdf",
                        "name": "bill",
                        "source": {"bytes": "AAAA"},
                        "context": "A bill.",
                        "citations": {"enabled": True},
                    }
                },
                {"cachePoint": {"type": "default"}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "Two cities.", "signature": "sig"}}},
                {"reasoningContent": {"redactedContent": "c2VhbGVk"}},
                {
                    "citationsContent": {
                        "content": [{"text": "Let me look."}],
                        "citations": [{"title": "t", "location": {"web": {"url": "https://x.test"}}}],
                    }
                },
                {
                    "toolUse": {
                        "toolUseId": "tooluse_0",
                        "name": "nova_code_interpreter",
                        "input": {"snippet": "1"},
                        "type": "server_tool_use",
                    }
                },
                {
                    "toolResult": {
                        "toolUseId": "tooluse_0",
                        "content": [{"json": {"stdOut": "1"}}],
                        "status": "success",
                        "type": "nova_code_interpreter_result",
                    }
                },
                {"toolUse": {"toolUseId": "tooluse_1", "name": "weather", "input": {"city": "Oslo"}}},
                {"toolUse": {"toolUseId": "tooluse_2", "name": "weather", "input": {"city": "Rome"}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "toolResult": {
                        "toolUseId": "tooluse_1",
                        "content": [
                            {"json": {"degrees": 5}},
                            {"text": "cold"},
                            {"image": {"format": "png", "source": {"bytes": PNG}}},
                        ],
                        "status": "success",
                    }
                },
                {"toolResult": {"toolUseId": "tooluse_2", "content": [{"text": "no such city"}], "status": "error"}},
                {"text": "Thanks."},
            ],
        },
    ],
    "toolConfig": {
        "tools": [
            {
                "toolSpec": {
                    "name": "weather",
                    "description": "Tells it.",
                    "inputSchema": {"json": SCHEMA},
                    "strict": True,
                }
            },
            {"systemTool": {"name": "nova_code_interpreter"}},
            {"cachePoint": {"type": "default"}},
        ],
        "toolChoice": {"tool": {"name": "weather"}},
    },
    "inferenceConfig": {"maxTokens": 321, "temperature": 0.25, "topP": 0.5, "stopSequences": ["END"]},
    "additionalModelRequestFields": {"top_k": 9},
    "additionalModelResponseFieldPaths": ["/stop_sequence"],
    "guardrailConfig": {"guardrailIdentifier": "g1", "guardrailVersion": "1"},
    "performanceConfig": {"latency": "standard"},
    "promptVariables": {"v": {"text": "x"}},
    "requestMetadata": {"k": "v"},
    "serviceTier": {"type": "default"},
    "outputConfig": {"effort": "low"},
}

GEMINI: dict[str, Any] = {
    "model": "gemini-3-flash-preview",
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "contents": [
        {"role": "user", "parts": [{"text": "What is the weather?"}]},
        {
            "role": "user",
            "parts": [
                {"text": "And here?", "partMetadata": {"k": "v"}},
                {
                    "inlineData": {"mimeType": "image/png", "data": PNG, "displayName": "a.png"},
                    "mediaResolution": {"level": "MEDIA_RESOLUTION_LOW"},
                },
                {"inlineData": {"mimeType": "application/pdf", "data": "AAAA"}},
                {"inlineData": {"mimeType": "audio/wav", "data": "AAAA"}},
                {"fileData": {"mimeType": "image/png", "fileUri": "https://x.test/a.png"}},
                {
                    "fileData": {"mimeType": "video/mp4", "fileUri": "gs://bucket/a.mp4"},
                    "videoMetadata": {"startOffset": "1s", "fps": 2},
                },
            ],
        },
        {
            "role": "model",
            "parts": [
                {"text": "Two cities.", "thought": True},
                {"text": "Let me look.", "thoughtSignature": "c2ln"},
                {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
                {"toolCall": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["q"]}}},
                {"toolResponse": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "response": {"found": "it"}}},
                {
                    "functionCall": {"id": "call_1", "name": "weather", "args": {"city": "Oslo"}},
                    "thoughtSignature": "c2ln",
                },
                {"functionCall": {"id": "call_2", "name": "weather", "args": {"city": "Rome"}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "id": "call_1",
                        "name": "weather",
                        "response": {"output": "5 degrees"},
                        "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}],
                        "scheduling": "WHEN_IDLE",
                    }
                },
                {"functionResponse": {"id": "call_2", "name": "weather", "response": {"error": "no such city"}}},
            ],
        },
        {"role": "user", "parts": [{"text": "Thanks."}]},
    ],
    "tools": [
        {
            "functionDeclarations": [
                {
                    "name": "weather",
                    "description": "Tells it.",
                    "parametersJsonSchema": SCHEMA,
                    "behavior": "BLOCKING",
                    "responseJsonSchema": {"type": "object"},
                }
            ]
        },
        {"googleSearch": {"timeRangeFilter": {"startTime": "2026-01-01T00:00:00Z"}}},
    ],
    "toolConfig": {
        "functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["weather"]},
        "retrievalConfig": {"languageCode": "en"},
    },
    "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
    "cachedContent": "cachedContents/1",
    "labels": {"k": "v"},
    "serviceTier": "flex",
    "store": False,
    "generationConfig": {
        "temperature": 0.25,
        "topP": 0.5,
        "topK": 3,
        "maxOutputTokens": 321,
        "stopSequences": ["END"],
        "seed": 7,
        "candidateCount": 2,
        "presencePenalty": 0.2,
        "frequencyPenalty": 0.1,
        "responseLogprobs": True,
        "logprobs": 3,
        "responseMimeType": "application/json",
        "responseJsonSchema": SCHEMA,
        "responseModalities": ["TEXT"],
        "mediaResolution": "MEDIA_RESOLUTION_LOW",
        "thinkingConfig": {"includeThoughts": True, "thinkingLevel": "LOW"},
    },
}

REQUESTS: dict[str, dict[str, Any]] = {
    "openai.chat": CHAT,
    "openai.responses": RESPONSES,
    "anthropic.messages": ANTHROPIC,
    "xai.grpc": XAI,
    "cohere.chat": COHERE,
    "ollama.chat": OLLAMA,
    "google.interactions": INTERACTIONS,
    "bedrock.converse": CONVERSE,
    "google.gemini": GEMINI,
}
