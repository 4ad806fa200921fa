"""Wire schema of generateContent: structs for responses, which are also the events of a stream.

Source: `google.genai.types` (GenerateContentResponse, Candidate, Content, Part, FunctionCall). A part has no type: the
member that holds its data shows what it is.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from ...model import StopReason
from ..schema import Wire, carrier
from ..stop_words import reason_of

WIRE = "google.gemini"
NO_ARGS = Raw(b"")


class Camel(Wire, rename="camel"):
    """Base of all structs: the names of members on the wire are in camel case."""


class FunctionCall(Camel):
    """A client call. ``partialArgs``, ``willContinue``: its arguments are streamed, one value at a time."""

    id: str | None = None
    name: str | None = None
    args: Raw = NO_ARGS
    partial_args: list[dict[str, Any]] | None = None
    will_continue: bool | None = None


class Part(Camel):
    """A part of a content, with one of the members that hold data (`text`, `functionCall` and those in `SERVER`)."""

    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: FunctionCall | None = None
    executable_code: dict[str, Any] | None = None
    code_execution_result: dict[str, Any] | None = None
    tool_call: dict[str, Any] | None = None
    tool_response: dict[str, Any] | None = None
    inline_data: dict[str, Any] | None = None
    file_data: dict[str, Any] | None = None
    function_response: dict[str, Any] | None = None
    audio_transcription: dict[str, Any] | None = None
    audio: dict[str, Any] | None = None  # sound of a session, with its size only
    # members beside the data
    part_metadata: Any = None
    media_resolution: Any = None
    media_processing: Any = None
    video_metadata: Any = None
    audio_metadata: Any = None
    document_metadata: Any = None
    spreadsheet_metadata: Any = None
    speech_metadata: Any = None


#: The members with data that the provider or its tools produced.
SERVER = (
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
    "inlineData",
    "fileData",
    "functionResponse",
    "audioTranscription",
)
DATA = ("text", "functionCall", *SERVER)


class Content(Camel):
    parts: list[Part] | None = None
    role: str | None = None


class Candidate(Camel):
    content: Content | None = None
    finish_reason: str | int | None = None
    index: int | None = None
    finish_message: Any = None
    citation_metadata: dict[str, Any] | None = None
    grounding_metadata: dict[str, Any] | None = None
    url_context_metadata: Any = None
    safety_ratings: Any = None
    token_count: Any = None
    avg_logprobs: Any = None
    logprobs_result: Any = None
    continuation_token: Any = None
    grounding_attributions: Any = None


class GenerateContent(Camel):
    """A response, an event of a stream, or an error."""

    candidates: list[Candidate] | None = None
    usage_metadata: dict[str, Any] | None = None
    model_version: str | None = None
    response_id: str | None = None
    prompt_feedback: dict[str, Any] | None = None
    create_time: Any = None
    model_status: Any = None
    error: Any = None


#: The words for the numbers of `Candidate.FinishReason` that mean the same in the protobuf messages of both APIs
#: (`google.ai.generativelanguage`, `google.cloud.aiplatform`). Some clients record numbers instead of words.
FINISH_REASONS = {0: "FINISH_REASON_UNSPECIFIED", 1: "STOP", 2: "MAX_TOKENS", 3: "SAFETY", 4: "RECITATION", 5: "OTHER"}


#: The words with which nearly all answers end. There is nothing to report about them.
ENDS: dict[str | int | None, StopReason] = {"STOP": "end_turn", "MAX_TOKENS": "max_tokens"}


def finish_reason(value: str | int | None) -> tuple[StopReason | None, str | None]:
    """Return the meaning of a finish reason, and its word.

    The other numbers differ between the APIs, but in both all of them are filters and malformed answers.
    """
    if value in ENDS:
        return ENDS[value], value  # type: ignore[return-value]
    if isinstance(value, int):
        word = FINISH_REASONS.get(value)
        return ("content_filter", str(value)) if word is None else (reason_of(word), word)
    return (reason_of(value), value) if value else (None, None)


#: All members of a part but `text` and `thought`.
carry_members = carrier(Part, "text", "thought")
#: All members of a part but `text`, `thought` and `functionCall`.
carry_beside_call = carrier(Part, "text", "thought", "function_call")


def carry_part(part: Part) -> dict[str, Any]:
    """Return the members of a part, except `text`, `thought` and `functionCall`, that are not null."""
    members = carry_beside_call(part)
    return {name: value for name, value in members.items() if value is not None} if part.extra_ else members


#: All members of a candidate but `content` and `index`.
carry_beside = carrier(Candidate, "content", "index")
#: The members of a candidate that later events complete.
carry_merged = carrier(Candidate, "content", "finish_reason", "index")
carry_candidate = carrier(Candidate, "content", "finish_reason", "index", "citation_metadata", "grounding_metadata")
carry_response = carrier(GenerateContent, "candidates", "usage_metadata", "model_version", "response_id", "error")
