"""Print how long Dask takes on many files, beside one process and beside gathered scores.

Run ``python benchmarks/dask_cluster.py --rows 1e8 --write``, which writes the table of the page on
scaling; it needs the extras dask and fast, scikit-learn, and 18 bytes of disk per row. Each way has
its own process, which starts, counts some of the files, and then takes its turn in every round:
times are those of the best round, without the start. Memory is the most that a process held in any
round. The last two ways take their turns after the others have ended, because an idle cluster takes
a twelfth of a core; gathering takes only one.

- One process reads the files as the adapter does, into one accumulator, or one for each value.
- Dask counts them with `streameval.engines.dask`, and must come to the same bytes.
- Separate workers show the limit of the machine: each counts its share of the files alone, and
  nothing is merged.
- Gathered, workers read the scores, and scikit-learn computes the metrics in the client.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
from distributed import Client, LocalCluster
from pyarrow import json, parquet
from sklearn import metrics
from speed import results, tables

import streameval as se
from streameval.engines import dask
from streameval.engines._counting import RunningCount, SourceCounter

TABLE = Path(__file__).parents[1] / "docs" / "tables" / "dask.txt"
NAMES = [f"model {number:04}" for number in range(1000)]
COLUMNS = (
    "work",
    "rows",
    "way",
    "seconds",
    "times",
    "CPU s",
    "client MiB",
    "worker MiB",
    "start s",
)
WARM_FILES = 4
WORKER_MEMORY = 2**30


@attrs.frozen(kw_only=True)
class Work:
    """What is counted of which files.

    Parameters
    ----------
    make : callable
        Gives an empty accumulator.
    columns : dict
        As `evaluate` has it.
    n_values : int
        How many values of a column are counted apart; 0 for all rows together.
    form : {"parquet", "jsonl"}
        The format of the files.
    share : float
        Of which share of the rows files are made.
    n_files : int, optional
        How many files there are, whatever the command line says.
    """

    make: Callable[[], Any]
    columns: dict[str, str] = attrs.field(factory=dict)
    n_values: int = 0
    form: str = "parquet"
    share: float = 1.0
    n_files: int | None = None

    @property
    def by(self) -> str | None:
        """The column of the values."""
        return "model" if self.n_values else None


CURVE = se.PRCurveSketch
WORKS = {
    "confusion": Work(make=se.ConfusionAccumulator, columns={"y_pred": "y_score"}),
    "curve": Work(make=CURVE),
    "by": Work(make=CURVE, n_values=200),
    "jsonl": Work(make=CURVE, form="jsonl", share=0.1),
    "tiny": Work(make=CURVE, share=0.0125, n_files=5000),
}


def write_file(path: Path, n_rows: int, n_values: int, seed: int) -> None:
    """Write a log of clicks, whose models are about equally frequent."""
    random = np.random.default_rng(seed)
    click = random.random(n_rows) < 0.1
    noise = random.beta(2, 8, n_rows)
    score = (0.7 * noise + 0.3 * click * random.random(n_rows)).astype(np.float32)
    columns = {"y_true": click.astype(np.int8), "y_score": score}
    if n_values:
        codes = random.integers(0, n_values, n_rows).astype(np.int16)
        columns["model"] = pa.DictionaryArray.from_arrays(codes, NAMES[:n_values])
    if path.suffix == ".parquet":
        parquet.write_table(pa.table(columns), path)
        return
    with path.open("w", encoding="ascii") as file:
        for label, number in zip(click.tolist(), score.tolist(), strict=True):
            file.write(f'{{"y_true": {label:d}, "y_score": {number!r}}}\n')


def write_files(folder: Path, work: Work, n_rows: int, n_files: int) -> list[str]:
    """Write the files of a work, unless they exist."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"part-{number:05}.{work.form}" for number in range(n_files)]
    for number, path in enumerate(paths):
        if not path.exists():
            write_file(path, n_rows // n_files, work.n_values, number)
    return [str(path) for path in paths]


def summary_of(result: Any) -> str:
    """Return a digest of the bytes of an accumulator, or of a dict of them; else the numbers."""
    held = result if isinstance(result, dict) else {None: result}
    if not all(isinstance(accumulator, se.Accumulator) for accumulator in held.values()):
        return str(np.ravel(result)[:2])
    digest = hashlib.sha256()
    for value, accumulator in held.items():
        digest.update(repr(value).encode() + accumulator.to_bytes())
    return digest.hexdigest()[:12]


def one_process(paths: list[str], work: Work) -> Any:
    """Count with the reader of the adapters, in this process."""
    counter = SourceCounter.of(work.make, work.columns, work.by)
    running = RunningCount(counter)
    for path in paths:
        running.add_file(path)
    return counter.result(running.states())


def on_dask(paths: list[str], work: Work, client: Any) -> Any:
    """Count with the adapter."""
    return dask.evaluate(client, paths, work.make, columns=work.columns, by=work.by)


def separate(paths: list[str], work: Work, client: Any) -> list[int]:
    """Let each worker count its share of the files alone; return how many rows each counted."""
    workers = list(client.scheduler_info()["workers"])
    shares = [paths[at :: len(workers)] for at in range(len(workers))]
    counts = [
        client.submit(count_share, share, work, workers=[worker], pure=False)
        for share, worker in zip(shares, workers, strict=True)
    ]
    return client.gather(counts)


def count_share(paths: list[str], work: Work) -> int:
    """Count as one process does, with the memory settings of the adapter."""
    found = dask._with_steady_memory(one_process, paths, work)
    return sum(part.n for part in (found.values() if work.n_values else [found]))


def gathered(paths: list[str], work: Work, client: Any) -> Any:
    """Fetch labels and scores, and compute here."""
    found = client.gather(client.map(partial(read, form=work.form), paths, pure=False))
    truth, score, *models = map(np.concatenate, zip(*found, strict=True))
    if work.make is se.ConfusionAccumulator:
        return metrics.confusion_matrix(truth, score >= 0.5)
    if not work.n_values:
        return metrics.roc_auc_score(truth, score), metrics.average_precision_score(truth, score)
    order = np.argsort(models[0], kind="stable")
    ends = np.cumsum(np.bincount(models[0], minlength=work.n_values))[:-1]
    return [
        (metrics.roc_auc_score(*part), metrics.average_precision_score(*part))
        for part in zip(np.split(truth[order], ends), np.split(score[order], ends), strict=True)
    ]


def read(path: str, form: str) -> list[Any]:
    """Read the columns of a file; of models, their codes."""
    table = parquet.read_table(path) if form == "parquet" else json.read_json(path)
    names = [name for name in ("y_true", "y_score") if name in table.column_names]
    columns = [table.column(name).to_numpy() for name in names]
    if "model" in table.column_names:
        columns.append(table.column("model").combine_chunks().indices.to_numpy())
    return columns


WAYS = {
    "one process": one_process,
    "Dask": on_dask,
    "separate workers": separate,
    "gathered": gathered,
}
SAME_BYTES = ("one process", "Dask")


@attrs.frozen
class Turn:
    """What one round of a way took.

    Parameters
    ----------
    seconds, cpu_seconds : float
        The second of all its processes.
    peak, worker_peak : int
        The most bytes of its process, and of a worker.
    result : str
        The digest of what was counted, or the numbers.
    """

    seconds: float
    cpu_seconds: float
    peak: int
    worker_peak: int
    result: str


def serve(name: str, work: Work, n_workers: int, paths: list[str], pipe: Any) -> None:
    """Start a way, say how long that took, and take turns until there are no more."""
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    with ExitStack() as opened:
        client, run = None, partial(WAYS[name], work=work)
        if name != "one process":
            limit = 0 if name == "gathered" else WORKER_MEMORY
            client = opened.enter_context(Client(opened.enter_context(cluster(n_workers, limit))))
            run = partial(run, client=client)
        run(paths[:WARM_FILES])
        pipe.send(time.perf_counter() - start)
        while pipe.recv():
            pipe.send(turn(run, paths, client))


def cluster(n_workers: int, limit: int) -> Any:
    """Start processes of one thread each, with so much memory each; 0 is no limit."""
    return LocalCluster(
        n_workers=n_workers, threads_per_worker=1, memory_limit=limit, dashboard_address=None
    )


def turn(run: Callable[[list[str]], Any], paths: list[str], client: Any) -> Turn:
    """Measure one round, here and on the workers."""
    everywhere(client, reset_peak)
    cpu = sum(everywhere(client, time.process_time))
    start = time.perf_counter()
    result = run(paths)
    seconds = time.perf_counter() - start
    cpu = sum(everywhere(client, time.process_time)) - cpu
    peak, *others = everywhere(client, peak_memory)
    return Turn(seconds, cpu, peak, max(others, default=0), summary_of(result))


def everywhere(client: Any, function: Callable[[], Any]) -> list[Any]:
    """Call a function in this process and on all workers."""
    return [function(), *(() if client is None else client.run(function).values())]


def reset_peak() -> None:
    """Set the high-water mark of memory back to what is held."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_memory() -> int:
    """Read the high-water mark of memory, in bytes."""
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return int(text.partition("VmHWM:")[2].split()[0]) * 1024


def measured(
    name: str,
    n_rows: int,
    work: Work,
    ways: list[str],
    n_workers: int,
    paths: list[str],
    n_rounds: int,
) -> Iterator[str]:
    """Let the ways take turns, and yield a line of the table for each."""
    start = partial(serve, work=work, n_workers=n_workers, paths=paths)
    found = take_turns([way for way in ways if way in SAME_BYTES], start, n_rounds)
    for way in ways:
        if way not in SAME_BYTES:
            found |= take_turns([way], start, 1 if way == "gathered" else n_rounds)
    starts = {way: found[way][0] for way in ways}
    turns = {way: found[way][1] for way in ways}
    if len({turn.result for way in SAME_BYTES for turn in turns.get(way, ())}) > 1:
        sys.exit(f"{name}: the ways give different bytes")
    base = min(turn.seconds for turn in turns[ways[0]])
    for way in ways:
        best = min(turns[way], key=lambda turn: turn.seconds)
        cpu = min(turn.cpu_seconds for turn in turns[way])
        peak = max(turn.peak for turn in turns[way]) >> 20
        worker = max(turn.worker_peak for turn in turns[way]) >> 20
        cells = [name, f"{n_rows:,}", way, f"{best.seconds:.2f}", f"{base / best.seconds:.2f}"]
        cells += [f"{cpu:.2f}", f"{peak:,}", f"{worker:,}" if worker else "-", f"{starts[way]:.1f}"]
        yield f"| {' | '.join(cells)} |"


def take_turns(
    ways: list[str], start: Callable[..., None], n_turns: int
) -> dict[str, tuple[float, list[Turn]]]:
    """Start a process for each way, and return its seconds until then, and its turns."""
    context = multiprocessing.get_context("spawn")
    pipes, processes, found = {}, [], {}
    try:
        for way in ways:
            pipes[way], theirs = context.Pipe()
            processes.append(context.Process(target=start, args=(way,), kwargs={"pipe": theirs}))
            processes[-1].start()
            theirs.close()
            found[way] = pipes[way].recv(), []
        for _ in range(n_turns):
            for way in ways:
                pipes[way].send(True)
                found[way][1].append(pipes[way].recv())
        for way, process in zip(ways, processes, strict=True):
            pipes[way].send(False)
            process.join()
    finally:
        for process in processes:  # if one has failed, the others wait for a turn
            process.terminate()
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=float, default=1e8, help="of the larger works")
    parser.add_argument("--files", type=int, default=200, help="that hold them")
    parser.add_argument("--times", type=int, default=1, help="that each file is counted")
    parser.add_argument("--values", type=int, default=200, help="of the column of the work `by`")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", action="append", choices=WORKS, help="a work; by default all")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--folder", type=Path, help="keep the files there")
    parser.add_argument("--write", action="store_true", help="write docs/tables/dask.txt")
    chosen = parser.parse_args()
    with ExitStack() as opened:
        folder = chosen.folder or Path(opened.enter_context(tempfile.TemporaryDirectory()))
        lines = [setting(chosen), "", *tables.head(COLUMNS)]
        print(*lines, sep="\n")
        for name in chosen.only or WORKS:
            work = attrs.evolve(WORKS[name], n_values=chosen.values if WORKS[name].n_values else 0)
            n_rows, n_files = int(chosen.rows * work.share), work.n_files or chosen.files
            of_values = f"-{work.n_values}" if work.n_values else ""
            place = folder / f"{work.form}-{n_rows}-{n_files}{of_values}"
            paths = write_files(place, work, n_rows, n_files)
            ways = chosen.ways, chosen.workers, paths * chosen.times, chosen.rounds
            for line in measured(name, n_rows * chosen.times, work, *ways):
                print(line, flush=True)
                lines.append(line)
    if chosen.write:
        TABLE.write_text("\n".join([*lines, ""]), encoding="utf-8")


def setting(chosen: argparse.Namespace) -> str:
    """Say when, on what and with what, and whether the machine did other work."""
    about = results.about({"dask", "distributed", "msgspec", "pyarrow", "scikit-learn"})
    rounds = "one round" if chosen.rounds == 1 else f"the best of {chosen.rounds} rounds"
    return (
        f"{tables.found_with(about)} {chosen.workers} workers, {rounds}; "
        f"load average at the start {os.getloadavg()[0]:.1f}."
    )


if __name__ == "__main__":
    main()
