"""`toolparity serve`: serves recorded responses to programs in any language."""

from __future__ import annotations

import math
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from toolparity.normalizer.errors import MissingExtra

from ..chunking import CHUNKINGS
from ..errors import UnreadableSource
from ..surfaces import SURFACES
from . import exits, options, scenario_option
from .cassette_report import by_origin
from .names import Named, unknown

if TYPE_CHECKING:
    from ..emulated.certificate import Certificate
    from ..replay.faults import Fault

_PROVIDERS = sorted({surface.provider for surface in SURFACES.values()})


@click.command(name="serve", epilog=exits.EPILOG)
@click.argument("scenarios", nargs=-1, metavar="[SCENARIO]...")
@click.option(
    "--library",
    type=click.Path(path_type=Path, file_okay=False),
    help="The library to serve, and to record into.  [default: the shipped one]",
)
@scenario_option.scenarios
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
@click.option(
    "--fault",
    metavar="FAULT",
    callback=lambda ctx, param, value: _fault(value),
    help="Fault of every request that orders none, such as 'status=429; retry-after=2' or cut=1200.",
)
@click.option(
    "--upstream",
    "upstreams",
    multiple=True,
    metavar="[PROVIDER=]URL",
    callback=lambda ctx, param, values: _upstreams(values),
    help=(
        "Where requests without a recorded response go, such as https://api.openai.com. Their exchanges are recorded "
        "into --library, scrubbed. Repeatable, with the provider before the URL."
    ),
)
@click.option(
    "--improvise",
    is_flag=True,
    help=(
        "Make up responses to requests over HTTP that nothing recorded or scripted answers: a call of a tool that the "
        "request offers, with arguments that fit a usual schema, else a text or JSON."
    ),
)
@click.option("--tls", is_flag=True, help="Serve on TLS, with a certificate that is new in each run.")
@click.option(
    "--ca-file",
    type=options.OutputFile(stdout=False),
    metavar="FILE",
    help="With --tls: where to write the certificate of the authority.  [default: a temporary file]",
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
    fault: Fault | None,
    upstreams: dict[str, str],
    improvise: bool,
    tls: bool,
    ca_file: Path | None,
) -> None:
    """Serve recorded responses over HTTP and gRPC like the providers do, until interrupted.

    A request gets the response to the recorded request with the same meaning. Under /scenario/NAME, or with the header
    (gRPC: metadata) x-toolparity-scenario, it gets the responses of that scenario, round by round: the number of model
    messages in the request is the round. A request that breaks a rule of its provider gets the provider's own error.
    Over HTTP, emulated providers play what is not recorded: the scenarios of verify-endpoint, or those of --scenarios.

    The first lines of the output are the addresses, one "SURFACE<tab>BASE" each: first the shipped surfaces, then other
    providers in the library. Most addresses are at the root, too, as with the provider: /v1/chat/completions. GET
    /v1/models and its siblings list the recorded models. The header (gRPC: initial metadata) x-toolparity-origin of a
    response states whether it is live, emulated or imported, and x-toolparity-cassette the cassette that contains it.
    GET / is a page: what the server can answer, what was asked, and why a request found no response.

    Under /fault/FAULT, or with the header (gRPC: metadata) x-toolparity-fault, a request gets a fault: an error of the
    provider, a broken connection, damaged data. GET / lists them.

    \b
    Examples:
      toolparity serve
      toolparity serve parallel-three --port 8080 --chunking bytes
      toolparity serve --scenarios my-scenarios
      toolparity serve --library cassettes --upstream https://api.openai.com
      toolparity serve --improvise
      toolparity serve --tls --ca-file ca.pem
      OPENAI_BASE_URL=http://127.0.0.1:8080/openai/v1 my-program
      curl -H 'x-toolparity-fault: cut=1200' http://127.0.0.1:8080/v1/chat/completions -d @request.json
    """
    from ..emulated.servers import serving
    from ..library import find
    from ..replay.http import application
    from ..replay.journal import Journal
    from ..replay.response_index import ResponseIndex
    from ..replay.rpc import ReplayedChat
    from ..replay.upstream import RecordThrough
    from ..scenario_folder import own_folder, own_library
    from ..scripts import probe_scripts, scripts

    own = own_folder() is not None
    if library is None and upstreams:
        raise click.UsageError("--upstream records into a library: name it with --library")
    if library is not None and not upstreams and not library.exists():
        raise click.BadParameter(f"Directory {str(library)!r} does not exist.", param_hint="--library")
    if ca_file is not None and not tls:
        raise click.UsageError("--ca-file needs --tls")
    unrecorded = scripts() if own else probe_scripts() if library is None else {}
    root = own_library() if library is None and own else library
    names = sorted({place.name for place in find(root) if place.name is not None} | unrecorded.keys())
    if not names and not upstreams:
        raise UnreadableSource("the library has no recorded response", hint="see toolparity cassettes list")
    for scenario in scenarios:
        if scenario not in names:
            raise click.BadParameter(unknown("scenario in the library", scenario, names), param_hint="SCENARIO")
    played = {id: script for id, script in unrecorded.items() if not scenarios or id in scenarios}
    index = ResponseIndex(root, scenarios, played, improvises=improvise)
    if not len(index) and not upstreams and not played:
        others = ", ".join(index.unserved)
        raise UnreadableSource(f"no recorded response can be served: the providers have no address here: {others}")
    certificate = _certificate(host) if tls else None
    journal = Journal()
    app = application(
        index,
        chunking=chunking,
        delay=delay,
        origins=origins,
        fault=fault,
        journal=journal,
        upstream=RecordThrough(index, library, upstreams) if library is not None and upstreams else None,
        hosts=frozenset((host,)),
    )
    chat = ReplayedChat(index, delay=delay, fault=fault, journal=journal)
    with (
        _authority_file(certificate, ca_file) as ca,
        serving(app, chat, host, http_port=port, grpc_port=grpc_port, certificate=certificate) as servers,
    ):
        for surface in index.surfaces:
            click.echo(f"{surface.name}\t{servers.base(surface)}")
        for name, count in index.unserved.items():
            unserved = f"{count:,} recorded responses of {name}"
            click.echo(f"{unserved} are not served: the provider has no address here", err=True)
        if ca is not None:
            click.echo(f"certificate of the authority: {ca} (SSL_CERT_FILE, NODE_EXTRA_CA_CERTS)", err=True)
        click.echo(f"{len(index):,} recorded responses: {by_origin(index.origins)}; interrupt to stop", err=True)
        click.echo(f"page: {servers.http_url}/", err=True)
        threading.Event().wait()


def _certificate(host: str) -> Certificate:
    try:
        from ..emulated.certificate import Certificate
    except ModuleNotFoundError:
        raise MissingExtra("--tls needs the extra tls", hint="pip install 'toolparity[tls]'") from None
    return Certificate([host])


@contextmanager
def _authority_file(certificate: Certificate | None, path: Path | None) -> Iterator[Path | None]:
    """Write the certificate of the authority, to a temporary file without a path."""
    if certificate is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ca.pem" if path is None else path
        try:
            file.write_bytes(certificate.authority)
        except OSError as error:
            raise click.BadParameter(f"{file}: {error.strerror}", param_hint="--ca-file") from None
        yield file


def _fault(text: str | None) -> Fault | None:
    from ..errors import InvalidFault
    from ..replay.faults import parse

    try:
        return None if text is None else parse(text)
    except InvalidFault as error:
        raise click.BadParameter(str(error)) from None


def _upstreams(values: tuple[str, ...]) -> dict[str, str]:
    """Return the URLs by provider, "" for the others."""
    targets: dict[str, str] = {}
    for value in values:
        provider, separator, url = value.partition("=")
        if not separator or "://" in provider:
            provider, url = "", value
        if provider and provider not in _PROVIDERS:
            raise click.BadParameter(unknown("provider", provider, _PROVIDERS))
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise click.BadParameter(f"not the address of a server: {error}") from None
        if parts.username is not None or parts.query:
            raise click.BadParameter("the address contains credentials or a query; the client sends them")
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.fragment or port == 0:
            raise click.BadParameter(f"not the address of a server: {url!r}")
        if provider in targets:
            raise click.BadParameter(f"{provider or 'the other providers'} have two upstreams")
        targets[provider] = url
    return targets


def _number(value: float) -> float:
    if math.isnan(value):
        raise click.BadParameter("the delay must be a number")
    return value
