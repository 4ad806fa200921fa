"""What the providers document, for bug reports: one sentence with its page for each wire and topic of a law."""

from __future__ import annotations

from typing import NamedTuple

from toolparity.normalizer.model import Wire

from .failure import Failure
from .topics import ENTRIES


class Statement(NamedTuple):
    """A sentence about a provider's format, in our words, and the page that states it."""

    sentence: str
    title: str
    url: str


_OPENAI = "https://developers.openai.com"
_FUNCTIONS = "OpenAI: Function calling", f"{_OPENAI}/api/docs/guides/function-calling"
_COMPLETIONS = (
    "OpenAI: Chat Completions reference",
    f"{_OPENAI}/api/reference/resources/chat/subresources/completions",
)
_EVENTS = "OpenAI: Streaming API responses", f"{_OPENAI}/docs/guides/streaming-responses"
_CLAUDE = "https://platform.claude.com/docs/en"
_HANDLING = "Claude: Handle tool calls", f"{_CLAUDE}/agents-and-tools/tool-use/handle-tool-calls"
_STREAMING = "Claude: Streaming messages", f"{_CLAUDE}/build-with-claude/streaming"
_ADVANCED = "xAI: Advanced tool usage", "https://docs.x.ai/developers/tools/advanced-usage"
_PROTO = "xAI: chat.proto", "https://github.com/xai-org/xai-proto/blob/main/proto/xai/api/v1/chat.proto"

_CHAT = {
    "calls": Statement(
        "The calls are the entries of `tool_calls`: a response has none, one or several, each with an id, a function"
        " name and its arguments as JSON text.",
        *_FUNCTIONS,
    ),
    "stream": Statement(
        "Each entry of `delta.tool_calls` has the `index` of its call, and the entries with one index are accumulated"
        " to one call.",
        *_FUNCTIONS,
    ),
    "arguments": Statement(
        "`function.arguments` is JSON text as the model generated it, which is not always valid, so that the caller"
        " validates it before it calls the function.",
        *_COMPLETIONS,
    ),
    "server": Statement("The caller runs the functions in `tool_calls` and sends their results.", *_FUNCTIONS),
    "end": Statement(
        "`finish_reason` states why the model stopped, has no value before the end of a choice, and a stream is"
        " terminated by `data: [DONE]`.",
        *_COMPLETIONS,
    ),
    "usage": Statement(
        "`usage` has the token counts of the whole request; in a stream with `include_usage`, one more chunk before"
        " `data: [DONE]` has them.",
        *_COMPLETIONS,
    ),
    "results": Statement("Each call is answered by one message with its `tool_call_id`.", *_FUNCTIONS),
}
_RESPONSES = {
    "calls": Statement(
        "Each call is an item `function_call` of `output` with a `call_id`, a `name` and `arguments` as JSON text, and"
        " a response can have several.",
        *_FUNCTIONS,
    ),
    "stream": Statement(
        "`response.output_item.added` opens a call, `response.function_call_arguments.delta` has parts of its"
        " arguments, and the events with `done` have the whole.",
        *_FUNCTIONS,
    ),
    "arguments": Statement(
        "`arguments` is the JSON text of one call, and `response.function_call_arguments.done` has all of it.",
        *_FUNCTIONS,
    ),
    "server": Statement(
        "The caller runs a function that is called, and sends its result as an item `function_call_output`; the items"
        " of built-in tools report what OpenAI ran.",
        *_FUNCTIONS,
    ),
    "end": Statement(
        "A stream ends with `response.completed`, `response.incomplete` or `response.failed`, whose response has the"
        " `status`.",
        *_EVENTS,
    ),
    "usage": Statement("The response of the last event has the `usage` of the whole request.", *_EVENTS),
    "results": Statement(
        "Each `function_call` is answered by one item `function_call_output` with its `call_id`.", *_FUNCTIONS
    ),
}
_MESSAGES = {
    "calls": Statement(
        "A response has one or more blocks `tool_use`, each with an `id`, a `name` and an `input`, which is an object.",
        *_HANDLING,
    ),
    "stream": Statement(
        "The events of a content block have its `index` in the final message, and the `partial_json` of a `tool_use`"
        " block is accumulated until `content_block_stop`.",
        *_STREAMING,
    ),
    "arguments": Statement(
        "The `input` of a `tool_use` block is always an object; in a stream, its deltas are parts of JSON text, to"
        " parse at `content_block_stop`.",
        *_STREAMING,
    ),
    "server": Statement(
        "Claude's response differs for client tools, which the caller runs, and server tools, which Anthropic runs.",
        *_HANDLING,
    ),
    "end": Statement(
        "A stream ends with `message_stop`, `message_delta` has the `stop_reason` before it, and an event `error` can"
        " occur in the stream.",
        *_STREAMING,
    ),
    "usage": Statement(
        "`message_start` and `message_delta` have token counts, and those of `message_delta` are cumulative.",
        *_STREAMING,
    ),
    "results": Statement(
        "Each `tool_use` block is answered by one `tool_result` with its `id` as `tool_use_id`.", *_HANDLING
    ),
}
_GRPC = {
    "calls": Statement(
        "`tool_calls` of an output has the calls, each of which is emitted once it is complete, unless tool call"
        " streaming is requested.",
        *_PROTO,
    ),
    "stream": Statement(
        "A stream emits each call once it is complete, unless tool call streaming is requested.", *_PROTO
    ),
    "arguments": Statement("A call has the `name` of the function and its `arguments` as JSON text.", *_PROTO),
    "server": Statement(
        "xAI runs server-side tools itself, and returns calls of client-side tools to the caller, which runs them.",
        *_ADVANCED,
    ),
    "end": Statement("The `finish_reason` of an output states why the model stopped.", *_PROTO),
    "usage": Statement("`usage` of the response has the token counts of the request.", *_PROTO),
    "results": Statement("A tool result has the `tool_call_id` of its call.", *_PROTO),
}
_GOOGLE = "https://ai.google.dev"
_CALLING = "Gemini API: Function calling", f"{_GOOGLE}/gemini-api/docs/function-calling"
_STEPS = "Gemini API: Streaming interactions", f"{_GOOGLE}/gemini-api/docs/streaming"
_REFERENCE = "Gemini API: Interactions reference", f"{_GOOGLE}/api/interactions-api"
_INTERACTIONS = {
    "calls": Statement("Each call of the client is a step `function_call` of the interaction.", *_CALLING),
    "stream": Statement(
        "`step.start` opens a call, `arguments_delta` has parts of its arguments, and `step.stop` ends it.", *_STEPS
    ),
    "arguments": Statement("A `function_call` has an `id`, a `name` and an object of `arguments`.", *_REFERENCE),
    "server": Statement(
        "Google runs its own tools, and their calls and results are steps of other types.", *_REFERENCE
    ),
    "end": Statement("The `status` of the interaction states why it ended.", *_REFERENCE),
    "usage": Statement("`usage` has the token counts, with thoughts and tool use apart.", *_REFERENCE),
    "results": Statement("A `function_result` has the `call_id` and the `name` of its call.", *_CALLING),
}
_CHATTING = "Ollama: Generate a chat message", "https://docs.ollama.com/api/chat"
_TOOLS = "Ollama: Tool calling", "https://docs.ollama.com/capabilities/tool-calling"
_OLLAMA = {
    "calls": Statement("The calls are the entries of `message.tool_calls`.", *_CHATTING),
    "stream": Statement(
        "A stream is newline-delimited JSON, of which each line is an object.",
        "Ollama: Streaming",
        "https://docs.ollama.com/api/streaming",
    ),
    "arguments": Statement("`function.arguments` of a call is an object.", *_CHATTING),
    "server": Statement("The caller runs the functions that are called, and sends their results.", *_TOOLS),
    "end": Statement("The last object has `done` as true, and `done_reason`.", *_CHATTING),
    "usage": Statement("`prompt_eval_count` and `eval_count` are the token counts.", *_CHATTING),
    "results": Statement("A message of the role `tool` has the `tool_name` of its call.", *_TOOLS),
}
_DOCS = "https://docs.cohere.com"
_TOOL_USE = "Cohere: Tool use", f"{_DOCS}/docs/tool-use-overview"
_TOOL_EVENTS = "Cohere: Streaming for tool use", f"{_DOCS}/docs/tool-use-streaming"
_CHAT_V2 = "Cohere: Chat reference", f"{_DOCS}/reference/chat"
_COHERE = {
    "calls": Statement("The calls are the entries of `message.tool_calls`, each with an `id`.", *_TOOL_USE),
    "stream": Statement(
        "`tool-call-start` opens a call, `tool-call-delta` has parts of its arguments, and `tool-call-end` ends it.",
        *_TOOL_EVENTS,
    ),
    "arguments": Statement("`function.arguments` of a call is JSON text.", *_CHAT_V2),
    "server": Statement("The caller runs the functions that are called, and sends their results.", *_TOOL_USE),
    "end": Statement("`finish_reason` states why the model stopped.", *_CHAT_V2),
    "usage": Statement("`usage.tokens` has the token counts of the request.", *_CHAT_V2),
    "results": Statement("A message of the role `tool` has the `tool_call_id` of its call.", *_TOOL_USE),
}
_AWS = "https://docs.aws.amazon.com/bedrock/latest"
_USE = "Amazon Bedrock: Call a tool with the Converse API", f"{_AWS}/userguide/tool-use-inference-call.html"
_OPERATION = "Amazon Bedrock: Converse", f"{_AWS}/APIReference/API_runtime_Converse.html"
_CONVERSE = {
    "calls": Statement("Each call is a block `toolUse` of the message, with a `toolUseId`.", *_USE),
    "stream": Statement(
        "`contentBlockStart` opens a call, `contentBlockDelta` has parts of its input, and `contentBlockStop` ends it.",
        "Amazon Bedrock: ConverseStream",
        f"{_AWS}/APIReference/API_runtime_ConverseStream.html",
    ),
    "arguments": Statement(
        "The `input` of a call is a JSON value; in a stream, its deltas are parts of JSON text.", *_USE
    ),
    "server": Statement("The caller runs the tools that the model requests, and sends their results.", *_USE),
    "end": Statement("`stopReason` states why the model stopped.", *_OPERATION),
    "usage": Statement("`usage` has the token counts of the request.", *_OPERATION),
    "results": Statement("A block `toolResult` has the `toolUseId` of its call.", *_USE),
}
_GENERATING = "Gemini API: Generating content", f"{_GOOGLE}/api/generate-content"
_TYPES = "Gemini API: Content types", f"{_GOOGLE}/api/caching"
_GENERATE_CONTENT = {
    "calls": Statement("Each part of the content with a `functionCall` is a call of the client.", *_TYPES),
    "stream": Statement(
        "`streamGenerateContent` returns a stream of responses, each of which has the next parts of the content.",
        *_GENERATING,
    ),
    "arguments": Statement("A `functionCall` has a `name`, its `args` as an object, and an optional `id`.", *_TYPES),
    "server": Statement(
        "Google runs its own tools, and their calls and results are parts of other types: `executableCode`,"
        " `codeExecutionResult`, `toolCall` and `toolResponse`.",
        *_TYPES,
    ),
    "end": Statement(
        "The `finishReason` of a candidate states why it ended; without one, the model has not stopped.", *_GENERATING
    ),
    "usage": Statement("`usageMetadata` has the token counts, with thoughts and tool use apart.", *_GENERATING),
    "results": Statement(
        "Each `functionCall` is answered by a `functionResponse` with its `name`, and its `id` if it has one.", *_TYPES
    ),
}
#: Wire -> topic -> statement. A surface of another provider has those of the wire's owner.
STATEMENTS: dict[Wire, dict[str, Statement]] = {
    "openai.chat": _CHAT,
    "openai.responses": _RESPONSES,
    "anthropic.messages": _MESSAGES,
    "xai.grpc": _GRPC,
    "google.gemini": _GENERATE_CONTENT,
    "google.interactions": _INTERACTIONS,
    "ollama.chat": _OLLAMA,
    "cohere.chat": _COHERE,
    "bedrock.converse": _CONVERSE,
}


def statement(failure: Failure) -> Statement:
    """Return what the provider documents about the law that a failure breaks."""
    topic, response = ENTRIES[failure.verdict.check].documented, failure.response
    if topic == "server" and response.provider == "xai":
        return _GRPC["server"]
    return STATEMENTS[response.surface.wire]["stream" if topic == "calls" and response.traffic.stream else topic]
