"""The checks of a verification, and which findings of the decoder break which of them."""

from __future__ import annotations

from typing import NamedTuple


class Check(NamedTuple):
    """One check. ``title``: what must hold. ``of``: what is counted. ``do``: what to do if it fails.

    ``by_model``: the rate depends on the model, and not only on the server.
    """

    title: str
    of: str
    do: str
    by_model: bool = False


CHECKS: dict[str, Check] = {
    "answered": Check(
        "The endpoint answers a request with a response of its wire.",
        "first requests",
        "Read the error. After an error, nothing else is judged in this conversation.",
    ),
    "history": Check(
        "The endpoint accepts the history with its own calls and their results.",
        "requests with tool results",
        "Compare the request with the documentation of the wire: the server refuses what it sent itself.",
    ),
    "refusal": Check(
        "A malformed request is refused with status 4xx and an error in the format of the wire.",
        "malformed requests",
        "Validate requests before they reach the model. SDKs raise the right exception only for such an error.",
    ),
    "parameters": Check(
        "A request with a documented optional parameter is answered.",
        "requests with one optional parameter",
        "Ignore a parameter that the server cannot honor: agents send it, and lose the whole response.",
    ),
    "models": Check(
        "The list of models has the format of the wire.",
        "requests for the list",
        "Send the list as the SDK reads it. Clients that let users choose a model need it.",
    ),
    "triggered": Check(
        "The first response has calls if the user's message needs a tool, and none if it does not.",
        "conversations",
        "Check the chat template: does it give the tools to the model? Compare with the provider of the model.",
        by_model=True,
    ),
    "calls": Check(
        "The calls of the conversation are those of the scenario: the same tools, as often.",
        "conversations",
        "Look for calls that the server's tool parser loses, merges or makes of text.",
        by_model=True,
    ),
    "parallel": Check(
        "Independent calls arrive in one response, and one at most if the request turns parallel calls off.",
        "responses that should have several calls, or one at most",
        "Check whether the server's tool parser returns more than the first call, and passes parallel_tool_calls on.",
        by_model=True,
    ),
    "choice": Check(
        "The tool choice is respected: none, required, a named tool, or one of several.",
        "requests with a tool choice",
        "Check whether the server passes tool_choice on to guided decoding, or ignores it.",
    ),
    "declared": Check(
        "Each call names a tool that the request declares.",
        "responses with calls",
        "Constrain the names by guided decoding. Check the tool parser for control tokens in names.",
    ),
    "arguments": Check(
        "The arguments of each call are one JSON object.",
        "responses with calls",
        "Constrain the arguments by guided decoding. Look for a tool parser that merges or cuts calls.",
    ),
    "schema": Check(
        "The arguments of each call are valid against the schema of its tool.",
        "responses with calls whose arguments are JSON objects",
        "Constrain the arguments by guided decoding, or declare tools as strict where the wire can.",
        by_model=True,
    ),
    "values": Check(
        "The arguments of the calls have the values that the user's message states.",
        "conversations with the calls of the scenario",
        "Look for a parser that mixes up the arguments of calls, or alters escapes and numbers.",
        by_model=True,
    ),
    "ids": Check(
        "Each call has an id, and no two calls of a conversation have the same.",
        "responses with calls",
        "Generate a new id for each call. Results cannot be assigned to calls without it.",
    ),
    "stop": Check(
        "The stop reason agrees with the calls.",
        "responses",
        "Agents run calls only if the stop reason says so: set it after the tool parser ran.",
    ),
    "limit": Check(
        "A response that the limit of output tokens ends says so.",
        "responses that the limit ends",
        "Keep the stop reason of the limit. An agent runs a cut call if the stop reason is that of calls.",
    ),
    "structured": Check(
        "The text of a structured response is JSON that is valid against the requested schema.",
        "responses to requests with a schema",
        "Pass the schema on to guided decoding, or refuse the request: clients parse the text without a check.",
    ),
    "text": Check(
        "The text contains no markup of calls and no control tokens, and the reasoning no markup of calls.",
        "responses",
        "Configure the server's tool parser for the model: the call was sent as text.",
    ),
    "usage": Check(
        "The response has counts of input and output tokens.",
        "responses",
        "Send the usage; in a stream of Chat Completions with `stream_options` in a separate chunk.",
    ),
    "form": Check(
        "A plain response is one JSON body, a stream has its events in order, and both have the members of the wire.",
        "responses",
        "Look for a proxy that rewrites bodies, or writes errors or comments as data.",
    ),
    "stream-end": Check(
        "A stream ends with the terminal event of its wire.",
        "streamed responses",
        "Look for a timeout or a buffer that cuts streams. SDKs wait for this event, or report a broken connection.",
    ),
    "indexes": Check(
        "The fragments of a streamed call have the index of this call, counted from 0, and no other call has it.",
        "streamed responses with calls",
        "Clients accumulate calls by index: a wrong one merges two calls or loses one.",
    ),
    "sdk": Check(
        "The stream helper of the official SDK reads the calls of a stream as they were sent.",
        "complete streams that no check about their form, ids, indexes or arguments concerns",
        "Send id and name in the first fragment of a call only, and indexes from 0. SDKs concatenate repeated texts.",
    ),
    "alike": Check(
        "The plain and the streamed response to one request have the same calls and the same stop reason.",
        "pairs of first responses",
        "The server has two parsers, one for streams; compare their output for the same text.",
        by_model=True,
    ),
}

#: Rule of `normalizer.stream_form` -> the check that it breaks, if that is another one than "form".
FORM_BREAKS: dict[str, str] = {
    "terminal-missing": "stream-end",
    **dict.fromkeys(("index-order", "index-repeated", "no-index"), "indexes"),
}
#: Finding code of the decoder -> the check that it breaks. Codes that are missing here say nothing about the server.
BREAKS: dict[str, str] = {
    "error-response": "answered",
    "stream-error": "answered",
    "provider-rejected-call": "answered",
    "response-unfinished": "answered",
    "undecodable-event": "form",
    "raw-text-in-stream": "form",
    "keepalive-in-data": "form",
    "empty-event": "form",
    "unterminated-event": "form",
    "events-not-separated": "form",
    "event-after-end": "form",
    "event-repeated": "form",
    "event-missing": "form",
    "plain-body": "form",
    "stream-body": "form",
    "corrupt-text": "form",
    "wrong-type": "form",
    "call-unwrapped": "form",
    "output-empty": "form",
    "output-disagrees": "form",
    "stream-incomplete": "stream-end",
    "index-missing": "indexes",
    "index-reused": "indexes",
    "index-changed": "indexes",
    "delta-misplaced": "indexes",
    "id-missing": "ids",
    "id-duplicate": "ids",
    "id-changed": "ids",
    "duplicate-call": "ids",
    "nameless-call": "declared",
    "unknown-tool": "declared",
    "pseudo-parallel": "declared",
    "unresolved-call": "declared",
    "arguments-empty": "arguments",
    "arguments-missing": "arguments",
    "arguments-null": "arguments",
    "arguments-not-object": "arguments",
    "arguments-invalid": "arguments",
    "arguments-truncated": "arguments",
    "arguments-glued": "arguments",
    "arguments-double-encoded": "arguments",
    "arguments-too-deep": "arguments",
    "arguments-number-too-large": "arguments",
    "arguments-lone-surrogate": "arguments",
    "arguments-snapshot": "arguments",
    "arguments-disagree": "arguments",
    "arguments-misplaced": "arguments",
    "call-failed": "arguments",
    "arguments-in-text": "text",
    "leaked-markup": "text",
    "call-in-reasoning": "text",
    "stop-disagrees": "stop",
    "stop-missing": "stop",
    "stop-unknown": "stop",
    "refused": "stop",
}
