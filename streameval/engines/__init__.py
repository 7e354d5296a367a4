"""Adapters to engines that count on many workers; each needs its own, and none is imported here.

All engines share these parameters:

Parameters
----------
sources : path, batch, stream, or a sequence of these
    - Paths of Parquet, CSV or JSON lines, as the workers can open them: files, folders, patterns
      such as ``logs/*.parquet``, and addresses that pyarrow or fsspec know, ``s3://bucket/logs``.
      Folders that are named ``country=DE`` are columns, for files that lack them.
    - A `pyarrow.dataset.Dataset`: one of Parquet is its files and their partitions.
    - Batches: mappings of arrays, data frames and Arrow tables. A LazyFrame of polars is collected
      on a worker, batch by batch.
    - A filtered data set, one of other formats, a `pyarrow.RecordBatchReader` or a relation of
      DuckDB is counted by this process as it streams.
make : callable
    Returns an empty accumulator, and can be pickled: a class, a `functools.partial`, or the
    method `copy` of an empty accumulator.
columns : mapping from argument to column, optional
    The columns of `update` arguments that have other names.
by : str or sequence of str, optional
    A column: rows are counted for each of its values, None where it is missing. Values of several
    columns are tuples; a time with a time zone is converted to UTC.
options : mapping, optional
    Keyword arguments of `update`, such as ``{"partial": True}`` for rankings.
fan_in : int
    How many states a task merges.
progress : callable, optional
    Called with how many files, row groups of large files, and batches have been counted, and how
    many there are. The two numbers are equal only when everything is merged.
target_bytes : int, optional
    About how many bytes of files a task counts: small files are grouped, and a large Parquet file
    is split by row groups. By default up to 256 MiB; less if workers would idle, and with `by` also
    if what they hold of many tasks might fill their memory.
on_error : {"raise", "skip"} or callable
    What happens when a source cannot be counted: the run ends with its error at once; or it is
    left out as a whole, and a warning counts and lists what was. A callable gets each of these
    errors instead.
resume : path, optional
    A file of `Parts` that keeps the states of finished tasks, here and not on the workers. A run
    that finds it counts only files that are new or have changed. Only for files.
missing_columns : {"raise", "default"}
    What happens where some sources have an optional column, such as `sample_weight`, and others do
    not: an error names one of them; or each is counted with the columns that it has.
nulls : {"raise", "skip"}
    What happens where a column that is counted is null: an error names the source and the row; or
    the row is left out. Dask and Ray warn with the number of such rows.
filesystem : file system of pyarrow or fsspec, optional
    Where the paths are, instead of the disks of the workers.

They return a new accumulator, or a dict of accumulators by the values of the column `by`.

They raise an `InvalidInputError` if an argument breaks a rule or a batch is refused; the message
names the batch. They raise a `BadDataError` if a file cannot be read, holds rows that are refused,
or lacks an optional column that others have; the message names the file and the row.
"""
