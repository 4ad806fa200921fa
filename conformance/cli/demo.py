"""`toolparity demo`: a page that shows what happens to every tool call."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from toolparity.cassettes.cli import exits


@click.command(name="demo", epilog=exits.EPILOG)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8400,
    show_default=True,
    metavar="N",
    help="Port; 0: any free port.",
)
@click.option(
    "--log",
    "url",
    metavar="URL",
    help="Where to store turns: a file, or the URL of a database.  [default: a temporary file]",
)
@click.option("--tool-seconds", type=click.FloatRange(0, 60), default=1.2, show_default=True, help="Tool duration.")
@click.option(
    "--piece-seconds",
    type=click.FloatRange(0, 5),
    default=0.02,
    show_default=True,
    help="Delay before each piece of a response.",
)
def command(*, host: str, port: int, url: str | None, tool_seconds: float, piece_seconds: float) -> None:
    """Serve a page that shows what happens to every tool call, with emulated providers, until interrupted.

    The page opens with one answer that requests three calls, under each policy. It shows which calls are kept and
    dropped, what the user sees and what the provider gets back, the wire beside the canonical events, and the time and
    cost of each turn. No data leaves this machine. Turns are stored in the log: if the server is killed, the page
    reconnects to the next one and the turn resumes, with --log also after a new start.
    """
    from ..demo.server import serve

    def ready(address: str) -> None:
        click.echo(address)
        click.echo("interrupt to stop", err=True)

    with tempfile.TemporaryDirectory(prefix="toolparity-demo-") as folder:
        log = Path(folder) / "turns.db" if url is None else url if "://" in url else Path(url)
        serve(log, host, port, tool=tool_seconds, piece=piece_seconds, ready=ready)
