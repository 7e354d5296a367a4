import functools
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from cli.memory import peak_of
from offenders import each

import streameval as se
from streameval import InvalidInputError
from streameval.cli.states import computed


def test_show_reports_what_eval_reported(call, labels):
    counted = call("eval", labels, "-o", "a.state")
    shown = call("show", "a.state")
    assert shown.out.splitlines()[0] == "a.state, n = 200"
    assert shown.out.splitlines()[1:] == counted.out.splitlines()[1:]


def test_merge_adds_every_state(call, save):
    names = [save(f"{n}.state", se.ConfusionAccumulator().update([1], [n % 2])) for n in range(5)]
    assert call("merge", *names, "-o", "sum.state").code == 0
    assert se.load("sum.state") == se.ConfusionAccumulator().update([1] * 5, [0, 1, 0, 1, 0])


@pytest.mark.uncovered
@pytest.mark.slow
def test_merge_of_many_files_takes_the_memory_of_a_few(folder):
    random = np.random.default_rng(0)
    for name in range(10):
        se.save(
            se.ConfusionAccumulator(120).update(*random.integers(0, 120, (2, 9))), f"{name}.state"
        )
    for name in range(10, 1000):
        os.link(f"{name % 10}.state", f"{name}.state")
    names = [f"{name}.state" for name in range(1000)]
    few, _ = peak_of("merge", *names[:10], "-o", "few.sum")
    many, _ = peak_of("merge", *names, "-o", "many.sum")
    assert se.load("many.sum").n == 9000
    assert Path("9.state").stat().st_size > 10_000  # all of them together are 10 MB
    assert many - few < 200_000


def test_merge_takes_one_state_after_the_other_from_an_iterator():
    size = 100 * 100 * 8  # of a matrix
    make = functools.partial(se.ConfusionAccumulator, 100)

    def most(count):
        tracemalloc.start()
        se.merge(make().update([n % 100], [0]) for n in range(count))
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    most(3)
    assert most(300) < most(3) + 10 * size


def one_row(*y_pred):
    return se.ConfusionAccumulator().update([1] * len(y_pred), list(y_pred))


@pytest.mark.parametrize("output", ["all.state", "link", "./all.state"])
def test_merge_run_twice_counts_nothing_twice(output, call, save, folder):
    names = [save("a.state", one_row(1)), save("b.state", one_row(0))]
    assert call("merge", *names, "-o", "all.state").code == 0
    (folder / "link").symlink_to("all.state")
    done = call("merge", *names, "all.state", "-o", output)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"streameval: error: -o {output} would overwrite an input.\n"
    assert se.load("all.state") == one_row(1, 0)


@pytest.mark.parametrize("again", ["a.state", "link", "./a.state"])
def test_merge_refuses_a_file_given_twice(again, call, save, folder):
    name = save("a.state", one_row(1))
    (folder / "link").symlink_to(name)
    done = call("merge", name, save("b.state", one_row(0)), again, "-o", "all.state")
    told = "" if again == name else ", as a.state"
    assert (done.code, done.err) == (2, f"streameval: error: {again} is given twice{told}.\n")
    assert not (folder / "all.state").exists()


def test_merge_warns_of_equal_states(call, save):
    names = [save(f"{name}.state", one_row(1, 0)) for name in "abc"]
    done = call("merge", *names[:2], "-o", "two.state")
    assert (done.code, done.out) == (0, "2 states merged into two.state, n = 4\n")
    assert done.err == (
        "streameval: warning: b.state is equal to a.state: "
        "a part that is given twice counts twice.\n"
    )
    done = call("merge", *names, save("d.state", one_row(1)), "-o", "all.state")
    assert done.err == (
        "streameval: warning: b.state is equal to a.state, and 1 more to another: "
        "a part that is given twice counts twice.\n"
    )
    assert se.load("all.state").n == 7


def test_merge_is_silent_about_states_that_hold_nothing(call, save):
    names = [save(f"{name}.state", se.ConfusionAccumulator()) for name in "abc"]
    assert call("merge", *names, "-o", "all.state").err == ""


@each("order", [[0, 1, 2], [1, 0, 2], [2, 1, 0]])
def test_merge_warns_of_slices_with_their_total(order, call, save):
    slices = [save("a=1.state", one_row(1, 0)), save("a=2.state", one_row(0, 0, 1))]
    given = [save("all.state", one_row(1, 0, 0, 0, 1)), *slices]
    done = call("merge", *[given[place] for place in order], "-o", "sum.state")
    assert done.code == 0
    assert done.err == (
        "streameval: warning: all.state is equal to the sum of the others: "
        "their rows count twice.\n"
    )


@each("third", [(1, 1), (1, 0, 1)])
def test_merge_is_silent_about_a_state_of_as_many_rows_as_the_others(third, call, save):
    names = [save("a.state", one_row(1, 0)), save("b.state", one_row(0, 0))]
    names += [save("c.state", one_row(*third)), save("d.state", one_row(*[0] * (4 + len(third))))]
    assert call("merge", *names, "-o", "sum.state").err == ""


@each("kept", [{}, {"track_queries": True}, {"per_query": True}])
def test_merge_notes_that_a_query_may_be_in_several_states(kept, call, save):
    names = []
    for query in "pq":
        made = se.RankingAccumulator(["mrr"], **kept).update([[1, 0]], [[2.0, 1.0]], query=[query])
        names.append(save(f"{query}.state", made.update([[0, 1]], [[1.0, 2.0]], query=[query * 2])))
    said = call("merge", *names, "-o", "sum.state").err.startswith(
        "streameval: warning: q.state is equal to p.state: a part that is given twice counts "
        "twice.\nstreameval: note: a query with rows in several of the states counts once for each"
    )
    assert said is not bool(kept)
    assert call("merge", names[0], "-o", "one.state").err == ""


def test_merge_is_silent_about_as_many_tracked_queries_as_in_the_others(call, save):
    names = []
    for name, queries in {"a": "pq", "b": "r", "c": "s"}.items():
        made = se.RankingAccumulator(["mrr"], track_queries=True)
        for query in queries:
            made.update([[1, 0]], [[0.5, len(names)]], query=[query])
        names.append(save(f"{name}.state", made))
    done = call("merge", *names, "-o", "sum.state")
    assert (done.code, done.err) == (0, "")


def test_merge_of_parts_is_their_union(call, save):
    monday = se.Parts().add("mon", one_row(1)).add("tue", one_row(0))
    names = [save("a.parts", monday), save("b.parts", se.Parts().add("tue", one_row(0)))]
    done = call("merge", *names, save("c.parts", monday), "-o", "all.parts")
    assert (done.code, done.err) == (0, "")
    assert done.out == "3 states merged into all.parts, 2 parts\n"
    assert se.load("all.parts") == monday


def test_merge_names_the_part_that_has_two_states(call, save):
    save("a.parts", se.Parts().add("mon", one_row(1)))
    save("b.parts", se.Parts().add("mon", one_row(0)))
    done = call("merge", "a.parts", "b.parts", "-o", "all.parts")
    assert done.code == 4
    assert done.err.startswith(
        "streameval: error: b.parts does not fit a.parts: cannot merge: part 'mon' has two states."
    )


@each(("names", "held"), [(["a.parts", "b.state"], "no parts"), (["b.state", "a.parts"], "parts")])
def test_merge_refuses_parts_beside_states_of_none(names, held, call, save):
    save("a.parts", se.Parts().add("mon", one_row(1)))
    save("b.state", one_row(0))
    done = call("merge", *names, "-o", "all.state")
    assert done.code == 4
    assert done.err == (
        f"streameval: error: {names[1]} does not fit {names[0]}: cannot merge: it holds {held}.\n"
    )


def test_parts_are_shown_as_their_total(call, save):
    save("a.parts", se.Parts().add("mon", one_row(1)).add("tue", one_row(0)))
    save("a.state", one_row(1, 0))
    shown = call("show", "a.parts")
    assert (shown.code, shown.out.partition("\n")[0]) == (0, "a.parts, n = 2")
    assert shown.out.partition("\n")[2] == call("show", "a.state").out.partition("\n")[2]
    assert call("diff", "a.parts", "a.state").code == 0


def test_no_parts_are_not_shown(call, save):
    done = call("show", save("a.parts", se.Parts()))
    assert done.code == 3
    assert done.err == ("streameval: error: a.parts: `parts` hold none, so there is no total.\n")


def test_merge_names_the_states_that_do_not_fit(call, save, folder):
    save("a.state", se.ConfusionAccumulator(threshold=0.5))
    save("b.state", se.ConfusionAccumulator(threshold=0.7))
    done = call("merge", "a.state", "b.state", "-o", "sum.state")
    assert (done.code, done.out) == (4, "")
    assert done.err == (
        "streameval: error: b.state does not fit a.state: "
        "cannot merge: `threshold` differs (0.5 and 0.7).\n"
    )
    assert not (folder / "sum.state").exists()


def test_merge_says_that_the_sum_is_too_large(call, save):
    weight = [2**62]
    state = se.ConfusionAccumulator().update([1], [1], sample_weight=weight)
    done = call("merge", save("a.state", state), save("b.state", state), "-o", "sum.state")
    assert done.code == 3
    assert done.err.count("\n") == 1


class OfMyOwn:
    """What looks like an accumulator whose results the command line does not know."""

    def compute(self):
        return {}


def test_command_line_refuses_a_result_of_no_known_kind():
    with pytest.raises(InvalidInputError, match="`state` holds a dict, which this version"):
        computed(OfMyOwn())


def two_members():
    members = {"counts": se.ConfusionAccumulator(), "curve": se.PRCurveSketch()}
    batch = {"y_true": [0, 1, 1], "y_pred": [0, 1, 0], "y_score": [0.1, 0.9, 0.4]}
    return se.Collection(members).update(batch)


def test_show_reports_the_members_of_a_collection(call, save):
    name = save("a.state", two_members())
    shown = call("show", name)
    assert shown.code == 0
    assert shown.out == f"a.state, 2 members\n\n{two_members().compute().report()}\n"


def test_show_gives_the_numbers_of_a_collection_as_json(call, save):
    name = save("a.state", two_members())
    shown = call("show", name, "--json").json
    readings = two_members().compute().readings().items()
    assert shown["metrics"] == {name: reading.value for name, reading in readings}
    assert list(shown) == ["task", "state", "metrics", "level", "members"]
    assert list(shown["members"]) == ["counts", "curve"]
    for member, inner in two_members().compute().items():
        metrics = shown["members"][member]["metrics"]
        assert metrics["n"] == 3
        assert metrics.items() <= inner.as_dict().items()


def test_merge_adds_collections(call, save):
    names = [save(f"{n}.state", two_members()) for n in range(3)]
    done = call("merge", *names, "-o", "sum.state")
    assert done.out == "3 states merged into sum.state, 2 members\n"
    assert se.load("sum.state") == se.merge([two_members()] * 3)


@each(
    ("gate", "code", "message"),
    [
        ("curve/roc_auc>=0.5", 1, "undecided: curve/roc_auc>=0.5: 1 in [0."),
        ("counts/recall[macro]>0.2", 0, "passed: counts/recall[macro]>0.2: 0.75 in [0.3"),
        ("curve/recall_at(0.5)>=0.9", 1, "undecided: curve/recall_at(0.5)>=0.9: 0.5 in ["),
        ("curve/roc_auk>0", 2, "no metric 'roc_auk': did you mean 'roc_auc'?"),
        ("roc_auc>0", 2, "no metric 'roc_auc': did you mean 'curve/roc_auc'?"),
        ("cruve/roc_auc>0", 2, "no metric 'cruve/roc_auc': did you mean 'curve/roc_auc'?"),
    ],
)
def test_show_decides_gates_of_members(gate, code, message, call, save):
    shown = call("show", save("a.state", two_members()), "--require", gate)
    assert shown.code == code
    assert message in shown.err


def test_gates_reach_members_of_members(call, save):
    outer = se.Collection({"all": se.Collection({"fit": se.RegressionAccumulator()})})
    name = save("a.state", outer.update([1.0, 2.0], [1.0, 3.0]))
    shown = call("show", name, "--level", "0", "--require", "all/fit/mae<=0.5")
    assert (shown.code, shown.err) == (0, "streameval: passed: all/fit/mae<=0.5: 0.5.\n")


def test_plot_refuses_a_collection(call, save):
    done = call("plot", save("a.state", two_members()), "-o", "a.png")
    assert (done.code, done.out) == (2, "")
    assert "holds a Collection" in done.err


@pytest.fixture
def days(folder):
    """Two states of labels, of other numbers of rows."""
    se.save(se.ConfusionAccumulator().update([1, 0] * 10, [1, 0] * 10), "one.state")
    se.save(se.ConfusionAccumulator().update([1, 0, 1, 1], [1, 0, 0, 1]), "two.state")
    return "one.state", "two.state"


def test_show_gives_each_of_several_states_a_line(call, days):
    done = call("show", *days, "--metrics", "accuracy,recall", "--level", 0)
    assert done.code == 0
    assert done.out == (
        "state       n  accuracy  recall\n"
        "one.state  20    1.0000  1.0000\n"
        "two.state   4    0.7500  0.6667\n"
        "\n"
        "per-class metrics are for class 1\n"
    )


def test_show_of_several_states_prints_markdown_for_pull_requests(call, days):
    done = call("show", *days, "--metrics", "accuracy", "--level", 0, "--markdown")
    assert done.out == (
        "| state | n | accuracy |\n"
        "| :-- | --: | --: |\n"
        "| one.state | 20 | 1.0000 |\n"
        "| two.state | 4 | 0.7500 |\n"
    )


def test_show_of_several_states_writes_a_line_of_json_of_each(call, days):
    done = call("show", *days, "--json")
    assert done.out == "".join(call("show", day, "--json").out for day in days)


def test_show_judges_each_of_several_states_and_names_it(call, days):
    done = call("show", *days, "--require", "n>=10", "--quiet")
    assert (done.code, done.out) == (1, "")
    assert done.err == "streameval: failed: two.state: n>=10: 4.\n"


def test_show_of_states_of_several_types_prints_one_report_below_the_other(call, days):
    se.save(se.RegressionAccumulator().update([1.0], [2.0]), "fit.state")
    done = call("show", "one.state", "fit.state")
    assert done.out == "\n".join(call("show", name).out for name in ("one.state", "fit.state"))


def test_show_gives_each_of_several_collections_a_line_of_its_members(call, folder):
    for name in ("a.state", "b.state"):
        se.save(two_members(), name)
    head, *lines = call("show", "a.state", "b.state", "--level", 0).out.splitlines()
    assert head.split() == [
        *("state", "counts/accuracy", "counts/f_score"),
        *("curve/roc_auc", "curve/average_precision"),
    ]
    assert [line.split()[0] for line in lines if line][:2] == ["a.state", "b.state"]
