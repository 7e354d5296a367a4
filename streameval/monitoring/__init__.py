"""Monitoring: metrics of growing logs; each row counts once, committed with its position.

`monitor` is the public class, and `pipeline` what it does in a step. In the order of a step:

Sources
    `sources` says what a source is: `files` (with `followed` and `contents`), `folders`,
    `standard_input`, `kafka` and `redis_stream`. `intake` makes them and reads them, and
    `watermarks` knows how far their time has come.
Rows
    `planning` decides how they are read, and `screening` which of them count; the others go to
    `quarantine`.
Labels that come later
    `joining` turns rows into records and back, and `join` finds their labels: `arrivals` puts
    both sides into one order, and `pending_runs` holds what is pending.
Panes and alerts
    `closing` knows which panes are mature; `alerts` evaluates rules (`rules`, in the syntax of
    `rule_text`), each with a state for each slice: those about panes are `metric_rules`. `routes`
    say who gets which events, and `delivery` hands them to `receivers`.
The commit
    `checkpoint` writes all of it in one transaction to a file, and reads it back; `status` says
    what it was.
Those who look at it
    `server` answers: `live_page` with a page, which `live_view` fills, and `health` for probes and
    with the numbers of `prometheus`.
"""

ADDRESS = "127.0.0.1:8765"
"""Where a page is served by default: only this machine can reach it."""
