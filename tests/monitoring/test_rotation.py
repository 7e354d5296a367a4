"""Rows of logs that rotate: none lost, none twice, in order, whatever happens to the files."""

import random
import subprocess
import sys

import pytest
from monitoring.rotating_logs import MortalReader, RotatingLog, json_row
from profiles import cases

SEEDS = range(cases(200, least=4))


def long_row(number):
    return f'{{"i": {number}, "text": "{"x" * (300 + number * 7919 % 900)}"}}'


def csv_row(number):
    return f'{number},"a ""quoted""\ncell, {number}"' if number % 5 == 0 else f"{number},cell"


def live(log, reader, rng, n_steps, acts="write read rotate die compress"):
    """Let a service write and rotate while it is followed by a reader that dies."""
    every = {
        "write": [lambda: log.append(rng.choice([1, 3, 30])), log.append_half],
        "read": [lambda: reader.read(rng.choice([1, 2, 10]))] * 2,
        "rotate": [log.rotate],
        "compress": [lambda: log.compress(rng.randrange(3))],
        "die": [reader.die],
    }
    possible = [act for name in acts.split() for act in every[name]]
    for _ in range(n_steps):
        rng.choice(possible)()


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("row", [json_row, long_row, csv_row])
def test_rows_of_copied_and_truncated_logs_come_once_and_in_order(row, seed, tmp_path):
    rng = random.Random(f"{seed} {row.__name__}")
    header = "i,cell\n" if row is csv_row else ""
    log = RotatingLog(tmp_path / "app.log", rng, row=row, header=header)
    reader = MortalReader(str(tmp_path / "app.log"), rng)
    for _ in range(rng.choice([1, 10, 30])):
        live(log, reader, rng, n_steps=rng.choice([1, 5, 20]), acts="write read die compress")
        log.append(4 if row is long_row else 150)  # a copy of less than 1 KiB tells nothing
        log.copy()
        # Nothing is written between the copy and the truncation.
        live(log, reader, rng, n_steps=rng.choice([0, 3]), acts="read die")
        log.truncate()
    log.close()
    assert reader.finish() == [*range(log.n_rows)]


@pytest.mark.parametrize("seed", SEEDS)
def test_only_rows_between_copy_and_truncation_are_lost(seed, tmp_path):
    rng = random.Random(seed)
    log = RotatingLog(tmp_path / "app.log", rng, row=long_row)
    reader = MortalReader(str(tmp_path / "app.log"), rng)
    endangered = set()
    for _ in range(10):
        live(log, reader, rng, n_steps=10, acts="write read die compress")
        log.append(10)
        log.copy()
        n_copied = log.n_rows
        live(log, reader, rng, n_steps=rng.choice([0, 3]), acts="write read")
        log.truncate()
        endangered |= {*range(n_copied, log.n_rows)}
        reader.read(10**6)
    log.close()
    rows = reader.finish()
    assert rows == sorted({*rows})
    assert {*range(log.n_rows)} - {*rows} <= endangered
    assert any("was truncated or rewritten, as copytruncate does" in text for text in reader.said)


@pytest.mark.uncovered
@pytest.mark.slow
def test_rows_of_a_thousand_rotations_come_once_and_in_order(tmp_path):
    rng = random.Random(16)
    log = RotatingLog(tmp_path / "app.log", rng)
    reader = MortalReader(str(tmp_path / "app.log"), rng)
    n_deaths = 0
    for n_rotations in range(1000):
        live(log, reader, rng, n_steps=4, acts="write read compress")
        log.rotate()
        if rng.random() < 0.3:
            reader.die()
            n_deaths += 1
        if n_rotations % 10 == 9:
            reader.read(10**6)
            reader.commit()
            log.remove(n_kept=8)
    log.close()
    assert n_deaths > 200
    assert reader.finish() == [*range(log.n_rows)]
    assert [text for text in reader.said if "nothing matches" not in text] == []


_SERVICE = """
import gzip, json, os, random, sys, threading, time
folder, rng = sys.argv[1], random.Random(7)
log = os.path.join(folder, "app.log")
file, number, n_rotations, packing = open(log, "ab", buffering=0), 0, 0, None
def pack(name):
    with open(name, "rb") as whole, gzip.open(name + ".gz", "wb") as packed:
        while piece := whole.read(500):
            packed.write(piece)
            time.sleep(0.0001)
    os.remove(name)
while n_rotations < 200:
    for _ in range(rng.randrange(200)):
        line = json.dumps({"i": number, "text": "x" * rng.randrange(50)}).encode() + b"\\n"
        cut = rng.randrange(len(line))
        file.write(line[:cut])
        file.write(line[cut:])
        number += 1
    if packing is not None:
        packing.join()
    for old in sorted(range(1, n_rotations + 1), reverse=True):
        for suffix in ("", ".gz"):
            if os.path.exists(f"{log}.{old}{suffix}"):
                os.rename(f"{log}.{old}{suffix}", f"{log}.{old + 1}{suffix}")
    os.rename(log, log + ".1")
    for _ in range(rng.randrange(3)):
        file.write(json.dumps({"i": number}).encode() + b"\\n")
        number += 1
    file.close()
    file = open(log, "ab", buffering=0)
    if os.path.exists(log + ".2"):
        packing = threading.Thread(target=pack, args=[log + ".2"])
        packing.start()
    n_rotations += 1
    time.sleep(0.005 * rng.random())
print(number)
"""


@pytest.mark.uncovered
@pytest.mark.slow
def test_rows_of_a_process_that_rotates_come_once_and_in_order(tmp_path):
    service = subprocess.Popen(
        [sys.executable, "-c", _SERVICE, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    rng = random.Random(8)
    reader = MortalReader(str(tmp_path / "app.log"), rng, limits=[300, 10_000])
    n_deaths = 0
    while service.poll() is None:
        reader.read(5)
        if rng.random() < 0.1:
            reader.die()
            n_deaths += 1
    n_rows = int(service.communicate()[0])
    assert reader.finish() == [*range(n_rows)]
    assert n_deaths > 10
