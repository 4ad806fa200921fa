"""The table of what an application can do wrong with calls, and of the cases that are not judged."""

from __future__ import annotations

from typing import Literal

from toolparity.normalizer.findings import Code

# fmt: off  (one entry per line)
#: The codes of `ConversationFinding`.
CODES: dict[str, Code] = {
    "dropped-in-fact": Code(
        "error",
        "The conversation continued without a result for this call: the history omits it, or no result has its id.",
        "Run every call of a response, and send one result for each.",
    ),
    "answered-twice": Code(
        "error",
        "The call has more than one result.",
        "Send one result for each call; look for a retry that runs a tool again.",
    ),
    "answered-under-another-id": Code(
        "error",
        "A result carries the id of another call, so the model takes it for the result of that call.",
        "Return each result under the id of its call.",
    ),
    "unknown-call-answered": Code(
        "error",
        "A result carries an id that no call of the conversation has.",
        "Copy the id from the call unchanged.",
    ),
    "server-call-answered": Code(
        "error",
        "The application sent a result for a call that the provider had run itself.",
        "Run client calls only; `server_tool_call` blocks already have their result.",
    ),
    "answered-out-of-order": Code(
        "warning",
        "Results do not directly follow their calls, which the wire demands.",
        "Send the results first, then other messages.",
    ),
    "arguments-altered": Code(
        "warning",
        "The history repeats the call with other arguments than the model sent.",
        "Send assistant messages back unchanged.",
    ),
    "reasoning-lost": Code(
        "warning",
        "Signed or encrypted reasoning was not sent back with the results of the calls that it led to.",
        "Send reasoning blocks back unchanged until the turn ends.",
    ),
    "result-invented": Code(
        "warning",
        "The result is a text that frameworks write in place of a missing one; the model takes it for the tool's.",
        "Find out why the tool's result did not arrive: an interruption, a lost process, or an id that did not match.",
    ),
    "repeated-call": Code(
        "warning",
        "The model made the same call in three rounds in a row and got the same result each time.",
        "Look for a result that the model cannot use, and limit the rounds.",
    ),
    "calls-differ": Code(
        "info",
        "The history has other calls than the response to the same request, and no drawn id or signature shows that it "
        "is this response.",
        "Compare the two: the application dropped or altered calls, or an exchange of another session is missing.",
    ),
    "results-empty": Code(
        "info",
        "Each result of a round with several calls is empty.",
        "Check that the tools return nothing on purpose; a framework may have lost what they returned.",
    ),
    "history-rewritten": Code(
        "info",
        "A message that was sent before was changed or inserted, which breaks the provider's prompt cache.",
        "Append to the history; put what changes at its end.",
    ),
    "tools-changed": Code(
        "info",
        "The tool definitions changed within a conversation, which breaks the provider's prompt cache.",
        "Keep the definitions stable; restrict them with the tool choice.",
    ),
}

Unjudged = Literal[
    "not-continued",
    "request-missing",
    "unfinished",
    "turn-cancelled",
    "calls-removed",
    "stored-history",
    "no-results",
    "ids-replaced",
    "ambiguous",
    "other-choice",
    "other-wire",
]
#: Why the handling of a call is not judged. Such calls are counted apart and never accused.
UNJUDGED: dict[Unjudged, str] = {
    "not-continued": "no later request of the conversation is in the input",
    "request-missing": "the exchange has no readable request",
    "unfinished": "the response is incomplete, refused or failed, or the call cannot run",
    "turn-cancelled": "a transcript, which is not the request itself, has no result for the call",
    "calls-removed": "the history keeps the response without any of its calls, as after a cancelled turn",
    "stored-history": "the provider stores the history, and the request shows only a part of it",
    "no-results": "no request of the wire or of the conversation has a result: it may have another form, such as text",
    "ids-replaced": "the ids in the history are not those of the response: scrubbed, or of another run",
    "ambiguous": "the history has other calls, and no drawn id or signature shows that it continues this response",
    "other-choice": "the response has several choices, and the conversation continued with another one",
    "other-wire": "the conversation continued on another wire without a result for the call",
}

Recognized = Literal[
    "recorded-twice",
    "retried",
    "forked",
    "compacted",
    "context-edited",
    "hand-off",
    "ids-replaced",
    "exchange-missing",
]
#: Legitimate reasons why a history differs from the exchanges before it. They are counted, and are not findings.
RECOGNIZED: dict[Recognized, str] = {
    "recorded-twice": "the same exchange is in the input again, with the same ids; it is judged once",
    "retried": "the same request was sent again",
    "forked": "a response has more than one continuation",
    "compacted": "earlier messages were removed or summarized",
    "context-edited": "earlier results or media were shortened",
    "hand-off": "another model, another wire, or an agent with another system message, continued",
    "ids-replaced": "the calls in the history have other ids than those of the response",
    "exchange-missing": "the history contains responses that the input does not",
}
# fmt: on
