"""Rows of logs that rotate: none lost, none twice, in order, whatever happens to the files."""

import random

import pytest
from monitoring.rotating_logs import MortalReader, RotatingLog, json_row
from profiles import cases

SEEDS = range(cases(600))


def long_row(number):
    return f'{{"i": {number}, "text": "{"x" * (number * 7919 % 900)}"}}'


def csv_row(number):
    return f'{number},"a ""quoted""\ncell, {number}"' if number % 5 == 0 else f"{number},cell"


def live(log, reader, rng, n_steps):
    """Let a service write and rotate while it is followed by a reader that dies."""
    acts = [
        lambda: log.append(rng.choice([1, 3, 30])),
        log.append_half,
        lambda: reader.read(rng.choice([1, 2, 10])),
        lambda: reader.read(rng.choice([1, 2, 10])),
        log.rotate,
        lambda: log.compress(rng.randrange(3)),
        reader.die,
        lambda: None,
    ]
    for _ in range(n_steps):
        rng.choice(acts)()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("row", [json_row, long_row, csv_row])
def test_rows_come_once_and_in_order(row, seed, tmp_path):
    rng = random.Random(f"{seed} {row.__name__}")
    header = "i,cell\n" if row is csv_row else ""
    log = RotatingLog(
        tmp_path / "app.log", rng, is_dated=rng.random() < 0.3, row=row, header=header
    )
    reader = MortalReader(str(tmp_path / "app.log"), rng)
    live(log, reader, rng, n_steps=rng.choice([10, 60, 200]))
    log.close()
    assert reader.finish() == [*range(log.n_rows)]
    assert reader.partitions <= {str(tmp_path / "app.log")}
    assert reader.said == [] or all("nothing matches" in text for text in reader.said)
