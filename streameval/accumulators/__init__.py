"""The accumulators: the public base, one class per subject, reading batches, checkpoints.

A metric of existing counts needs nothing in this package: it is a row of a table in `metrics` or
`results`. A class in this package joins a configuration (`configs`) and a state
(`states`), reads batches, and makes a result (`results`).

Every class
    `base` has the verbs, from updates to bytes; `definition` holds the definitions of classes.
    `persistence` and `classes` work for all of them. `pending` is the block that most of them copy
    small batches into.
Their batches
    `decisions` reads labels and scores for `confusion` and `paired`, `scored_rows` for `curve`
    and `grouped`, and `ranked_rows` for `ranking`. `calibration`, `regression` and `catalog` read
    their own.
Classes that hold others
    `collection` and `members`: many on one batch. `grouping` is the base of `sliced`, `windowed`
    and `clustered`: one for each value, pane of time, or group of clusters; `grouped_batches` and
    `grouped_rows` bring rows to them, and `sealed` and `panes` keep and merge many at once.
    `parts`: one for each part of the data, and merging many. `evidence` tests the panes of a
    `windowed` one.
What others read of their states
    `score_buckets` counts the scores of a `curve` or a `calibration` below fixed edges.
"""
