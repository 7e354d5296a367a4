"""The command line: `streameval eval`, `merge` and `show`."""

from streameval.cli.app import main, run

__all__ = ["main", "run"]
