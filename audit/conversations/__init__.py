"""Audit of conversations: what an application did with the calls of each response.

    audit = ConversationAudit()
    for place, request, response in traffic:
        audit.add(record(place, "openai.chat", read_request(request, "openai.chat"), response))
    for finding in audit.finish().findings:
        print(finding.code, finding.response_place, finding.request_place, finding.message)

The audit links each request to the response that it continues, and compares the two. A finding accuses only where the
traffic proves it; every other case is counted as not judged (`UNJUDGED`) or as recognized (`RECOGNIZED`). It performs
no I/O, and its memory is bounded.
"""

from .audit import ConversationAudit, ConversationFigures, ConversationReport
from .codes import CODES, RECOGNIZED, UNJUDGED
from .findings import ConversationFinding, Line
from .records import ExchangeRecord, record

__all__ = [
    "CODES",
    "RECOGNIZED",
    "UNJUDGED",
    "ConversationAudit",
    "ConversationFigures",
    "ConversationFinding",
    "ConversationReport",
    "ExchangeRecord",
    "Line",
    "record",
]
