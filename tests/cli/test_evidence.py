"""`--evidence`: whether a metric has passed a limit, as a gate over panes of time."""

import pytest

import streameval as se

FALLS = [5, 9, 7, 6, 8, 35, 31, 33, 30, 4]


def log(errors=FALLS):
    """A hundred rows in each pane, of which so many are wrong."""
    return [
        {"step": 100 * pane + n, "y_true": 1, "y_pred": int(n >= wrong), "g": "ab"[n % 2]}
        for pane, wrong in enumerate(errors)
        for n in range(100)
    ]


def in_python(metric="recall", **options):
    rows = log()
    held = se.Windowed(se.ConfusionAccumulator("auto"), pane=100, time="step")
    held.update({name: [row[name] for row in rows] for name in rows[0]})
    return se.evidence(held, metric, false_alarms=10_000, **options)


PANES = ("--time", "step", "--pane", "100")
PROMISE = ("--false-alarms", "10000")


@pytest.fixture
def name(write, call):
    write("log.jsonl", log())
    assert call("eval", "log.jsonl", *PANES, "-o", "a.state").code == 0
    return "log.jsonl"


@pytest.fixture(params=["eval", "show"])
def command(request, name):
    return ["eval", name, *PANES] if request.param == "eval" else ["show", "a.state"]


def test_alarm_fails_as_a_gate_does(command, call):
    done = call(*command, "--evidence", "accuracy>=0.9", *PROMISE)
    found = in_python("accuracy", at_least=0.9)
    assert done.code == 1
    assert done.out.endswith(f"\n\n{found.report()}\n")
    assert done.err == (
        "streameval: failed: accuracy >= 0.9: alarm at 600, evidence "
        f"{found.log_evidence:.2f} (alarm from 9.21).\n"
    )


def test_limit_that_is_kept_passes(command, call):
    done = call(*command, "--evidence", "accuracy >= 0.6", *PROMISE)
    assert done.code == 0
    assert done.err.startswith("streameval: passed: accuracy >= 0.6: no alarm, evidence ")
    assert call(*command, "--evidence", "accuracy<=0.95", *PROMISE, "--quiet").err == ""


def test_limits_share_a_promise(command, call):
    limits = ["--evidence", "accuracy>=0.9", "--evidence", "recall[1]>=0.6", *PROMISE]
    done = call(*command, *limits, "--json")
    assert done.code == 1
    first, second = done.json["evidence"]
    expected = in_python("accuracy", at_least=0.9, n_series=2)
    assert first == {
        "metric": "accuracy",
        "limit": ">= 0.9",
        **expected.as_dict(),
        "fired_at": 600,
        "mean_panes": 10_000.0,
        "n_series": 2,
        "exact": True,
    }
    assert (second["metric"], second["firing"], second["fired_at"]) == ("recall[1]", False, None)


def test_evidence_is_laid_out_as_markdown(command, call):
    done = call(*command, "--evidence", "accuracy>=0.9", *PROMISE, "--markdown")
    assert "0.9: alarm at 600\n\n| pane ends | accuracy | evidence |\n" in done.out
    assert "\n| 900 | 0.7000 | " in done.out


def test_moment_of_an_alarm_is_a_time(write, call):
    rows = [row | {"step": 60 * row["step"]} for row in log()]
    options = ["--time", "step", "--unit", "s", "--pane", "100m"]
    done = call(
        *("eval", write("log.jsonl", rows), *options, "--evidence", "accuracy>=0.9", "--json"),
        *("--false-alarms", "2 per 1000d"),
    )
    assert done.code == 1
    (found,) = done.json["evidence"]
    assert found["fired_at"] == "1970-01-01T10:00:00.000000Z"
    assert found["mean_panes"] == 7200.0


def test_evidence_of_slices_and_rankings_is_of_all_rows(write, call):
    done = call(
        *("eval", write("log.jsonl", log()), *PANES, "--by", "g=a,b"),
        *("--evidence", "accuracy>=0.9", *PROMISE, "--json"),
    )
    assert done.json["evidence"][0]["log_evidence"] == (
        in_python("accuracy", at_least=0.9).log_evidence
    )
    ranked = [
        {"query": n, "step": n, "relevance": 1, "score": 1.0, "retrieved": n % 100 >= 40}
        for n in range(600)
    ]
    options = ["--task", "ranking", *PANES, "--evidence", "hit@1>=0.9", *PROMISE]
    done = call("eval", write("log.csv", ranked), *options, "--measures", "hit@1")
    assert (done.code, "failed: hit@1 >= 0.9" in done.err) == (1, True)


def test_class_may_be_in_later_rows(write, call):
    rows = [row | {"y_true": "b", "y_pred": "ab"[row["y_pred"]]} for row in log()]
    done = call(
        *("eval", write("log.jsonl", rows), *PANES, "--evidence", "recall[b]>=0.9", *PROMISE)
    )
    assert (done.code, "failed: recall[b] >= 0.9: alarm at 600" in done.err) == (1, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--evidence", "accuracy>0.9"],
            "'accuracy>0.9' must have >= or <=: reaching a limit counts",
        ),
        (["--evidence", "accuracy"], "'accuracy' is not a gate; write one like 'accuracy>=0.9'."),
        (["--evidence", "accuracy>=2", *PROMISE], "--evidence must lie strictly between 0 and 1"),
        (["--evidence", "f_score[macro]>=0.5", *PROMISE], "is a mean over classes here"),
        (["--evidence", "nothing>=0.5", *PROMISE], "nothing"),
        (["--evidence", "accuracy>=0.5"], "--false-alarms must be the mean number of panes"),
        ([*PROMISE], "--false-alarms needs --evidence."),
    ],
)
def test_evidence_that_cannot_be_is_explained(options, message, command, call):
    done = call(*command, *options)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


@pytest.mark.parametrize("by", [[], ["--by", "g"], ["--by", "g=a"]])
def test_evidence_needs_panes(by, call, name):
    for options in ([*by, "-o", "b.state"], by):
        done = call("eval", name, *options, "--evidence", "accuracy>=0.9")
        assert (done.code, done.err) == (
            2,
            "streameval: error: --evidence needs panes of time, which eval counts with --time.\n",
        )
