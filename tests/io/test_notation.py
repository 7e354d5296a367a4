"""How cells are written: numbers with separators, percentages, missing values and encodings."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from offenders import each

import streameval as se
from streameval.io.columns import Argument, Labels, Numbers
from streameval.io.csv_rows import CsvLayout
from streameval.io.lines import text_blocks
from streameval.io.notation import Dialect, Notation, advice, known_encoding, value_of_cell
from streameval.io.streams import ByteStream

GERMAN = Notation(decimal=",", thousands=".", percent=True, na=("NULL", "k. A."))


@each(
    ("notation", "cell", "read"),
    [
        (GERMAN, "7.761,18", "7761.18"),
        (GERMAN, "-1.000", "-1000"),
        (GERMAN, "1e-3", "1e-3"),
        (GERMAN, "12,5", "12.5"),
        (GERMAN, "07,5", "07.5"),
        (GERMAN, "6,95%", "6.95e-2"),
        (GERMAN, "100 %", "100e-2"),
        (GERMAN, "1.234,5%", "1234.5e-2"),
        (GERMAN, " NULL ", ""),
        (GERMAN, "k. A.", ""),
        (GERMAN, "1.23", "1.23"),
        (GERMAN, "1.23,4", "1.23,4"),
        (GERMAN, "1e5%", "1e5%"),
        (GERMAN, "%", "%"),
        (GERMAN, "50% off", "50% off"),
        (GERMAN, "Müller", "Müller"),
        (GERMAN, "", ""),
        (Notation(thousands=","), "1,234,567.5e2", "1234567.5e2"),
        (Notation(thousands=","), "1,23", "1,23"),
        (Notation(thousands=","), " 7 ", " 7 "),
        (Notation(thousands=" "), "1\u202f000\u00a0000 ", "1000000"),
        (Notation(thousands="'"), "12'345", "12345"),
        (Notation(thousands="_"), "1_000", "1000"),
        (Notation(percent=True), "-0.5%", "-0.5e-2"),
        (Notation(percent=True), "0.50", "0.50"),
        (Notation(decimal=","), " 0,5", "0.5"),
        (Notation(decimal=","), "1,5,2", "1,5,2"),
        (Notation(thousands=","), "($1,234.50)", "-1234.50"),
    ],
)
def test_cells_are_written_as_python_does(notation: Notation, cell: str, read: str) -> None:
    assert notation.read(cell) == read


@given(st.floats(allow_nan=False, allow_infinity=False, width=32), st.sampled_from([",", " ", "'"]))
def test_numbers_with_separators_are_read_back(number: float, mark: str) -> None:
    text = f"{number:,.10f}"
    assert float(Notation(thousands=mark).read(text.replace(",", mark))) == float(f"{number:.10f}")
    german = text.replace(",", "_").replace(".", ",").replace("_", ".")
    both = Notation(decimal=",", thousands=".")
    assert float(both.read(german)) == float(f"{number:.10f}")


@each(
    ("cell", "number"),
    [
        ("$1.50", 1.5),
        (" -$1.50", -1.5),
        ("$-1.50", -1.5),
        ("1.5 \u20ac", 1.5),
        ("\u00a3 .5", 0.5),
        ("$", None),
        ("$-$1", None),
        ("$1.2.3", None),
        ("$\u20ac1", None),
        ("a$1", None),
        ("(78.5)", -78.5),
        ("(\u20ac 78)", -78.0),
        ("(-5)", None),
        ("(a)", None),
    ],
)
def test_amounts_are_read_without_their_currency(cell: str, number: float | None) -> None:
    (found,) = Numbers().from_text([cell])
    assert found == (cell if number is None else number)


def test_amounts_with_separators_are_read_as_numbers_are() -> None:
    assert Notation(thousands=",").read("$1,200.50") == "1200.50"
    assert Notation(decimal=",").read("1,50 \u20ac") == "1.50"
    assert Notation(decimal=",").read("$1.2.3") == "$1.2.3"
    (cell,) = Numbers().from_text(["1,50 \u20ac"])
    assert "--decimal , reads commas" in str(Numbers().fault(cell))


@each(
    ("text", "number"),
    [("93%", 0.93), ("6.95 %", 0.0695), ("$3", 3.0), ("x%", None), ("%", None), ("-5%", -0.05)],
)
def test_strings_of_json_may_be_percentages(text: str, number: float | None) -> None:
    found = Numbers().whole([text])
    assert (None if found is None else found.tolist()) == (None if number is None else [number])


@each(
    ("cell", "said"),
    [
        ("$1,200.00", "--thousands , "),
        ("6.95%", "--percent"),
        ("6,95 %", "--percent"),
        ("7,761.18", "--thousands , "),
        ("1,234,567", "--thousands , "),
        ("1,234", "--thousands , or --decimal , "),
        ("7.761,18", "--thousands . "),
        ("1.234.567", "--thousands . "),
        ("1 234,5", "--thousands ' ' "),
        ("NULL", "--na NULL "),
        ("N/A", "--na N/A "),
        ("\\N", r"--na '\N' "),
        ("-", "--na - "),
        ("01.05.2026", "--dates dmy "),
        ("5/6/2026 3:45 pm", "--dates dmy or mdy "),
        ("5/31/2026", "--dates mdy "),
        ("4 stars", "(sed -E 's/([0-9]) *stars?/\\1/g' leaves numbers without units)"),
        ("2.5kg", "*kg/"),
        ("3\N{BLACK STAR}", "*\N{BLACK STAR}/"),
        ("np.float64(0.5)", "(sed -E 's/np\\.\\w+\\(([^)]*)\\)/\\1/g' leaves numbers alone)"),
        ("cat", ""),
        ("1,2,3", ""),
        ("4/5", ""),
    ],
)
def test_errors_name_the_option_that_reads_a_cell(cell: str, said: str) -> None:
    assert (said in advice(cell)) if said else (advice(cell) == "")
    fault = Numbers().fault(Numbers().from_text([cell, "x"])[0])
    assert fault is not None
    assert said in fault


def test_errors_about_labels_name_the_option_too() -> None:
    labels = Labels(integers=True)
    one, missing = labels.from_text(["1", "NULL"])
    assert (one, labels.fault(one)) == (1, None)
    assert labels.fault(missing) == "an integer (--na NULL reads this as missing)"
    assert labels.fault("NULL") == "an integer"  # of JSON lines, which have no such option


@each(
    ("cell", "value"),
    [
        ("[0.5 0.25]", [0.5, 0.25]),
        ("[0.5\n 1. ]", [0.5, 1.0]),
        ("[np.float64(0.5), np.float64(1.0)]", [0.5, 1.0]),
        ("['cat', \"dog's\"]", ["cat", "dog's"]),
        ("[]", []),
        ("[UNK]", "[UNK]"),
        ("[0.1 ... 0.9]", "[0.1 ... 0.9]"),
        ("-1.000000000000000000e+00", -1),
        ("1e5", 1e5),
    ],
)
def test_cells_hold_what_python_and_numpy_write(cell: str, value: object) -> None:
    assert repr(value_of_cell(cell)) == repr(value)


@each(
    ("cell", "dmy", "mdy"),
    [
        ("01.05.2026", "2026-05-01", "2026-01-05"),
        ("1/5/2026 9:05", "2026-05-01T09:05", "2026-01-05T09:05"),
        ("31-12-2026 23:59:59,25", "2026-12-31T23:59:59,25", None),
        ("12/31/2026 12:00:01 AM", None, "2026-12-31T00:00:01"),
        ("12/11/2026, 1:30 pm", "2026-11-12T13:30", "2026-12-11T13:30"),
        ("12/11/2026 13:30 pm", None, None),
        ("1.5/2026", None, None),
        ("2026-05-01", None, None),
        ("cat", None, None),
    ],
)
def test_dates_are_read_in_their_order(cell: str, dmy: str | None, mdy: str | None) -> None:
    assert Notation(dates="dmy").read(cell) == (dmy or cell)
    assert Notation(dates="mdy").read(cell) == (mdy or cell)


def parsed(data: bytes, *names: str, **dialect: object) -> dict[str, list[float]]:
    stream = ByteStream(io.BytesIO(data), "log")
    blocks = text_blocks(stream, CsvLayout, Dialect(**dialect))  # type: ignore[arg-type]
    columns = [Argument(name, (name,), Numbers(gaps=True)) for name in names]
    batch = next(iter(blocks)).parse(columns).batch
    return {name: array.tolist() for name, array in batch.items()}


def test_tables_are_read_in_their_notation_and_encoding() -> None:
    data = "größe;anteil\n1.000,5;7%\nNULL;1,5 %\n".encode("cp1252")
    found = parsed(
        data,
        *("größe", "anteil"),
        delimiter=";",
        thousands=".",
        percent=True,
        na=["NULL"],
        encoding="windows-1252",
    )
    assert found["anteil"] == [0.07, 0.015]
    assert found["größe"][0] == 1000.5
    assert np.isnan(found["größe"][1])


def test_rows_that_an_encoding_lacks_are_bad() -> None:
    data = b"a,b\n\x81,1\nx,2\n"
    stream = ByteStream(io.BytesIO(data), "log")
    (block,) = text_blocks(stream, CsvLayout, Dialect(encoding="cp1252"))
    result = block.parse([Argument("b", ("b",), Numbers())])
    assert result.faults == [(2, "not cp1252")]
    assert result.batch["b"].tolist() == [2.0]


@each(
    ("name", "known"),
    [
        ("cp1252", "cp1252"),
        ("Windows-1252", "cp1252"),
        ("latin-1", "iso8859-1"),
        ("utf8", "utf-8"),
        ("gbk", "gbk"),
        ("utf-16", None),
        ("cp037", None),
        ("no", None),
        ("base64", None),
    ],
)
def test_encodings_of_lines_are_those_with_the_bytes_of_ascii(name: str, known: str | None) -> None:
    assert known_encoding(name) == known


@each(
    ("given", "message"),
    [
        ({"thousands": "x"}, "`thousands` must be a comma, point, apostrophe, space or underscore"),
        ({"thousands": ".", "decimal": "."}, "`thousands` must differ from the decimal separator"),
        ({"thousands": ",", "decimal": ","}, "`thousands` must differ"),
        ({"na": "NULL"}, "`na` must be a list of texts, got 'NULL'"),
        ({"encoding": "utf-16"}, "`encoding` must be an encoding that has the bytes of ASCII"),
        ({"decimal": ";"}, "`decimal` must be ',' or '.'"),
    ],
)
def test_mistakes_are_named(given: dict[str, object], message: str) -> None:
    with pytest.raises(se.InvalidInputError) as caught:
        se.Tail("log.csv", **given)  # type: ignore[arg-type]
    assert message in str(caught.value)
