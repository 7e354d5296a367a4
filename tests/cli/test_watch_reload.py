"""A hangup lets `streameval watch --config` read rules and receivers anew, and nothing else."""

import json
import re
import signal
from pathlib import Path
from urllib.request import urlopen

import attrs
import pytest
from offenders import each

from streameval.cli import watch as watch_command
from streameval.monitoring.monitor import Monitor

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no hangup here")

START = 1_699_999_980
GOOD = 'alerts = ["roc_auc < 0.99"]'


def row(second):
    score, country = second % 10 / 10, "DE" if second % 3 else "FR"
    return {"ts": START + second, "y_true": second % 2, "y_score": score, "country": country}


@pytest.fixture
def config(folder):
    """Write a file of configuration, with every type of value that an option has."""
    Path("log.jsonl").write_text("".join(f"{json.dumps(row(at))}\n" for at in range(150)))

    def config(text, **changes):
        options = {
            "files": '["log.jsonl"]',
            "task": '"binary"',
            "time": '"ts"',
            "unit": '"s"',
            "pane": '"1m"',
            "keep": '"1h"',
            "rollups": '["5m:1d"]',
            "by": '["country=DE,FR"]',
            "where": '["y_score>=0"]',
            "windows": '["2m"]',
            "metrics": '["roc_auc"]',
            "level": "0.5",
            "max_bad": '"2%"',
            "budget": "64",
            "checkpoint": '"ck.db"',
            **changes,
        }
        lines = [f"{name} = {value}" for name, value in options.items()]
        Path("m.toml").write_text("\n".join([*lines, text, ""]))

    return config


@pytest.fixture
def watch(call, monkeypatch):
    """Follow the log; one function is called after each step, the last one until the end."""

    def watch(*functions, options=()):
        left = [*functions, Monitor.stop]
        step = Monitor.step

        def stepped(self):
            done = step(self)
            (left.pop(0) if len(left) > 1 else left[0])(self)
            return done

        monkeypatch.setattr(watch_command, "_POLL_SECONDS", 0.001)
        with monkeypatch.context() as patched:
            patched.setattr(Monitor, "step", stepped)
            done = call("watch", "--config", "m.toml", *options)
        lines = [re.sub(r"^[-T:.0-9]+Z ", "", line) for line in done.err.splitlines(keepends=True)]
        said = "".join(line for line in lines if not line.startswith("streameval: info: "))
        return attrs.evolve(done, err=said)

    return watch


def nothing(_):
    pass


def hang_up(_):
    signal.raise_signal(signal.SIGHUP)


def test_rules_and_receivers_are_read_anew(config, watch, folder):
    def change(_):
        config(f'{GOOD}\non_alert = ["tee sent.json"]')
        hang_up(_)

    config("")
    done = watch(change, nothing)
    assert done.code == 0
    assert done.err.startswith(
        "streameval: note: m.toml: alerts, receivers and title are reloaded.\n"
    )
    assert "streameval: alert: roc_auc < 0.99 country=DE is firing, at " in done.err
    assert '"rule": "roc_auc < 0.99"' in (folder / "sent.json").read_text()


def test_what_is_typed_still_wins(config, watch):
    def change(_):
        config('alerts = ["no data for 1d"]')
        hang_up(_)

    config("")
    seen = []

    def look(monitor):
        seen.extend(monitor.snapshot().alerts)

    done = watch(change, look, options=("--alerts", "roc_auc{country=DE} < 0.5"))
    assert [one.rule for one in seen] == ["roc_auc{country=DE} < 0.5"], done.err


def test_title_is_read_anew(config, watch):
    titles = []

    def title(monitor):
        with urlopen(monitor._servers[0].url, timeout=20) as page:
            titles.append(re.search("<h1><bdi>(.*)</bdi></h1>", page.read().decode())[1])

    def change(monitor):
        title(monitor)
        config("", serve='":0"', title='"Click model"')
        hang_up(monitor)

    def drop(monitor):
        title(monitor)
        config("", serve='":0"')
        hang_up(monitor)

    config("", serve='":0"')
    done = watch(change, drop, title)
    assert done.code == 0, done.err
    assert titles[:3] == ["ck.db", "Click model", "ck.db"]


REFUSED = " The reload is refused; watch goes on.\n"


@pytest.mark.slow
@each(
    ("text", "changes"),
    [
        ("alerts = [", {}),
        ('alrts = ["roc_auc < 1"]', {}),
        ('alerts = ["rocauc < 1"]', {}),
        ('alerts = ["roc_auc{country=GB} < 1"]', {}),
        ('alerts = ["late labels > 1%"]', {}),
        ('on_alert = "true"', {}),
        ('title = "Click model"', {}),
        (f'{GOOD}\non_alert = "no-such-program"', {}),
        (f'{GOOD}\n[[on_alert]]\nto = "true"\nseverity = "page"', {}),
        ("", {"pane": '"1x"'}),
        ("", {"checkpoint": "7e"}),
    ],
)
@pytest.mark.parametrize("quiet", [(), ("--quiet",)])
def test_bad_file_is_refused_with_the_error_of_check(text, changes, quiet, config, watch, call):
    alerts = []

    def change(_):
        config(text, **changes)
        hang_up(_)

    def look(monitor):
        alerts.extend(monitor.snapshot().alerts)

    config(GOOD)
    done = watch(change, look, options=quiet)
    assert done.code == 0
    said = [line for line in done.err.splitlines(keepends=True) if "alert: " not in line]
    check = call("watch", "--config", "m.toml", "--check", *quiet)
    assert check.code == 2
    assert said == [check.err.removesuffix("\n") + REFUSED]
    assert {one.rule for one in alerts} == {"roc_auc < 0.99"}, "it goes on as before"


@each("name", ["pane", "where", "metrics", "checkpoint", "serve", "wait"])
def test_other_change_is_refused_and_names_the_option(name, config, watch):
    values = {"pane": '"2m"', "where": '["country=DE"]', "metrics": '["ks"]', "serve": "true"}
    values |= {"checkpoint": '"other.db"', "wait": '"1h"'}

    def change(_):
        config(GOOD, **{name: values[name]})
        hang_up(_)

    config("")
    done = watch(change, nothing)
    assert done.code == 0
    assert done.err == (
        f"streameval: error: m.toml: {name} cannot change while watch runs, only alerts, "
        f"false_alarms, on_alert, title. Restart it; --check says whether it can continue.{REFUSED}"
    )


def test_reload_that_is_refused_is_a_number(config, watch):
    seen = []

    def look(monitor):
        seen.append(monitor.vitals().is_reloaded)

    def change(_):
        config("alerts = [")
        hang_up(_)

    def mend(_):
        config(GOOD)
        hang_up(_)

    config("")
    watch(look, change, look, mend, look)
    assert seen == [True, False, True]
