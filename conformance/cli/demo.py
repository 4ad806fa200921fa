"""`toolparity demo`: a chat page against the emulated providers."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from . import exits


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
    """Serve a chat page with emulated providers that shows what happens to every tool call, until interrupted.

    The page shows the acknowledgement, running tools, the answer while it is streamed, warnings about dropped calls,
    and the raw wire beside the canonical blocks. No data leaves this machine. Turns are stored in the log: a page that
    lost its connection resumes, and with --log a demo that was killed resumes too.
    """
    from ..demo.server import serve

    def ready(address: str) -> None:
        click.echo(address)
        click.echo("interrupt to stop", err=True)

    with tempfile.TemporaryDirectory(prefix="toolparity-demo-") as folder:
        log = Path(folder) / "turns.db" if url is None else url if "://" in url else Path(url)
        serve(log, host, port, tool=tool_seconds, piece=piece_seconds, ready=ready)
