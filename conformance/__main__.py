"""`python -m conformance`: the command `toolparity`, where no script is installed."""

from .cli import main

main(prog_name="toolparity")
