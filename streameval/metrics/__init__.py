"""Metrics as pure functions from states to numbers, one small function per metric.

`table` defines the row of a metric, its readings and their changes. The table of a result is in the
module whose name ends with `_table`, that of groups in `grouped`.

Labels against predictions
    `confusion` has the formulas, and `label_counts` the counts that they read; `confusion_table`
    has the rows, and `confusion_sampling` their sampling intervals.
Curves
    `points` turns cells into points; `curves`, `average_precision`, `thresholds`,
    `operating_points` and `loss_bounds` read them, and `envelope` bounds what they read.
Rankings
    `ranking` has a formula for each measure; `ranks`, `rank_orders`, `rank_measures` and `cascades`
    give their values for ties and for open queries. `values` measures how evenly the items of a
    catalog are recommended.
Uncertainty and differences
    `bounded`: certified bounds. `intervals` and `delong` (also of many small curves at once):
    sampling intervals, also of any metric for clusters, and p-values; `values`: those of means.
    `evidence`: tests that are valid at any time.
"""
