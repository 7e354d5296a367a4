import pickle
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from streameval import InvalidInputError, StreamevalError
from streameval.inputs.coded import CodedTexts
from streameval.io import BadDataError
from streameval.io.columns import Argument, Flags, Labels, Lists, Numbers, Texts, Values, Vectors
from streameval.io.formats import read_blocks
from streameval.io.parquet import values_of

INTEGER = Labels(integers=True)


@pytest.fixture(autouse=True, params=[2**20, 0], ids=["small", "large"])
def file_size(request, monkeypatch):
    monkeypatch.setattr("streameval.io.parquet._SMALL", request.param)


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(row_group_size=None, **columns):
        parquet.write_table(pa.table(columns), "log.parquet", row_group_size=row_group_size)
        return list(read_blocks("log.parquet"))

    return write


def values(blocks, kind, name="t"):
    parsed = [block.parse([Argument("y_true", (name,), kind)]) for block in blocks]
    return np.concatenate([p.batch["y_true"] for p in parsed]), [
        f for p in parsed for f in p.faults
    ]


@pytest.mark.parametrize(
    ("column", "kind", "expected"),
    [
        (pa.array([1, 0], pa.int8()), INTEGER, np.array([1, 0], np.int8)),
        (pa.array([1, 255], pa.uint8()), INTEGER, np.array([1, 255], np.uint8)),
        (pa.array([1, 0], pa.uint64()), INTEGER, np.array([1, 0])),
        (pa.array([1.0, 0.0]), INTEGER, np.array([1, 0])),
        (pa.array([True, False]), INTEGER, np.array([1, 0], np.int8)),
        (pa.array([1, 2]), Numbers(), np.array([1.0, 2.0])),
        (pa.array([0.5, 2], pa.float32()), Numbers(), np.array([0.5, 2.0], np.float32)),
        (pa.array(["a", "b"]), Labels(False), np.array(["a", "b"], dtype=object)),
        (
            pa.array(["a", "b"]).dictionary_encode(),
            Labels(False),
            np.array(["a", "b"], dtype=object),
        ),
        (pa.array([[0.5, 1], [2, 3]]), Vectors(2), np.array([[0.5, 1], [2, 3]])),
        (
            pa.array([[0.5, 1], [2, 3]], pa.list_(pa.float32(), 2)),
            Vectors(2),
            np.array([[0.5, 1], [2, 3]]),
        ),
        (
            pa.array([[1, 0], [0, 0]], pa.large_list(pa.int8())),
            Vectors(2, integers=True),
            np.array([[1, 0], [0, 0]]),
        ),
        (pa.array([True, False]), Flags(), np.array([True, False])),
        (pa.array([1, 0], pa.int8()), Flags(), np.array([True, False])),
        (pa.array([0.5, None]), Numbers(gaps=True), np.array([0.5, np.nan])),
    ],
    ids=lambda value: str(getattr(value, "type", "")),
)
def test_block_reads_a_column(column, kind, expected, write):
    array, faults = values(write(t=column), kind)
    assert not faults
    assert array.dtype == expected.dtype
    np.testing.assert_array_equal(array, expected)


CODES = np.arange(1000) % 3
CODED = {
    "text": pa.array(["c", "a", "b"]).take(pa.array(CODES)),
    "dictionary": pa.DictionaryArray.from_arrays(CODES, ["c", "a", "b"]),
    "unused values": pa.DictionaryArray.from_arrays(CODES, ["c", "a", "b", "z" * 99, "é"]),
    "equal values": pa.DictionaryArray.from_arrays(CODES + CODES % 2, ["c", "z", "a", "b"]),
}


@pytest.mark.parametrize("kind", [Values(), Texts(), Labels(False)], ids=str)
@pytest.mark.parametrize("column", CODED)
def test_many_texts_are_read_as_codes(column, kind, write):
    (block,) = write(t=CODED[column])
    parsed = block.parse([Argument("y_true", ("t",), kind)])
    assert isinstance(parsed.batch["y_true"], CodedTexts)
    assert parsed.batch["y_true"].tolist() == CODED[column].to_pylist()
    assert not parsed.faults


@pytest.mark.parametrize("encoded", [False, True])
def test_text_that_does_not_fit_is_set_apart_among_many(encoded, write):
    texts = [*"ab" * 300, "x" * 300, None, "c"]
    column = pa.array(texts).dictionary_encode() if encoded else pa.array(texts)
    (block,) = write(t=column)
    parsed = block.parse([Argument("y_true", ("t",), Labels(False))])
    assert [row for row, _ in parsed.faults] == [601, 602]
    assert parsed.batch["y_true"].tolist() == [*"ab" * 300, "c"]


@pytest.mark.parametrize(
    ("column", "kind", "faults"),
    [
        ([1, None, 0], INTEGER, [(2, "`t` is missing")]),
        ([0.5, None], Numbers(), [(2, "`t` is missing")]),
        ([1, 0.5], INTEGER, [(2, "`t` must be an integer, got 0.5")]),
        ([0.5, True][:1] * 2, Labels(False), [(1, None), (2, None)]),
        ([[1.0, 2.0], None], Vectors(2), [(2, "`t` is missing")]),
        ([[1.0, 2.0], [1.0]], Vectors(2), [(2, "`t` must be a list of 2 numbers, got [1.0]")]),
        ([[1.0, None]], Vectors(2), [(1, "`t` must be a list of 2 numbers, got [1.0, None]")]),
        ([[0.5, 1.0]], Vectors(2, True), [(1, "`t` must be a list of 2 integers, got [0.5, 1.0]")]),
        (["a", "b"], Numbers(), [(1, "`t` must be a number, got 'a'"), (2, None)]),
        ([[1.0]], Numbers(), [(1, "`t` must be a number, got [1.0]")]),
        ([1.0], Vectors(1), [(1, "`t` must be a list of 1 numbers, got 1.0")]),
    ],
    ids=str,
)
def test_block_sets_a_bad_row_apart(column, kind, faults, write):
    found = values(write(t=pa.array(column)), kind)[1]
    assert [row_id for row_id, _ in found] == [row_id for row_id, _ in faults]
    for (_, reason), (_, expected) in zip(found, faults, strict=True):
        assert expected in (None, reason)


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.large_list(pa.int16())], ids=str)
def test_block_reads_lists_of_any_length(kind, write):
    (block,) = write(t=pa.array([[1, None], [], [3]], kind))
    column = Argument("relevance", ("t",), Lists(Numbers(gaps=True), "numbers"))
    parsed = block.parse([column])
    found = [part.tolist() for part in parsed.batch["relevance"]]
    assert (found[1:], found[0][0], np.isnan(found[0][1])) == ([[], [3.0]], 1.0, True)
    assert not parsed.faults


def test_block_drops_a_bad_row_from_every_column(write):
    (block,) = write(t=[1, None, 0], s=[0.1, 0.2, 0.3])
    columns = [Argument("y_true", ("t",), INTEGER), Argument("y_pred", ("s",), Numbers())]
    parsed = block.parse(columns)
    assert parsed.row_ids == [1, 3]
    assert parsed.batch["y_pred"].tolist() == [0.1, 0.3]


def test_blocks_number_rows_over_all_row_groups(write):
    blocks = write(row_group_size=4, t=pa.array([*range(9), None]))
    assert len(blocks) == 3
    assert values(blocks, INTEGER)[1] == [(10, "`t` is missing")]


def test_blocks_account_for_most_bytes_of_the_file(write, tmp_path):
    rng = np.random.default_rng(0)
    blocks = write(row_group_size=5000, t=rng.random(20_000))
    size = (tmp_path / "log.parquet").stat().st_size
    assert 0.9 * size < sum(block.taken for block in blocks) <= size


def test_block_reads_the_first_of_large_groups_only_to_show_rows(write):
    (block,) = write(t=[1, 2, 3], s=["a", "b", "c"])
    assert next(block.rows()) == {"t": 1, "s": "a"}


def test_block_pickles(write):
    (block,) = write(t=[1])
    assert pickle.loads(pickle.dumps(block)) == block


def test_block_refuses_a_file_without_the_column(write):
    with pytest.raises(BadDataError, match=r"log\.parquet: there is no column 'u'\."):
        values(write(t=[1]), INTEGER, name="u")


def test_block_refuses_a_file_with_the_column_twice(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["t", "t"])
    parquet.write_table(table, "log.parquet")
    with pytest.raises(BadDataError, match=r"^log\.parquet: there are 2 columns 't'\.$"):
        values(list(read_blocks("log.parquet")), INTEGER)


def test_block_refuses_text_that_is_not_utf8(write):
    text = pa.array([b"\xff"]).cast(pa.string(), safe=False)
    with pytest.raises(BadDataError, match=r"^log\.parquet: not a sound Parquet file \("):
        values(write(t=text), Labels(integers=False))


def test_block_shows_rows_with_nanoseconds_as_text_and_without_bytes(write):
    nanosecond = pa.array([1], pa.timestamp("ns"))
    (block,) = write(t=[1], when=nanosecond, scores=[[0.5]], raw=[b"\0"], tags=[["a"]])
    row = {
        "t": 1,
        "when": "1970-01-01 00:00:00.000000001",
        "scores": [0.5],
        "raw": None,
        "tags": ["a"],
    }
    assert list(block.rows()) == [row]


@pytest.mark.parametrize("data", [b"", b"junk" * 100, b"PAR1" + b"\0" * 100 + b"PAR1"])
def test_blocks_refuse_a_file_that_is_not_parquet(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.parquet").write_bytes(data)
    with pytest.raises(BadDataError, match=r"^log\.parquet: not a sound Parquet file \(.*\)\.$"):
        list(read_blocks("log.parquet"))


@pytest.mark.parametrize("data", [b"PAR1", b"PAR1" + b"\0" * 100, b"PAR1\0PARE", b"jun", b""])
def test_blocks_look_at_both_ends_of_a_file_before_pyarrow_does(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.parquet").write_bytes(data)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    needed = data.endswith((b"PAR1", b"PARE"))
    message = "Parquet needs pyarrow" if needed else r"not a sound Parquet file \(it does not end"
    with pytest.raises(StreamevalError, match=rf"^log\.parquet: {message}"):
        list(read_blocks("log.parquet"))


def test_blocks_are_read_from_a_store(write, tmp_path):
    write(t=[1, 2])
    found, faults = values(list(read_blocks((tmp_path / "log.parquet").as_uri())), INTEGER)
    assert (found.tolist(), faults) == ([1, 2], [])


def test_block_refuses_damaged_pages(write, tmp_path):
    (block,) = write(t=list(range(1000)))
    data = bytearray((tmp_path / "log.parquet").read_bytes())
    data[4:100] = bytes(byte ^ 0x55 for byte in data[4:100])
    (tmp_path / "log.parquet").write_bytes(data)
    with pytest.raises(BadDataError, match=r"^log\.parquet: not a sound Parquet file"):
        values([block], INTEGER)


def test_blocks_name_a_missing_file_as_other_formats_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadDataError, match=r"^absent\.parquet: no such file or directory\.$"):
        list(read_blocks("absent.parquet"))


def test_blocks_refuse_standard_input():
    with pytest.raises(InvalidInputError, match="cannot be read from standard input"):
        list(read_blocks("-", "parquet"))


def test_blocks_tell_what_to_install_when_pyarrow_is_missing(write, monkeypatch):
    write(t=[1])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InvalidInputError, match=r'pip install "streameval\[arrow\]"'):
        list(read_blocks("log.parquet"))


def test_file_is_opened_once_while_its_blocks_are_read(tmp_path, monkeypatch):
    path = str(tmp_path / "log.parquet")
    parquet.write_table(pa.table({"y_true": [0, 1, 0, 1]}), path, row_group_size=1)
    made, opened = [], parquet.ParquetFile
    monkeypatch.setattr(parquet, "ParquetFile", lambda name: made.append(name) or opened(name))
    labels = Argument("y_true", ("y_true",), Labels(integers=True))
    read = [block.parse([labels]).batch["y_true"].tolist() for block in read_blocks(path)]
    assert (read, len(made)) == ([[0], [1], [0], [1]], 1)


@pytest.mark.parametrize("n_rows", [0, 3, 300])
def test_rows_without_a_readable_column_are_as_many(n_rows, tmp_path):
    path = str(tmp_path / "log.parquet")
    parquet.write_table(pa.table({"blob": [b"1"] * n_rows}), path, row_group_size=200)
    assert [row for block in read_blocks(path) for row in block.rows()] == [{"blob": None}] * n_rows


@pytest.fixture
def columns_read(monkeypatch):
    """List the columns of each row group that is read at once."""
    read, read_row_group = [], parquet.ParquetFile.read_row_group
    monkeypatch.setattr("streameval.io.parquet._SMALL", 2**20)
    monkeypatch.setattr(
        parquet.ParquetFile,
        "read_row_group",
        lambda *group, **how: read.append(how["columns"]) or read_row_group(*group, **how),
    )
    return read


def test_small_row_group_is_read_once_for_its_first_rows_and_for_all(tmp_path, columns_read):
    path = str(tmp_path / "log.parquet")
    parquet.write_table(pa.table({"y_true": [0, 1, 0], "other": [1, 2, 3]}), path)
    for block in read_blocks(path):
        assert [row["y_true"] for row in block.rows(["y_true"])] == [0, 1, 0]
        assert values([block], INTEGER, "y_true")[0].tolist() == [0, 1, 0]
        assert values([block], INTEGER, "other")[0].tolist() == [1, 2, 3]
    assert columns_read == [["y_true"], ["other"]]


@pytest.mark.parametrize(("n_rows", "n_read"), [(2**16 - 1, 1), (2**16, 0)])
def test_first_rows_of_many_equal_ones_are_read_without_the_others(
    n_rows, n_read, tmp_path, columns_read
):
    path = str(tmp_path / "log.parquet")
    parquet.write_table(pa.table({"y_true": [0] * n_rows}), path)
    for block in read_blocks(path):
        assert next(iter(block.rows())) == {"y_true": 0}
    assert len(columns_read) == n_read


def test_file_is_opened_again_for_a_block_that_outlives_it(tmp_path):
    path = str(tmp_path / "log.parquet")
    parquet.write_table(pa.table({"y_true": [0, 1]}), path, row_group_size=1)
    labels = Argument("y_true", ("y_true",), Labels(integers=True))
    for block in [*read_blocks(path), *map(pickle.loads, map(pickle.dumps, read_blocks(path)))]:
        assert block.parse([labels]).batch["y_true"].tolist() == [block.group]


def test_texts_of_which_one_does_not_fit_are_values_to_be_checked():
    texts = pa.chunked_array([["DE", "x" * 300, None]])
    assert values_of(texts, "", Values()) == ["DE", "x" * 300, None]
    assert list(values_of(texts.slice(0, 1), "", Values())) == ["DE"]
