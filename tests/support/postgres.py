"""A PostgreSQL server of the tests' own, from the installed packages: in a temporary folder, behind a socket in it
that no other program can reach, and gone when the tests are. TOOLPARITY_TEST_POSTGRES_URL names another server instead,
with a role that may create databases.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import sqlalchemy as sa
from sqlalchemy import URL

from tests.support.programs import needed

if TYPE_CHECKING:
    import pwd


@contextmanager
def server() -> Iterator[URL]:
    """A server: the URL of its first database."""
    given = os.environ.get("TOOLPARITY_TEST_POSTGRES_URL")
    if given:
        yield sa.make_url(given)
        return
    initdb, pg_ctl = program("initdb"), program("pg_ctl")
    owner = owner_of_a_server()
    with folder_of(owner) as folder, _ending_with_us(owner, folder, pg_ctl):
        data = folder / "data"
        initialised = run(
            owner, folder, initdb, "-D", data, "-U", "tests", "-A", "trust", "-E", "UTF8", "--locale", "C", "--no-sync"
        )
        assert initialised.returncode == 0, initialised.stdout
        options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
        started = run(owner, folder, pg_ctl, "-D", data, "-l", folder / "log", "-w", "-o", options, "start")
        assert started.returncode == 0, started.stdout + (folder / "log").read_text()
        yield URL.create("postgresql", "tests", database="postgres", query={"host": str(folder)})


@contextmanager
def _ending_with_us(owner: pwd.struct_passwd | None, folder: Path, pg_ctl: str) -> Iterator[None]:
    """Ends the server behind us, and removes its folder, when this process ends, even if it is killed: another process
    reads a pipe of which we hold the other end.
    """
    ends = 'cat; "$0" -D "$1/data" -m immediate -w stop; rm -rf "$1"'
    with subprocess.Popen(
        ["sh", "-c", ends, pg_ctl, str(folder)],
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        **_as(owner),
    ):
        yield  # Popen closes the pipe, and waits


@contextmanager
def folder_of(owner: pwd.struct_passwd | None) -> Iterator[Path]:
    """A folder that only that user can enter (and root)."""
    folder = Path(tempfile.mkdtemp(prefix="pg-"))  # short: the path of a socket has to be
    try:
        if owner is not None:
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def database(server: URL, template: str = "template1") -> Iterator[URL]:
    """A separate database on that server, a copy of ``template``."""
    name = f"toolparity_{secrets.token_hex(6)}"
    conninfo = server.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())
        try:
            yield server.set(database=name)
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def program(name: str) -> str:
    """The path of one of its programs. Debian keeps them off the PATH, by version."""
    beside = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: -float(path.parts[4]))
    return needed(name, *map(str, beside), what="PostgreSQL")


def owner_of_a_server() -> pwd.struct_passwd | None:
    """Whom to run it as, where root runs the tests: PostgreSQL refuses to be root."""
    if os.geteuid() != 0:
        return None
    import pwd

    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    return names.get("postgres") or names["nobody"]


def run(owner: pwd.struct_passwd | None, folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command as that user in that folder, with the server's programs on the PATH."""
    path = os.pathsep.join((str(Path(program("initdb")).parent), os.environ.get("PATH", os.defpath)))
    # To a file: the server keeps what it inherits open, and a pipe would never end.
    with tempfile.TemporaryFile("w+") as message:
        ended = subprocess.run(
            [str(part) for part in command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=message,
            stderr=subprocess.STDOUT,
            env={"PATH": path, "LC_ALL": "C"},
            **_as(owner),
            check=False,
        )
        message.seek(0)
        return subprocess.CompletedProcess(ended.args, ended.returncode, message.read())


def _as(owner: pwd.struct_passwd | None) -> dict[str, Any]:
    return {} if owner is None else {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
