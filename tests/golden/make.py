"""Write the golden states of this release: ``PYTHONPATH=tests python tests/golden/make.py``.

Files of a released version are never written again: newer code must read them. To record
another state, add it here and run the script; it leaves existing files alone. Pickles name the
modules of the accumulators' classes: those of a release are kept, since modules may move.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from older_panes import without_unlabelled

import streameval as se

FOLDER = Path(__file__).parent / "version-2"


def accumulators() -> dict[str, Any]:
    """Build each golden state from a few rows."""
    binary = se.ConfusionAccumulator(["ham", "spam"], threshold=0.25)
    met = se.ConfusionAccumulator("auto", ignore_label="?")
    top_k = se.ConfusionAccumulator(3, top_k=2)
    multilabel = se.ConfusionAccumulator(["a", "b"], multilabel=True, ignore_label=-1)
    classes = se.CalibrationAccumulator(4, ["a", "日本"])
    named = se.PRCurveSketch(pos_label="日本", nan="skip")
    class_scores = [[0.25, 0.5, 0.25], [0.0, 0.5, 0.5], [0.75, 0.0, 0.25], [1.0, 0.0, 0.0]]
    documents = se.RankingAccumulator(
        ["map", "bpref", "err@2", "rbp(p=0.5)"], ties="docid_desc", rows_per_query=2
    )
    numbers = se.RankingAccumulator(
        ["mrr", "ndcg", "dcg@2", "p(rel=2)@1"], gain={1: 0.5, 2: 3}, nan="last", rows_per_query=1
    )
    tracked = se.RankingAccumulator(["map@5", "r@1"], track_queries=True, missing="skip")
    values = se.RankingAccumulator(
        ["ndcg@2", "gm_map", "lrap", "rprec"], per_query=True, empty={"lrap": "one"}
    )
    names = se.GroupedAUC(4, scores="real", group_weight="positives", max_groups=3)
    members = {
        "counts": se.ConfusionAccumulator(),
        "curve": se.PRCurveSketch(2),
        "fit": se.RegressionAccumulator(),
        "again": se.ConfusionAccumulator(),
    }
    sliced = se.Sliced(se.PRCurveSketch(4), ["country", "日本"], values=[("DE", 1)], max_values=2)
    windowed = se.Windowed(
        se.Sliced(se.Collection(members, columns={"curve": {"y_score": "p"}}), "country"),
        pane="1m",
        keep="3m",
        rollups=[("5m", "1h")],
        offset="30s",
        unit="s",
    )
    steps = se.Windowed(se.RegressionAccumulator(), pane=10, keep=20, time="step")
    judges = se.Paired({0: "ham", 1: "spam"}, threshold=0.0)
    shards = se.Parts().add("b", se.ConfusionAccumulator().update([1, 0], [1, 1]))
    shards.add(("log", 7), se.ConfusionAccumulator().update([1], [0])).fold(["b"])
    unlabelled = windowed.update(
        {
            "y_true": [0, 1, 1, None, 1, 0],
            "y_pred": [0, 1, 0, 1, 1, 1],
            "p": [0.1, 0.9, 0.4, 0.5, 0.25, 0.75],
            "country": ["DE", "FR", "DE", "FR", "日本", "DE"],
            "time": [1_700_000_000 + s for s in (-7200, -30, 0, 95, 290, 300)],
        }
    )
    return {
        "calibration": se.CalibrationAccumulator().update(
            [1, 0, 1, 0, 1], [0.9, 0.2, 1e-300, 0.4, 1.0], sample_weight=[0.1, 3, 2**40, 1, 0.5]
        ),
        "calibration-classes": classes.update(["日本", "a"], [[0.25, 0.75], [0.1, 0.9]]),
        "catalog": se.CatalogAccumulator(9, k=2).update([[7, -(2**63), 3], [7, 2**62, 5]]),
        "catalog-empty": se.CatalogAccumulator(3),
        "catalog-popularity": se.CatalogAccumulator(4, k=None, popularity=True).update(
            ["日本", "", "日本"], popularity=[0.5, 1.0, 1e-300], sample_weight=[0.1, 2, 2**40]
        ),
        "values": se.MeanAccumulator(quantiles=[0.5]).update([1.5, -2.0, 0.0, 3e100]),
        "values-columns": se.MeanAccumulator(
            ["日本", "ctx.latency"], quantiles=[0.5, 0.99], budget=2, nan="skip"
        ).update(
            ([0.5, float("nan"), -1e-300, float("nan")], [1, 2.5, float("nan"), float("nan")]),
            sample_weight=[0.1, 2, 2**40, 3],
        ),
        "values-empty": se.MeanAccumulator(),
        "paired-gaps": se.Paired(None, measures=["loss"], nan="skip").update(
            [0.5, float("nan"), 3.0], [1.0, 2.0, float("nan")], sample_weight=[1, 0.1, 2]
        ),
        "preferences": se.PreferencesAccumulator(["日本", "", "b"]).update(
            ["日本", "", "b", "日本"],
            ["", "b", "日本", "b"],
            [1, 0.5, 0, 0.5],
            sample_weight=[2, 1, 2**40, 0.1],
        ),
        "preferences-named": se.PreferencesAccumulator({7: "seven", 9: "nine"}).update(7, 9, 1),
        "preferences-empty": se.PreferencesAccumulator(3),
        "clustered": se.Clustered(se.PRCurveSketch(4), by="user", groups=10).update(
            *([0, 1, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 1.0]),
            by=["a", "日本", 7, -(2**63), 7, "a"],
            sample_weight=[1, 0.1, 2, 1, 3, 0.5],
        ),
        "clustered-empty": se.Clustered(se.ConfusionAccumulator(), by="user"),
        "clustered-slices": se.Sliced(
            se.Clustered(se.ConfusionAccumulator(), by="user", groups=10), "country"
        ).update(
            {
                "y_true": [0, 1, 1],
                "y_pred": [0, 1, 0],
                "user": [3, 2**62, 3],
                "country": ["DE", "FR", "FR"],
            }
        ),
        "clustered-members-panes": se.Windowed(
            se.Sliced(
                se.Collection(
                    {
                        "users": se.Clustered(
                            se.Collection(members, columns={"curve": {"y_score": "p"}}),
                            by="user",
                            groups=10,
                        ),
                        "plain": se.ConfusionAccumulator(),
                    },
                    columns={"users": {"sample_weight": "w"}},
                ),
                "country",
            ),
            pane=10,
        ).update(
            {
                "y_true": [0, 1, 1],
                "y_pred": [0, 1, 0],
                "p": [0.1, 0.9, 0.4],
                "user": [3, 2**62, 3],
                "country": ["DE", "FR", "日本"],
                "time": [1, 12, 13],
                "w": [1, 0.1, 0],
            }
        ),
        "collection": se.Collection(members, columns={"curve": {"y_score": "p"}}).update(
            {"y_true": [0, 1, 1], "y_pred": [0, 1, 0], "p": [0.1, 0.9, 0.4]}
        ),
        "collection-clustered": se.Collection(
            {
                "users": se.Clustered(se.RegressionAccumulator(), by="user", groups=10),
                "questions": se.Clustered(
                    se.Collection(members, columns={"curve": {"y_score": "p"}}),
                    by="日本",
                    groups=11,
                ),
                "plain": se.RegressionAccumulator(),
            },
            columns={"users": {"user": "日本", "y_pred": "p"}},
        ).update(
            {"y_true": [0, 1, 1], "y_pred": [0, 1, 0], "p": [0.1, 0.9, 0.4], "日本": [7, 9, 7]}
        ),
        "collection-nested": se.Collection(
            {"out": se.Collection(members), "日本": se.ConfusionAccumulator("auto")},
            columns={"out": {"y_score": "p", "sample_weight": "w"}},
        ).update({"y_true": [0, 1], "y_pred": [1, 1], "p": [0.25, 0.5], "w": [0.1, 2**53]}),
        "confusion-binary": binary.update(["ham", "spam", "spam"], [0.25, 0.5, 0.1]),
        "confusion-empty": se.ConfusionAccumulator(),
        "confusion-met": met.update(
            ["b", "日本", "?", "a"], ["b", "a", "c", "a"], sample_weight=[0.1, 2, 3, 2**53 + 2]
        ),
        "confusion-multilabel": multilabel.update([[0, 1], [-1, 1]], [[0.2, 0.7], [0.9, 0.3]]),
        "confusion-named": se.ConfusionAccumulator({0: "ham", 1: "日本"}, scores="real").update(
            [0, 1, 1], [-2.5, 0.5, 0.25]
        ),
        "confusion-top-k": top_k.update(
            [0, 1, 2], [[0.2, 0.4, 0.4], [0.3, 0.3, 0.3], [0.1, 0.2, 0.7]]
        ),
        "curve": se.PRCurveSketch().update(
            [0, 1, 1, 0, 1], [0.0, 5e-324, 0.1, 0.5, 1 - 2**-53], sample_weight=[1, 2, 1, 2**53, 3]
        ),
        "curve-classes": se.PRCurveSketch(3, classes=["x", "日本", "y"]).update(
            ["日本", "x", "x", "日本"], class_scores, sample_weight=[1, 1, 0.1, 2]
        ),
        "curve-coarse": se.PRCurveSketch(4).update(
            [0, 1, 0, 1, 1, 0], [0.1, 0.2, 0.3, 0.6, 0.7, 1.0], sample_weight=[1, 0.1, 2, 1, 1, 0.5]
        ),
        "curve-empty": se.PRCurveSketch(),
        "curve-multilabel": se.PRCurveSketch(None, classes=2, multilabel=True).update(
            [[0, 1], [1, 1]], [[0.5, 0.9], [0.5, 0.1]]
        ),
        "curve-multilabel-weights": se.PRCurveSketch(classes=2, multilabel=True).update(
            [[0, 1], [1, 1]], [[0.5, 0.9], [0.5, 0.1]], sample_weight=[[1, 0.5], [0, 2]]
        ),
        "curve-named": named.update(["日本", "x", "x"], [0.9, 0.2, float("nan")]),
        "curve-real": se.PRCurveSketch(5, scores="real").update(
            [0, 1, 0, 1, 0, 1], [float("-inf"), -2.5, -0.0, 5e-324, 1e300, float("inf")]
        ),
        "grouped": se.GroupedAUC(4).update(
            [0, 1, 1, 0, 1], [0.2, 0.2, 0.9, 0.5, 0.4], [7, 7, 7, -(2**63), 3]
        ),
        "grouped-empty": se.GroupedAUC(),
        "grouped-names": names.update(
            *([0, 1, 1, 0, 1], [-1, 2, 3, 2.5, 4], ["日本", "", "日本", "日本", "a"]),
            sample_weight=[0.1, 2, 3, 1, 2**40],
        ),
        "paired-values": se.Paired(None, measures=["score"]).update(
            [1.0, -2.5, 2.0**200], [0.5, -(2.0**-200), 3.0], sample_weight=[0.1, 2, 3]
        ),
        "paired": judges.update([0, 1, 1], [-1.0, 2.0, -0.5], [-0.5, 1.0, 0.5]),
        "parts": shards.add("a", se.ConfusionAccumulator()),
        "ranking": se.RankingAccumulator().update(
            [[0, 1, 2, 0], [0, 0, 0, float("nan")], [1, 0, 1, 3]],
            [[0.5, 0.5, 0.25, 1], [3, 2, 1, 0], [0.1, -0.0, 0, float("inf")]],
            mask=[[True] * 4, [True] * 4, [True, True, True, False]],
            retrieved=[[True] * 4, [True] * 4, [True, True, False, True]],
        ),
        "ranking-empty": se.RankingAccumulator(),
        "ranking-open": numbers.update(
            *([2, 0, 1, 1, float("nan")], [0.1, float("nan"), -1, 0.1, 7]),
            query=[5, 5, 5, -(2**63), 5],
            partial=True,
        ),
        "ranking-open-documents": documents.update(
            *([1, 0, 4, 2, 1], [0.5, 0.5, 0.25, 0.125, 1]),
            query=["日本", "日本", "日本", "日本", ""],
            doc=["a", "b", "日", "d, e", "a"],
            partial=True,
        ),
        "ranking-tracked": tracked.update([1, 0, 1], [2, 3, 1], query=[4, 4, 9])
        .add_missing([2**62])
        .update([1], [0], query=[-1], num_relevant={-1: 2}, partial=True),
        "ranking-values": values.update(
            [[1, 0, 2], [0, 0, 0]], [[0.5, 0.5, 0.25], [2, 1, 0]], query=["日本", "a"]
        ).add_missing(["b"]),
        "regression": se.RegressionAccumulator().update(
            [0.1, -2.5, 1e100], [0.2, 2.5, 1e-100], sample_weight=[0.1, 3, 2**40]
        ),
        "sliced": sliced.update(
            {
                "y_true": [0, 1, 1, 0, 1, 1],
                "y_score": [0.1, 0.2, 0.3, 0.6, 0.7, 1.0],
                "country": ["DE", "FR", None, "IT", "FR", "日本"],
                "日本": [2, 1, 0, -(2**63), 1, 3],
            },
            sample_weight=[1, 0.1, 2, 1, 3, 0.5],
        ),
        "sliced-empty": se.Sliced(se.ConfusionAccumulator(), "country", values=["DE", 7]),
        "windowed": se.from_bytes(without_unlabelled(unlabelled)),
        "windowed-steps": steps.update(
            {"y_true": [0.1, 2.5, 1e100], "y_pred": [0.2, 2.0, 0.0], "step": [-(2**40), 95, 100]}
        ),
        "windowed-unlabelled": unlabelled,
        "windowed-empty": se.Windowed(se.ConfusionAccumulator(), pane="1h"),
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, accumulator in accumulators().items():
        path = FOLDER / f"{name}.se"
        if not path.exists():
            se.save(accumulator, path)
