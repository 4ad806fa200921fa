"""The cases of llm-comply (PyPI) against an endpoint, and where the provider of the format itself fails them.

llm-comply checks responses against pinned OpenAPI specifications: Open Responses, OpenAI's Chat Completions,
Anthropic's Messages. This package does not require it: it runs in a separate process if it is installed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from typing import NamedTuple
from urllib.parse import quote

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from toolparity.normalizer.errors import MissingExtra
from toolparity.normalizer.wires.registry import spec

from ..raw_client import redacted
from .address import Endpoint
from .errors import EndpointFailed

_PACKAGE = "llm-comply"
#: Wire -> the format of llm-comply, and the end of its addresses that the base URL lacks.
FORMATS = {
    "openai.responses": ("open-responses", "/responses"),
    "openai.chat": ("openai-chat", "/chat/completions"),
    "anthropic.messages": ("anthropic", "/messages"),
    "google.gemini": ("google-genai", "/v1beta/models/{model}:generateContent"),
    "google.interactions": ("google-interactions", "/v1beta/interactions"),
}
#: The arguments arrive on standard input, because other users can read those of a process.
_DRIVER = "import json, sys; from llm_comply.cli import main; sys.exit(main(json.load(sys.stdin)))"
_SHOWN = 300
#: No format has more cases, each of which sends one request.
_MOST_CASES = 20


class Departure(NamedTuple):
    """What the provider of a format does otherwise than the specification, and in how many recorded responses.

    ``error``: a pattern of the error of llm-comply.
    """

    format: str
    error: str
    does: str
    seen: str


_SUMMARY = r"^unknown SSE event type: response\.reasoning_summary_text\."
_LOGPROBS, _FINGERPRINT = r"^choices\.\d+: 'logprobs' is a req", "^system_fingerprint: None is not of type 'string'$"
_UNCITED = r"""^content\.\d+: \{'type': 'text', 'text': ('(\\.|[^'\\])*'|"[^"]*")\} is not valid under any"""
_LACKING = "^(usage: )?'%s' is a required property$"
#: What the providers left out only before 2026 is not listed.
DEPARTURES = (
    Departure("open-responses", _SUMMARY, "OpenAI's events of summaries have other names", "8 of 8 streams with one"),
    Departure("openai-chat", _LOGPROBS, "OpenAI leaves out logprobs for models that reason", "141 of 222 by those"),
    Departure("openai-chat", _FINGERPRINT, "system_fingerprint can be null at OpenAI", "471 of 2,447"),
    Departure("anthropic", _LACKING % "container", "Anthropic leaves out container", "1,389 of 1,407"),
    Departure("anthropic", _LACKING % "server_tool_use", "Anthropic leaves out server_tool_use", "1,357 of 1,407"),
    Departure(
        "anthropic", _LACKING % "output_tokens_details", "Anthropic leaves out output_tokens_details", "1,277 of 1,407"
    ),
    Departure("anthropic", _UNCITED, "Anthropic leaves out citations of a text without any", "1,145 of 1,148"),
)


class Case(Struct, frozen=True, omit_defaults=True):
    """The verdict of llm-comply on one case. ``status``: "passed", "failed" or "skipped".

    ``differs``: the case failed only for what the provider of the format does as well, and what that is.
    """

    id: str
    name: str
    status: str
    errors: list[str] = []
    warnings: list[str] = []
    differs: list[str] = []


class Compliance(Struct, frozen=True):
    """The verdicts of llm-comply. ``format``: which of its specifications it used. ``error``: why there are none."""

    version: str
    format: str
    cases: list[Case]
    error: str = ""

    @property
    def failed(self) -> list[Case]:
        """The cases that did not pass, but for those that the provider of the format fails as well."""
        return [case for case in self.cases if case.status not in ("passed", "skipped") and not case.differs]


def installed(wire: str) -> str:
    """Return the version of llm-comply. Raises MissingExtra without it, and EndpointFailed for a wire without cases."""
    if wire not in FORMATS:
        raise EndpointFailed(f"llm-comply has no cases for {wire}", hint=f"it has some for {', '.join(FORMATS)}")
    try:
        return metadata.version(_PACKAGE)
    except metadata.PackageNotFoundError:
        raise MissingExtra("--llm-comply needs the package llm-comply", hint=f"pip install {_PACKAGE}") from None


def verify(wire: str, given: list[str], headers: Mapping[str, str], timeout: float) -> Compliance:
    """Run the cases for a wire. ``given``: see `arguments`. ``headers``: of every request."""
    version, (format, _) = installed(wire), FORMATS[wire]
    longest = _MOST_CASES * (timeout + 1)
    command, sent = [sys.executable, "-P", "-c", _DRIVER], msgspec.json.encode(given)
    try:
        result = subprocess.run(command, input=sent, capture_output=True, check=False, timeout=longest)
    except subprocess.TimeoutExpired:
        return Compliance(version, format, [], f"llm-comply {version} did not end within {longest:,.0f} seconds")
    plain = {"content-type": "", **spec(wire).headers}
    secrets = {value.removeprefix("Bearer ") for name, value in headers.items() if name not in plain}
    printed = (redacted(data, secrets) for data in (result.stdout, result.stderr))
    written, complaint = (data.decode("utf-8", "replace") for data in printed)
    try:
        cases = msgspec.json.decode(written, type=_Report).results
    except msgspec.MsgspecError:
        cases = []
    said = (complaint.strip() or written.strip() or "nothing").splitlines()[-1][:_SHOWN]
    error = "" if cases else f"llm-comply {version} ended without a result: {said}"
    return Compliance(version, format, [_explained(case, format) for case in cases], error)


class _Report(Struct):
    results: list[Case]


def arguments(target: Endpoint, model: str, headers: Mapping[str, str], timeout: float) -> list[str]:
    """Return what llm-comply gets. ``headers``: of every request. Raises EndpointFailed for what it cannot send."""
    format, ending = FORMATS[target.wire]
    path, ending = target.path(model, stream=False), ending.replace("{model}", quote(model, safe=""))
    if not path.endswith(ending):
        raise EndpointFailed(f"llm-comply asks only for addresses that end with {ending}", where=target.url)
    base = target.parts._replace(path=path.removesuffix(ending)).geturl()
    sent = {name: value for name, value in headers.items() if name != "content-type"}
    own = spec(target.wire).key_header or "authorization"
    name = own if own in sent else "authorization"
    key = sent.pop(name, "none")
    if any("," in value for value in sent.values()):
        raise EndpointFailed("llm-comply takes no header with a comma", hint="leave out the option --header")
    listed = ",".join(f"{name}:{value}" for name, value in sent.items())
    given = ["--json", "--format", format, "--base-url", base, "--model", model, "--timeout", f"{timeout:g}"]
    return [*given, "--auth-header", name, "--no-bearer", f"--api-key={key}", f"--header={listed}"]


def _explained(case: Case, format: str) -> Case:
    """Return a case with what the provider does as well, if that explains all of its errors."""
    known = [one for one in DEPARTURES if one.format == format]
    reasons = [next((one for one in known if re.search(one.error, error)), None) for error in case.errors]
    errors = [error if len(error) <= _SHOWN else error[:_SHOWN] + "…" for error in case.errors]
    case = replace(case, errors=errors)
    if case.status != "failed" or not all(reasons):
        return case
    return replace(case, differs=list(dict.fromkeys(f"{one.does} ({one.seen} recordings)" for one in reasons if one)))
