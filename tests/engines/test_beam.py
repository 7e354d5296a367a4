"""Beam: a CombineFn in pipelines of the DirectRunner."""

from __future__ import annotations

import pickle
import random

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
    assert (held.counted.n, len(held.pending)) == (1000, 1)
    assert fn.compact(held).pending == []


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


def bundled(rows, seed, **options):
    """Combine rows in bundles as a runner might, and return the bytes or the error."""
    fn = EvaluateFn(se.ConfusionAccumulator, rows=True, **options)
    chance = random.Random(seed)
    rows = chance.sample(rows, len(rows))
    held = [fn.create_accumulator() for _ in range(chance.randint(1, 6))]
    try:
        for row in rows:
            place = chance.randrange(len(held))
            held[place] = fn.add_input(held[place], row)
            if chance.random() < 0.1:
                held[place] = fn.compact(held[place])
        while len(held) > 1:
            some = [held.pop() for _ in range(chance.randint(2, len(held)))]
            held.append(fn.merge_accumulators(some))
        return fn.extract_output(held[0]).to_bytes()
    except se.BadDataError as error:
        return str(error)


@pytest.mark.parametrize("seed", range(200))
def test_every_bundling_gives_the_same(seed):
    chance = random.Random(seed)
    share = chance.choice([0, 0, 0.2, 1, 1])
    rows = [
        {"y_true": chance.randint(0, 1), "y_pred": chance.randint(0, 1)}
        | ({"sample_weight": chance.randint(0, 5)} if chance.random() < share else {})
        for _ in range(chance.randint(1, 40))
    ]
    (one, *others) = {bundled(rows, seed + number) for number in range(3)}
    assert others == []
    are_mixed = len({len(row) for row in rows}) > 1
    assert isinstance(one, str) == are_mixed
    whole = se.ConfusionAccumulator()
    for row in rows:
        whole.update({name: [value] for name, value in row.items()})
    (found,) = {bundled(rows, seed + n, missing_columns="default") for n in range(2)}
    assert found == whole.to_bytes()
    if not are_mixed:
        assert found == one


@pytest.mark.parametrize("batches", [True, False])
def test_what_lacks_an_optional_column_is_refused(batches):
    plain, weighted = {"y_true": 1, "y_pred": 1}, {"y_true": 1, "y_pred": 1, "sample_weight": 2}
    fn = EvaluateFn(se.ConfusionAccumulator, rows=not batches)
    elements = [plain, weighted]
    if batches:
        elements = [{name: [value] for name, value in row.items()} for row in elements]
    with pytest.raises(se.BadDataError, match=r"`sample_weight` is missing, and .* has it"):
        fn.extract_output(fn.add_inputs(fn.create_accumulator(), elements))
