"""Entry point of `python -m toolparity`, which runs the `toolparity` command without an installed script."""

from .cli import main

main()
