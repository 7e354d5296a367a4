"""The examples run, and print what the data give."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from offenders import each
from sklearn.metrics import roc_auc_score

import streameval as se

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
DATA = ROOT / "docs" / "data"


def run(*command: object, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_example_of_a_click_model_reports_the_log(tmp_path: Path) -> None:
    said = run(EXAMPLES / "click_model.py", "clicks.csv", "report.html", folder=tmp_path)
    lines = (tmp_path / "clicks.csv").read_text(encoding="utf-8").splitlines()[1:]
    clicked, score = zip(*(map(float, line.split(",")[1:]) for line in lines), strict=True)
    assert f"ROC AUC {roc_auc_score(clicked, score):.3f}, " in said
    assert f"predicted clicks over clicks {sum(score) / sum(clicked):.2f}" in said
    assert "Click model" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_example_of_retrieval_compares_two_runs(tmp_path: Path) -> None:
    best = DATA / "digits_retrieval.run.gz"
    with gzip.open(best, "rt", encoding="utf-8") as file:
        rows = [line for line in file if not line.startswith("q83 ")]
    worse = [re.sub(r" (\S+) (\S+)$", r" -\1 \2", line) for line in rows]
    (tmp_path / "worse.run").write_text("".join(worse), encoding="utf-8")
    qrels = DATA / "digits_retrieval.qrels.gz"
    said = run(EXAMPLES / "retrieval.py", qrels, best, "worse.run", folder=tmp_path)
    judged = se.io.read_qrels(qrels)
    for name in (best, tmp_path / "worse.run"):
        acc = se.RankingAccumulator.like("trec_eval", ["map"]).update_run(
            se.io.read_run(name), judged
        )
        assert f"{acc.compute(missing='zero')['map']:.6f}" in said
    assert re.search(r"^map +0\.\d+ +0\.\d+ +\+0\.", said, re.MULTILINE)


@pytest.mark.slow
@pytest.mark.engine(name="torch")
def test_example_of_a_classifier_counts_every_image_once_on_four_ranks(tmp_path: Path) -> None:
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 4)
    said = run(*launcher, EXAMPLES / "image_classifier.py", folder=tmp_path)
    assert re.findall(r"^epoch (\d): 597 images, ROC AUC 0\.9", said, re.MULTILINE) == [
        "0",
        "1",
        "2",
    ]
    assert len(re.findall(r"^  digit \d: average precision 0\.[5-9]", said, re.MULTILINE)) == 10


@each("path", sorted(EXAMPLES.glob("*.py")))
def test_page_of_examples_names_a_script(path: Path) -> None:
    page = (ROOT / "docs" / "examples" / "index.md").read_text(encoding="utf-8")
    assert f"```{{literalinclude}} {path.name}" in page
