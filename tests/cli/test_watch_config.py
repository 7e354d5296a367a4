"""`streameval watch --config`, `--check` and `--init`: options in a file, rehearsed and begun."""

import json
import tomllib
from pathlib import Path

import pytest
from offenders import each

from streameval.monitoring.alerts import read_rules

START = 1_699_999_980


def row(second, **more):
    return {"ts": START + second, "y_true": second % 2, "y_score": second % 10 / 10, **more}


def write(path, rows):
    Path(path).write_text("".join(f"{json.dumps(one)}\n" for one in rows))


@pytest.fixture
def log(folder):
    path = folder / "log.jsonl"
    write(path, [row(at, country="DE" if at % 3 else "FR") for at in range(150)])
    return path


@pytest.fixture
def config(folder, log):
    def config(text="", name="monitor.toml"):
        lines = [
            f"files = [{json.dumps(str(log))}]",
            'task = "binary"',
            'time = "ts"',
            'unit = "s"',
            'pane = "1m"',
            'keep = "1h"',
            'checkpoint = "ck.db"',
        ]
        keys = {line.partition(" ")[0] for line in text.splitlines()}
        kept = [line for line in lines if line.partition(" ")[0] not in keys]
        Path(name).write_text("\n".join([*kept, text, ""]))
        return name

    return config


def panes(folder):
    return (folder / "panes.jsonl").read_text()


TYPED = ("--task", "binary", "--time", "ts", "--unit", "s", "--pane", "1m", "--keep", "1h")


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("", ()),
        ('by = "country"', ("--by", "country")),
        ('by = ["country=DE,FR"]', ("--by", "country=DE,FR")),
        ('metrics = ["roc_auc", "ks"]', ("--metrics", "roc_auc,ks")),
        ('metrics = "roc_auc,ks"', ("--metrics", "roc_auc,ks")),
        ("level = 0.5", ("--level", "0.5")),
        ("max-bad = 3", ("--max-bad", "3")),
        ("once = false", ()),
        (
            'where = ["country=DE", "y_score>0.2"]',
            ("--where", "country=DE", "--where", "y_score>0.2"),
        ),
        ('rollups = ["5m:1d"]\nwindows = ["2m"]', ("--rollups", "5m:1d", "--windows", "2m")),
        ('classes = ["0", "1"]', ("--classes", "0,1")),
    ],
)
def test_file_says_what_could_be_typed(text, typed, config, folder, log, call):
    by_file = call("watch", "--config", config(text), "--once", "-o", "panes.jsonl")
    lines = panes(folder)
    (folder / "panes.jsonl").unlink()
    by_words = call(
        *("watch", log, *TYPED, *typed, "--checkpoint", "other.db", "--once"),
        *("-o", "panes.jsonl"),
    )
    assert by_file == by_words
    assert lines == panes(folder)
    assert by_file.code == 0, by_file.err


def test_typed_option_wins(config, folder, call):
    done = call("watch", "--config", config('metrics = ["ks"]'), "--once", "--metrics", "roc_auc")
    assert "roc_auc" in done.out
    assert "ks" not in done.out


def test_typed_files_win(config, folder, call):
    write(folder / "short.jsonl", [row(at) for at in range(61)])
    done = call("watch", "short.jsonl", "--config", config(), "--once")
    assert "61 rows" in done.out


def test_typed_rival_wins(config, folder, call):
    write(folder / "both.jsonl", [{"ts": START, "y_true": 1, "guess": 1, "p": 0.1}])
    text = 'files = ["both.jsonl"]\ntask = "classification"\ny_score = "p"'
    done = call("watch", "--config", config(text), "--once", "--y-pred", "guess", "--classes", "2")
    assert "1.0000" in done.out, "the score would be wrong"


def test_list_of_columns(config, folder, call):
    write(folder / "wide.jsonl", [{"ts": START, "y_true": 1, "p a": 0.2, "p b": 0.8}])
    text = 'files = ["wide.jsonl"]\ntask = "classification"\nclasses = 2\ny_score = ["p a", "p b"]'
    done = call("watch", "--config", config(text), "--once")
    assert (done.code, done.err) == (0, "")
    assert "1 row, " in done.out


def test_labels_of_several_files(config, folder, call):
    rows = [row(at, id=at) for at in range(150)]
    write("predictions.jsonl", [{k: v for k, v in one.items() if k != "y_true"} for one in rows])
    truths = [{k: v for k, v in one.items() if k != "y_score"} for one in rows]
    write("a.jsonl", truths[::2])
    write("b.jsonl", truths[1::2])
    text = 'labels = ["a.jsonl", "b.jsonl"]\nkey = "id"\nwait = "30s"\nfiles = "predictions.jsonl"'
    done = call("watch", "--config", config(text), "--once")
    assert (done.code, done.err) == (0, "")
    assert "150 rows" in done.out


@each(
    ("text", "message"),
    [
        ('paen = "1m"', "monitor.toml: no option 'paen'; did you mean 'pane'?"),
        ('alert = "x"', "monitor.toml: no option 'alert'; did you mean 'alerts'?"),
        ("check = true", "monitor.toml: no option 'check'; "),
        ("pane = true", "monitor.toml: pane takes a value, not true."),
        ('once = "yes"', "monitor.toml: once must be true or false, got 'yes'."),
        ("keep = {a = 1}", "monitor.toml: keep must be text, a number, or a list of them, got {'a"),
        ("by = [true]", "monitor.toml: by must be text, a number, or a list of them, got True."),
        ('y_score = ["a,b", "c"]', "monitor.toml: y_score cannot be a list of texts with commas, "),
        ('files = ["--once"]', "monitor.toml: files must not begin with -, got '--once'; write "),
        ("keep =", "monitor.toml: is not TOML: Invalid value (at line 7, column 7)."),
        (
            "max_bad = 0.5",
            "monitor.toml: argument --max-bad: must be an integer of at least 0, got '0.5'; a shar",
        ),
        ('pane = "1x"', "monitor.toml: argument --pane: must be a duration such as 30s, "),
        ('pane = "0s"', "monitor.toml: argument --pane: must be a duration such as 30s, "),
        ('task = "binry"', "monitor.toml: argument --task: invalid choice: 'binry'; did you "),
        ('y_pred = "a"\ny_score = "b"', "monitor.toml: argument --y-score: not allowed with "),
    ],
)
def test_mistake_in_a_file_names_file_and_key(text, message, config, call):
    done = call("watch", "--config", config(text))
    assert done.code == 2
    assert done.err.startswith(f"streameval: error: {message}"), done.err


@each(
    ("data", "reason"),
    [
        (None, "no such file or directory."),
        (b"\xff = 1", "is not TOML: 'utf-8'"),
        (b"keep = " + b"9" * 5000, "is not TOML: "),
        (b"files = " + b"[" * 5000, "is not TOML: "),
    ],
)
def test_file_that_cannot_be_read(data, reason, folder, call):
    if data is not None:
        Path("m.toml").write_bytes(data)
    done = call("watch", "--config", "m.toml")
    assert done.code == 2
    assert done.err.startswith(f"streameval: error: m.toml: {reason}")


def test_message_about_typed_words_names_no_file(config, call):
    done = call("watch", "--config", config(), "--pane", "1x")
    assert done.err.startswith("streameval: error: argument --pane: ")


@each(
    ("words", "missing"),
    [
        ((), "watch needs FILE, or files in what --config names."),
        (("log.jsonl",), "watch needs --checkpoint, the file that a restart continues from."),
    ],
)
def test_what_is_needed(words, missing, call):
    done = call("watch", *words)
    assert (done.code, done.err) == (2, f"streameval: error: {missing}\n")


REHEARSED = "streameval: note: a rehearsal: nothing was written or sent.\n"


def test_rehearsal_shows_what_would_fire_and_writes_nothing(config, folder, call):
    path = folder / "sent"
    told = f"on_alert = \"python -c 'open({str(path)!r}, mode=chr(119))'\""
    text = f'alerts = ["roc_auc < 0.99"]\n{told}\noutput = "panes.jsonl"\nserve = true'
    before = {*folder.iterdir()}
    done = call("watch", "--config", config(text), "--check")
    assert done.code == 1, "as --once, while an alert is firing"
    assert "firing: roc_auc < 0.99" in done.out
    assert done.err.startswith("streameval: alert: roc_auc < 0.99 is firing, at ")
    assert done.err.endswith(REHEARSED)
    assert {*folder.iterdir()} - before == {folder / "monitor.toml"}
    assert (
        f"note: watch would read {folder / 'log.jsonl'}, count panes of 1m, check 1 rule, "
        "serve 127.0.0.1:8765, and write panes.jsonl, ck.db.\n"
    ) in done.err


def test_rehearsal_says_what_is_joined(folder, call):
    write("log.jsonl", [{"ts": n, "id": n, "y_pred": n % 2, "plan": "a"} for n in range(9)])
    write("labels.jsonl", [{"ts": n, "id": n, "y_true": 1} for n in range(9)])
    text, _ = begun(call, "log.jsonl", "--labels", "labels.jsonl")
    Path("monitor.toml").write_text(text.replace("# by", "by"))
    done = call("watch", "--config", "monitor.toml", "--unit", "s", "--check")
    assert done.code == 0, done.err
    assert (
        "note: watch would read log.jsonl, join labels.jsonl by id within 1d, "
        "count panes of 1h for each plan, and write monitor.db.\n"
    ) in done.err


@each(
    ("text", "missing"),
    [
        ('on_alert = "true"', "--on-alert needs --alerts, which says when there is an alert."),
        ("serve = true\nonce = true", "--serve cannot be used with --once, which ends at once."),
    ],
)
def test_rehearsal_refuses_what_the_run_will_refuse(text, missing, config, call):
    done = call("watch", "--config", config(text), "--check")
    assert (done.code, done.err) == (2, f"streameval: error: {missing}\n")


TABLES = """
[[alerts]]
rule = "roc_auc < 0.99"
name = "ranking is worse"
severity = "page"
labels = {team = "search"}

[[alerts]]
rule = "no data for 1h"

[[on_alert]]
to = "cat"
severity = ["page"]

[[on_alert]]
to = "https://hooks.example.org/s3cret"
format = "slack"
rules = ["no data for 1h"]
"""


def test_rules_and_receivers_can_be_tables(config, folder, call):
    done = call("watch", "--config", config(TABLES), "--check")
    assert done.code == 1
    alert, _, *notes = done.err.splitlines()
    assert alert.startswith("streameval: alert: ranking is worse: roc_auc < 0.99 is firing, at ")
    assert notes == [
        "streameval: note: cat (severity page) would get 1 event.",
        "streameval: note: https://hooks.example.org (rules no data for 1h) would get 0 events.",
        REHEARSED.strip(),
    ]


def test_typed_rules_and_receivers_can_be_tables(config, folder, call):
    typed = json.dumps(tomllib.loads(TABLES)["alerts"][0])
    receiver = '{"to": "tee sent.json", "severity": "page"}'
    done = call("watch", "--config", config(), "--once", "--alerts", typed, "--on-alert", receiver)
    assert done.code == 1
    event = json.loads((folder / "sent.json").read_text())
    assert (event["name"], event["labels"]) == ("ranking is worse", {"team": "search"})


@each(
    ("text", "message"),
    [
        ('[[alerts]]\nrle = "roc_auc < 1"', "`--alerts` has no key 'rle': did you mean 'rule'?"),
        (TABLES.replace('["page"]', '["pge"]'), "`--on-alert` names a severity 'pge', which no "),
    ],
)
@pytest.mark.parametrize("check", [(), ("--check",)])
def test_mistake_in_a_table_names_the_key(text, message, check, config, call):
    done = call("watch", "--config", config(text), *check)
    assert done.code == 2
    assert message.replace("`", "") in done.err.replace("`", ""), done.err


def test_bad_rows_raise_an_alert_before_they_end_the_monitor(config, folder, log, call):
    with log.open("a") as file:
        file.write("broken\n" * 3)
    done = call("watch", "--config", config('alerts = ["bad rows > 1%"]'), "--check")
    assert "streameval: alert: bad rows > 1% is firing, at 0.0196" in done.err
    assert done.code == 1
    done = call("watch", "--config", config(), "--check", "--alerts", "unmatched labels > 5%")
    assert "--alerts 'unmatched labels > 5%' needs --labels." in done.err


def test_heartbeat_needs_no_alerts(config, folder, call):
    text = '[[on_alert]]\nto = "tee beat.json"\nheartbeat = "1h"'
    done = call("watch", "--config", config(text), "--check")
    assert (done.code, done.err.splitlines()[1:]) == (0, REHEARSED.splitlines())
    assert not (folder / "beat.json").exists()
    assert call("watch", "--config", config(text), "--once").code == 0


def test_typed_table_must_be_json(config, call):
    done = call("watch", "--config", config(), "--alerts", "{rule}")
    assert done.code == 2
    assert "argument --alerts: must be text or a JSON object: Expecting property" in done.err


def test_rehearsal_continues_on_a_copy_of_the_checkpoint(config, folder, log, call):
    call("watch", "--config", config(), "--once")
    held = (folder / "ck.db").read_bytes()
    with log.open("a") as file:
        file.write(json.dumps(row(200)) + "\n")
    done = call("watch", "--config", config(), "--check")
    assert (done.code, done.err.splitlines()[1:]) == (0, REHEARSED.splitlines())
    assert "151 rows" in done.out
    assert (folder / "ck.db").read_bytes() == held


def test_rehearsal_names_the_checkpoint_that_does_not_fit(config, folder, call):
    call("watch", "--config", config(), "--once")
    done = call("watch", "--config", config(), "--check", "--pane", "2m")
    assert done.code == 4
    assert done.err == (
        "streameval: error: ck.db: cannot continue: --pane differs ('1m' and '2m'). "
        "Name another --checkpoint, or try --migrate.\n"
    )


@each("key", ["checkpoint", "output"])
def test_rehearsal_names_a_folder_that_is_not_there(key, config, folder, call):
    done = call("watch", "--config", config(f'{key} = "absent/file"'), "--check")
    assert (done.code, done.err) == (
        3,
        "streameval: error: absent/file: there is no such folder.\n",
    )


def test_rehearsal_takes_an_empty_file_for_no_checkpoint(config, folder, call):
    (folder / "ck.db").touch()
    assert call("watch", "--config", config(), "--check", "--quiet").err == ""


def test_rehearsal_refuses_what_is_no_checkpoint(config, folder, call):
    (folder / "ck.db").write_text("notes")
    done = call("watch", "--config", config(), "--check")
    assert (done.code, done.err) == (3, "streameval: error: ck.db: is not a checkpoint.\n")


def test_rehearsal_does_not_take_rows_from_standard_input(config, call):
    done = call("watch", "-", "--config", config(), "--check")
    assert done.code == 2
    assert "standard input" in done.err


def begun(call, *files):
    done = call("watch", "--init", *files)
    assert (done.code, done.err) == (0, "")
    return done.out, tomllib.loads(done.out)


def test_first_look_makes_a_file_that_runs(folder, log, call):
    text, _ = begun(call, log)
    Path("monitor.toml").write_text(text)
    done = call("watch", "--config", "monitor.toml", "--once")
    assert (done.code, done.err) == (0, "")
    assert "150 rows" in done.out


BOTH = {"y_true": 1, "y_pred": 0}


@each(
    ("rows", "found"),
    [
        ([row(0)], {"task": "binary", "y_score": "y_score", "time": "ts", "unit": "s"}),
        ([{**BOTH, "Time": 1_700_000_000_000}], {"y_pred": "y_pred", "time": "Time", "unit": "ms"}),
        ([{**BOTH, "ts": 3}], {"time": "ts"}),
        ([{**BOTH, "seen": "2026-01-01T10:00Z"}], {"time": "seen", "task": "classification"}),
        ([{**BOTH, "seen": "long-winded, but no time"}], {}),
        ([{**BOTH, "seen": None}], {}),
        ([{"y_true": 2.5, "y_pred": 3}], {"task": "regression", "y_pred": "y_pred"}),
        ([{"y_true": 2, "y_pred": 3.5}], {"task": "regression"}),
        ([{"label": "cat", "prediction": "dog"}], {"y_true": "label", "y_pred": "prediction"}),
        ([{"label": "cat", "score": 0.5}], {"task": "classification", "y_score": "score"}),
        ([{"label": 1, "a": [1, 2]}], {"y_true": "label"}),
        ([{"label": 1, "y_pred": 10**400}], {"y_true": "label", "y_pred": "y_pred"}),
    ],
)
def test_first_look_finds_columns(rows, found, folder, call):
    write("log.jsonl", rows)
    _, table = begun(call, "log.jsonl")
    guesses = ("task", "y_true", "y_pred", "y_score", "time", "unit")
    guessed = {name: table[name] for name in guesses if name in table}
    assert guessed.items() >= found.items(), guessed
    assert ("time" in guessed) == ("time" in found)


@each(
    ("predictions", "labels", "found"),
    [
        (
            {"ts": 5, "id": 1, "y_pred": 3},
            {"id": 1, "y_true": 4},
            {"task": "classification", "y_true": "y_true", "y_pred": "y_pred", "key": "id"},
        ),
        (
            {"uuid": "a", "score": 0.5},
            {"uuid": "a", "click": 1},
            {"task": "binary", "y_true": "click", "y_score": "score", "key": "uuid"},
        ),
        ({"id": 1, "y_pred": 1.5}, {"y_true": 0.5}, {"task": "regression"}),
    ],
)
def test_first_look_joins_labels(predictions, labels, found, folder, call):
    write("log.jsonl", [predictions])
    write("labels.jsonl", [labels])
    text, table = begun(call, "log.jsonl", "--labels", "labels.jsonl")
    assert table.items() >= {**found, "labels": ["labels.jsonl"], "wait": "1d"}.items(), table
    assert ("key" in table) == ("key" in found)
    assert ("# key = ..." in text) == ("key" not in found)


def test_first_look_at_labels_makes_a_file_that_runs(folder, call):
    write("log.jsonl", [{"ts": n, "id": n, "y_pred": n % 2} for n in range(9)])
    write("labels.jsonl", [{"ts": n, "id": n, "y_true": 1} for n in range(9)])
    text, _ = begun(call, "log.jsonl", "--labels", "labels.jsonl")
    Path("monitor.toml").write_text(text)
    done = call("watch", "--config", "monitor.toml", "--unit", "s", "--once")
    assert (done.code, done.err) == (0, "")


@each(
    ("values", "proposed"),
    [
        ("abab", "plan=a,b"),
        (["b", "b", "v1.2", "v1.2"], "plan=b,v1.2"),
        (["a, b", "a, b"], "plan"),
        ("abcd", "country=DE,FR"),
        ([*map(chr, range(97, 109))] * 3 + ["z"], "plan=a,b,c,d,e,f,g,h,i,j"),
    ],
)
def test_first_look_proposes_slices_of_few_texts(values, proposed, folder, call):
    write("log.jsonl", [{**BOTH, "plan": plan, "at": "2026-01-01"} for plan in values])
    text, _ = begun(call, "log.jsonl")
    assert f'# by = ["{proposed}"]' in text


def test_proposed_rules_are_rules(folder, log, call):
    done = call("watch", "--init", str(log))
    (proposed,) = [one for one in done.out.splitlines() if one.startswith("# alerts = ")]
    assert len(read_rules(tomllib.loads(proposed.removeprefix("# "))["alerts"])) == 2


def test_names_are_written_as_toml(folder, call):
    name = 'odd "name"\x7f\n.jsonl'
    write(name, [BOTH])
    _, table = begun(call, name)
    assert table["files"] == [name]


@each("rows", [None, []])
def test_first_look_needs_rows(rows, folder, call):
    if rows is not None:
        write("log.jsonl", rows)
    done = call("watch", "--init", "log.jsonl")
    assert (done.code, done.err) == (
        3,
        "streameval: error: log.jsonl: there are no rows to look at; does it exist?\n",
    )


def test_init_writes_the_alerts_that_it_is_given(call, write):
    write("log.jsonl", [{"ts": "2026-01-01T00:00:00", "y_true": 1, "y_score": 0.5}])
    rules = ["--alerts", "roc_auc < 0.7", "--alerts", '{"rule": "no data for 1h", "name": "quiet"}']
    found = tomllib.loads(call("watch", "--init", "log.jsonl", *rules).out)
    assert found["alerts"] == ["roc_auc < 0.7", {"rule": "no data for 1h", "name": "quiet"}]
