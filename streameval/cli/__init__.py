"""The command line; `app` runs a command, and each command has a file of its name."""

from streameval.cli.app import main, run

__all__ = ["main", "run"]
