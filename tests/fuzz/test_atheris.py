"""Minutes of coverage-guided fuzzing: ``pytest -m long tests/fuzz``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SECONDS = int(os.environ.get("STREAMEVAL_FUZZ_SECONDS", "120"))


@pytest.mark.long
def test_fuzzer_finds_no_bytes_that_are_neither_refused_nor_usable(tmp_path: Path) -> None:
    pytest.importorskip("atheris", reason="pip install atheris")
    for path in (HERE.parent / "golden").glob("version-*/*.se"):
        corpus = tmp_path / "corpus"
        corpus.mkdir(exist_ok=True)
        shutil.copy(path, corpus / f"{path.parent.name}-{path.name}")
    command = [
        *(sys.executable, str(HERE / "target.py"), "corpus"),
        *(f"-max_total_time={SECONDS}", "-max_len=16384", "-timeout=60"),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "Done " in done.stderr
