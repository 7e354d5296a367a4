"""The version: the build, the pages and the command line read it here."""

__version__ = "1.0.0"
