"""Commands as a user types them: by bash, with the console script of this interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

__all__ = ["bash"]


def bash(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script in a folder, on a terminal 80 columns wide; a failing pipe fails.

    Standard error comes with standard output, in the order in which they are written.
    """
    here = str(Path(sys.executable).parent)
    environment = os.environ | {
        "PATH": os.pathsep.join([here, os.environ.get("PATH", os.defpath)]),
        "COLUMNS": "80",
        "PYTHONIOENCODING": "utf-8",
    }
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", script],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
