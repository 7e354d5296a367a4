"""What every engine takes as sources, beside files and batches, and how they are split up."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime
from functools import partial

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from engines.here import evaluate
from offenders import each
from pyarrow import dataset, feather, fs, parquet

import streameval as se
from streameval.engines._sources import PolarsFrame, Sources
from streameval.runs.files import files_of

TABLE = pa.table(
    {
        "y_true": [1, 0, 1, 1, 0, 1],
        "y_pred": [1, 1, 0, 1, 0, 1],
        "country": ["DE", "FR", "DE", None, "FR", "DE"],
        "shard": [1, 1, 2, 2, 10, 10],
    }
)
HOLES = pa.table(
    {"y_true": [1, None, 1, 1], "y_pred": [1, 1, 0, None], "slice": ["a", "a", None, "b"]}
)


def counted(sources, **options):
    found = evaluate(sources, se.ConfusionAccumulator, **options)
    return {value: acc.to_bytes() for value, acc in found.items()} if "by" in options else found


@pytest.fixture
def log(tmp_path):
    """A data set as Hive writes it."""
    parquet.write_to_dataset(TABLE, tmp_path / "log", partition_cols=["country", "shard"])
    return tmp_path / "log"


@each("by", ["country", "shard", ["shard", "country"], ["country"]])
def test_columns_that_folders_name_are_counted_apart(by, log):
    expected = counted(TABLE, by=by)
    assert len(expected) in (3, 6)
    for source in (log, f"{log}/**/*.parquet", dataset.dataset(log, partitioning="hive")):
        assert counted(source, by=by) == expected


def test_columns_that_folders_name_are_read(log):
    columns = {"sample_weight": "shard"}
    assert counted(log, columns=columns) == counted(TABLE, columns=columns)


def test_values_of_several_columns_are_tuples_in_order(log):
    found = evaluate(log, se.ConfusionAccumulator, by=["country", "shard"])
    assert list(found) == [("DE", 1), ("DE", 2), ("DE", 10), ("FR", 1), ("FR", 10), (None, 2)]


def test_values_of_several_columns_are_kept_for_another_run(log, tmp_path):
    options = {"by": ["country", "shard"], "resume": tmp_path / "kept.se"}
    assert counted(log, **options) == counted(log, **options) == counted(TABLE, by=options["by"])


def lazy(table):
    return pl.from_arrow(table).lazy()


def reader(table):
    return table.to_reader(max_chunksize=2)


def filtered(table):
    return dataset.dataset(table).filter(dataset.field("y_pred") >= 0)


@each("make", [lazy, reader, dataset.dataset, filtered])
@each("by", [None, "country"])
def test_streams_are_counted(make, by):
    options = {} if by is None else {"by": by}
    assert counted(make(TABLE), **options) == counted(TABLE, **options)
    assert counted([make(TABLE), TABLE], **options) == counted([TABLE, TABLE], **options)


@each("by", [None, 'we"ird'])
def test_relations_of_duckdb_are_counted(by):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    table = TABLE.rename_columns(["y_true", "y_pred", 'we"ird', "shard"])
    relation = duckdb.from_arrow(table).filter("shard < 10")
    options = {} if by is None else {"by": by}
    assert counted(relation, **options) == counted(table.slice(0, 4), **options)


def test_a_frame_of_an_older_polars_is_collected_at_once(monkeypatch):
    class Older:
        def select(self, columns):
            return self

        def collect(self):
            return pl.from_arrow(TABLE)

    assert [len(batch) for batch in PolarsFrame(Older()).batches(["y_true"])] == [len(TABLE)]


def test_progress_counts_streams(log):
    told = []
    counted([log, reader(TABLE)], progress=lambda *done: told.append(done))
    assert told[-1] == (7, 7)


def test_a_data_set_of_parquet_is_its_files(log):
    found = Sources.of(dataset.dataset(log, partitioning="hive"))
    assert len(found.paths) == 6
    assert not found.batches
    assert not found.streams


@pytest.mark.parametrize("is_filtered", [True, False])
def test_a_data_set_whose_files_lack_a_column_is_refused(is_filtered, tmp_path):
    weighted = TABLE.append_column("sample_weight", pa.array(range(6)))
    for number, table in enumerate([TABLE, weighted, weighted.slice(0, 0)]):
        feather.write_feather(table, tmp_path / f"{number}.feather")
    data = dataset.dataset(tmp_path, format="feather")
    if is_filtered:
        data = data.filter(dataset.field("y_true") >= 0)
    with pytest.raises(se.BadDataError, match=r"0\.feather: `sample_weight` is missing, and "):
        counted(data)
    assert counted(data, missing_columns="default").n == 12


@each("make", [lazy, reader])
def test_the_rows_of_a_batch_that_fails_are_named(make):
    table = pa.table({"y_true": [1, 0, 1], "y_score": [0.5, 0.5, 7.0]})
    with pytest.raises(se.InvalidInputError, match=r"^source 1, rows \d to 3: `y_score` must lie"):
        evaluate(make(table), se.PRCurveSketch)


def test_a_stream_that_fails_is_left_out():
    left_out = []
    sources = [reader(TABLE.drop_columns("y_true")), TABLE]
    assert counted(sources, on_error=left_out.append) == counted(TABLE)
    assert len(left_out) == 1


@each("zone", ["UTC", "Europe/Berlin", "-05:00"])
def test_moments_are_told_in_utc(zone):
    moment = datetime(2024, 1, 1, 12, tzinfo=UTC)
    table = TABLE.append_column("at", pa.array([moment] * 6).cast(pa.timestamp("us", zone)))
    (value,) = evaluate(table, se.ConfusionAccumulator, by="at")
    assert (value, value.tzinfo) == (moment, UTC)
    both = evaluate(table, se.ConfusionAccumulator, by=["at", "y_true"])
    assert list(both) == [(moment, 0), (moment, 1)]


def sources_of(table, folder):
    path = folder / "log.parquet"
    parquet.write_table(table, path)
    return [path, table, lazy(table), reader(table), table.to_pandas(), filtered(table)]


def test_nulls_are_refused_with_their_source(tmp_path):
    for source in sources_of(HOLES, tmp_path)[:4]:
        with pytest.raises(se.StreamevalError, match=r"(log\.parquet, row 2|source 1).*`y_true`"):
            counted(source)


@pytest.mark.parametrize("by", [None, "slice"])
def test_rows_with_nulls_are_left_out_and_counted(by, tmp_path):
    options = {} if by is None else {"by": by}
    expected = counted(HOLES.take([0, 2]), **options)
    for source in sources_of(HOLES, tmp_path)[:4]:
        with pytest.warns(UserWarning, match="^left out 2 rows with nulls$"):
            assert counted(source, nulls="skip", **options) == expected


def test_rows_with_nulls_in_a_column_of_values_are_left_out_whatever_its_name():
    table = pa.table({"score": [1.0, None, 3.0], "relevance": [5.0, 6.0, None]})
    make = partial(se.MeanAccumulator, ["score", "relevance"])
    with pytest.warns(UserWarning, match="^left out 2 rows with nulls$"):
        assert evaluate([table], make, nulls="skip") == make().update([1.0], [5.0])


def test_without_nulls_nothing_is_left_out(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for source in sources_of(TABLE, tmp_path):
            assert counted(source, nulls="skip") == counted(TABLE)


def test_nulls_within_structures_are_left_out():
    rows = [{"y_true": 1, "in": {"label": 1}}, {"y_true": 1, "in": {"label": None}}]
    options = {"columns": {"y_pred": "in.label"}, "nulls": "skip"}
    for batch in (pa.Table.from_pylist(rows), {name: [r[name] for r in rows] for name in rows[0]}):
        with pytest.warns(UserWarning, match="left out 1 rows"):
            assert counted(batch, **options).n == 1


def test_a_relevance_that_is_null_is_no_null_to_skip():
    batch = {"query": [1, 1], "score": [0.5, 0.4], "relevance": [1.0, float("nan")]}
    make = se.RankingAccumulator(["ndcg@5"]).copy
    options = {"options": {"partial": True}}
    table = pa.table(batch)
    assert evaluate(table, make, nulls="skip", **options) == evaluate(table, make, **options)


def test_nulls_must_be_a_known_option():
    with pytest.raises(se.InvalidInputError, match="`nulls` must be 'raise' or 'skip', got 'no'"):
        counted(TABLE, nulls="no")


@each("by", [[], ["a", "a"], [1], ("a", None)])
def test_several_columns_must_differ(by):
    with pytest.raises(se.InvalidInputError, match="`by` must be the name of a column, or diff"):
        counted(TABLE, by=by)


@pytest.fixture
def memory():
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    store = fsspec.filesystem("memory")
    with store.open("/bucket/day=1/a.jsonl", "w") as file:
        file.write('{"y_true": 1, "y_pred": 1}\n')
    arrow = fs.PyFileSystem(fs.FSSpecHandler(store))
    arrow.create_dir("/bucket/day=2")
    table = TABLE.select(["y_true", "y_pred"])
    parquet.write_table(table, "/bucket/day=2/b.parquet", filesystem=arrow)
    yield store
    store.rm("/bucket", recursive=True)


@pytest.mark.parametrize("path", ["bucket", "bucket/*", "bucket/**/[ab].*", "bucket/day=?/*"])
def test_addresses_of_fsspec_are_sources(path, memory):
    found = evaluate(f"memory://{path}", se.ConfusionAccumulator, by="day")
    assert {day: acc.n for day, acc in found.items()} == {1: 1, 2: 6}
    again = evaluate(f"/{path}", se.ConfusionAccumulator, by="day", filesystem=memory)
    assert again == found


def test_files_of_a_store_are_named_by_their_addresses(memory):
    names = [file for file, _ in files_of("memory://bucket/day=*")]
    assert names == ["memory://bucket/day=1/a.jsonl", "memory://bucket/day=2/b.parquet"]
    with pytest.raises(se.BadDataError, match=r"^memory://bucket/\*\.csv: no file matches this"):
        files_of("memory://bucket/*.csv")
    with pytest.raises(se.BadDataError, match=r"^memory://bucket/none\.csv: no such file"):
        counted("memory://bucket/none.csv")


def test_a_protocol_without_its_package_is_told(memory, monkeypatch):
    import fsspec

    def fails(address):
        raise ImportError("Please install abfs.")

    monkeypatch.setattr(fsspec.core, "url_to_fs", fails)
    with pytest.raises(se.BadDataError, match=r"^memory://x\.csv: Please install abfs\.$"):
        counted("memory://x.csv")


def test_a_file_in_memory_is_read_anew(memory):
    for label in (0, 1):
        with memory.open("/bucket/c.csv", "w") as file:
            file.write(f"y_true,y_pred\n1,{label}\n")
        assert counted("memory://bucket/c.csv").compute().accuracy == label


def test_a_file_system_must_be_one():
    with pytest.raises(se.InvalidInputError, match="`filesystem` must be a file system of pyarrow"):
        counted("log.csv", filesystem="s3")


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*.csv", ["b.csv"]),
        ("**/*.csv", ["a/a.csv", "a/b/a.csv", "b.csv"]),
        ("a/**", ["a/a.csv", "a/b/a.csv"]),
        ("**/b/**/*.csv", ["a/b/a.csv"]),
        (".*/*.csv", [".hidden/c.csv"]),
    ],
)
def test_patterns_fit_in_stores_as_they_do_here(pattern, names, tmp_path):
    for name in ("b.csv", "a/a.csv", "a/b/a.csv", "a/_mark/x.csv", ".hidden/c.csv", "_mark/c.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("y_true,y_pred\n1,1\n")
    stored = [file for file, _ in files_of(f"file://{tmp_path}/{pattern}")]
    assert sorted(stored) == [f"file://{tmp_path}/{name}" for name in names]


def test_the_name_of_a_file_tells_its_format_before_that_of_the_folder(tmp_path):
    folder = tmp_path / "log.csv"
    folder.mkdir()
    parquet.write_table(TABLE, folder / "part.parquet")
    assert counted(folder) == counted(TABLE)


def test_a_partition_may_be_named_like_a_mark(tmp_path):
    (tmp_path / "_day=3").mkdir()
    parquet.write_table(TABLE, tmp_path / "_day=3" / "part.parquet")
    assert evaluate(tmp_path, se.ConfusionAccumulator, by="_day")[3].n == 6


def test_arrays_of_numpy_are_skipped_by_none_alone():
    batch = {"y_true": np.array([1, None], dtype=object), "y_pred": [1, 1]}
    with pytest.warns(UserWarning, match="left out 1 rows"):
        assert counted(batch, nulls="skip").n == 1
