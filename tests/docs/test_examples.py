"""The examples run, and print what the data give."""

from __future__ import annotations

import gzip
import json
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


def run(
    *command: object, folder: Path, code: int = 0, program: str = sys.executable, **variables: str
) -> str:
    done = subprocess.run(
        [program, *map(str, command)],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1"} | variables,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == code, done.stderr
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
def test_example_of_a_click_model_fails_where_the_model_is_not_good_enough(tmp_path: Path) -> None:
    rows = "".join(f"{n % 9},{n % 2},{n % 7 / 7}\n" for n in range(200))
    (tmp_path / "clicks.csv").write_text("user,clicked,score\n" + rows, encoding="utf-8")
    run(EXAMPLES / "click_model.py", "clicks.csv", "report.html", folder=tmp_path, code=1)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the script needs a POSIX shell")
def test_example_of_a_monitor_raises_one_alert_on_the_bad_day(tmp_path: Path) -> None:
    (tmp_path / "streameval").write_text(f'#!/bin/sh\nexec {sys.executable} -m streameval "$@"\n')
    (tmp_path / "streameval").chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    said = run(EXAMPLES / "monitor.sh", "out", folder=tmp_path, program="bash", PATH=path)
    assert "an alert would fire" in said
    assert said.count("an alert is firing") == 1
    (event,) = (tmp_path / "out" / "alerts.jsonl").read_text(encoding="utf-8").splitlines()
    event = json.loads(event)
    assert (event["state"], event["value"], event["limit"]) == ("firing", 0.75, 0.9)
    assert event["end"] == "2023-11-17T02:00:00Z"
    assert len(re.findall(r"^2023-11-17T\d\d:00 +60 +0.7500 ", said, re.MULTILINE)) >= 3


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


@pytest.mark.slow
@pytest.mark.engine(name="torch")
def test_example_of_a_language_model_has_wider_intervals_of_documents(tmp_path: Path) -> None:
    said = run(
        EXAMPLES / "language_model.py", *sorted(ROOT.glob("docs/how-to/*.md")), folder=tmp_path
    )
    for name in ("perplexity", "accuracy"):
        pattern = rf"^{name} ([\d.]+), 95% interval of (\w+) \[([\d.]+), ([\d.]+)\]$"
        (value, first, *wide), (same, second, *narrow) = re.findall(pattern, said, re.MULTILINE)
        assert (value, first, second) == (same, "documents", "tokens")
        assert float(wide[0]) < float(narrow[0]) < float(value) < float(narrow[1]) < float(wide[1])


SCRIPTS = sorted(path for path in EXAMPLES.iterdir() if path.suffix in {".py", ".sh"})


def test_examples_are_five_scripts_of_at_most_60_lines() -> None:
    sizes = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in SCRIPTS}
    assert len(sizes) == 5
    assert max(sizes.values()) <= 60, sizes


@each("path", SCRIPTS)
def test_page_of_examples_names_a_script(path: Path) -> None:
    page = (ROOT / "docs" / "examples" / "index.md").read_text(encoding="utf-8")
    assert f"```{{literalinclude}} {path.name}" in page
