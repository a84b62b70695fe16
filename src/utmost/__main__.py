"""The `utmost` command, also as `python -m utmost`; where a package is missing it says how to install it."""

import sys


def main() -> None:
    """Run the command."""
    try:
        from utmost.cli import main as run

        run()
    except ImportError as problem:
        from utmost.extras import explained

        reason = explained(problem)
        if reason is None:
            raise
        print(f"{type(reason).__name__}: {reason}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
