"""Findings: the diagnostics of decoding, and the table of their codes, from which `docs/pages/findings.md` is generated.

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
    """An entry of the table: the severity and meaning of a finding code, and the recommended reaction.

    The severity is the highest one; the meaning states when a finding has a lower one.
    """

    severity: Severity
    means: str
    do: str


# fmt: off  (one entry per line)
CODES: dict[str, Code] = {
    # transport and framing
    "stream-incomplete": Code(
        "error",
        "The stream ended without the wire's terminal event.",
        "Retry the request; execute no call of this response.",
    ),
    "response-unfinished": Code(
        "info",
        "The provider has not finished this response yet (background mode).",
        "Fetch the response again later; execute no call of it.",
    ),
    "stream-error": Code(
        "error",
        "The provider reported an error in a stream that had started normally.",
        "Read `response.error`; retry if it is retryable.",
    ),
    "undecodable-event": Code(
        "error",
        "The data of a stream event is not JSON; the message contains its bytes.",
        "Look for a proxy that rewrites or truncates the stream.",
    ),
    "raw-text-in-stream": Code(
        "error",
        "The stream contains bytes outside any event, such as an error page of a backend.",
        "Look for a proxy that writes errors into a running stream.",
    ),
    "keepalive-in-data": Code("info", "A keep-alive comment was wrapped into a data line.", "Nothing; it was ignored."),
    "empty-event": Code("info", "The data field of an event is empty.", "Nothing; it was ignored."),
    "unterminated-event": Code(
        "warning", "The blank line after the last event is missing.", "Expect truncated streams from this server."
    ),
    "events-not-separated": Code(
        "warning",
        "Stream events follow each other without a blank line between them.",
        "Nothing; each event was decoded. Find the proxy that drops blank lines: most clients lose these events.",
    ),
    "plain-body": Code(
        "info",
        "The response is a complete body where a stream was expected.",
        "Nothing; it was decoded. The server ignored the request to stream.",
    ),
    "stream-body": Code(
        "info", "The response is a stream where a complete body was expected.", "Nothing; it was decoded."
    ),
    "corrupt-text": Code(
        "warning",
        "Text contains U+FFFD or invalid UTF-8: a character was split in transit.",
        "Find the hop that decodes each chunk separately; the text cannot be restored.",
    ),
    "event-after-end": Code(
        "info",
        "Events with content follow the terminal event.",
        "Nothing; they were decoded. The server ends the stream twice.",
    ),
    "event-repeated": Code(
        "error",
        "An event that starts or ends a call was sent twice, or one that ends a response with calls. A warning for other"
        " blocks and responses.",
        "Nothing; it counts once. Find the server or proxy that repeats events: some clients execute such a call twice.",
    ),
    "event-missing": Code(
        "warning",
        "A block has no end event although the response is complete, or a block or the response has no start event.",
        "Nothing; what arrived counts as complete. Report it to the maintainer of the server or proxy.",
    ),
    # types of blocks, events and members
    "unknown-block": Code(
        "warning",
        "A content block or output item has an unknown type; it is kept as an opaque block.",
        "Update toolparity, or report the type.",
    ),
    "unknown-event": Code(
        "warning",
        "A stream event has an unknown type; it is kept in `extra`.",
        "Update toolparity, or report the type.",
    ),
    "unknown-member": Code("info", "An unknown member; it is kept in `extra`.", "Nothing; its value is preserved."),
    "wrong-type": Code(
        "warning",
        "The type of a member differs from the wire's documentation; it is kept in `extra`.",
        "Check the value that the server sends in this member.",
    ),
    "error-response": Code("error", "The body is an error, not a response.", "Read `response.error`."),
    "provider-rejected-call": Code(
        "error",
        "The provider could not parse the call that the model generated; the text is in `error.raw`.",
        "Retry the request; the call was never issued.",
    ),
    # identity of calls
    "id-missing": Code(
        "info",
        "A call has no id; it was given a synthetic one.",
        "Use the id of the canonical call in the tool result.",
    ),
    "id-duplicate": Code(
        "warning",
        "Two different calls of one response have the same id; the later one was given a synthetic id.",
        "Use the ids of the canonical calls in the tool results.",
    ),
    "id-changed": Code(
        "warning",
        "The id changed between fragments of one call; one id was kept.",
        "Nothing; the call is complete.",
    ),
    "duplicate-call": Code(
        "warning",
        "The same call (id, name, arguments) is repeated, possibly without its arguments; it counts once.",
        "Nothing; it is executed once.",
    ),
    "index-missing": Code(
        "info", "Streamed calls have no index; they were distinguished by id, name and position.", "Nothing."
    ),
    "index-reused": Code(
        "warning",
        "A new call or choice reuses the index of an earlier one.",
        "Nothing; both were kept. Clients that accumulate by index lose one.",
    ),
    "index-changed": Code(
        "warning", "Fragments of one call have different indexes.", "Nothing; they were concatenated."
    ),
    "delta-misplaced": Code(
        "warning",
        "A delta has the index of a block of another type, or precedes the start of its block.",
        "Nothing; its text is in a block of the right type. Report it to the maintainer of the server or proxy.",
    ),
    "name-split": Code("info", "The name of a call was sent in several fragments.", "Nothing; they were concatenated."),
    "nameless-call": Code(
        "error",
        "No fragment of the call has a name.",
        "If it has arguments, it is kept as an invalid call; answer it with an error.",
    ),
    "call-unwrapped": Code(
        "warning",
        "The name and arguments of a call are next to its id instead of in `function`; they were decoded.",
        "Nothing; the call is complete. Report it to the server's maintainer.",
    ),
    "unknown-tool": Code(
        "warning",
        "The call names a tool that the request did not declare.",
        "Answer it with an error that lists the known tools.",
    ),
    "pseudo-parallel": Code(
        "warning",
        "The model called multi_tool_use.parallel, which is not declared; its calls are in the arguments.",
        "Answer with an error, or unwrap it (toolparity.normalizer.repair).",
    ),
    "call-type-unset": Code(
        "warning",
        "The wire does not specify whether the provider executes this call; it is treated as a client call.",
        "Nothing, if you declared the tool.",
    ),
    "call-type-disagrees": Code(
        "warning",
        "The call has the type of a hosted tool, but the request declares it as a function, and not that tool.",
        "Nothing; it is a client call.",
    ),
    "unresolved-call": Code(
        "error",
        "The wire does not specify whether the provider executes this call, and the request did not declare the tool.",
        "Answer it with an error; it is not executed.",
    ),
    "call-failed": Code(
        "error", "The provider marked this client call as failed.", "Answer it with an error; it is not executed."
    ),
    "answered-call": Code(
        "info",
        "The same response contains the output of this call, so it counts as a server call.",
        "Nothing; it is not executed again.",
    ),
    # arguments
    "arguments-empty": Code(
        "info", "The arguments are empty text; read as {}.", "Nothing; usual for tools without parameters."
    ),
    "arguments-missing": Code(
        "warning",
        "A streamed call has neither arguments nor an end, although the response ended.",
        "Pass the request: if the tool requires arguments, the call is not executed.",
    ),
    "arguments-null": Code("info", "The arguments are null; read as {}.", "Nothing."),
    "arguments-not-object": Code(
        "error", "The arguments are JSON but not an object.", "Answer the call with an error."
    ),
    "arguments-invalid": Code(
        "error", "The arguments are not JSON.", "Answer the call with an error; do not guess the arguments."
    ),
    "arguments-truncated": Code(
        "error",
        "The argument text is incomplete JSON, or the response was truncated inside this call.",
        "Answer the call with an error; raise the token limit.",
    ),
    "arguments-glued": Code(
        "error",
        "The argument text contains several concatenated JSON values.",
        "Answer the call with an error; look for an accumulator that merges calls upstream.",
    ),
    "arguments-double-encoded": Code(
        "error",
        "The arguments are a JSON string that contains JSON.",
        "Answer the call with an error, or unwrap it (toolparity.normalizer.repair).",
    ),
    "arguments-too-deep": Code(
        "error", "The arguments are nested deeper than the parser supports.", "Answer the call with an error."
    ),
    "arguments-number-too-large": Code(
        "error", "A number in the arguments is too large to be represented.", "Answer the call with an error."
    ),
    "arguments-lone-surrogate": Code(
        "warning",
        "The arguments contain a lone surrogate; it is kept.",
        "Encode with toolparity.normalizer.json_codec.encode, which escapes it.",
    ),
    "arguments-respelled": Code(
        "info",
        "The source contains the arguments as JSON, not as text; `arguments_text` is compact JSON.",
        "Nothing, unless you compare bytes.",
    ),
    "arguments-snapshot": Code(
        "info",
        "The server repeats the arguments so far instead of sending only the new part.",
        "Nothing; the last snapshot counts.",
    ),
    "arguments-disagree": Code(
        "warning",
        "The final arguments differ from the streamed ones; the final ones count, unless they are empty.",
        "Do not use streamed arguments before the stream ends.",
    ),
    "arguments-misplaced": Code(
        "error",
        "Arguments were sent for the wrong call: this call may lack its arguments or contain those of another.",
        "Answer the call with an error; it is not executed.",
    ),
    "arguments-in-text": Code(
        "warning",
        "A call has no arguments and the response text is a JSON object, which may be its arguments.",
        "Pass the request: if the tool requires members that the text contains, the call is not executed.",
    ),
    # calls written as text (toolparity.normalizer.textmode)
    "call-in-text": Code(
        "info",
        "Calls were extracted from text in the dialect named in the message.",
        "Nothing; write the history back with toolparity.normalizer.textmode.",
    ),
    "dialect-detected": Code(
        "info",
        "No dialect was specified; it was detected from the first call.",
        "Specify the dialect to avoid a wrong detection.",
    ),
    "leaked-markup": Code(
        "warning",
        "The text contains the markup of a call that was not extracted.",
        "Extract it with toolparity.normalizer.textmode, or configure the server's tool parser for the model.",
    ),
    "call-in-reasoning": Code(
        "warning",
        "A call is inside the model's reasoning; it is not executed.",
        "Nothing if a call follows; otherwise retry, or extract calls from reasoning too (reasoning='read').",
    ),
    "markup-in-code": Code(
        "info", "A call is in a code fence or backquotes; it is treated as an example.", "Nothing; it was left as text."
    ),
    "markup-malformed": Code(
        "error",
        "The markup of a call is malformed: tags are wrong or missing, or there is text between them.",
        "Answer the call with an error; its argument text is the complete markup content.",
    ),
    "markup-ambiguous": Code(
        "warning",
        "A value contains tags or text that looks like tags; the markup cannot distinguish them.",
        "Nothing if the call is complete: the last closing tag counts. Otherwise answer it with an error.",
    ),
    "closer-missing": Code(
        "warning",
        "The closing tag of a call is missing.",
        "Nothing if the call is complete; otherwise answer it with an error.",
    ),
    "closer-cut": Code(
        "info",
        "A stop sequence removed the closing tag of a call; the tag was restored.",
        "Do not use closing tags as stop sequences; end the stream at the second call instead (`limit`).",
    ),
    "stray-markup": Code(
        "warning", "A closing tag has no matching opening tag.", "Inspect the text for a call that the model intended."
    ),
    "parameter-mistyped": Code(
        "warning",
        "A parameter's value does not match the type that the tool declares; it was kept as text.",
        "Validate the arguments against the tool's schema before executing the call.",
    ),
    "tool-limit": Code(
        "info",
        "A call beyond the limit began; the response was ended there successfully.",
        "Nothing; execute the calls of the response and send their results.",
    ),
    # stop reasons and the end of a response
    "stop-disagrees": Code(
        "warning",
        "The wire's stop reason contradicts the presence or absence of calls.",
        "Use `stop.reason`; `stop.raw` is the wire's value.",
    ),
    "stop-missing": Code("info", "The response has no stop reason.", "Nothing; it was derived from the content."),
    "stop-unknown": Code("warning", "The stop reason is unknown.", "Update toolparity, or report it."),
    "time-limit": Code(
        "warning",
        "The provider truncated the response at its time limit; counted as max_tokens.",
        "Treat it as truncated.",
    ),
    "refused": Code(
        "warning",
        "The model refused or a filter stopped the response; no call of it may be executed.",
        "Show the refusal; do not retry the unchanged request.",
    ),
    "paused": Code(
        "info", "The provider paused a long turn of server calls.", "Send the response back unchanged to continue."
    ),
    "needs-approval": Code(
        "info", "The provider waits for approval of a server call.", "Answer each approval_request."
    ),
    "output-empty": Code(
        "info",
        "The output in the terminal event is empty although items were streamed; the streamed items count.",
        "Nothing.",
    ),
    "output-disagrees": Code(
        "warning",
        "The terminal event's output differs from the streamed items; the terminal one counts, no streamed item is lost.",
        "Compare both before executing calls.",
    ),
    # sessions over WebSocket
    "call-cancelled": Code(
        "warning",
        "The provider cancelled a call that was already given out, because the user interrupted the model.",
        "Stop the call if it still runs, and send no result for it.",
    ),
    "response-interrupted": Code(
        "info",
        "The user or the program interrupted this response of a session.",
        "Nothing; no call of it is executed. Stop the playback.",
    ),
    "event-unmatched": Code(
        "warning",
        "An event of a session belongs to a response that has ended, or to none.",
        "Nothing; it was not decoded. Report it to the maintainer of the server or proxy.",
    ),
    "session-error": Code(
        "warning",
        "The server reported an error about a message of the client; the session continues.",
        "Read the message; send what the server refused again, corrected.",
    ),
    # policies
    "dropped-call": Code(
        "warning",
        "The policy or its limit excluded this call.",
        "It is answered with an error result; use policy `all` to execute it.",
    ),
    "rejected-call": Code(
        "warning", "This call cannot be executed.", "It is answered with an error result that states the reason."
    ),
}
# fmt: on


def finding(
    code: str,
    message: str = "",
    choice: int | None = None,
    block: int | None = None,
    severity: Severity | None = None,
) -> Finding:
    """Return a finding of a code in the table. The defaults of message and severity are those of the code."""
    row = CODES[code]
    return Finding(code, severity or row.severity, message or row.means, choice, block)
