"""Findings: the diagnostics of decoding, and the table of their codes, from which `docs/findings.md` is generated.

A finding does not change the canonical form; it reports where the wire's data is unusual, ambiguous or damaged.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Severity = Literal["info", "warning", "error"]


class Finding(Struct, frozen=True, gc=False):
    """One diagnostic. ``choice`` and ``block`` are indexes in the response; None if it concerns all of it."""

    code: str
    severity: Severity
    message: str
    choice: int | None = None
    block: int | None = None


class Code(Struct, frozen=True):
    """An entry of the table: the severity and meaning of a finding code, and the recommended reaction."""

    severity: Severity
    means: str
    do: str


# fmt: off  (one entry per line)
CODES: dict[str, Code] = {
    # transport and framing
    "stream-incomplete": Code(
        "error",
        "The stream ended without the terminal event of its wire.",
        "Retry the request; execute nothing of this response.",
    ),
    "response-unfinished": Code(
        "error",
        "The provider has not finished this response yet (background mode).",
        "Fetch it again later; execute nothing of it.",
    ),
    "stream-error": Code(
        "error",
        "The provider reported an error inside a stream that had begun well.",
        "Read response.error; retry if it is retryable.",
    ),
    "undecodable-event": Code(
        "error",
        "An event of the stream holds no JSON; its bytes are kept in the message.",
        "Look for a proxy that rewrites or cuts the stream.",
    ),
    "raw-text-in-stream": Code(
        "error",
        "Bytes in the stream belong to no event (a backend's error page, for one).",
        "Look for a proxy that writes errors into a begun stream.",
    ),
    "keepalive-in-data": Code("info", "A keep-alive comment was wrapped into a data line.", "Nothing; it was ignored."),
    "empty-event": Code("info", "An event had a data field with nothing in it.", "Nothing; it was ignored."),
    "unterminated-event": Code(
        "warning", "The last event lacks the blank line that ends it.", "Expect cut streams from this server."
    ),
    "events-not-separated": Code(
        "warning",
        "Events of the stream follow each other without a blank line between them.",
        "Nothing; each was read. Look for the proxy that drops blank lines: most clients lose these events.",
    ),
    "plain-body": Code(
        "info",
        "A whole body came where a stream was expected.",
        "Nothing; it was decoded. The server ignored the request to stream.",
    ),
    "stream-body": Code("info", "A stream came where a whole body was expected.", "Nothing; it was decoded."),
    "corrupt-text": Code(
        "warning",
        "Text holds U+FFFD or bytes that are no UTF-8: something on the way split a character.",
        "Find the hop that decodes chunks one by one; the text cannot be restored.",
    ),
    "event-after-end": Code(
        "info",
        "Events with content came after the terminal event.",
        "Nothing; they were read. The server finishes twice.",
    ),
    # types of blocks, events and members
    "unknown-block": Code(
        "warning",
        "A content block or output item of a type that no table here names; kept as opaque.",
        "Update toolparity, or report the type.",
    ),
    "unknown-event": Code(
        "warning",
        "A stream event of a type that no table here names; kept in extra.",
        "Update toolparity, or report the type.",
    ),
    "unknown-member": Code("info", "A member that no table here names; kept in extra.", "Nothing; it survives."),
    "wrong-type": Code(
        "warning",
        "A member has another type than its wire documents; it was set aside in extra.",
        "Check what the server sends there.",
    ),
    "error-response": Code("error", "The body is an error, not an answer.", "Read response.error."),
    "provider-rejected-call": Code(
        "error",
        "The provider could not parse the model's own call and refused it; the text is in error.raw.",
        "Ask again; the call was never issued.",
    ),
    # identity of calls
    "id-missing": Code(
        "info", "A call came without an id; it got a synthetic one.", "Use the id of the canonical call when answering."
    ),
    "id-duplicate": Code(
        "warning",
        "Two different calls of one answer carried the same id; the later got a synthetic one.",
        "Answer by the ids of the canonical calls.",
    ),
    "id-changed": Code(
        "warning",
        "The id changed between the fragments of one call; one of them was kept.",
        "Nothing; the call is whole.",
    ),
    "duplicate-call": Code(
        "warning",
        "The same call (id, name, arguments) came more than once; it counts once.",
        "Nothing; it is not run twice.",
    ),
    "index-missing": Code(
        "info", "Streamed calls came without an index; ids, names and positions told them apart.", "Nothing."
    ),
    "index-reused": Code(
        "warning",
        "A new call, or another choice, came under the index of one that was there.",
        "Nothing; both were kept. Naive accumulators lose one.",
    ),
    "index-changed": Code(
        "warning", "The fragments of one call came under several indexes.", "Nothing; they were joined."
    ),
    "delta-misplaced": Code(
        "warning",
        "A delta came under the index of a block of another type, or before its block began.",
        "Nothing; its words are in a block of their type. Report it to the maintainer of the server or proxy.",
    ),
    "name-split": Code("info", "A call's name came in several pieces.", "Nothing; it was joined."),
    "nameless-call": Code(
        "error",
        "Fragments of a call without any name.",
        "If it has arguments it stands as an invalid call; answer it with an error.",
    ),
    "call-unwrapped": Code(
        "warning",
        "The name and arguments of a call came beside its id instead of inside `function`; they were read.",
        "Nothing; the call is whole. Report it to the server.",
    ),
    "unknown-tool": Code(
        "warning",
        "The call names a tool that the request did not declare.",
        "Answer it with an error that lists the known tools.",
    ),
    "pseudo-parallel": Code(
        "warning",
        "The model called multi_tool_use.parallel, which nobody declared: its calls are in the arguments.",
        "Answer with an error, or unwrap it (toolparity.normalizer.repair).",
    ),
    "call-type-unset": Code(
        "warning",
        "The wire does not say who executes this call; it is taken for the caller's.",
        "Nothing, if you declared the tool.",
    ),
    "unresolved-call": Code(
        "error",
        "The wire does not say who executes this call, and the request did not declare it.",
        "Answer it with an error; it is not executed.",
    ),
    "call-failed": Code(
        "error", "The provider marked this client call as failed.", "Answer it with an error; it is not executed."
    ),
    "answered-call": Code(
        "info",
        "The output of this call stands in the same response: it was run elsewhere, and counts as a server call.",
        "Nothing; it is not run again.",
    ),
    # arguments
    "arguments-empty": Code(
        "info", "The arguments are an empty text; taken as {}.", "Nothing; usual for tools without parameters."
    ),
    "arguments-null": Code("info", "The arguments are null; taken as {}.", "Nothing."),
    "arguments-not-object": Code("error", "The arguments are JSON but no object.", "Answer the call with an error."),
    "arguments-invalid": Code("error", "The arguments are no JSON.", "Answer the call with an error; never guess."),
    "arguments-truncated": Code(
        "error",
        "The arguments end before their JSON does, or the answer was cut inside this call.",
        "Answer the call with an error; raise the token limit.",
    ),
    "arguments-glued": Code(
        "error",
        "Several JSON values stand one after the other in one argument text.",
        "Answer the call with an error; look for an accumulator that merges calls upstream.",
    ),
    "arguments-double-encoded": Code(
        "error",
        "The arguments are a JSON string that holds JSON.",
        "Answer the call with an error, or unwrap it (toolparity.normalizer.repair).",
    ),
    "arguments-too-deep": Code(
        "error", "The arguments are nested deeper than the parser goes.", "Answer the call with an error."
    ),
    "arguments-number-too-large": Code(
        "error", "A number in the arguments is beyond what can be represented.", "Answer the call with an error."
    ),
    "arguments-lone-surrogate": Code(
        "warning",
        "The arguments hold half a surrogate pair; kept.",
        "Encode with toolparity.normalizer.json_codec.encode, which escapes it.",
    ),
    "arguments-respelled": Code(
        "info",
        "The source held the arguments as JSON, not as text; arguments_text is compact JSON.",
        "Nothing, unless you compare bytes.",
    ),
    "arguments-snapshot": Code(
        "info",
        "The server repeats the arguments so far instead of sending only what is new.",
        "Nothing; the last snapshot counts.",
    ),
    "arguments-disagree": Code(
        "warning",
        "The final arguments differ from what was streamed; the final ones count, unless they are empty.",
        "Do not act on streamed arguments before the end.",
    ),
    "arguments-misplaced": Code(
        "error",
        "Arguments came elsewhere than for their call: the call may lack them, or may hold those of another call.",
        "Answer the call with an error; it is not executed.",
    ),
    "arguments-in-text": Code(
        "warning",
        "A call has no arguments, and the text beside it is a JSON object: it may hold them.",
        "Pass the request: where the tool requires what the text holds, the call is not executed.",
    ),
    # calls written as text (toolparity.normalizer.textmode)
    "call-in-text": Code(
        "info",
        "Calls were read out of the text, in the dialect that the message names.",
        "Nothing; write the history back with toolparity.normalizer.textmode.",
    ),
    "dialect-detected": Code(
        "info",
        "The dialect was not told: the first call told it.",
        "Tell it, so that no other one can be taken for it.",
    ),
    "leaked-markup": Code(
        "warning",
        "The text holds the markup of a call that nobody read.",
        "Read it with toolparity.normalizer.textmode, or give the server the tool parser of its model.",
    ),
    "call-in-reasoning": Code(
        "warning",
        "A call stands inside the model's thinking; it is not executed.",
        "Nothing where a call follows; else ask again, or read the thinking too (reasoning='read').",
    ),
    "markup-in-code": Code(
        "info", "A call stands in a fence or backquotes: it is an example.", "Nothing; it was left as words."
    ),
    "markup-malformed": Code(
        "error",
        "The markup of a call is broken: tags are wrong or missing, or words stand between them.",
        "Answer the call with an error; its text is all that stood in it.",
    ),
    "markup-ambiguous": Code(
        "warning",
        "A value holds tags, or may: markup cannot tell a tag from a text that looks like one.",
        "Nothing where the call is complete: the last closing tag counts. Else answer it with an error.",
    ),
    "closer-missing": Code(
        "warning",
        "The closing tag of a call is missing.",
        "Nothing where the call is complete; else answer it with an error.",
    ),
    "closer-cut": Code(
        "info",
        "A stop sequence cut the closing tag of a call off; it was put back.",
        "Do not stop on closing tags: end the stream at the second call instead (limit).",
    ),
    "stray-markup": Code(
        "warning", "A closing tag stands where nothing is open.", "Look what the model meant to call."
    ),
    "parameter-mistyped": Code(
        "warning",
        "A parameter is no value of the type that the tool declares; it was kept as text.",
        "Check the arguments by the tool's schema before running it.",
    ),
    "tool-limit": Code(
        "info",
        "One more tool than the limit began: the answer was ended there, successfully.",
        "Nothing; run the calls that are there and send their results.",
    ),
    # stop reasons and the end of a response
    "stop-disagrees": Code(
        "warning",
        "The wire's stop reason is not what happened (calls present or absent).",
        "Trust stop.reason; stop.raw keeps the wire's word.",
    ),
    "stop-missing": Code("info", "The wire gives no stop reason.", "Nothing; it was told from the content."),
    "stop-unknown": Code("warning", "A stop reason that no table here names.", "Update toolparity, or report it."),
    "time-limit": Code(
        "warning",
        "The provider cut the answer because of its own time limit; counted as max_tokens.",
        "Treat it as truncated.",
    ),
    "refused": Code(
        "warning",
        "The model refused, or a filter cut the answer: nothing in it may be executed.",
        "Show the refusal; do not retry unchanged.",
    ),
    "paused": Code(
        "info", "The provider paused a long turn of its own tools.", "Send the answer back unchanged to go on."
    ),
    "needs-approval": Code(
        "info", "The provider waits for approval of a call on a server of its own.", "Answer each approval_request."
    ),
    "output-empty": Code(
        "info",
        "The terminal event repeats no output although items were streamed; the streamed ones count.",
        "Nothing.",
    ),
    "output-disagrees": Code(
        "warning",
        "The terminal event's output and the streamed items differ; the terminal one counts, nothing streamed is dropped.",
        "Compare both before acting.",
    ),
    # policies
    "dropped-call": Code(
        "warning",
        "The policy or its limit left this call out.",
        "It is answered with an error result; choose policy all to run it.",
    ),
    "rejected-call": Code("warning", "This call cannot run.", "It is answered with an error result that says why."),
}
# fmt: on


def finding(code: str, message: str = "", choice: int | None = None, block: int | None = None) -> Finding:
    """Return a finding of a code in the table. The default message is the meaning of the code."""
    row = CODES[code]
    return Finding(code, row.severity, message or row.means, choice, block)
