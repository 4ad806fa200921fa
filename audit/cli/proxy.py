"""`toolparity proxy`: passes traffic to a provider unchanged and reports what is wrong with it."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolparity.cassettes.cli import exits, options
from toolparity.cassettes.cli.stopping import StopSignals
from toolparity.normalizer.model import Policy

if TYPE_CHECKING:
    from ..proxy.observer import Observer


@click.command(name="proxy", epilog=exits.EPILOG)
@click.option("--upstream", required=True, metavar="URL", help="Where the requests go, such as https://api.openai.com.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8484, show_default=True, help="Port; 0: any free port.")
@click.option(
    "--page-port",
    type=click.IntRange(0, 65_535),
    default=8485,
    show_default=True,
    help="Port of the page and the metrics, on this machine only; 0: any free port.",
)
@click.option("--allow-remote", is_flag=True, help="Allow a --host that other machines can reach.")
@click.option(
    "--allow-host",
    "names",
    multiple=True,
    metavar="NAME",
    help="Further host name by which clients address the proxy. Repeatable.",
)
@click.option("--http1", is_flag=True, help="Use HTTP/1.1 to the upstream, even if it offers HTTP/2.")
@options.policy
@options.limit
@click.option(
    "--record",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Record the exchanges, scrubbed: into a file of JSON lines (.jsonl), or into a folder of cassettes.",
)
@click.option(
    "--drain",
    type=click.IntRange(min=0),
    default=8,
    show_default=True,
    metavar="SECONDS",
    help="How long open exchanges may continue after SIGTERM or an interrupt; a second signal ends them.",
)
@click.option("--spans", is_flag=True, help="Make OpenTelemetry spans, for example under opentelemetry-instrument.")
@click.option("--json", "as_data", is_flag=True, help="Write each exchange as a line of JSON.")
@click.pass_context
def command(
    ctx: click.Context,
    *,
    upstream: str,
    host: str,
    port: int,
    page_port: int,
    allow_remote: bool,
    names: tuple[str, ...],
    http1: bool,
    policy: Policy,
    limit: int | None,
    record: Path | None,
    drain: int,
    spans: bool,
    as_data: bool,
) -> None:
    """Pass requests to a provider unchanged, and report what is wrong with the traffic, until SIGTERM or an interrupt.

    Point the base URL of an application at the first address that this command prints. Everything passes at once and
    byte for byte. A copy of each exchange is judged in another process; a fault there never reaches the traffic.
    Findings are lines on standard output. The second address serves a page, and Prometheus metrics under /metrics.

    API keys pass through memory only: nothing that is printed, shown or recorded contains them.

    \b
    Examples:
      toolparity proxy --upstream https://api.openai.com
      OPENAI_BASE_URL=http://127.0.0.1:8484/v1 my-program
    """
    from ..proxy.delivery import Sink
    from ..proxy.feed import Feed
    from ..proxy.forward import Upstream
    from ..proxy.judgement import JudgeOptions
    from ..proxy.lines import JsonLines, TextLines
    from ..proxy.metrics import Metrics
    from ..proxy.negotiation import NegotiatingTransport
    from ..proxy.observer import Observer
    from ..proxy.page import application
    from ..proxy.server import Addresses, ProxyServer, gauges

    addresses = Addresses(host, port, page_port, frozenset(name.lower() for name in names))
    if not addresses.local and not allow_remote:
        raise click.UsageError(f"--host {host}: other machines could use the proxy; allow it with --allow-remote")
    try:
        target = Upstream.of(upstream)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--upstream") from None
    if addresses.local and target.is_at(port):
        raise click.BadParameter("the proxy would send the requests to itself", param_hint="--upstream")
    if record is not None:
        options.must_be_writable(record, folder=record.suffix not in (".jsonl", ".ndjson"))
    metrics = Metrics()
    lines = JsonLines(click.echo) if as_data else TextLines(click.echo)
    feed = Feed()
    sinks: list[Sink] = [metrics, feed, lines]
    if spans:
        from ..proxy.spans import Spans

        sinks.append(Spans(upstream))
    observer = Observer(sinks, JudgeOptions(policy, limit), record=None if record is None else str(record))
    signals = ctx.find_object(StopSignals) or ctx.with_resource(StopSignals("proxy"))
    try:
        with observer:
            server = ProxyServer(
                target,
                observer,
                application(feed, metrics),
                addresses,
                on_stop=feed.close,
                transport=NegotiatingTransport(http2=not http1),
                drain=drain,
            )
            metrics.recorded = observer.recorded
            metrics.gauges = gauges(server, observer)
            click.echo(f"{server.url}\t{upstream}", err=True)
            click.echo(f"{server.page_url}\tpage; interrupt to stop", err=True)
            signals.stop = server.stop
            if signals.received is None:
                server.run()
    finally:
        _summarize(observer, record)
    if signals.received == signal.SIGINT:
        ctx.exit(exits.INTERRUPTED)
    if observer.recorded["not-written"]:
        ctx.exit(exits.FAULT)


def _summarize(observer: Observer, record: Path | None) -> None:
    """Print how many exchanges passed, how many were recorded, and why others were not."""
    click.echo(f"exchanges: {observer.exchanges:,}", err=True)
    if observer.sessions:
        messages = f"{observer.messages:,} messages"
        click.echo(f"WebSocket sessions among them: {observer.sessions:,} with {messages}", err=True)
    if record is not None:
        results = ", ".join(f"{result}: {count:,}" for result, count in sorted(observer.recorded.items()))
        click.echo(f"{record}: {results or 'nothing to record'}", err=True)
