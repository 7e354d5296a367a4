"""The command line: `streameval eval`, `merge`, `show` and `plot`."""

from streameval.cli.app import main, run

__all__ = ["main", "run"]
