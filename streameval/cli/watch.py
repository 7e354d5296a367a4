"""`streameval watch`: follow files of predictions, and show each pane of time."""

from __future__ import annotations

import argparse
import gc
import logging
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from decimal import Decimal
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs

from streameval.accumulators.confusion import ConfusionAccumulator
from streameval.accumulators.pane_results import pane_result, results_of
from streameval.accumulators.windowed import Windowed
from streameval.cli.combinations import task_asked_for
from streameval.cli.errors import BAD_DATA, GATE_FAILED, OK, Terminated, UsageError
from streameval.cli.options import (
    Options,
    Reporting,
    Watching,
    error_text,
    option_words,
    refuse,
    taken,
)
from streameval.cli.outcome import described, laid_out
from streameval.cli.states import check_file_output
from streameval.cli.tasks import plan_of
from streameval.cli.tasks.clusters import clustered, dependence_of
from streameval.cli.tasks.fields import check_columns
from streameval.cli.tasks.splits import windowed
from streameval.cli.terminal import (
    ENDS,
    CommandOutput,
    Drawn,
    Note,
    is_live,
    line_of,
    log_format_of,
    print_out,
    put,
    quieted,
)
from streameval.cli.window_text import board, event_text, pane_line, window_entry
from streameval.configs.collection import SEPARATOR
from streameval.configs.names import nearest
from streameval.errors import (
    IncompatibleStateError,
    StreamevalError,
    UnavailableError,
    UnknownMetricError,
)
from streameval.monitoring.alerts import read_rules
from streameval.monitoring.checkpoint import Checkpoint, checkpoint_files, copy_checkpoint
from streameval.monitoring.delivery import LOG
from streameval.monitoring.intake import as_source
from streameval.monitoring.monitor import Monitor
from streameval.monitoring.planning import Planner, predictions_of
from streameval.monitoring.quarantine import CommittedLines
from streameval.monitoring.routes import Unsent, read_routes
from streameval.monitoring.sources import FileSource, Source
from streameval.monitoring.status import Closed, Step, Weights
from streameval.render.text import json_line, plural, time_texts
from streameval.results.names import MetricName, tables
from streameval.runs.counting import Plan, RowShare
from streameval.runs.sources import RawRow

_log = logging.getLogger("streameval")
_POLL_SECONDS = 1.0
_WAITS_ONCE = 30
_MAX_BAD = RowShare(Decimal(1))
_FIELDS = attrs.fields(Watching)
_OF_MONITOR = [field.name for field in _FIELDS if field.name in signature(Monitor).parameters]
_RELOADED = ("alerts", "false_alarms", "on_alert", "title")


def watch(parse: Callable[[], argparse.Namespace], **arguments: Any) -> CommandOutput:
    """Follow files until a signal, or count the existing rows and end.

    Parameters
    ----------
    parse : callable
        Parses the command line and the file of configuration again.
    **arguments
        What it has parsed.

    Raises
    ------
    StreamevalError
        For the reasons that `exit_code` distinguishes.
    """
    reload = _Reload(parse, arguments)
    options, watching, reporting = _read(**arguments)
    if not options.files:
        raise UsageError("watch needs FILE, or files in what --config names.")
    if watching.init:
        from streameval.cli.first_look import first_config  # noqa: PLC0415 (used once)

        with ExitStack() as opened:
            logs = [
                (files, opened.enter_context(closing(_source(files, options, watching))))
                for files in (options.files, options.labels)
                if files
            ]
            return CommandOutput(first_config(watching.alerts, *logs), is_data=True)
    if watching.checkpoint is None:
        raise UsageError("watch needs --checkpoint, the file that a restart continues from.")
    if watching.check and "-" in (*options.files, *(options.labels or ())):
        raise UsageError("--check reads what exists, which standard input would lose.")
    _check_page(watching)
    _check_routes(watching)
    if not watching.check:
        is_reloaded = watching.config is not None and not watching.once
        return _watch(options, watching, reporting, reload if is_reloaded else None)
    with _rehearsed(watching) as silent:
        outcome = _watch(options, silent, reporting)
    told = [
        f"{unsent.name} would get {plural(unsent.n_events, 'event')}."
        for unsent in (route.receiver for route in silent.on_alert)
    ]
    texts = [
        f"watch would {_work(options, watching)}.",
        *told,
        "a rehearsal: nothing was written or sent.",
    ]
    notes = (*outcome.notes, *(Note("note", text) for text in texts))
    return outcome if reporting.quiet else attrs.evolve(outcome, notes=notes)


def _work(options: Options, watching: Watching) -> str:
    """Say what a monitor with these options does."""
    by = "" if options.by is None else f" for each {' and '.join(options.by.columns)}"
    joined = f"join {', '.join(options.labels or ())} by {options.key} within {watching.wait}"
    written = filter(None, (watching.output, watching.quarantine, watching.checkpoint))
    parts = [
        f"read {', '.join(options.files)}",
        *([joined] if options.labels else []),
        f"count panes of {options.pane}{by}",
        *([f"check {plural(len(watching.alerts), 'rule')}"] if watching.alerts else []),
        *([f"serve {watching.serve}"] if watching.serve else []),
        f"write {', '.join(written)}",
    ]
    return f"{', '.join(parts[:-1])}, and {parts[-1]}"


def _read(**arguments: Any) -> tuple[Options, Watching, Reporting]:
    watching = Watching(**taken(arguments, Watching))
    reporting = Reporting(**taken(arguments, Reporting))
    options = Options.of(reporting, **{"files": (), "max_bad": _MAX_BAD, **arguments})
    return options, watching, reporting


class _Reload:
    """Rules, receivers and the title, which are read anew after a hangup; all else stays.

    Parameters
    ----------
    parse : callable
        Returns all arguments as they are now.
    arguments : mapping
        Those that the monitor was started with.
    """

    def __init__(
        self, parse: Callable[[], argparse.Namespace], arguments: Mapping[str, Any]
    ) -> None:
        self._parse = parse
        self._fixed = _without_reloaded(arguments)
        self._is_due = False

    def heed(self, *_: object) -> None:
        """Note a hangup; the handler of a signal does no more."""
        self._is_due = True

    def notes(self, monitor: Monitor) -> list[Note]:
        """Reload if there was a hangup, and say what came of it."""
        if not self._is_due:
            return []
        self._is_due = False
        try:
            with monitor._reloading():
                watching = self._watching()
                given = {name: getattr(watching, name) for name in _RELOADED}
                given["title"] = watching.title or Path(str(watching.checkpoint)).name
                monitor.reload(**{name: one for name, one in given.items() if one is not None})
        except StreamevalError as error:
            return [Note("error", f"{error_text(error)} The reload is refused; watch goes on.")]
        return [Note("note", f"{watching.config}: alerts, receivers and title are reloaded.")]

    def _watching(self) -> Watching:
        """Read the options anew, and refuse what only a start may change."""
        arguments = vars(self._parse())
        del arguments["command"]
        now = _without_reloaded(arguments)
        options, watching, _ = _read(**arguments)
        for name in {**self._fixed, **now}:
            if self._fixed.get(name) != now.get(name):
                raise UsageError(
                    f"{watching.config}: {name} cannot change while watch runs, only "
                    f"{', '.join(_RELOADED)}. Restart it; --check says whether it can continue."
                )
        _check_page(watching)
        _check_routes(watching)
        _check_metrics(task_asked_for(options), (), watching.alerts)
        return watching


def _without_reloaded(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name not in _RELOADED}


def _check_routes(watching: Watching) -> None:
    """Raise UsageError or InvalidInputError for receivers that could not get an event."""
    routes = read_routes(watching.on_alert, read_rules(watching.alerts))
    if not watching.alerts and not all(route.heartbeat for route in routes):
        raise UsageError("--on-alert needs --alerts, which says when there is an alert.")


@contextmanager
def _rehearsed(watching: Watching) -> Iterator[Watching]:
    """Turn the options into those of a rehearsal, which writes and sends nothing.

    It continues on a copy of the checkpoint, if there is one.
    """
    for path in (watching.checkpoint, watching.output, watching.quarantine):
        if path is not None:
            check_file_output(path, ())
    with TemporaryDirectory(prefix="streameval-") as folder:
        held, copy = Path(str(watching.checkpoint)), Path(folder, "checkpoint.db")
        if os.path.exists(held) and held.stat().st_size:
            copy_checkpoint(held, copy)
        silent: dict[str, Any] = {"serve": None, "title": None, "allow_host": (), "output": None}
        silent["quarantine"] = None
        routes = read_routes(watching.on_alert, read_rules(watching.alerts))
        silent["on_alert"] = tuple(
            route.sent_to(Unsent(str(route))) for route in routes if route.heartbeat is None
        )
        try:
            yield attrs.evolve(watching, checkpoint=str(copy), once=True, **silent)
        except IncompatibleStateError as error:  # it names the copy
            message = str(error).replace(str(copy), str(held))
            raise IncompatibleStateError(message) from None


_COLLECTED = 10_000
"""So many objects hold 10 MB of past panes; a script raises it to 100,000, as it ends soon."""


def _watch(
    options: Options, watching: Watching, reporting: Reporting, reload: _Reload | None = None
) -> CommandOutput:
    """Follow the files; options that are refused at the start leave no checkpoint."""
    path = Path(str(watching.checkpoint))
    is_new = not os.path.exists(path)
    gc.set_threshold(_COLLECTED)
    try:
        return _followed(options, watching, reporting, reload)
    except StreamevalError:
        if is_new:
            _remove_if_empty(path)
        raise


def _remove_if_empty(path: Path) -> None:
    """Remove a checkpoint without a commit or a note, unless another monitor uses it.

    Notes are of files that a run has begun, and of an end that receivers were told of.
    """
    with suppress(StreamevalError):
        with closing(Checkpoint(path)) as checkpoint:
            is_empty = not checkpoint.number and not checkpoint.state
        for name in checkpoint_files(path) if is_empty else ():
            Path(name).unlink(missing_ok=True)


def _followed(
    options: Options, watching: Watching, reporting: Reporting, reload: _Reload | None
) -> CommandOutput:
    screen = _Screen(options, watching)
    sources = _sources(options, watching)
    with _heeding(_on_hangup(reload)), screen.of_log():
        try:
            warned: list[str] = []
            opened = _monitor(options, watching, sources, warned)
        except IncompatibleStateError as error:  # the checkpoint was started with other options
            remedy = "" if watching.migrate else ", or try --migrate"
            told = f"{error.told(option_words)} Name another --checkpoint{remedy}."
            raise IncompatibleStateError(told) from None
        with opened as monitor, _heeding(_on_end(monitor.stop)):
            _serve(monitor, watching, reporting, screen)
            for step in _steps(monitor, once=bool(watching.once)):
                screen.say(step)
                screen.tell([Note("note", warned.pop()) for _ in warned[:]])
                if not screen.draw(monitor, step):
                    break
                screen.tell([] if reload is None else reload.notes(monitor))
            return _ended(monitor, screen, sources, watching)


def _ended(
    monitor: Monitor, screen: _Screen, sources: Mapping[str, Source], watching: Watching
) -> CommandOutput:
    """Return what is shown at the end, and how it was."""
    firing = any(alert.state == "firing" for alert in monitor.snapshot().alerts)
    text = screen.last(monitor)
    errors = _left_unread(monitor, sources.values()) if watching.once else []
    if errors:
        return CommandOutput(text, notes=tuple(Note("error", one) for one in errors), code=BAD_DATA)
    return CommandOutput(text, code=GATE_FAILED if watching.once and firing else OK)


def _left_unread(monitor: Monitor, sources: Iterable[Source]) -> list[str]:
    """Say what could not be read by the end of a single run."""
    files = (source for source in sources if isinstance(source, FileSource))
    errors = [f"{name}: no such file or directory." for one in files for name in one.unmatched()]
    waits_for = monitor.status().waits_for
    return errors if waits_for is None else [*errors, _unread(waits_for)]


def _unread(waits_for: Any) -> str:
    (shown,) = time_texts([waits_for])
    return (
        f"rows up to {shown} are ahead of the clock of this machine and were not read; what was "
        "read before is committed."
    )


def _check_page(watching: Watching) -> None:
    """Raise UsageError for options of a page that is not served."""
    if watching.serve is None:
        refuse(watching, ["title", "allow_host"], "needs --serve")
    if watching.once:
        refuse(watching, ["serve"], "cannot be used with --once, which ends at once")


def _serve(monitor: Monitor, watching: Watching, reporting: Reporting, screen: _Screen) -> None:
    """Serve the page if requested, and say where; with --quiet, only if the system has chosen."""
    if watching.serve is None:
        return
    server = monitor.serve(
        watching.serve,
        title=watching.title,
        metrics=reporting.metrics,
        windows=watching.windows,
        level=reporting.level,
        allow_host=watching.allow_host,
    )
    screen.tell([Note("info", f"live page: {server.url}")], is_asked=watching.serve.endswith(":0"))


def _steps(monitor: Monitor, *, once: bool) -> Iterator[Step]:
    """Yield steps: forever, or until all existing rows have been read."""
    n_waits = 0
    for step in monitor.run(poll=_POLL_SECONDS):
        yield step
        if not once or not step.is_idle:
            n_waits = 0
        elif not step.is_waiting:
            return
        elif n_waits == _WAITS_ONCE:
            raise UnavailableError("a server does not answer; what was read before is committed.")
        else:
            n_waits += 1


def _sources(options: Options, watching: Watching) -> dict[str, Source]:
    """Make what is read, by argument, once the options have been checked."""
    if options.time is None:
        raise UsageError("watch needs --time and --pane: it counts panes of time.")
    task = task_asked_for(options)
    if "regression" in options.task:
        refuse(options, ["nan"], "cannot be used with watch and --task regression; use --where")
    if options.labels is None:
        refuse(watching, ["max_pending", "label_idle_after"], "needs --labels")
    _check_widths(options, watching.windows)
    _check_metrics(task, options.reporting.metrics, watching.alerts)
    named = {"labels": options.labels, "predictions": options.files}
    return {
        name: _source(files, options, watching)
        for name, files in named.items()
        if files is not None
    }


def _monitor(
    options: Options, watching: Watching, sources: Mapping[str, Source], warned: list[str]
) -> Monitor:
    """Make the monitor that the options ask for, which warns of ids that repeat."""
    task = task_asked_for(options)
    given = {name: getattr(watching, name) for name in _OF_MONITOR}
    given |= {"key": options.key, "labels": sources.get("labels")}
    given["output"] = watching.output and JsonLines(watching.output, options.reporting)
    chosen = {name: value for name, value in given.items() if value is not None}
    if watching.commit_bytes is not None:
        chosen["read_bytes"] = min(watching.commit_bytes, 2**20)
    where = options.row_filter

    def plan(rows: Sequence[RawRow]) -> Plan:
        filtered = predictions_of(rows)
        warned.extend(dependence_of(options, filtered))
        check_columns([condition.column for condition in options.where], filtered)
        plan_of_rows = clustered(plan_of(task, options, rows), options, rows)
        made = windowed(plan_of_rows, options, rows)
        if options.reporting.metrics:
            result, _ = results_of(made.make().total())
            for metric in options.reporting.metrics:
                result.check(metric)
        return made

    return Monitor(
        accumulator=Planner(plan=plan, is_step=isinstance(options.pane, int), where=where),
        predictions=sources["predictions"],
        time=str(options.time),
        max_bad=options.max_bad,
        **chosen,
    )


def _source(files: Sequence[str], options: Options, watching: Watching) -> Source:
    config = None
    if watching.kafka_config is not None:
        from streameval.monitoring.kafka import read_properties  # noqa: PLC0415 (of Kafka)

        config = read_properties(watching.kafka_config)
    try:
        return as_source(
            list(files),
            argument="FILE",
            format=options.format,
            kafka=config,
            **options.dialect,
        )
    except ImportError as error:
        raise UsageError(str(error)) from None


def _check_metrics(task: str, metrics: Sequence[MetricName], alerts: Sequence[Any]) -> None:
    """Before rows are read, raise UnknownMetricError for metrics that the task does not have."""
    rules = [alert.rule for alert in read_rules(alerts)]
    of_rules = {one.text: one.result_metric for one in rules if one.result_metric is not None}
    asked = [*((None, metric) for metric in metrics), *of_rules.items()]
    if not asked:
        return
    rows = [row for table in tables(task) for row in table.values()]
    averaged = [f"{row.name}_{average}" for row in rows for average in row.averages]
    known = [row.name for row in rows]
    for text, metric in asked:
        name = metric.name if metric.call is None else metric.call[0]
        if task in ("values", "paired"):
            name = name.rpartition(SEPARATOR)[2]  # behind that of a column, or of a pair of models
        if name not in (*known, *averaged):
            error = UnknownMetricError(f"no metric {str(metric)!r}: {nearest(name, known)}")
            raise error if text is None else error.within(repr(text))


def _check_widths(options: Options, widths: Sequence[str | int]) -> None:
    """Raise InvalidInputError for a window that is not a whole number of panes."""
    if widths:
        config = Windowed(ConfusionAccumulator(), pane=options.pane).view().config
        for width in widths:
            config.length(width, name="windows")


def _on_end(stop: Callable[[], None]) -> dict[int, Any]:
    """Let the first signal end the loop after its step, and the second end it at once."""

    def heed(number: int, _: object) -> None:
        signal.signal(number, _end)
        stop()

    return dict.fromkeys((signal.SIGINT, signal.SIGTERM), heed)


def _on_hangup(reload: _Reload | None) -> dict[int, Any]:
    """Let a hangup reload, or do nothing: programs that rotate logs send it.

    If the output is a terminal, it has been closed, and the program ends.
    """
    if not hasattr(signal, "SIGHUP") or sys.stdout.isatty():
        return {}
    return {signal.SIGHUP: signal.SIG_IGN if reload is None else reload.heed}


@contextmanager
def _heeding(handlers: Mapping[int, Any]) -> Iterator[None]:
    """Handle signals, which only the main thread can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, _: object) -> None:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise Terminated(number)


class _Screen(logging.Handler):
    """The output while files are followed: a table that is redrawn, or lines; and a log.

    Parameters
    ----------
    options, watching : Options and Watching
        The options that say what to show.
    """

    def __init__(self, options: Options, watching: Watching) -> None:
        super().__init__()
        self._reporting = options.reporting
        ends = [getattr(watching, name) for name in ENDS]
        self._log_format = log_format_of("watch", watching.log_format, *ends)
        self._widths = watching.windows
        self._once = bool(watching.once)
        self._is_live = is_live(sys.stdout) and not self._once
        self._n_lines = 0
        self._drawing = threading.RLock()

    def say(self, step: Step) -> None:
        """Print warnings and alerts on standard error."""
        alerts = [
            Note("alert", event_text(event), {"event": event.to_json()}) for event in step.events
        ]
        self.tell([*alerts, *(Note("warning", text) for text in step.notes)])

    @contextmanager
    def of_log(self) -> Iterator[None]:
        """Show what the monitor logs, in any thread; if the command ends, only warnings."""
        before = _log.level, LOG.level, _log.propagate
        _log.addHandler(self)
        _log.propagate = False
        _log.setLevel(logging.INFO if self._log_format else logging.WARNING)
        LOG.setLevel(logging.INFO)
        try:
            yield
        finally:
            _log.removeHandler(self)
            _log.setLevel(before[0])
            LOG.setLevel(before[1])
            _log.propagate = before[2]

    def emit(self, record: logging.LogRecord) -> None:
        """Print a line of the log."""
        about = "on-alert: " if record.name == LOG.name else ""
        self.tell([Note(record.levelname.lower(), about + self.format(record))])

    def tell(self, notes: Sequence[Note], *, is_asked: bool = False) -> None:
        """Print on standard error; with --quiet, only alerts, errors and what is asked for."""
        notes = quieted(notes) if self._reporting.quiet and not is_asked else notes
        if notes:
            with self._drawing:
                self._wipe()
                put(sys.stderr, [line_of(note, sys.stderr, self._log_format) for note in notes])

    def draw(self, monitor: Monitor, step: Step) -> bool:
        """Show what a step has changed; return False if the reader has closed the stream."""
        if self._reporting.quiet or self._once:
            return True
        if not self._is_live:
            return print_out(pane_line(pane, self._reporting) for pane in step.closed)
        lines = self._board(monitor).splitlines()[: shutil.get_terminal_size().lines - 1]
        with self._drawing:
            self._wipe()
            self._n_lines = len(lines)
            return print_out([Drawn("".join(f"{line}\n" for line in lines))])

    def last(self, monitor: Monitor) -> str:
        """Return the text to print at the end: with --once, the table."""
        return self._board(monitor) if self._once and not self._reporting.quiet else ""

    def _board(self, monitor: Monitor) -> str:
        sheet = board(monitor.snapshot(), self._widths, self._reporting, datetime.now(UTC))
        return laid_out(sheet)

    def _wipe(self) -> None:
        """Clear the table that was drawn last."""
        if self._n_lines:
            put(sys.stdout, [f"\x1b[{self._n_lines}F\x1b[J"])
            self._n_lines = 0


class JsonLines:
    """A file with a JSON line for each closed pane, consistent with the last commit.

    Parameters
    ----------
    path : str
        The file; lines written after the last commit are cut off.
    reporting : Reporting
        The metrics and the level.
    """

    def __init__(self, path: str, reporting: Reporting) -> None:
        self.path = path
        self._reporting = reporting
        self._file = CommittedLines(path)

    def restore(self, state: Any) -> Any:
        """Cut the file back to its committed length."""
        return self._file.restore(state)

    def write(self, closed: Sequence[Closed]) -> Any:
        """Append the panes, and flush them to the disk."""
        return self._file.append(list(map(self._line, closed)))

    def _line(self, pane: Closed) -> str:
        window = pane_result(pane.start, pane.end, pane.n_rows, pane.accumulator)
        entry = window_entry(window, lambda one: described(one, self._reporting))
        if window.slices is not None and pane.by_slice is not None:
            values = list(window.slices)
            for one, value in zip(entry["slices"], values, strict=True):
                one.update(_counts(pane.by_slice.of(value)))
            if "other" in entry:
                entry["other"].update(_counts(pane.by_slice.without(values)))
        return json_line({**entry, "revised": pane.is_revised})


def _counts(weights: Weights | None) -> dict[str, int | float]:
    """Return the number of rows of a slice, and of labelled rows if known."""
    return {} if weights is None else {"rows": weights.rows, "labelled": weights.labelled}
