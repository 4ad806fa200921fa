"""The result that a subject returns for one provider response, converted to one shape.

A subject returns the canonical form (``{"response", "selection", "findings", "log"}``, as `toolparity normalize` writes
it), or a brief form with at least ``{"calls": [{"name", "arguments"}]}``: the calls that it would execute, in order.
An agent returns ``{"runs": [{"name", "arguments"}]}``, the tools that it ran, ``rejected``, the calls that it returns
to its caller without running them, ``complete`` false if it shows that a response broke, and ``error`` if it failed.
Members that it leaves out are None here. If the subject's claims promise such a member, leaving it out is a failure.
A response that is outside the documented scope of the subject gets ``{"unsupported": "reason"}``.
"""

from __future__ import annotations

import inspect
from typing import Any

import msgspec
from msgspec import Struct

from toolparity.normalizer import json_codec
from toolparity.normalizer.model import Response
from toolparity.normalizer.policies import Selection

from .errors import InvalidAnswer, InvalidRequest

_FORM = "python -m pydoc toolparity.conformance.answer shows the form"
_RETURN = 'return {"response": …} or {"calls": […]}'


def call_text(name: str, arguments: Any, text: str | None) -> str:
    """Return a call in one short line."""
    shown = json_codec.shown(arguments) if text is None else _in_one_line(text)
    return f"{name}({shown if len(shown) <= 60 else shown[:57] + '...'})"


def _in_one_line(text: str) -> str:
    """Return an argument text; JSON over several lines, as in Gemini's bodies, becomes compact."""
    try:
        return json_codec.text(json_codec.decode(text)) if "\n" in text else text
    except ValueError:
        return text


class AnsweredCall(Struct, frozen=True):
    """A call in a subject's answer. It has ``text`` or ``arguments``; ``status`` is None if the subject gives none."""

    name: str
    id: str | None = None
    arguments: Any = None
    text: str | None = None
    status: str | None = None
    kind: str | None = None

    @property
    def value(self) -> Any:
        """The parsed arguments.

        If the subject gave only text, the text is decoded; UNSET means that it is not valid JSON.
        """
        if self.arguments is not None or self.text is None:
            return self.arguments
        try:
            return json_codec.decode(self.text) if self.text.strip() else {}
        except ValueError:
            return msgspec.UNSET

    def __str__(self) -> str:
        return call_text(self.name, self.arguments, self.text)


class SubjectAnswer(Struct, frozen=True):
    """The answer of a subject for one response.

    ``calls``: all client calls, in order. ``kept``, ``dropped``, ``rejected``: the selection under the policy; None if
    the subject does not state it. ``warnings``: the log lines about dropped calls. ``blocks``: the canonical blocks.
    ``complete``: false if the subject shows that a stream broke. ``failed``: the caller gets an error beside the
    response; ``retryable``: the request may be repeated. ``error``: the error with which the subject declined to read
    the response. ``unsupported``: why the response is outside the subject's scope, or "". ``form``: the canonical form,
    unchanged, if the subject returned it. ``runs``: the tools that an agent ran, in order; None for a reader.
    """

    calls: list[AnsweredCall] = []
    kept: list[AnsweredCall] | None = None
    dropped: list[AnsweredCall] | None = None
    rejected: list[AnsweredCall] | None = None
    text: str | None = None
    stop: str | None = None
    complete: bool | None = None
    usage: dict[str, Any] | None = None
    blocks: list[dict[str, Any]] | None = None
    findings: list[str] = []
    warnings: list[str] = []
    failed: bool | None = None
    retryable: bool | None = None
    error: str | None = None
    unsupported: str = ""
    form: dict[str, Any] | None = None
    runs: list[AnsweredCall] | None = None

    @property
    def acted(self) -> list[AnsweredCall]:
        """The calls that the subject would execute, or did execute."""
        if self.runs is not None:
            return self.runs
        return self.calls if self.kept is None else self.kept


class NextRequest(Struct, frozen=True):
    """A request that a subject wrote. ``body``: JSON.

    ``losses``: one text for each thing that the wire cannot carry, a code or a sentence; None if the subject does not
    report them.
    """

    body: dict[str, Any]
    losses: list[str] | None = None


def parse_request(request: Any) -> NextRequest:
    """Convert the value that `next_request` returned: a body, or ``{"body", "losses"}``. Raises InvalidRequest."""
    body, losses = request, None
    if isinstance(request, dict) and "body" in request and request.keys() <= {"body", "losses"}:
        body, losses = request["body"], request.get("losses")
    if not isinstance(body, dict):
        raise InvalidRequest(f"next_request returned {type(body).__name__}", hint="return the body as a JSON object")
    if losses is None:
        return NextRequest(body)
    if not isinstance(losses, list) or not all(isinstance(loss, str) for loss in losses):
        raise InvalidRequest(f"losses is not a list of texts: {losses!r:.80}", hint="return codes or sentences")
    return NextRequest(body, losses)


def same_answer(one: SubjectAnswer, other: SubjectAnswer) -> bool:
    """Return whether two answers are equal. NaN, which some readers accept as a number, equals itself here."""
    return one == other or repr(one) == repr(other)


def parse_answer(answer: Any) -> SubjectAnswer:
    """Convert the value that a subject returned. Raises InvalidAnswer if it has neither of the forms above."""
    if isinstance(answer, SubjectAnswer):
        return answer
    if not isinstance(answer, dict):
        if inspect.iscoroutine(answer):
            answer.close()
            raise InvalidAnswer("read is a coroutine function", hint="write `def read`; inside, asyncio.run may help")
        raise InvalidAnswer(f"the answer is not a dict, but {type(answer).__name__}", hint=_RETURN)
    if "unsupported" in answer:
        return _out_of_scope(answer)
    if answer.get("runs") is not None:
        return _agent_form(answer)
    if answer.get("error") is not None and answer.get("response") is None and "calls" not in answer:
        return SubjectAnswer(error=str(answer["error"]), complete=False)
    try:
        return _canonical_form(answer) if "response" in answer else _brief_form(answer)
    except (TypeError, ValueError, KeyError, AttributeError, IndexError, RecursionError, OverflowError) as error:
        raise InvalidAnswer(f"{type(error).__name__}: {error}", hint=_FORM) from None


def _out_of_scope(answer: dict[str, Any]) -> SubjectAnswer:
    reason = answer["unsupported"]
    if not isinstance(reason, str) or not reason.strip() or len(answer) > 1:
        raise InvalidAnswer(f"not a reason alone: {answer!r:.80}", hint='return {"unsupported": "reason"}')
    return SubjectAnswer(unsupported=reason)


#: The optional members of the brief form, with their types.
_MEMBERS: dict[str, type] = {
    "text": str,
    "stop": str,
    "complete": bool,
    "usage": dict,
    "failed": bool,
    "retryable": bool,
    "warnings": list,
    "findings": list,
}


def _brief_form(answer: dict[str, Any]) -> SubjectAnswer:
    if not isinstance(answer.get("calls"), list):
        raise InvalidAnswer("the answer has neither a response nor calls", hint=_RETURN)
    for member, kind in _MEMBERS.items():
        if not isinstance(answer.get(member), kind | None):
            raise InvalidAnswer(f"{member} must be {kind.__name__}: {answer[member]!r:.80}", hint=_FORM)
    json_codec.encode(answer.get("usage"))
    kept = _calls(answer["calls"])
    dropped, rejected = (None if answer.get(key) is None else _calls(answer[key]) for key in ("dropped", "rejected"))
    selects = dropped is not None or rejected is not None or answer.get("policy")
    return SubjectAnswer(
        calls=[*kept, *(dropped or []), *(rejected or [])],
        kept=kept if selects else None,
        dropped=dropped,
        rejected=rejected,
        text=answer.get("text"),
        stop=answer.get("stop"),
        complete=answer.get("complete"),
        usage=answer.get("usage"),
        findings=_codes(answer.get("findings") or []),
        warnings=[str(line) for line in answer.get("warnings") or []],
        failed=answer.get("failed"),
        retryable=answer.get("retryable"),
    )


def _agent_form(answer: dict[str, Any]) -> SubjectAnswer:
    """Return the answer of an agent. It may have runs and an error: a tool can run before the agent fails."""
    if not isinstance(answer["runs"], list):
        raise InvalidAnswer(f"runs must be list: {answer['runs']!r:.80}", hint=_FORM)
    error, rejected = answer.get("error"), answer.get("rejected")
    if not isinstance(rejected, list | None):
        raise InvalidAnswer(f"rejected must be list: {rejected!r:.80}", hint=_FORM)
    return SubjectAnswer(
        runs=_calls(answer["runs"]),
        complete=False if answer.get("complete") is False else None,
        rejected=None if rejected is None else _calls(rejected),
        error=None if error is None else str(error),
    )


def _calls(listed: list[Any]) -> list[AnsweredCall]:
    calls = []
    for call in listed:
        if not isinstance(call, dict) or not isinstance(call.get("name"), str):
            raise InvalidAnswer(f"not a call: {call!r:.80}", hint='a call is {"name": …, "arguments": …}')
        arguments, text = call.get("arguments"), call.get("arguments_text")
        if text is not None and not isinstance(text, str):
            arguments, text = text, None  # some dialects parse the arguments: pass them on unchanged
        if text is None and isinstance(arguments, str):
            arguments, text = None, arguments
        id = None if call.get("id") is None else str(call["id"])
        for member in ("status", "kind"):
            if not isinstance(call.get(member), str | None):
                raise InvalidAnswer(f"{member} of a call must be str: {call[member]!r:.80}", hint=_FORM)
        json_codec.encode(arguments)  # a Python subject may return anything
        calls.append(AnsweredCall(call["name"], id, arguments, text, call.get("status"), call.get("kind")))
    return calls


def _canonical_form(answer: dict[str, Any]) -> SubjectAnswer:
    response, selection = answer["response"], answer.get("selection")
    findings = _codes(answer.get("findings") or [])
    log = [str(line) for line in answer.get("log") or []]
    if response is None:
        return SubjectAnswer(findings=findings, warnings=log, complete=False, error="the answer has no response")
    # Laws read the blocks as JSON, with all members that a subject may leave out.
    response = msgspec.to_builtins(json_codec.convert(response, Response))
    if selection is not None:
        selection = msgspec.to_builtins(json_codec.convert(selection, Selection))
    members = ("name", "id", "arguments", "arguments_text", "status", "kind")
    calls = {
        (choice["index"], index): AnsweredCall(*(block[member] for member in members))
        for choice in response["choices"]
        for index, block in enumerate(choice["blocks"])
        if block["type"] == "tool_call"
    }
    first = response["choices"][0] if response["choices"] else None
    blocks: list[dict[str, Any]] = [] if first is None else list(first["blocks"])
    kept, dropped, rejected = (
        None if selection is None else [calls[ref["choice"], ref["block"]] for ref in selection[key]]
        for key in ("kept", "dropped", "rejected")
    )
    return SubjectAnswer(
        calls=list(calls.values()),
        kept=kept,
        dropped=dropped,
        rejected=rejected,
        text="".join(block["text"] for block in blocks if block["type"] == "text"),
        stop=first["stop"]["reason"] if first is not None else ("error" if response["error"] else "unknown"),
        complete=response["complete"],
        usage=response["usage"],
        blocks=blocks,
        findings=findings,
        warnings=log,
        failed=response["error"] is not None,
        retryable=None if response["error"] is None else response["error"]["retryable"],
        form=answer,
    )


def _codes(findings: list[Any]) -> list[str]:
    return [str(finding["code"] if isinstance(finding, dict) else finding) for finding in findings]
