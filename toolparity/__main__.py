"""`python -m toolparity`: the command `toolparity`, where no script is installed."""

from .cli import main

main()
