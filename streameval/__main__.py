"""`python -m streameval`."""

from streameval.cli import run

if __name__ == "__main__":
    run()
