"""Writes the page of the audit of conversations from its tables: ``python docs/audit.py > docs/audit.md``."""

from __future__ import annotations

import sys

from toolparity.audit.conversations import CODES, RECOGNIZED, UNJUDGED

HEAD = """\
# Audit

`toolparity audit PATH…` answers two questions about recorded traffic: what did the application do with the calls, and
what would each policy do with them. This page is about the first. It is written by `python docs/audit.py >
docs/audit.md`; the tables are in `audit/conversations/codes.py`.

```
toolparity audit --fail-on dropped-in-fact traffic.jsonl
toolparity audit --html audit.html --json recordings/ > audit.json
```

The audit links each request to the response that it continues: by `previous_response_id`, by the ids of the calls, or
by the messages that both requests share. Then it compares the response with what the next request made of it. Retries
and forks are separate branches, conversations may take turns in the input, and exchanges may be missing. A request may
come before the response that it continues, as in an export with the newest entry first, if an id of the provider proves
the link. A conversation may continue on another wire; then a call without a result is not judged.

A history may divide a response over several messages, for instance each call before its result, or refer to stored
items by their id. Ids that an application or a server counts (`call_0`) repeat in other conversations. They prove a
link only together with the earlier messages, and if several responses fit, none is judged. Calls without ids, as most
of Gemini's and those that the Python SDK of Ollama sends back, are compared by their position and their signature.

Each choice of a response is judged by the requests that continue it. A legacy `function_call` has no id on the wire;
its place and its name show which result it has, and its findings have the id `function_call`.

The same exchange can be in the input more than once, as when a log is passed under two paths. Such copies are
recognized if the response or a call has an id of the provider. They are counted as `recorded-twice`, and their calls
and findings count once. A run against a server that always answers with the same ids is judged again if it differs from
the runs before. The other tables of the report count every exchange.

[bulk.md](bulk.md) describes audits of input that is too large for one machine.

Each finding has both places, and the text on the wire on both sides. `--json` has them under `conversations.findings`,
the first 20 of each code, each with an excerpt of the conversation. All are counted.

From Python:

```python
from toolparity import normalize, read_request
from toolparity.conversations import ConversationAudit, record

audit = ConversationAudit()
for place, request, response in traffic:  # in the order of time
    audit.add(record(place, "openai.chat", read_request(request, "openai.chat"), normalize(response, "openai.chat")))
for finding in audit.finish().findings:
    print(finding.code, finding.response_place, finding.request_place, finding.message)
```

A record is small and independent of other exchanges, so records can be made in many processes. The audit itself takes
them in order and forgets the oldest exchanges above a million messages.

## Input

The name and the beginning of a file show its format; `--format` names it otherwise. A line on standard error names each
kind of entry that cannot be read, and the audit then ends with exit code 4. Files of a directory that hold no traffic
are skipped and counted.

| `--format` | content |
|---|---|
| `recordings` | JSON lines: recordings, a request with its response, a response alone, or bodies |
| `cassette` | cassettes of vcrpy, VCR for Ruby and others, as YAML |
| `json` | cassettes and HAR files as JSON, arrays of entries, or an export that wraps them |
| `body` | bodies and streams |
| `table` | Parquet (extra `parquet`) and SQLite: rows, or the cells that `--column` names |
| `mitmproxy` | flows that `mitmdump -w` wrote |
| `openai-batch`, `anthropic-batch` | the output of a batch; it does not hold the requests |
| `litellm` | the payload of LiteLLM's logging callbacks, or rows of its table `LiteLLM_SpendLogs` |
| `langfuse` | observations and traces that Langfuse exported |
| `langsmith` | runs that LangSmith exported |
| `helicone` | rows that Helicone exported with their bodies |
| `otlp` | OTLP JSON: GenAI conventions (old and new), OpenLLMetry, OpenInference, SDK of Langfuse |
| `spans` | one span per object, as OpenTelemetry's console exporter and Phoenix write it |
| `claude-code`, `codex` | transcripts of sessions |

`--column answered` reads the entry from a column of a table or of JSON lines, and `--column request --column response`
the members of the entry from two. In a database with several tables, it is `--column TABLE.COLUMN`.

A path can also be the URL of a database that [SQLAlchemy](https://docs.sqlalchemy.org/en/20/core/engines.html) reads,
with its driver installed: `toolparity audit postgresql+psycopg://host/logs --column spend.response`. SQLite and
PostgreSQL are tested. Rows come in the order of the database; a view can set another. The password is not shown. Its
place is a file such as `~/.pgpass` or a variable such as `PGPASSWORD`, as other users of a machine see command lines.

Logs with their own notation of messages are converted to Chat Completions, with the ids and the argument texts that
they hold. A transcript is not the request that was sent, so a call without a result in it is not judged.

## Findings

| code | severity | what it means | what to do |
|---|---|---|---|
"""

RECORDED = """\
## What it finds in recorded traffic

`toolparity audit recordings/ --json` over 9,884 exchanges of the four wires, which 25 projects recorded in their test
suites (they are not a part of this repository):

| wire | exchanges | linked | clean links | calls | answered | `dropped-in-fact` | `reasoning-lost` | `tools-changed` |
|---|---|---|---|---|---|---|---|---|
| `anthropic.messages` | 2,120 | 324 | 291 | 567 | 252 | 0 | 1 | 32 |
| `openai.chat` | 5,829 | 711 | 499 | 1,528 | 608 | 15 | 11 | 204 |
| `openai.responses` | 1,887 | 372 | 353 | 480 | 322 | 0 | 0 | 19 |
| `xai.grpc` | 48 | 7 | 7 | 17 | 5 | 0 | 0 | 0 |

Every dropped call, every loss of reasoning and each kind of change of tools was read by hand; none is a false alarm.
Of the 15 dropped calls, 14 are of one agent framework, which runs the first of several calls. In the other case, a
framework sent the results of two calls as one. 184 exchanges are second copies of others, among them 6 with dropped
calls, and are judged once. 237 of the changes of tools are of one project and its fork, which send no tools with the
results.

A second reading of the JSON, which shares no code with the audit, looked at the 1,150 clean links. 705 have calls, and
each has exactly one result in the next request. 327 have no calls. In 111 the history has other ids: those of the items
(77), or of another recording of the same test. 7 are of `xai.grpc` and were not read in this way. 200 clean links,
drawn at random before copies were recognized, were read by hand, and in none was a call lost. Eight of them connect two
recordings of the same questions, which nothing in the traffic distinguishes. Five conversations continue on another
wire: all are tests of hand-overs and failover.

"""


def page() -> str:
    """Return the page."""
    rows = [f"| `{code}` | {row.severity} | {row.means} | {row.do} |" for code, row in CODES.items()]
    unjudged = [f"| `{reason}` | {text} |" for reason, text in UNJUDGED.items()]
    recognized = [f"| `{kind}` | {text} |" for kind, text in RECOGNIZED.items()]
    return HEAD + "\n".join(
        [
            *rows,
            "",
            RECORDED,
            "## Calls that are not judged",
            "",
            "A finding accuses only where the traffic proves it. Other calls are counted by reason.",
            "",
            "| reason | meaning |",
            "|---|---|",
            *unjudged,
            "",
            "## Differences that are recognized",
            "",
            "A history can differ from earlier exchanges for a good reason. These are counted, and are not findings.",
            "",
            "| kind | meaning |",
            "|---|---|",
            *recognized,
            "",
        ]
    )


if __name__ == "__main__":
    sys.stdout.buffer.write(page().encode())
