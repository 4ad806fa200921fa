"""Request rules of the Chat Completions providers, as data.

Sources are the providers' documentation and error messages. Ids like ORD-04 are failures reported from the field. A
rule without providers is OpenAI's, and compatible providers enforce it more or less strictly.
"""

from __future__ import annotations

from typing import Any

from ..rule import Rule
from . import checks

OPENAI = frozenset(("openai", "azure"))
#: Providers known to check the pairing of calls and results as strictly as OpenAI.
PAIRING = OPENAI | {"deepseek", "mistral", "xai", "groq"}


def _rule(
    id: str, check: checks.Check, reason: str, source: str, providers: frozenset[str] | None = None, **more: Any
) -> Rule:
    return Rule(id, reason, source, check, providers, **more)


_MISTRAL = frozenset(("mistral",))
_INVALID_CALL = "invalid_function_call"

RULES: tuple[Rule, ...] = (
    _rule("messages-empty", checks.no_messages, "A request contains at least one message.", "OpenAI API reference"),
    _rule("message-object", checks.message_no_object, "A message is an object.", "OpenAI API reference"),
    _rule(
        "role-unknown", checks.unknown_role, "A message's role is one of the documented ones.", "OpenAI API reference"
    ),
    _rule(
        "call-unanswered",
        checks.unanswered,
        "One tool message for each call directly follows an assistant turn with calls.",
        "OpenAI's error message; HIST-06",
        PAIRING,
    ),
    _rule(
        "result-orphan",
        checks.orphans,
        "A tool message refers to a call of the assistant turn directly before it.",
        "OpenAI's error message; HIST-07, HIST-30",
        PAIRING,
    ),
    _rule(
        "result-duplicate",
        checks.answered_twice,
        "A call has one tool message.",
        "OpenAI's error message; ID-08",
        PAIRING,
    ),
    _rule(
        "id-missing",
        checks.id_missing,
        "Calls and their results contain the call's id.",
        "OpenAI API reference",
        PAIRING,
    ),
    _rule("id-repeated", checks.id_repeated, "Call ids are unique within a turn.", "ID-09", PAIRING),
    _rule("id-long", checks.id_long, "An id has at most 40 characters.", "OpenAI's error message; ID-13", OPENAI),
    _rule(
        "id-short",
        checks.id_not_short,
        "An id consists of exactly 9 letters and digits.",
        "Mistral's error message; ID-13",
        _MISTRAL,
        error_type=_INVALID_CALL,
    ),
    _rule(
        "name-pattern",
        checks.bad_name,
        "A tool's name consists of 1 to 64 letters, digits, _ and -.",
        "OpenAI API reference; NAME-04",
    ),
    _rule(
        "name-reserved",
        checks.reserved_name,
        "xAI reserves the names of its hosted tools.",
        "XAI-08",
        frozenset(("xai",)),
    ),
    _rule("arguments-text", checks.arguments_no_text, "Arguments are JSON text.", "OpenAI API reference", OPENAI),
    _rule("calls-empty", checks.no_calls, "A list of calls is not empty.", "OpenAI's error message", OPENAI),
    _rule(
        "content-missing",
        checks.no_content,
        "A message has content, unless it is an assistant message with calls or a refusal.",
        "OpenAI API reference",
        OPENAI,
    ),
    _rule(
        "content-text",
        checks.content_no_text,
        "xAI requires content next to calls; it may be ''.",
        "EMPTY-01 (an empty list, also reported as refused, was taken by all grok models that were recorded with it)",
        frozenset(("xai",)),
    ),
    _rule(
        "part-type",
        checks.unknown_part("text", "image_url", "input_audio", "refusal", "audio", "file"),
        "A content part has one of the documented types.",
        "OpenAI's error messages (missing required parameter: type; the supported values)",
        OPENAI,
    ),
    _rule(
        "part-type-deepseek",
        checks.unknown_part("text"),
        "DeepSeek accepts only text parts.",
        "DeepSeek's error message (unknown variant, expected `text`)",
        frozenset(("deepseek",)),
    ),
    _rule(
        "part-type-groq",
        checks.unknown_part("text", "image_url", "document"),
        "A content part has one of the documented types.",
        "Groq's SDK",
        frozenset(("groq",)),
    ),
    _rule(
        "part-type-mistral",
        checks.unknown_part(
            "text",
            "image_url",
            "input_audio",
            "document_url",
            "file",
            "reference",
            "thinking",
            "resource",
            "resource_link",
            "tool_reference",
        ),
        "A content part has one of the documented types.",
        "Mistral's SDK and API description",
        _MISTRAL,
        status=422,
    ),
    _rule(
        "file-id",
        checks.foreign_file,
        "Mistral accepts a file by its id, and file data only in a document_url.",
        "Mistral's SDK",
        _MISTRAL,
        status=422,
    ),
    _rule("audio-format", checks.unknown_sound, "Audio is wav or mp3.", "OpenAI API reference", OPENAI),
    _rule(
        "result-text",
        checks.result_media,
        "The parts of a tool message are text.",
        "OpenAI API reference; RES-03",
        OPENAI,
    ),
    _rule("result-members", checks.foreign_members, "A tool message has no error flag.", "RES-02"),
    _rule(
        "function-name",
        checks.function_nameless,
        "A function message contains the function's name.",
        "OpenAI API reference",
    ),
    _rule(
        "user-after-tool",
        checks.user_after_tool,
        "An assistant message separates a tool result from a user message.",
        "Mistral's error message; ORD-04 (mistral-small-latest was recorded to take it)",
        _MISTRAL,
    ),
    _rule(
        "content-or-calls",
        checks.says_nothing,
        "An assistant message has content or calls.",
        "Mistral's error message",
        _MISTRAL,
    ),
    _rule(
        "assistant-last",
        checks.assistant_last,
        "The last message is a user or tool message, or an assistant prefix.",
        "Mistral's error message",
        _MISTRAL,
    ),
    _rule(
        "member-groq",
        checks.undocumented("groq"),
        "Groq rejects undocumented members of a message.",
        "Groq's error message (property is unsupported)",
        frozenset(("groq",)),
    ),
    _rule(
        "member-mistral",
        checks.undocumented("mistral"),
        "Mistral rejects undocumented members of a message.",
        "Mistral's error message (extra inputs are not permitted)",
        _MISTRAL,
        status=422,
    ),
    _rule(
        "reasoning-missing",
        checks.unthought,
        "In DeepSeek's thinking mode, turns with calls contain their reasoning_content.",
        "DeepSeek's guide on thinking mode and its error message",
        frozenset(("deepseek",)),
    ),
    _rule(
        "custom-tool",
        checks.custom,
        "Only OpenAI accepts free-text tools.",
        "The providers' API references",
        frozenset(("mistral", "deepseek", "groq", "xai")),
    ),
    _rule(
        "parameters-object",
        checks.parameters_no_object,
        "A function's parameters are a schema of type object.",
        "OpenAI's error message",
        OPENAI | {"deepseek"},
    ),
    _rule(
        "strict-schema",
        checks.strict_schema,
        "In a strict schema, every object requires all its properties and allows no additional ones.",
        "OpenAI's error message (invalid_function_parameters) and guide on structured outputs",
        OPENAI,
    ),
    _rule(
        "tools-count",
        checks.tools_count,
        "The list of tools, if present, has 1 to 128 entries.",
        "OpenAI API reference",
        OPENAI,
    ),
    _rule(
        "tools-needed",
        checks.tools_needed,
        "tool_choice and parallel_tool_calls require tools.",
        "OpenAI's error message",
        OPENAI,
    ),
    _rule(
        "choice-undeclared",
        checks.choice_undeclared,
        "A forced tool is declared.",
        "OpenAI's error message",
        OPENAI,
    ),
    _rule(
        "choice-unknown",
        checks.unknown_choice("none", "auto", "required"),
        "tool_choice is one of the documented strings or objects.",
        "The providers' API references",
        OPENAI | {"groq", "deepseek"},
    ),
    _rule(
        "choice-unknown-mistral",
        checks.unknown_choice("none", "auto", "required", "any"),
        "tool_choice is one of the documented strings or objects.",
        "Mistral's API reference",
        _MISTRAL,
        status=422,
    ),
    _rule(
        "limits-both",
        checks.two_limits,
        "max_tokens and max_completion_tokens cannot be combined.",
        "OpenAI's error message (invalid_parameter_combination)",
        OPENAI,
    ),
    _rule(
        "body-mistral",
        checks.body_mistral,
        "Mistral rejects undocumented members of the body.",
        "Mistral's error message (extra inputs are not permitted) and its SDK",
        _MISTRAL,
        status=422,
    ),
    _rule(
        "body-groq",
        checks.body_groq,
        "Groq rejects some of OpenAI's members and more than one choice.",
        "Groq's page on its compatibility with OpenAI, and its SDK",
        frozenset(("groq",)),
    ),
    _rule(
        "format-deepseek",
        checks.schema_wanted,
        "DeepSeek does not support response_format json_schema.",
        "DeepSeek's error message (response_format.type json_schema is unavailable now)",
        frozenset(("deepseek",)),
    ),
)
