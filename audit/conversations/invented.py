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
_TOOL = r"tool[\s_-]*(?:call[\s_-]*)?"
_CALL = r"(?:tool|function)[\s_-]*(?:call|execution|use)s?"
_RESULT = r"(?:result|output|response)"
_STOPPED = r"(?:skipped/)?(?:interrupted|aborted|cancell?ed)"
_END = r"(?:[\s.!\"'}\])]*$|[.;:,]?\s+-\s|\.\s|;|\s(?:by|due|because|before|or|and|as|for\s(?:tool|this))\b)"
_PLACEHOLDER = re.compile(
    rf"""
      \b(?:no|missing)\s{_TOOL}{_RESULT}\s(?:was\s|is\s)?(?:recorded|provided|received|persisted|available)\b
    | ^\W*(?:no\sresult\sprovided|result\sunavailable|missing\stool\sresult|no\sresponse\sfrom\stool)\b
    | \b{_TOOL}{_RESULT}\s(?:is\s|was\s)?
      (?:unavailable|missing|lost|synthesi[sz]ed|not\s(?:available|recorded|persisted|received)){_END}
    | ^[\W]*(?:(?:error|system)[\W]+)?(?:the\s|this\s)?{_CALL}\s{_STOPPED}{_END}
    | ^[\W]*(?:(?:error|system)[\W]+)?(?:the\s|this\s)?{_CALL}\b[^.\n]{{0,100}}?\s(?:was|were|is|been|got)\s
      (?:{_STOPPED}|never\sexecuted){_END}
    | "(?:error|status|message)"\s*:\s*"(?:the\s|this\s)?{_CALL}\s(?:was\s)?{_STOPPED}\b
    | ^\W*(?:request\s|operation\s)?{_STOPPED}\sby\s(?:the\s)?user\b(?:[^a-z\n]|s\b|after|for|tool|use)*$
    | ^\[\W*(?:request\s|operation\s)?{_STOPPED}[^a-z\]]*\]$
    | ^\W*{_STOPPED}\s-\stool\swas\snot\sexecuted
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
