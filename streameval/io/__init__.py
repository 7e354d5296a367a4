"""Readers: TREC runs and qrels, and files of predictions, in blocks that any process can parse."""

from streameval.errors import BadDataError
from streameval.io.trec import Qrels, Run, iter_run, read_qrels, read_run

__all__ = ["BadDataError", "Qrels", "Run", "iter_run", "read_qrels", "read_run"]
