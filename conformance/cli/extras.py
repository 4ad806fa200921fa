"""Commands without the extra that they need: a usage error that names the extra, instead of a traceback."""

from __future__ import annotations

import click

#: Top-level module -> the extra that installs it, if it is not `_USUAL`.
_EXTRAS = {
    "alembic": "log",
    "jsonschema": "turns",
    "psycopg": "postgres",
    "sqlalchemy": "log",
}
_USUAL = "conformance"


def hint(error: ModuleNotFoundError) -> str:
    """Return what to install for a missing module. Re-raises the error if the module belongs to toolparity."""
    module = (error.name or "").partition(".")[0]
    if module in ("", "toolparity"):
        raise error
    return f"{module} is not installed; install it with: pip install 'toolparity[{_EXTRAS.get(module, _USUAL)}]'"


def unavailable(name: str, error: ModuleNotFoundError) -> click.Command:
    """Return a command that ends with exit code 2 and says what to install, whatever its arguments are."""
    needed = hint(error)

    def refuse() -> None:
        raise click.UsageError(f"{name} cannot run: {needed}")

    return click.Command(
        name,
        callback=refuse,
        help=f"Not available: {needed}",
        short_help="(not available: needs an extra, see its --help)",
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )
