"""The result that a subject returns for one provider response, converted to one shape.

A subject returns the canonical form (``{"response", "selection", "findings", "log"}``, as `toolparity normalize` writes
it), or a brief form with at least ``{"calls": [{"name", "arguments"}]}``: the calls that it would execute, in order.
Members that it leaves out are None here. If the subject's claims promise such a member, leaving it out is a failure.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from toolparity.normalizer import json_codec

from .errors import InvalidAnswer

_FORM = "python -m pydoc toolparity.conformance.answer shows the form"


class AnsweredCall(Struct, frozen=True):
    """A call as the subject tells it. ``text`` or ``arguments`` may be null, not both; ``status`` null: not told."""

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
        shown = self.text if self.text is not None else json_codec.text(self.arguments)
        return f"{self.name}({shown if len(shown) <= 60 else shown[:57] + '...'})"


class SubjectAnswer(Struct, frozen=True):
    """One answer of a subject. ``calls``: every client call it tells of, in its order; ``kept``, ``dropped`` and
    ``rejected``: which of them, as the policy has it (null: it does not say).

    ``warnings``: what it said of dropped calls, as text. ``blocks``: the canonical blocks, where it gives them.
    ``failed``: the provider sent an error; ``retryable``: it may be asked again.
    ``error``: the typed error with which it declined to read the body.
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

    @property
    def acted(self) -> list[AnsweredCall]:
        """The calls that the subject would execute."""
        return self.calls if self.kept is None else self.kept


def parse_answer(given: Any) -> SubjectAnswer:
    """Convert the value that a subject returned. Raises InvalidAnswer if it has neither of the forms above."""
    if isinstance(given, SubjectAnswer):
        return given
    if not isinstance(given, dict):
        raise InvalidAnswer(f"the answer is a {type(given).__name__}", hint='give {"response": …} or {"calls": […]}')
    if given.get("error") is not None and given.get("response") is None and "calls" not in given:
        return SubjectAnswer(error=str(given["error"]), complete=False)
    try:
        return _canonical(given) if "response" in given else _brief(given)
    except (TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
        raise InvalidAnswer(f"{type(error).__name__}: {error}", hint=_FORM) from None


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


def _brief(given: dict[str, Any]) -> SubjectAnswer:
    if not isinstance(given.get("calls"), list):
        raise InvalidAnswer("it holds neither a response nor calls", hint='give {"response": …} or {"calls": […]}')
    for member, kind in _MEMBERS.items():
        if not isinstance(given.get(member), kind | None):
            raise InvalidAnswer(
                f"{member} is {given[member]!r:.80}",
                hint=_FORM,
            )
    kept = _calls(given["calls"])
    dropped, rejected = (None if given.get(key) is None else _calls(given[key]) for key in ("dropped", "rejected"))
    told = dropped is not None or rejected is not None
    return SubjectAnswer(
        calls=[*kept, *(dropped or []), *(rejected or [])],
        kept=kept if told or given.get("policy") else None,
        dropped=dropped,
        rejected=rejected,
        text=given.get("text"),
        stop=given.get("stop"),
        complete=given.get("complete"),
        usage=given.get("usage"),
        findings=_codes(given.get("findings") or []),
        warnings=[str(line) for line in given.get("warnings") or []],
        failed=given.get("failed"),
        retryable=given.get("retryable"),
    )


def _calls(given: list[Any]) -> list[AnsweredCall]:
    calls = []
    for one in given:
        if not isinstance(one, dict) or not isinstance(one.get("name"), str):
            raise InvalidAnswer(f"no call: {one!r:.80}", hint='a call is {"name": …, "arguments": …}')
        arguments, text = one.get("arguments"), one.get("arguments_text")
        if text is not None and not isinstance(text, str):
            arguments, text = text, None  # some dialects parse the arguments: pass them on unchanged
        if text is None and isinstance(arguments, str):
            arguments, text = None, arguments
        id = one.get("id")
        calls.append(
            AnsweredCall(
                one["name"], None if id is None else str(id), arguments, text, one.get("status"), one.get("kind")
            )
        )
    return calls


def _canonical(given: dict[str, Any]) -> SubjectAnswer:
    response, selection = given["response"], given.get("selection")
    findings = _codes(given.get("findings") or [])
    log = [str(line) for line in given.get("log") or []]
    if response is not None and not isinstance(response.get("usage"), dict | None):
        raise InvalidAnswer(f"usage is {response['usage']!r:.80}", hint=_FORM)
    if response is None:
        return SubjectAnswer(findings=findings, warnings=log, complete=False, error="it made nothing of the body")
    at: dict[tuple[int, int], AnsweredCall] = {}
    blocks: list[dict[str, Any]] = []
    first = response["choices"][0] if response["choices"] else None
    for choice in response["choices"]:
        for place, block in enumerate(choice["blocks"]):
            if choice is first:
                blocks.append(block)
            if block["type"] == "tool_call":
                at[choice["index"], place] = AnsweredCall(
                    block["name"],
                    block["id"],
                    block["arguments"],
                    block["arguments_text"],
                    block["status"],
                    block["kind"],
                )
    kept, dropped, rejected = (
        None if selection is None else [at[ref["choice"], ref["block"]] for ref in selection[key]]
        for key in ("kept", "dropped", "rejected")
    )
    return SubjectAnswer(
        calls=list(at.values()),
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
    )


def _codes(findings: list[Any]) -> list[str]:
    return [one["code"] if isinstance(one, dict) else str(one) for one in findings]
