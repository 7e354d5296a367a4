"""A printed threshold decides as the threshold itself: it reads back equal."""

import json
import re

import numpy as np
import pytest

import streameval as se
from streameval.reports import html_report

METRIC = "threshold_at_precision(0.9)"


@pytest.fixture
def log(folder):
    random = np.random.default_rng(8)
    truth = random.integers(0, 2, 600)
    scores = (1 / (1 + np.exp(-random.normal(truth * 2, 1)))).tolist()
    rows = zip(truth.tolist(), scores, strict=True)
    lines = (json.dumps({"y_true": label, "y_score": score}) for label, score in rows)
    (folder / "log.jsonl").write_text("\n".join(lines))
    return se.PRCurveSketch(None).update(truth, scores)


def printed(text):
    return {float(number) for number in re.findall(r"\d+\.\d+", text)}


def test_text_of_a_threshold_reads_back_equal(call, log):
    curve = log.compute()
    threshold = float(curve.threshold_at_precision(0.9))
    assert curve.precision_at(round(threshold, 6)) != curve.precision_at(threshold)
    chosen = ["--metrics", f"{METRIC},best_f_threshold,roc_auc"]
    command = ["eval", "log.jsonl", "--task", "binary", *chosen]
    for more in ([], ["--markdown"]):
        found = printed(call(*command, *more).out)
        assert {threshold, float(curve.best_f_threshold)} <= found
        assert float(curve.roc_auc) not in found
    text = call(*command, "--require", f"{METRIC}>=0.99").err
    assert threshold in printed(text)


def test_states_show_thresholds_that_read_back_equal(call, log):
    se.save(log, "a.state")
    threshold = log.compute().best_f_threshold
    for command in ("show", "explain"):
        assert threshold in printed(call(command, "a.state").out)
    assert threshold in printed(call("diff", "a.state", "a.state").out)
    assert threshold in printed(
        call("diff", "a.state", "a.state", "--fail-on", "best_f_threshold drops 0").err
    )
    assert threshold in printed(html_report({"a": log}))
    assert threshold in printed(log.compute()._repr_html_())


def test_thresholds_of_slices_and_of_panes_read_back_equal(call, folder, log):
    rows = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    lines = [json.dumps({**row, "c": "ab"[at % 2], "t": at % 2}) for at, row in enumerate(rows)]
    (folder / "log.jsonl").write_text("\n".join(lines))
    expected = {
        float(
            se.PRCurveSketch(None)
            .update([row["y_true"] for row in rows[at::2]], [row["y_score"] for row in rows[at::2]])
            .compute()
            .best_f_threshold
        )
        for at in (0, 1)
    }
    command = ["eval", "log.jsonl", "--task", "binary", "--metrics", "best_f_threshold"]
    assert expected <= printed(call(*command, "--by", "c").out)
    assert expected <= printed(call(*command, "--time", "t", "--pane", "1").out)
