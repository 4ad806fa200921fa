"""Commands in an install without the extra that they need: a usage error that names the extra, never a traceback."""

from __future__ import annotations

import click

#: Top-level module -> the extra that brings it, where that is another than `_USUAL`.
_EXTRAS = {
    "alembic": "log",
    "jsonschema": "turns",
    "psycopg": "postgres",
    "purgatory": "turns",
    "sqlalchemy": "log",
}
_USUAL = "conformance"


def hint(error: ModuleNotFoundError) -> str:
    """What to install for a module that is missing. Raises the error again where the module is one of ours."""
    module = (error.name or "").partition(".")[0]
    if module in ("", "toolparity"):
        raise error
    return f"{module} is not installed; install it with: pip install 'toolparity[{_EXTRAS.get(module, _USUAL)}]'"


def unavailable(name: str, error: ModuleNotFoundError) -> click.Command:
    """A command that ends with exit code 2 and says what to install, whatever its arguments are."""
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
