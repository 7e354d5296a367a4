import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from offenders import each
from pyarrow import parquet

from streameval.io.columns import array_of

TYPES = [*(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)), "bool"]
TYPES += ["float16", "float32", "float64"]


@each("name", TYPES)
@each("cut", [slice(None), slice(1, None), slice(3, 17), slice(5, 5)])
def test_array_holds_the_values_of_a_column(name, cut):
    expected = (np.arange(20) % 3 == 1).astype(name)
    found = array_of(pa.array(expected)[cut])
    assert found.dtype == expected.dtype
    assert found.tolist() == expected[cut].tolist()


@each("name", TYPES)
@each("n_chunks", [0, 1, 3])
def test_array_joins_the_chunks_of_a_column(name, n_chunks):
    chunk = pa.array((np.arange(11) % 2).astype(name))
    found = array_of(pa.chunked_array([chunk[1:]] * n_chunks, type=chunk.type))
    assert found.dtype == np.dtype(name)
    assert found.tolist() == chunk[1:].to_pylist() * n_chunks


@pytest.mark.slow
@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
def test_reading_with_pyarrow_does_not_import_pandas(name, tmp_path):
    pytest.importorskip("pandas")
    path = tmp_path / name
    rows = range(20_000)  # so many that pyarrow reads them
    columns = {"y_true": [n % 2 for n in rows], "y_score": [n / len(rows) for n in rows]}
    if path.suffix == ".csv":
        lines = (",".join(map(str, row)) for row in zip(*columns.values(), strict=True))
        path.write_text("\n".join([",".join(columns), *lines, ""]))
    else:
        parquet.write_table(pa.table(columns), path)
    code = (
        "import sys; from streameval.cli import main; main(sys.argv[1:]); "
        "print('pyarrow' in sys.modules, 'pandas' in sys.modules)"
    )
    command = [sys.executable, "-c", code, "eval", str(path), "--y-score", "y_score"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "True False"
