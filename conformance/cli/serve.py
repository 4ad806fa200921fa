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


@click.command(name="serve", epilog=exits.EPILOG)
@click.argument("scenarios", nargs=-1, metavar="[SCENARIO]...")
@click.option(
    "--library",
    type=click.Path(exists=True, path_type=Path),
    help="The library to serve.  [default: the shipped one]",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=0, metavar="N", help="HTTP port.  [default: a free port]"
)
@click.option(
    "--grpc-port", type=click.IntRange(0, 65_535), default=0, metavar="N", help="gRPC port.  [default: a free port]"
)
@click.option(
    "--chunking",
    type=Named("chunking", CHUNKINGS),
    default="events",
    show_default=True,
    help=(
        "How streams are split. `events`: one piece per event. `whole`: one piece. `bytes`: one piece per byte. "
        "`ends`: bytes at both ends of the stream, irregular pieces between them. `odd`: irregular pieces. `utf8`: "
        "cuts inside every character of several bytes. `merged`: about four events per piece, cut inside an event."
    ),
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
    help="Origin whose web pages may read the responses, besides pages of this machine; * allows all. Repeatable.",
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
    """Serve recorded responses over HTTP and gRPC like the providers do, until interrupted.

    A request gets the response to the recorded request with the same meaning. Under /scenario/NAME, or with the header
    (gRPC: metadata) x-toolparity-scenario, it gets the responses of that scenario, round by round: the number of model
    messages in the request is the round. The body must be a JSON object with messages that the wire can read.

    The first lines of the output are the addresses, one "SURFACE<tab>BASE" each: first the shipped surfaces, then other
    providers in the library. GET /models below a base that ends in /v1, and GET /v1/models below any other, lists the
    recorded models. The header (gRPC: initial metadata) x-toolparity-origin of a response states whether it is live,
    emulated or imported, and x-toolparity-cassette the cassette that contains it.

    \b
    Examples:
      toolparity serve
      toolparity serve parallel-three --port 8080 --chunking bytes
      OPENAI_BASE_URL=http://127.0.0.1:8080/openai/v1 my-program
    """
    from toolparity.cassettes.emulated.servers import serving
    from toolparity.cassettes.library import find
    from toolparity.cassettes.replay.http import application
    from toolparity.cassettes.replay.response_index import ResponseIndex
    from toolparity.cassettes.replay.rpc import ReplayedChat

    names = sorted({place.name for place in find(library) if place.name is not None})
    if not names:
        raise UnreadableSource("the library has no recorded response", hint="see toolparity cassettes list")
    for scenario in scenarios:
        if scenario not in names:
            raise click.BadParameter(unknown("scenario in the library", scenario, names), param_hint="SCENARIO")
    index = ResponseIndex(library, scenarios)
    if not len(index):
        others = ", ".join(index.unserved)
        raise UnreadableSource(f"no recorded response can be served: the providers have no address here: {others}")
    app = application(index, chunking=chunking, delay=delay, origins=origins)
    with serving(app, ReplayedChat(index, delay=delay), host, http_port=port, grpc_port=grpc_port) as servers:
        for surface in index.surfaces:
            click.echo(f"{surface.name}\t{servers.base(surface)}")
        for name, count in index.unserved.items():
            unserved = f"{count:,} recorded responses of {name}"
            click.echo(f"{unserved} are not served: the provider has no address here", err=True)
        click.echo(f"{len(index):,} recorded responses: {by_origin(index.origins)}; interrupt to stop", err=True)
        threading.Event().wait()


def _number(value: float) -> float:
    if math.isnan(value):
        raise click.BadParameter("the delay must be a number")
    return value
