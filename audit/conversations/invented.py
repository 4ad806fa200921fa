"""Results that no tool gave: texts that frameworks write to keep a history valid, and rounds of empty results.

A provider demands a result for each call. A framework that has none, since the call was interrupted, its process ended
or the result's id did not match, writes a text in its place, and the model takes it for what the tool said. The
patterns cover the texts that public agents and gateways insert; `tests/audit/conversations/test_invented.py` lists
them. A refusal by the user and a call that a policy left out say what happened, and do not count.
"""

from __future__ import annotations

import re

from toolparity.normalizer.conversation import TextPart

from . import fingerprints
from .records import ResultRecord

#: How far from its beginning a result may say it: a tool's own output can quote such a text later.
_BEGINNING = 60
_TOOL = r"(?:tool|function)[\s_-]*"
_RESULT = r"(?:result|output|response)"
_STOPPED = r"(?:skipped/)?(?:interrupted|aborted|cancell?ed)"
_PLACEHOLDER = re.compile(
    rf"""
      \b(?:no|missing)\s+(?:{_TOOL}(?:call\s+)?{_RESULT}|result)\s+(?:was\s+)?(?:recorded|provided|received|persisted)\b
    | \bno\s+{_TOOL}(?:call\s+)?{_RESULT}\s+(?:is\s+)?(?:available|found)\b
    | \b{_TOOL}(?:call\s+)?{_RESULT}\s+(?:is\s+|was\s+)?
      (?:unavailable|missing|lost|synthesi[sz]ed|not\s+(?:available|recorded|persisted|received|found))\b
    | ^\W*result\s+(?:unavailable|missing)\b
    | \b{_TOOL}(?:call|execution|use)s?\s+{_STOPPED}
    | \b{_TOOL}(?:call|execution|use)s?\b[^.\n]{{0,100}}?\s(?:was|were|is|been|got)\s+{_STOPPED}\b
    | ^\W*(?:request\s+|operation\s+)?{_STOPPED}(?:\s+by\s+(?:the\s+)?user\b[^\n]*)?\W*$
    | ^\W*{_STOPPED}\s+-\s+{_TOOL}was\s+not\s+executed
    """,
    re.IGNORECASE | re.VERBOSE,
)
#: The excerpts of results without content on the wires whose results are JSON objects.
_EMPTY_JSON = ("null", "{}", '""', '{"output":""}', '{"result":""}', '{"output":null}', '{"result":null}')
_EMPTY = fingerprints.of_parts([TextPart("")])


def is_placeholder(text: str) -> bool:
    """Return whether a result begins with a text that a framework writes where a tool gave no result."""
    found = _PLACEHOLDER.search(text)
    return found is not None and found.start() < _BEGINNING


def is_empty(result: ResultRecord) -> bool:
    """Return whether a result has no content, neither text nor media."""
    return result.content == _EMPTY or result.text in _EMPTY_JSON
