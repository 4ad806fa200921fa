"""`toolparity demo`: a chat page against the emulated providers."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from . import exits


@click.command(name="demo", epilog=f"Exit codes: {exits.TABLE}")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=8400, show_default=True, metavar="N", help="0: a free one."
)
@click.option(
    "--log",
    "url",
    metavar="URL",
    help="Where turns are kept: a file, or a database's URL.  [default: nowhere for long]",
)
@click.option("--tool-seconds", type=click.FloatRange(0, 60), default=1.2, show_default=True, help="What a tool takes.")
@click.option(
    "--piece-seconds",
    type=click.FloatRange(0, 5),
    default=0.02,
    show_default=True,
    help="Before each piece of an answer.",
)
def command(*, host: str, port: int, url: str | None, tool_seconds: float, piece_seconds: float) -> None:
    """Chat with the emulated providers and see what becomes of every tool call, until interrupted.

    The page shows the acknowledgement at once, the tools while they run, the answer as it is written, warnings of
    calls that were dropped, and the raw wire beside the canonical blocks. Nothing is sent anywhere but to this
    machine. Turns are kept in the log: a page that lost its connection goes on where it was, and with --log so does a
    demo that was killed.
    """
    from ..demo.serving import serve

    def ready(address: str) -> None:
        click.echo(address)
        click.echo("interrupt to end", err=True)

    with tempfile.TemporaryDirectory(prefix="toolparity-demo-") as folder:
        log = Path(folder) / "turns.db" if url is None else url if "://" in url else Path(url)
        serve(log, host, port, tool=tool_seconds, piece=piece_seconds, ready=ready)
