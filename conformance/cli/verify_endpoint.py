"""`toolparity verify-endpoint`: which tool calls of an endpoint come out right, and how often."""

from __future__ import annotations

import fnmatch
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec.structs import replace

from toolparity.cassettes.cli import console, exits, scenario_option
from toolparity.cassettes.cli.names import Named, must_fit, unknown
from toolparity.cassettes.cli.options import OutputFile, is_stdout, put
from toolparity.normalizer.wires.registry import specs
from toolparity.reports.terminal import Lines, Section, StyledText, Table, Tone, Value

if TYPE_CHECKING:
    from ..endpoint.address import Endpoint
    from ..endpoint.history import Run as PastRun
    from ..endpoint.llm_comply import Compliance
    from ..endpoint.probes import Probe
    from ..endpoint.rates import Difference
    from ..endpoint.report import CheckResult, Reference, Verification
    from ..endpoint.run import Planned, Settings

_WIRES = [wire.name for wire in specs() if wire.framing == "bytes"]
#: Characters of a request for one token, for the estimate of --dry-run: the usual rule of thumb for English and JSON.
_CHARACTERS_PER_TOKEN = 4
_MOST_REASONS = 3
#: The runs of a history that are shown.
_MOST_RUNS = 8


@click.command(name="verify-endpoint", epilog=exits.EPILOG)
@click.argument("url", metavar="URL")
@click.option("--wire", type=Named("wire", _WIRES), required=True, help="The wire that the endpoint serves.")
@click.option("--model", help="The name of the model.  [default: the only one that the endpoint lists]")
@click.option(
    "--api-key-env",
    "variable",
    metavar="VARIABLE",
    help="The environment variable with the key.  [default: no key]",
)
@click.option(
    "--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="Add a header to every request. Repeatable."
)
@scenario_option.scenarios
@click.option(
    "--scenario", "patterns", multiple=True, metavar="PATTERN", help="Only these scenarios (* is a wildcard)."
)
@click.option("--plain", "plain", is_flag=True, help="Send only requests for plain responses.")
@click.option("--stream", "stream", is_flag=True, help="Send only requests for streams.")
@click.option(
    "--repetitions",
    type=click.IntRange(1, 10_000),
    default=5,
    show_default=True,
    metavar="N",
    help="Play each scenario N times. More repetitions give narrower confidence intervals.",
)
@click.option(
    "--at-least",
    "rates",
    multiple=True,
    metavar="[CHECK=]RATE",
    help="Fail if the rate of a check is lower: one rate from 0 to 1 for all checks, or for one.  [default: 1]",
)
@click.option(
    "--max-calls",
    type=click.IntRange(1),
    metavar="N",
    help="Send N requests at most. If that ends the run early, it exits with 4, or with 1 if a rate is too low.",
)
@click.option(
    "--allow-incomplete",
    is_flag=True,
    help="Let what was judged decide the exit code, although --max-calls ended the run.",
)
@click.option("--jobs", type=click.IntRange(1, 256), default=4, show_default=True, metavar="N", help="Connections.")
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 3_600),
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    help="The longest wait for the next byte of a reply.",
)
@click.option(
    "--extra-body",
    "extra",
    metavar="JSON",
    callback=lambda ctx, param, value: _object(value),
    help="Members that are added to each request, such as '{\"temperature\": 0}'.",
)
@click.option(
    "--against",
    "reference_url",
    metavar="URL",
    help="A reference that gets the same requests in turn. A check fails if its rate is lower than there.",
)
@click.option("--against-model", "reference_model", metavar="MODEL", help="Its model.  [default: that of URL]")
@click.option(
    "--against-key-env", "reference_variable", metavar="VARIABLE", help="The environment variable with its key."
)
@click.option(
    "--against-header", "reference_headers", multiple=True, metavar="'NAME: VALUE'", help="A header for it. Repeatable."
)
@click.option(
    "--history",
    type=OutputFile(stdout=False),
    metavar="FILE",
    help="Add the rates to FILE, and compare with its earlier runs that asked this endpoint and model the same.",
)
@click.option(
    "--llm-comply",
    "comply",
    is_flag=True,
    help="Also run the cases of the package llm-comply: Open Responses, and the specifications of other wires.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be sent, and send nothing.")
@click.option("--json", "json_file", type=OutputFile(), metavar="FILE", help="Write the result as JSON (- is stdout).")
@click.option("--junit", type=OutputFile(), metavar="FILE", help="Write the result as JUnit XML (- is stdout).")
@click.pass_context
def command(
    ctx: click.Context,
    *,
    url: str,
    wire: str,
    model: str | None,
    variable: str | None,
    headers: tuple[str, ...],
    patterns: tuple[str, ...],
    plain: bool,
    stream: bool,
    repetitions: int,
    rates: tuple[str, ...],
    max_calls: int | None,
    allow_incomplete: bool,
    jobs: int,
    timeout: float,
    extra: dict[str, Any],
    reference_url: str | None,
    reference_model: str | None,
    reference_variable: str | None,
    reference_headers: tuple[str, ...],
    history: Path | None,
    comply: bool,
    dry_run: bool,
    json_file: Path | None,
    junit: Path | None,
) -> None:
    """Check which tool calls of an endpoint come out right: of a provider, a vendor or a local server.

    URL is the base URL that the official SDK of the wire takes. Scenarios with tools are played against it, plain and
    streamed: one call, several in one response, dependent rounds, arguments that are hard to encode, tool choices, a
    limit of tokens, a schema for the response. Each check has a rate with a confidence interval of 95 %. Some rates
    depend on the model and others on the server only; the documentation of endpoints lists them. The endpoint may
    charge for the requests: see --dry-run and --max-calls.

    \b
    Examples:
      toolparity verify-endpoint http://127.0.0.1:8000/v1 --wire openai.chat
      toolparity verify-endpoint https://api.example.com/v1 --wire openai.chat --model m --api-key-env EXAMPLE_KEY
      toolparity verify-endpoint https://api.anthropic.com --wire anthropic.messages --model m --repetitions 20
      toolparity verify-endpoint http://127.0.0.1:8000/v1 --wire openai.chat --at-least 0.95 --at-least arguments=1
      toolparity verify-endpoint http://127.0.0.1:8000/v1 --wire openai.chat --scenarios my-scenarios
      toolparity verify-endpoint http://127.0.0.1:8000/v1 --wire openai.chat --dry-run
      toolparity verify-endpoint https://v.example/v1 --wire openai.chat --model m --against https://o.example/v1
      toolparity verify-endpoint http://127.0.0.1:8000/v1 --wire openai.responses --history runs.jsonl --llm-comply
    """
    from ..endpoint import address, llm_comply, run
    from ..endpoint import history as runs
    from ..endpoint.preflight import only_model

    if is_stdout(json_file) and is_stdout(junit):
        raise click.UsageError("only one of --json and --junit can be written to standard output")
    target = address.endpoint(url, wire)
    if comply:
        llm_comply.installed(wire)
    if history is not None:
        runs.read(history)  # before the requests, which may cost something
    sent = _sent(target, variable, headers, "--api-key-env")
    other = None if reference_url is None else address.endpoint(reference_url, wire)
    if other is None and (reference_model or reference_variable or reference_headers):
        raise click.UsageError("--against-model, --against-key-env and --against-header need --against")
    headers_of_it = {} if other is None else _sent(other, reference_variable, reference_headers, "--against-key-env")
    required = _required(rates)
    probes = _probes(patterns)
    if model is None and not dry_run:
        model = only_model(target, sent, timeout)
    settings = run.Settings(
        model or "MODEL",
        required,
        sent,
        (False, True) if plain == stream else (stream,),
        repetitions,
        jobs,
        timeout,
        max_calls,
        extra,
    )
    given = llm_comply.arguments(target, settings.model, sent, timeout) if comply else []
    planned = run.plan(wire, probes, settings)
    reference = None
    if other is not None:
        theirs = replace(settings, model=reference_model or settings.model, headers=headers_of_it)
        possible = run.plan(wire, planned.probes, theirs)
        left_out, requests = {**planned.left_out, **possible.left_out}, 2 * possible.requests
        planned = replace(possible, left_out=left_out, requests=requests, characters=2 * possible.characters)
        reference = other, theirs
    if not planned.probes:
        click.echo(f"nothing to verify: {wire} cannot represent any of these scenarios", err=True)
        ctx.exit(exits.NOTHING_RAN)
    if dry_run:
        console.show(_planned(target, planned, settings))
        return
    conversations = len(planned.probes) * repetitions
    with console.ProgressBar(conversations, "verifying") as progress:
        result = run.run(target, planned, settings, progress.advance, reference)
    if comply:
        result = replace(result, compliance=llm_comply.verify(wire, given, sent, timeout))
    code = exits.decide(ctx, _code(result, allow_incomplete))
    kept = runs.append(history, runs.run_of(result)) if history is not None else []
    _write(result, json_file, junit)
    if not is_stdout(json_file) and not is_stdout(junit):
        console.show([*_sections(result), *_history(kept)])
    ctx.exit(code)


def _code(result: Verification, allow_incomplete: bool) -> int:
    judged = sum(check.judged for check in result.checks)
    faults = (bool(result.stopped) and not allow_incomplete) + bool(result.compliance and result.compliance.error)
    return exits.code(failed=result.fails, faults=faults, ran=judged)


def _write(result: Verification, json_file: Path | None, junit: Path | None) -> None:
    from ..endpoint import junit as xml

    if json_file is not None:
        put(json_file, msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n")
    if junit is not None:
        put(junit, xml.render(result))
    if result.compliance is not None and result.compliance.error:
        click.echo(f"toolparity: {result.compliance.error}", err=True)


def _object(value: str | None) -> dict[str, Any]:
    try:
        members = msgspec.json.decode(value or "{}", type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeEncodeError):
        raise click.BadParameter("it must be a JSON object, such as '{\"temperature\": 0}'") from None
    return members


def _sent(target: Endpoint, variable: str | None, headers: tuple[str, ...], option: str) -> dict[str, str]:
    """Return the headers of every request. ``option``: names the variable with the key."""
    key = os.environ.get(variable, "").strip() if variable is not None else ""
    if variable is not None and not key:
        raise click.UsageError(f"{option}: the environment variable {variable} is not set")
    return {**target.headers(key), **_headers(headers)}


def _headers(listed: tuple[str, ...]) -> dict[str, str]:
    headers = {}
    for text in listed:
        name, found, value = text.partition(":")
        if not found or not name.strip() or not value.strip():
            raise click.UsageError("--header has no value: write 'NAME: VALUE'")
        headers[name.strip().lower()] = value.strip()
    return headers


def _required(rates: tuple[str, ...]) -> dict[str, float]:
    """Return the rate that each check needs."""
    from ..endpoint.checks import CHECKS

    required = dict.fromkeys(CHECKS, 1.0)
    for text in sorted(rates, key=lambda text: "=" in text):
        name, found, number = text.rpartition("=")
        try:
            rate = float(number)
        except ValueError:
            rate = -1.0
        if not 0 <= rate <= 1:
            raise click.BadParameter(f"{text!r} is not a rate from 0 to 1", param_hint="--at-least")
        if found and name not in CHECKS:
            raise click.BadParameter(unknown("check", name, list(CHECKS)), param_hint="--at-least")
        required.update(dict.fromkeys([name] if found else CHECKS, rate))
    return required


def _probes(patterns: tuple[str, ...]) -> tuple[Probe, ...]:
    """Return the user's own probes, or the default ones. Patterns also choose among the shipped scenarios."""
    from toolparity.cassettes.scenario_folder import own_folder
    from toolparity.cassettes.scripts import scripts

    from ..endpoint.probes import default_probes, probes_of

    own = own_folder() is not None
    if not own and not patterns:
        return default_probes()
    listed = (*probes_of(scripts().values()), *(() if own else default_probes()))
    known = {probe.id: probe for probe in listed}
    must_fit("scenario", patterns, known, "--scenario")
    return tuple(
        probe
        for id, probe in known.items()
        if not patterns or any(fnmatch.fnmatchcase(id, pattern) for pattern in patterns)
    )


def _planned(target: Endpoint, planned: Planned, settings: Settings) -> list[Section]:
    modes = " and ".join("streamed" if stream else "plain" for stream in settings.modes)
    rows: list[list[Value]] = [[probe.id, probe.script.title, probe.most_requests] for probe in planned.probes]
    least = planned.characters // _CHARACTERS_PER_TOKEN
    lines = [
        (StyledText("address"), f"{target.url} -> {target.path(settings.model, stream=False)}"),
        (StyledText("conversations"), f"{len(planned.probes)} scenarios, {modes}, {settings.repetitions} times"),
        (StyledText("requests"), f"at most {planned.requests:,}, at once {settings.jobs}"),
        (StyledText("tokens"), f"about {least:,} of input in the first requests; later ones repeat the history"),
    ]
    if settings.max_calls is not None:
        lines.append((StyledText("budget"), f"{settings.max_calls:,} requests"))
    return [
        Table("Scenarios", ["scenario", "what", "requests"], rows, 2),
        _left_out(planned.left_out),
        Lines("Nothing was sent", lines),
    ]


def _sections(result: Verification) -> list[Section]:
    rows = [_row(check) for check in result.checks if check.judged]
    columns = ["check", "plain", "streamed", "rate", "95 % interval", "needs"]
    sections: list[Section] = [Table("Checks", columns, rows)]
    for check in result.failed:
        reasons = list(check.reasons.items())
        shown = [(StyledText(f"{count} x", "bad"), reason) for reason, count in reasons[:_MOST_REASONS]]
        if len(reasons) > _MOST_REASONS:
            shown.append((StyledText(f"and {len(reasons) - _MOST_REASONS} more", "dim"), ""))
        sections.append(Lines(f"{check.check}: {check.title}", [*shown, (StyledText("what to do", "dim"), _do(check))]))
    if result.reference is not None:
        sections += _compared(result.reference)
    if result.compliance is not None and result.compliance.cases:
        sections += _compliance(result.compliance)
    sections.append(_left_out(result.left_out))
    facts = [(StyledText("endpoint"), f"{result.url}, {result.wire}, {result.model}")]
    facts.append((StyledText("requests"), f"{result.requests:,}"))
    if result.input_tokens or result.output_tokens:
        facts.append((StyledText("tokens"), f"{result.input_tokens:,} in, {result.output_tokens:,} out"))
    if result.trigger is not None:
        of = result.trigger
        facts.append((StyledText("calls"), f"precision {of.precision:.1%}, recall {of.recall:.1%}, F1 {of.f1:.1%}"))
    if result.stopped:
        facts.append((StyledText("stopped early", "warning"), result.stopped))
        played = f"{result.unplayed:,} of {result.conversations:,} conversations"
        facts.append((StyledText("not judged", "warning"), ", ".join([played, *_unjudged(result)])))
    return [*sections, Lines("", facts)]


def _compared(reference: Reference) -> list[Section]:
    rows: list[list[Value]] = []
    for one in reference.checks:
        ours, theirs = one.pairs.rates
        name = StyledText(f"{one.check} (fails)", "bad") if one.worse else one.check
        rows.append([name, ours.judged, f"{ours.value:.1%}", f"{theirs.value:.1%}", _shown(one.difference)])
    title = f"Against {reference.url}, {reference.model} ({reference.requests:,} requests)"
    facts = [(StyledText("the reference stopped early", "warning"), reference.stopped)] if reference.stopped else []
    return [Table(title, ["check", "pairs", "here", "reference", "difference"], rows), Lines("", facts)]


def _shown(difference: Difference | None) -> StyledText:
    """Return a difference with its interval. One whose interval excludes 0 is marked."""
    if difference is None:
        return StyledText("·", "dim")
    interval = f"{difference.value:+.1%} ({difference.low:+.1%} to {difference.high:+.1%})"
    if difference.high < 0:
        return StyledText(f"{interval} lower", "bad")
    return StyledText(f"{interval} higher", "good") if difference.low > 0 else StyledText(interval)


def _history(runs: Sequence[PastRun]) -> list[Section]:
    """Return the last runs that asked the same: the rate of each check that is not 100 % in all of them."""
    from ..endpoint.rates import difference

    alike = [run for run in runs if run.asks_the_same(runs[-1])]
    shown = [*zip([None, *alike], alike, strict=False)][-_MOST_RUNS:]
    checks = list(dict.fromkeys(check for run in alike for check in run.checks))
    rows: list[list[Value]] = []
    for check in checks:
        if all(run.checks[check].value == 1 for _, run in shown if check in run.checks):
            continue
        for before, run in ((before, run) for before, run in shown if check in run.checks):
            earlier = None if before is None else before.checks.get(check)
            since = None if earlier is None else difference(run.checks[check], earlier)
            pairs = run.pairs.get(check)
            differences = [_shown(since), _shown(None if pairs is None else pairs.difference())]
            rows.append([check, run.date, f"{run.checks[check].value:.1%}", *differences])
    columns = ["check", "date", "rate", "to the run before", "to the reference"]
    perfect = ", ".join(check for check in checks if all(row[0] != check for row in rows))
    facts = [(StyledText("runs"), f"{len(alike):,} that asked the same"), (StyledText("always 100 %"), perfect)]
    return [Table("History", columns, rows, 2), Lines("" if rows else "History", facts)] if runs else []


def _compliance(result: Compliance) -> list[Section]:
    rows: list[list[Value]] = []
    for case in result.cases:
        verdict = "differs, as at the provider" if case.differs else case.status
        tone: Tone = "bad" if case in result.failed else "good" if case.status == "passed" else "warning"
        rows.append([case.id, case.name, StyledText(verdict, tone)])
    notes = [(StyledText(case.id, "bad"), error) for case in result.failed for error in case.errors]
    others = Counter(note for case in result.cases for note in (*case.differs, *case.warnings))
    notes += [(StyledText(f"{count} x", "warning"), note) for note, count in others.items()]
    counted = Counter("differs" if case.differs else case.status for case in result.cases)
    counts = ", ".join(f"{count} {verdict}" for verdict, count in counted.items())
    title = f"llm-comply {result.version}, {result.format}: {counts}"
    return [Table(title, ["case", "what", "verdict"], rows, 2), Lines("What llm-comply says", notes)]


def _unjudged(result: Verification) -> list[str]:
    return [check.check for check in result.checks if not check.judged]


def _row(check: CheckResult) -> list[Value]:
    tone: Tone = "bad" if check.failed else "good"
    interval = f"{check.low:.1%} to {check.high:.1%}"
    modes = [_of_mode(check, mode) for mode in ("plain", "stream")]
    return [StyledText(check.check, tone), *modes, f"{check.rate:.1%}", interval, f"{check.required:.0%}"]


def _of_mode(check: CheckResult, mode: str) -> str:
    counted = [one for one in check.counted if one.mode in (mode, "both")]
    judged = sum(one.judged for one in counted)
    return f"{sum(one.passed for one in counted):,}/{judged:,}" if judged else "·"


def _do(check: CheckResult) -> str:
    from ..endpoint.checks import CHECKS

    return CHECKS[check.check].do


def _left_out(left_out: dict[str, str]) -> Section:
    return Lines(
        "Left out, because the wire has no such request", [(StyledText(id), why) for id, why in left_out.items()]
    )
