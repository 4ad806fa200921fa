"""`toolparity normalize`: writes the canonical form of traffic, one JSON line for each exchange."""

from __future__ import annotations

import sys

import click

from toolparity.cassettes.cli import exits, options
from toolparity.cassettes.cli.console import Problems
from toolparity.cassettes.sources import Problem
from toolparity.cassettes.workers import rare_collections
from toolparity.normalizer.model import Policy, Wire

from ..bulk.parallel import canonical_lines


@click.command(name="normalize", epilog=exits.EPILOG)
@options.paths
@options.policy
@options.limit
@options.wire
@options.format
@options.column
@click.option("--raw", is_flag=True, help="Add the recorded request, status, and body or frames, as the member raw.")
@options.jobs
@click.pass_context
def command(
    ctx: click.Context,
    *,
    paths: tuple[str, ...],
    policy: Policy,
    limit: int | None,
    wire: Wire | None,
    format: str | None,
    columns: tuple[str, ...],
    raw: bool,
    jobs: int | None,
) -> None:
    """Write the canonical form of recorded traffic, one JSON line per exchange.

    PATH is a recording (.jsonl), rows of requests with their responses, a cassette of vcrpy, VCR for Ruby or
    pydantic-ai's xAI recorder (.yaml, .yml, .json), a HAR file, flows of mitmproxy (.flow, .mitm), bodies or streams
    (.json, .jsonl, .sse, .txt), output of batch APIs, a log of LiteLLM, Langfuse, LangSmith, Phoenix or OpenTelemetry
    (OTLP JSON), a log of a container, a table (.csv, .tsv, .parquet, .sqlite), a transcript of Claude Code or Codex, a
    directory of these, or - for standard input. Each file may be compressed (.gz, .zst, .bz2, .xz).

    Each line has the members source, id, provider, wire, stream, response, selection (the calls that the policy keeps,
    drops and rejects) and findings. If a response cannot be decoded, `response` is JSON null, and the findings
    state the reason. Input that cannot be read is reported in one line on stderr, and the command continues. The order
    of the lines is that of the input, for any number of workers. Memory use does not grow with the input.

    \b
    Examples:
      toolparity normalize "$(toolparity cassettes path)" > canonical.jsonl
      toolparity normalize --policy batch --limit 4 response.json
      toolparity normalize - < response.json | jq .response.choices
      toolparity normalize recordings/ | jq -r '.response.choices[].blocks[] | select(.type=="tool_call").name'
    """
    out = sys.stdout.buffer
    ran = faults = 0
    with rare_collections(), Problems(lambda text: click.echo(text, err=True)) as problems:
        for part in canonical_lines(
            paths,
            wire=wire,
            format=format,
            columns=columns,
            policy=policy,
            limit=limit,
            raw=raw,
            jobs=jobs or 0,
        ):
            if isinstance(part, Problem):
                problems.add(part)
                continue
            out.writelines(part.text)
            ran += part.ran
            faults += part.faulty
            for problem in part.problems:
                problems.add(problem)
    faults += problems.faults
    out.flush()
    if not ran and not faults:
        click.echo("nothing was normalized: the input has no exchange of a known wire", err=True)
    ctx.exit(exits.code(faults=faults, ran=ran))
