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
    _rule("messages-empty", checks.no_messages, "A request holds at least one message.", "OpenAI API reference"),
    _rule("message-object", checks.message_no_object, "A message is an object.", "OpenAI API reference"),
    _rule(
        "role-unknown", checks.unknown_role, "A message's role is one of the documented ones.", "OpenAI API reference"
    ),
    _rule(
        "call-unanswered",
        checks.unanswered,
        "A turn with calls is followed at once by one tool message for each call.",
        "OpenAI's error message; HIST-06",
        PAIRING,
    ),
    _rule(
        "result-orphan",
        checks.orphans,
        "A tool message answers a call of the assistant turn directly before it.",
        "OpenAI's error message; HIST-07, HIST-30",
        PAIRING,
    ),
    _rule(
        "result-duplicate", checks.answered_twice, "A call is answered once.", "OpenAI's error message; ID-08", PAIRING
    ),
    _rule(
        "id-missing", checks.id_missing, "Calls and their results carry the call's id.", "OpenAI API reference", PAIRING
    ),
    _rule("id-repeated", checks.id_repeated, "The ids of one turn's calls differ.", "ID-09", PAIRING),
    _rule("id-long", checks.id_long, "An id has at most 40 characters.", "OpenAI's error message; ID-13", OPENAI),
    _rule(
        "id-short",
        checks.id_not_short,
        "An id is exactly 9 letters and figures.",
        "Mistral's error message; ID-13",
        _MISTRAL,
        error_type=_INVALID_CALL,
    ),
    _rule(
        "name-pattern", checks.bad_name, "A tool's name is 1 to 64 of a-z A-Z 0-9 _ -.", "OpenAI API reference; NAME-04"
    ),
    _rule(
        "name-reserved", checks.reserved_name, "xAI keeps the names of its own tools.", "XAI-08", frozenset(("xai",))
    ),
    _rule("arguments-text", checks.arguments_no_text, "Arguments are JSON as text.", "OpenAI API reference", OPENAI),
    _rule("calls-empty", checks.no_calls, "A list of calls is not empty.", "OpenAI's error message", OPENAI),
    _rule(
        "content-missing",
        checks.no_content,
        "A message has content; only an assistant's with calls or a refusal may lack it.",
        "OpenAI API reference",
        OPENAI,
    ),
    _rule(
        "content-text",
        checks.content_no_text,
        "xAI wants content beside calls, '' at least.",
        "EMPTY-01 (an empty list, also reported as refused, was taken by all grok models that were recorded with it)",
        frozenset(("xai",)),
    ),
    _rule(
        "part-type",
        checks.unknown_part("text", "image_url", "input_audio", "refusal", "audio", "file"),
        "A part has one of the documented types.",
        "OpenAI's error messages (missing required parameter: type; the supported values)",
        OPENAI,
    ),
    _rule(
        "part-type-deepseek",
        checks.unknown_part("text"),
        "DeepSeek's parts are text.",
        "DeepSeek's error message (unknown variant, expected `text`)",
        frozenset(("deepseek",)),
    ),
    _rule(
        "part-type-groq",
        checks.unknown_part("text", "image_url", "document"),
        "A part has one of the documented types.",
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
        "A part has one of the documented types.",
        "Mistral's SDK and API description",
        _MISTRAL,
        status=422,
    ),
    _rule(
        "file-id",
        checks.foreign_file,
        "Mistral takes a file by its id; its bytes stand in a document_url.",
        "Mistral's SDK",
        _MISTRAL,
        status=422,
    ),
    _rule("audio-format", checks.unknown_sound, "Sound is wav or mp3.", "OpenAI API reference", OPENAI),
    _rule(
        "result-text", checks.result_media, "A tool message's parts are text.", "OpenAI API reference; RES-03", OPENAI
    ),
    _rule("result-members", checks.foreign_members, "A tool message has no flag for failure.", "RES-02"),
    _rule("function-name", checks.function_nameless, "A function message names its function.", "OpenAI API reference"),
    _rule(
        "user-after-tool",
        checks.user_after_tool,
        "The assistant speaks between a tool's result and the user.",
        "Mistral's error message; ORD-04 (mistral-small-latest was recorded to take it)",
        _MISTRAL,
    ),
    _rule(
        "content-or-calls",
        checks.says_nothing,
        "An assistant's message has content or calls.",
        "Mistral's error message",
        _MISTRAL,
    ),
    _rule(
        "assistant-last",
        checks.assistant_last,
        "The last message is a user's or a tool's, or an assistant's prefix.",
        "Mistral's error message",
        _MISTRAL,
    ),
    _rule(
        "member-groq",
        checks.undocumented("groq"),
        "Groq refuses members of a message that it does not document.",
        "Groq's error message (property is unsupported)",
        frozenset(("groq",)),
    ),
    _rule(
        "member-mistral",
        checks.undocumented("mistral"),
        "Mistral refuses members of a message that it does not document.",
        "Mistral's error message (extra inputs are not permitted)",
        _MISTRAL,
        status=422,
    ),
    _rule(
        "reasoning-missing",
        checks.unthought,
        "While DeepSeek thinks, turns with calls carry their reasoning_content.",
        "DeepSeek's guide on thinking mode and its error message",
        frozenset(("deepseek",)),
    ),
    _rule(
        "custom-tool",
        checks.custom,
        "Free-text tools are OpenAI's alone.",
        "The providers' API references",
        frozenset(("mistral", "deepseek", "groq", "xai")),
    ),
    _rule(
        "parameters-object",
        checks.parameters_no_object,
        "A function's parameters are the schema of an object.",
        "OpenAI's error message",
        OPENAI | {"deepseek"},
    ),
    _rule(
        "strict-schema",
        checks.strict_schema,
        "With strict, every object of a schema closes itself and requires all its properties.",
        "OpenAI's error message (invalid_function_parameters) and guide on structured outputs",
        OPENAI,
    ),
    _rule("tools-count", checks.tools_count, "There are 1 to 128 tools, or no list.", "OpenAI API reference", OPENAI),
    _rule(
        "tools-needed",
        checks.tools_needed,
        "tool_choice and parallel_tool_calls need tools beside them.",
        "OpenAI's error message",
        OPENAI,
    ),
    _rule(
        "choice-undeclared",
        checks.choice_undeclared,
        "A tool that is chosen is declared.",
        "OpenAI's error message",
        OPENAI,
    ),
    _rule(
        "choice-unknown",
        checks.unknown_choice("none", "auto", "required"),
        "tool_choice is one of the documented words or objects.",
        "The providers' API references",
        OPENAI | {"groq", "deepseek"},
    ),
    _rule(
        "choice-unknown-mistral",
        checks.unknown_choice("none", "auto", "required", "any"),
        "tool_choice is one of the documented words or objects.",
        "Mistral's API reference",
        _MISTRAL,
        status=422,
    ),
    _rule(
        "limits-both",
        checks.two_limits,
        "max_tokens and max_completion_tokens do not stand together.",
        "OpenAI's error message (invalid_parameter_combination)",
        OPENAI,
    ),
    _rule(
        "body-mistral",
        checks.body_mistral,
        "Mistral refuses members of the body that it does not document.",
        "Mistral's error message (extra inputs are not permitted) and its SDK",
        _MISTRAL,
        status=422,
    ),
    _rule(
        "body-groq",
        checks.body_groq,
        "Groq refuses some of OpenAI's members, and more than one choice.",
        "Groq's page on its compatibility with OpenAI, and its SDK",
        frozenset(("groq",)),
    ),
    _rule(
        "format-deepseek",
        checks.schema_wanted,
        "DeepSeek holds no answer to a schema.",
        "DeepSeek's error message (response_format.type json_schema is unavailable now)",
        frozenset(("deepseek",)),
    ),
)
