"""`toolparity serve`: serves recorded responses to programs in any language."""

from __future__ import annotations

import math
import threading
from pathlib import Path

import click

from toolparity.cassettes.chunking import CHUNKINGS
from toolparity.cassettes.errors import UnreadableSource

from . import exits
from .cassette_report import by_origin
from .names import Named, unknown


@click.command(name="serve", epilog=f"Exit codes: {exits.TABLE}")
@click.argument("scenarios", nargs=-1, metavar="[SCENARIO]...")
@click.option(
    "--library",
    type=click.Path(exists=True, path_type=Path),
    help="The library to serve. Without it, the shipped one.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--port", type=click.IntRange(0, 65_535), default=0, metavar="N", help="For HTTP.  [default: a free one]")
@click.option(
    "--grpc-port", type=click.IntRange(0, 65_535), default=0, metavar="N", help="For gRPC.  [default: a free one]"
)
@click.option(
    "--chunking",
    type=Named("chunking", CHUNKINGS),
    default="events",
    show_default=True,
    help="The pieces in which streams are sent: as recorded, or hostile.",
)
@click.option(
    "--delay",
    type=click.FloatRange(0, 3_600),
    default=0.0,
    metavar="SECONDS",
    callback=lambda ctx, param, value: _number(value),
    help="Wait before each piece or message.",
)
@click.option(
    "--allow-origin",
    "origins",
    multiple=True,
    metavar="ORIGIN",
    help="Whose pages may read the answers, beside those of this machine; * allows all. Repeatable.",
)
def command(
    *,
    scenarios: tuple[str, ...],
    library: Path | None,
    host: str,
    port: int,
    grpc_port: int,
    chunking: str,
    delay: float,
    origins: tuple[str, ...],
) -> None:
    """Serve recorded answers as if they came from the providers, over HTTP and gRPC, until interrupted.

    A request gets the answer to the recorded request that means the same. Under /scenario/NAME, or with the header
    (gRPC: metadata) x-toolparity-scenario, it gets the answers of that scenario, round by round, whatever else it says:
    the messages of the model in it count the rounds, and a request without messages is at the first one. Its body has
    to be a JSON object, with messages that the wire can read.

    The first lines of the output are the addresses: one "SURFACE<tab>BASE" each, ours first, then those of other
    providers in the library. GET /models below a base that ends in /v1 lists the models that were asked for, and so
    does GET /v1/models below any other. The header (gRPC: initial metadata) x-toolparity-origin of an answer says
    whether it is live, emulated or imported, and x-toolparity-cassette where it is from.

    \b
    Examples:
      toolparity serve
      toolparity serve parallel-three --port 8080 --chunking bytes
      OPENAI_BASE_URL=http://127.0.0.1:8080/openai/v1 my-program
    """
    from toolparity.cassettes.emulated.servers import serving
    from toolparity.cassettes.library import find
    from toolparity.cassettes.replay.http import application
    from toolparity.cassettes.replay.response_index import Deck
    from toolparity.cassettes.replay.rpc import Chat

    names = sorted({place.name for place in find(library) if place.name is not None})
    if not names:
        raise UnreadableSource("there is no recorded answer in the library", hint="toolparity cassettes list")
    for one in scenarios:
        if one not in names:
            raise click.BadParameter(unknown("scenario in the library", one, names), param_hint="SCENARIO")
    deck = Deck(library, scenarios)
    if not len(deck):
        others = ", ".join(deck.unserved)
        raise UnreadableSource(f"no recorded answer has an address here: they are of {others}")
    app = application(deck, chunking=chunking, delay=delay, origins=origins)
    with serving(app, Chat(deck, delay=delay), host, http_port=port, grpc_port=grpc_port) as servers:
        for surface in deck.surfaces:
            click.echo(f"{surface.name}\t{servers.base(surface)}")
        for name, count in deck.unserved.items():
            click.echo(f"{count:,} recorded answers of {name} have no address here", err=True)
        click.echo(f"{len(deck):,} recorded answers: {by_origin(deck.origins)}; interrupt to end", err=True)
        threading.Event().wait()


def _number(value: float) -> float:
    if math.isnan(value):
        raise click.BadParameter("nan is no time to wait")
    return value
