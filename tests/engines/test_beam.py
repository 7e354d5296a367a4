"""Beam: a CombineFn in pipelines of the DirectRunner."""

from __future__ import annotations

import pickle

import pytest
from engines.cases import CASES, TABLE, every_case, parts

import streameval as se

beam = pytest.importorskip("apache_beam", reason="apache-beam is not installed")

from apache_beam.transforms.window import FixedWindows, TimestampedValue  # noqa: E402

from streameval.engines.beam import EvaluateFn  # noqa: E402

pytestmark = pytest.mark.engine(name="beam")


@pytest.fixture
def outputs(tmp_path):
    """Run a pipeline, and return what it puts out."""

    def outputs(*steps):
        prefix = tmp_path / "output"
        with beam.Pipeline("DirectRunner") as pipeline:
            collection = pipeline
            for step in steps:
                collection |= step
            encoded = collection | beam.Map(lambda output: pickle.dumps(output).hex())
            _ = encoded | beam.io.WriteToText(str(prefix))
        shards = tmp_path.glob("output*")
        lines = [line for shard in shards for line in shard.read_text().splitlines()]
        return [pickle.loads(bytes.fromhex(line)) for line in lines]

    return outputs


@every_case
def test_bytes_are_those_of_one_process(case, outputs):
    batches = [part.to_pydict() for part in parts()]
    (acc,) = outputs(beam.Create(batches), beam.CombineGlobally(EvaluateFn(**case.arguments)))
    assert acc.to_bytes() == case.serial().to_bytes()


@pytest.mark.parametrize("name", ["ranking in pieces", "collection"])
def test_rows_are_counted_as_batches_are(name, outputs):
    case = CASES[name]
    combine = beam.CombineGlobally(EvaluateFn(**case.arguments, rows=True))
    (acc,) = outputs(beam.Create(TABLE.to_pylist()), combine)
    assert acc.to_bytes() == case.serial().to_bytes()


def test_keys_are_counted_apart(outputs):
    case = CASES["grouped"]
    rows = [(row["country"], row) for row in TABLE.to_pylist()]
    combine = beam.CombinePerKey(EvaluateFn(**case.arguments, rows=True))
    counted = dict(outputs(beam.Create(rows), combine))
    assert sorted(counted) == ["DE", "FR", "IT"]
    for value, acc in counted.items():
        mine = [country == value for country in TABLE.column("country").to_pylist()]
        assert acc.to_bytes() == case.serial(TABLE.filter(mine)).to_bytes()


def test_windows_are_counted_apart(outputs):
    case = CASES["coarsened curve"]
    rows = [("all", row) for row in TABLE.to_pylist()]
    counted = outputs(
        beam.Create(list(enumerate(rows))),
        beam.MapTuple(lambda second, row: TimestampedValue(row, second)),
        beam.WindowInto(FixedWindows(1000)),
        beam.CombinePerKey(EvaluateFn(**case.arguments, rows=True)),
        beam.Map(lambda pair, window=beam.DoFn.WindowParam: (int(window.start), pair[1])),
    )
    assert {start: acc.to_bytes() for start, acc in counted} == {
        start: case.serial(TABLE.slice(start, 1000)).to_bytes() for start in (0, 1000, 2000)
    }


def test_without_elements_nothing_is_counted(outputs):
    (acc,) = outputs(beam.Create([]), beam.CombineGlobally(EvaluateFn(se.PRCurveSketch)))
    assert acc == se.PRCurveSketch()


def test_rows_may_be_named_tuples(outputs):
    rows = [beam.Row(y_true=1, y_pred=1), beam.Row(y_true=0, y_pred=1)]
    combine = EvaluateFn(se.ConfusionAccumulator, rows=True)
    (acc,) = outputs(beam.Create(rows), beam.CombineGlobally(combine))
    assert acc == se.ConfusionAccumulator().update([1, 0], [1, 1])


def test_merging_leaves_its_arguments_untouched():
    fn = EvaluateFn(se.RegressionAccumulator, rows=True)
    held = [fn.add_input(fn.create_accumulator(), {"y_true": 1, "y_pred": 0}) for _ in range(3)]
    once, twice = fn.merge_accumulators(held), fn.merge_accumulators(iter(held))
    assert fn.extract_output(once) == fn.extract_output(twice)
    assert fn.extract_output(once).n == 3
    assert [fn.extract_output(one).n for one in held] == [1, 1, 1]
    assert fn.extract_output(fn.merge_accumulators([])).n == 0


def test_waiting_rows_are_counted_by_the_thousand():
    fn = EvaluateFn(se.RegressionAccumulator, rows=True)
    held = fn.add_inputs(fn.create_accumulator(), [{"y_true": 1, "y_pred": 0}] * 1001)
    assert (held[0].n, len(held[1])) == (1000, 1)
    assert fn.compact(held)[1] == []


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"y_true": 1}, "`y_pred` is missing: the batch has the columns y_true"),
        ({"y_true": 1, "y_pred": None}, "`y_pred` must not hold missing values"),
    ],
)
def test_row_that_is_refused_is_named(row, message):
    fn = EvaluateFn(se.ConfusionAccumulator, rows=True)
    with pytest.raises(se.InvalidInputError, match=message):
        fn.extract_output(fn.add_input(fn.create_accumulator(), row))
