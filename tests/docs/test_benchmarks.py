"""The page on speed shows what was found, and the benchmarks find it as they say."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import groups
import make_logs
import numpy as np
import pending_rows
import polars as pl
import pytest
import report
import scaling
import watch_memory
import watching
from offenders import each
from speed import contest as contest_module
from speed import far, merge_tree, results, tables
from speed.contest import Contest, Peer, Ready, Side
from speed.results import Row
from speed.timing import Effort, Spread, race
from speed.verbs import CONTESTS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "speed.md").read_text(encoding="utf-8")
TABLES = ROOT / "docs" / "tables"

BRIEF = Effort(turn=1e-4, seconds=1e-3, rounds=(3, 3))

GOALS = [
    ("update", "binary scores", 32, "torchmetrics", 12),
    ("update", "binary scores, four metrics", 32, "torchmetrics", 35),
    ("update", "binary scores", 65_536, "torchmetrics", 25),
    ("update", "class ids, 10 classes", 65_536, "torchmetrics", 6),
    ("update", "class ids, 1,000 classes", 32, "torchmetrics", 25),
    ("update", "class ids, 1,000 classes", 1024, "torchmetrics", 25),
    ("update", "logits of 10 classes", 65_536, "torchmetrics", 1.5),
    ("update", "scores of 20 labels", 4096, "torchmetrics", 12),
    ("update", "scores of 20 labels", 4096, "torcheval", 3),
    ("update", "scores, after a million", 1024, "torchmetrics", 25),
    ("update", "scores, after a million", 65_536, "torchmetrics", 40),
    ("update", "binary scores", 1, "river", 1),
    ("stream", "exact ROC AUC", 10_000_000, "torchmetrics", 7),
    ("stream", "exact ROC AUC", 10_000_000, "scikit-learn", 14),
    ("memory", "exact ROC AUC", 10_000_000, "torchmetrics", 3),
    ("ranking", "NDCG@10, MAP, MRR, blocks of 100", 1_000_000, "ranx", 10),
    ("ranking", "NDCG@10, MAP, MRR, blocks of 100", 1_000_000, "pytrec-eval-terrier", 10),
    ("ranking", "NDCG@10, blocks of 100", 1_000_000, "scikit-learn", 2),
    ("ranking", "NDCG@10, MAP, MRR, rows of 50 to 150", 1_000_000, "ranx", 8),
    ("ranking", "NDCG@10, MAP, MRR, rows of 50 to 150", 1_000_000, "pytrec-eval-terrier", 8),
    ("checks", "share of memory read bandwidth", 10_000_000, "numpy", 0.2),
    ("merge", "2 sketches", 2_000_000, "numpy", 1 / 2),
    ("compute", "ROC AUC after a million", 1_000_000, "numpy", 1 / 4),
    ("reading", "JSON lines", 200_000, "polars", 0.5),
    ("formats", "JSON lines, gzip", 500_000, "streameval", 0.61),
    ("formats", "JSON lines, lists of 10 scores", 500_000, "streameval", 0.22),
    ("formats", "JSON lines, text labels", 500_000, "streameval", 0.61),
    ("formats", "CSV, by pyarrow", 500_000, "streameval", 2.4),
    ("formats", "CSV, by NumPy alone", 500_000, "streameval", 0.82),
    ("formats", "Parquet", 18_600_000, "polars", 0.47),
    ("commands", "JSON lines", 6_000_000, "streameval", 1.6),
]
"""What speed was promised; each of them has to be a row of the report."""


def filled_page() -> str:
    """Fill the page on speed as the build does."""
    return importlib.import_module("speed_rows").filled(PAGE)


def test_page_shows_the_saved_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    assert tables.report_block(results.load()) in filled_page()


def test_page_shows_the_saved_scaling() -> None:
    found = json.loads(scaling.SCALING.read_text(encoding="utf-8"))
    shown = (TABLES / "scaling.txt").read_text(encoding="utf-8")
    assert shown == f"{scaling.block(found)}\n"


def test_saved_results_are_of_the_contests_as_they_are() -> None:
    now = [Row.of(one, peer, one.size) for one in CONTESTS for peer in one.peers]
    saved = [attrs.evolve(row, ratio=None, ours=None, rounds=0) for row in results.load().rows]
    assert sorted(saved, key=str) == sorted(now, key=str)


def test_rows_measured_again_replace_those_that_were_saved() -> None:
    first, second = (Row.of(one, one.peers[0], one.size) for one in CONTESTS[:2])
    again = attrs.evolve(second, rounds=3)
    gone = attrs.evolve(first, work="no contest any more")
    old = attrs.evolve(first, why="no reason any more")
    assert report.together([second, gone, old], [again]) == [first, again]


@each(("verb", "work", "size", "library", "goal"), GOALS)
def test_every_goal_is_a_row(verb: str, work: str, size: int, library: str, goal: float) -> None:
    rows = [
        row
        for row in results.load().rows
        if (row.verb, row.work, row.size, row.library) == (verb, work, size, library)
    ]
    assert goal in [row.goal for row in rows]


def test_contests_have_names_of_their_own() -> None:
    names = [str(contest) for contest in CONTESTS]
    assert len(set(names)) == len(names)


def test_results_survive_saving(tmp_path: Path) -> None:
    found = results.load()
    results.save(found, tmp_path / "results.json")
    assert results.load(tmp_path / "results.json") == found


@pytest.mark.slow
def test_part_of_the_report_is_printed_and_not_written() -> None:
    saved = results.RESULTS.read_bytes()
    command = [sys.executable, "benchmarks/report.py", "--quick"]
    command += ["--only", "bytes/*size, 2 classes", "--only", "checks/*binary scores/32"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "### Bytes" in done.stdout
    assert "numpy three counts, no check" in done.stdout
    assert results.RESULTS.read_bytes() == saved


def side_of(value: float) -> Side:
    return Side.of_function(lambda: {"value": value})


def contest(*peers: Peer, ours: float = 1.0, size: int = 10) -> Contest:
    return Contest(
        verb="add",
        accumulator="Nothing",
        work="work",
        size=size,
        data=lambda rows: (np.zeros(rows),),
        ours=lambda data: side_of(ours),
        peers=peers,
    )


def peer(value: float = 1.0, **options: Any) -> Peer:
    given: dict[str, Any] = {"library": "numpy", "name": "peer", **options}
    return Peer(ready=lambda module, data: side_of(value), **given)


def test_sides_that_disagree_are_not_timed() -> None:
    with pytest.raises(AssertionError, match=r"^add/Nothing/work/10: value is 1.0, but 2.0 by"):
        contest(peer(2.0)).ready()


def test_sides_that_agree_within_the_tolerance_are_timed() -> None:
    timing = race(contest(peer(1.01, tolerance=0.1)).ready(), BRIEF)
    assert timing.rounds == 3
    assert all(0 < ratio.low <= ratio.median <= ratio.high for ratio in timing.ratios.values())


def test_missing_library_is_named() -> None:
    absent = peer(library="no_such_library")
    rows = list(report.rows_of(contest(absent, peer()), BRIEF, shrink=1))
    assert [row.ratio is None for row in rows] == [False, True]
    assert "| no_such_library peer | 1 | not measured |" in tables.line(rows[1])
    assert tables.summary(rows).endswith(" Not measured: no_such_library.")


def test_ratio_below_its_goal_is_bold() -> None:
    row = Row.of(contest(), peer(goal=12.0), 10, ratio=Spread(1.0, 2.0, 3.0), rounds=3)
    assert tables.line(row).endswith("| 12 | **2** | 1 to 3 |")
    assert tables.summary([row]).startswith("0 of 1 goals are met")


def missed(*, goal: float = 12.0, why: str = "It rounds.", **found: Any) -> Row:
    found = {"ratio": Spread(1.0, 2.0, 3.0), "rounds": 3, **found}
    return Row.of(contest(), peer(goal=goal, why=why), 10, **found)


def test_goals_missed_for_one_reason_share_a_line() -> None:
    other = attrs.evolve(missed(), work="two", size=20)
    slow = missed(why="It sorts.")
    assert list(tables.reasons([missed(), missed(goal=1.0), slow, other])) == [
        "| add: work; add: two | numpy 10: **2** of 12; numpy 20: **2** of 12 | It rounds. |",
        "| add: work | numpy 10: **2** of 12 | It sorts. |",
    ]


def test_headlines_are_rows_of_the_report() -> None:
    assert tables.headlines(results.load().rows).count("\n") == 1 + len(tables.HEADLINES)


def test_fold_has_every_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    page = filled_page()
    assert [row for row in results.load().rows if tables.line(row) not in page] == []


def test_report_lists_no_reasons_where_every_goal_is_met() -> None:
    about = results.load().about
    titles = [
        "## Missed goals" in tables.report_block(results.Report(about, [missed(goal=goal)]))
        for goal in (12.0, 1.0)
    ]
    assert titles == [True, False]


def test_every_saved_miss_has_a_reason() -> None:
    rows = [row for row in results.load().rows if row.is_missed and not row.why]
    assert [
        row for row in rows if row.ratio and row.goal and row.ratio.median < 0.9 * row.goal
    ] == []


def test_part_of_ours_is_timed_beside_it() -> None:
    part = contest_module.yardstick("nothing", lambda _: lambda: None)
    (row,) = report.rows_of(contest(part), BRIEF, shrink=1)
    assert (row.is_yardstick, row.is_missed) == (True, False)


def test_sides_take_turns() -> None:
    calls: list[str] = []
    sides = [Side(partial(calls.append, name)) for name in ("ours", "a", "b")]
    peers = dict(zip([peer(name="a"), peer(name="b")], sides[1:], strict=True))
    race(Ready(10, sides[0], peers), Effort(turn=0.0, seconds=0.0, rounds=(3, 3)))
    turns = "ours a b", "a b ours", "b ours a"
    assert " ".join(calls).endswith(" ".join(turns))


def test_large_data_is_shrunk_and_small_is_not() -> None:
    assert contest(size=65_536).rows(10) == 65_536
    assert contest(size=1_000_000).rows(10) == 100_000


@pytest.mark.parametrize(
    ("suffix", "read"), [(".jsonl", pl.read_ndjson), (".parquet", pl.read_parquet)]
)
def test_logs_are_as_large_as_asked(
    suffix: str, read: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(make_logs, "ROWS", 1000)
    path = tmp_path / f"log{suffix}"
    rows = make_logs.write(path, 100_000)
    frame = read(path)
    assert (path.stat().st_size >= 100_000, len(frame)) == (True, rows)
    assert frame.columns == ["user", "ad", "y_true", "y_score"]


@pytest.mark.slow
def test_costs_of_groups_are_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["groups.py", "--shrink=1000"])
    groups.main()
    lines = capsys.readouterr().out.splitlines()
    goals = [line.partition("(goal ")[2].rstrip(")") for line in lines]
    assert goals == ["80", "250", "80", "160", "1.2", "4", "0.1", "2", "60"]
    assert "100 groups of 10 rows, load" in lines[7]


def test_pending_rows_are_measured_with_no_row_lost(tmp_path: Path) -> None:
    found = pending_rows.measure(2000, tmp_path)
    assert found.pop("pending") == 2000
    del found["bytes"]  # so few rows need no more memory than there was
    assert min(found.values()) > 0
    assert (tmp_path / "join.db").stat().st_size > 0


def test_pending_rows_are_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["pending_rows.py", "--pending=2000"])
    pending_rows.main()
    assert capsys.readouterr().out.startswith("2,000 pending: put ")


@pytest.mark.slow
def test_costs_of_watching_are_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = {"VALUES": 3, "UPDATES": 1, "READERS": 2, "FEW": 10, "PANES": 2, "PER_SECOND": 10}
    for name, size in sizes.items():
        monkeypatch.setattr(watching, name, size)
    monkeypatch.setattr(sys, "argv", ["watching.py", "--rows=2000", "--rounds=1"])
    watching.main()
    assert [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()] == [
        "watch --by of 3 values",
        "join --by of 3 values",
        "render a page of 3 series",
        "render for 2 readers a page of 3 series",
    ]


@pytest.mark.slow
def test_memory_of_a_live_join_is_printed_and_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(watch_memory, "TABLE", tmp_path / "table.txt")
    monkeypatch.setattr(watch_memory, "APPENDED", 2000)
    arguments = ["watch_memory.py", "--rows=6000", "--ids", "integers", "--write"]
    monkeypatch.setattr(sys, "argv", arguments)
    watch_memory.main()
    text = capsys.readouterr().out
    assert [line.split("|")[1].strip() for line in text.splitlines()[2:]] == [
        "a few",
        "1,000,000 pending",
        "1,000,000 joined, in their wait",
        "1,000,000 in their second wait",
    ]
    assert (tmp_path / "table.txt").read_text(encoding="utf-8") == text


def test_page_shows_the_saved_cost_of_many_states() -> None:
    found = json.loads(scaling.SCALING.read_text(encoding="utf-8"))
    shown = (TABLES / "far.txt").read_text(encoding="utf-8")
    assert shown == f"{scaling.far_block(found)}\n"


def test_tree_merges_to_the_bytes_of_one_merge() -> None:
    worker = merge_tree.WORKERS[0]
    states = [worker.state(seed) for seed in range(10)]
    for fan_in in (2, 3, 32):
        assert merge_tree.merged_in_a_tree(states, fan_in) == merge_tree.merged(states)


def test_tree_is_measured_with_all_rows() -> None:
    worker = attrs.evolve(merge_tree.WORKERS[0], rows=10)
    found = merge_tree.measure(worker, 1000)
    assert (found["states"], len(found["megabytes"])) == (100, 3)


def test_tree_of_ranks_costs_a_gather_at_each_level() -> None:
    state = {"bytes": 10**6, "microseconds": 0}
    assert far.gathered(state, 1000) == pytest.approx(10.001)
    assert far.merged_in_a_tree(state, 1000) == pytest.approx(2 * 0.321)
    assert far.merged_in_a_tree(state, 1) == 0
