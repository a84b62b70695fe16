"""`python -m utmost` is the `utmost` command."""

from utmost.cli import main

main()
