"""Mistakes in the command: exit code 2 and one line that helps."""

import argparse
import inspect

import pytest
from cli.outcome import error_of
from offenders import each

import streameval as se
from streameval.cli import main
from streameval.cli.arguments import argument_parser

PARSER = argument_parser()
COMMANDS = PARSER._subparsers._group_actions[0].choices

LISTS = [{"y_true": [1, 0], "y_pred": [1, 0], "y_score": [0.1, 0.9]}]
ONE = [{"y_true": 1, "y_score": 0.5}]
WORD = [{"y_true": "ham", "y_score": 0.5}]
LISTED = "--classes, the positive one last, such as --classes"
NEEDED = "--pos-label yes needs the labels listed: add --classes"
UNLIKE = "--pos-label: none of the first rows has the label"
THREE = [{"y_true": 1, "y_score": [0.1, 0.2, 0.7]}]


@each("option", ["--y-true", "--y-pred", "--y-score", "--sample-weight"])
def test_eval_names_the_nearest_column(option, call, labels):
    assert error_of(call("eval", labels, option, "y_ture")) == (
        "no column 'y_ture' in the first rows: did you mean 'y_true'? "
        "Choose from id, y_true, y_pred."
    )


def test_eval_lists_the_columns_when_none_is_near(call, labels):
    assert error_of(call("eval", labels, "--y-true", "zzz")) == (
        "no column 'zzz' in the first rows: choose from id, y_true, y_pred."
    )


def test_eval_lists_some_of_many_columns(call, write):
    log = write("a.jsonl", [{f"c{n}": 1 for n in range(50)}])
    assert error_of(call("eval", log)).endswith(
        " c18, c19, ... --y-true, --y-pred name the columns."
    )


def test_eval_lists_columns_on_one_line_whatever_they_hold(call, write):
    log = write("a.jsonl", [{"\x1b[31m\nred": 1}])
    assert error_of(call("eval", log)).endswith(
        r"choose from '\x1b[31m\nred'. --y-true, --y-pred name the columns."
    )


def test_eval_asks_for_predictions(call, write):
    assert "no column 'y_pred'" in error_of(call("eval", write("a.csv", [{"y_true": 1}])))


@each(
    ("rows", "options", "message"),
    [
        (
            LISTS,
            ["--y-pred", "y_pred"],
            "`y_true` holds lists; pass --multilabel if they are 0 and 1, which MultiLabel",
        ),
        (
            ONE,
            ["--multilabel"],
            "--multilabel needs a list of 0 and 1, or columns, in `y_true`.",
        ),
        (
            LISTS,
            ["--multilabel", "--classes", "3"],
            "`y_true` holds 2 values a row, but there are 3 classes.",
        ),
        (THREE, ["--classes", "2"], "`y_score` holds 3 values a row, but there are 2 classes."),
        (ONE, ["--classes", "3"], "`y_score` holds one value a row, but there are 3 classes."),
        (
            WORD,
            [],
            "`y_true` holds text, 'ham', but the classes are numbers; list the labels",
        ),
        (
            ONE,
            ["--y-pred", "y_true,y_score"],
            "--y-pred takes one column, unless --multilabel is given.",
        ),
        (
            ONE,
            ["--y-true", "y_true,y_score"],
            "--y-true takes one column, unless --multilabel is given.",
        ),
        (
            [{"y_true": 1, "y_pred": 1}],
            ["--threshold", "1"],
            "--threshold is for scores, and `y_pred` holds labels.",
        ),
        (
            [{"y_true": 1, "y_pred": 1}],
            ["--scores", "real"],
            "--scores is for scores, and `y_pred` holds labels.",
        ),
        (
            [{"y_true": 1, "y_pred": 1}],
            ["--top-k", "2"],
            "--top-k is for scores, and `y_pred` holds labels.",
        ),
        (ONE, ["--pos-label", "x"], "--pos-label must be an integer as the labels are, got 'x'."),
        (
            ONE,
            ["--ignore-label", "x"],
            "--ignore-label must be an integer as the labels are, got 'x'.",
        ),
        (ONE, ["--pos-label", "7"], "--pos-label must be one of the two classes (0, 1), got 7."),
        (
            THREE,
            ["--pos-label", "1"],
            "--pos-label needs exactly two listed classes, got --pos-label 1.",
        ),
        (THREE, ["--top-k", "9"], "--top-k must be 1, or at most the number of three or more"),
        (
            LISTS,
            ["--multilabel", "--classes", "auto", "--top-k", "2", "--y-score", "y_score"],
            "--top-k must be 1",
        ),
        (ONE, ["-o", "a.jsonl"], "-o a.jsonl would overwrite an input."),
        (
            ONE,
            ["--require", "accuracy=0.9"],
            "'accuracy=0.9' is not a gate; write one like 'accuracy>=0.9'.",
        ),
        (ONE, ["--require", ">=0.9"], "'>=0.9' is not a gate"),
        (
            ONE,
            ["--require", "accuracy>=high"],
            "'accuracy>=high' compares with 'high', which is not a finite",
        ),
        (
            ONE,
            ["--require", "accuracy>=nan"],
            "'accuracy>=nan' compares with 'nan', which is not a finite",
        ),
        (
            ONE,
            ["--require", "acuracy>=1"],
            "no metric 'acuracy': did you mean 'accuracy'? Choose from n, tp,",
        ),
        (
            ONE,
            ["--require", "accuracy[1]>=1"],
            "'accuracy[1]': accuracy has no averages and no classes.",
        ),
        (ONE, ["--require", "n[1]>=1"], "'n[1]': n has no averages and no classes."),
        (
            ONE,
            ["--require", "recall[7]>=1"],
            "no class '7': choose from 0, 1, macro, micro, weighted.",
        ),
    ],
)
def test_eval_says_what_does_not_fit(rows, options, message, call, write):
    found = error_of(call("eval", write("a.jsonl", rows), *options))
    assert found.startswith(message)


@each(
    ("labels", "options", "message"),
    [
        (["yes", "no"], [], f"{LISTED} no,yes."),
        (["yes"], [], f"{LISTED} OTHER,yes."),
        (["yes", "no, never"], [], f"{LISTED} no,yes."),
        (["yes", "no", "maybe"], [], f"{LISTED} no,yes."),
        (["ham", "not spam"], [], f"{LISTED} 'ham,not spam'."),
        (["yes", "no"], ["--pos-label", "no"], "--pos-label no needs the labels listed: add "),
        (["no"], ["--pos-label", "yes"], f"{NEEDED} no,yes."),
        (["yes"], ["--pos-label", "yes"], f"{NEEDED} OTHER,yes."),
        (["yes", "no"], ["--pos-label", "yes"], f"{NEEDED} no,yes."),
        (["yes", "no"], ["--pos-label", "Yes"], f"{UNLIKE} 'Yes'; did you mean 'yes'?"),
    ],
)
def test_eval_says_how_to_list_labels_that_are_text(labels, options, message, call, write):
    log = write("a.csv", [{"y_true": label, "y_score": 0.5} for label in labels])
    found = error_of(call("eval", log, *options))
    assert found.removeprefix(
        f"`y_true` holds text, {labels[0]!r}, but the classes are numbers; list the labels with "
    ).startswith(message)


@each("scores", [[0.1, 0.2, 0.7], [0.3, 0.7]])
def test_eval_speaks_of_no_positive_label_where_each_class_has_a_score(scores, call, write):
    log = write("a.jsonl", [{"y_true": "ham", "y_score": scores}])
    assert error_of(call("eval", log)).endswith("list the labels with --classes a,b,...")


@each("name", ["a.csv", "a.jsonl", "a.parquet"])
@each("task", ["classification", "binary", "calibration"])
def test_eval_asks_whether_label_and_score_are_swapped(task, name, call, write):
    log = write(name, [{"hit": 1, "p": 0.687}, {"hit": 0, "p": 0.25}])
    options = ("--task", task, "--y-true", "p", "--y-score", "hit")
    assert error_of(call("eval", log, *options)) == (
        "`p` holds fractions, 0.687, which are not labels; are --y-true and --y-score swapped?"
    )


def test_eval_leaves_out_a_first_label_that_is_a_fraction(call, write):
    log = write("a.csv", [{"y_true": 0.5, "y_score": 1}, {"y_true": 1, "y_score": 1}])
    done = call("eval", log, "--max-bad", "1")
    assert (done.code, "2 rows of 1 file, 1 of them bad" in done.out) == (0, True)


@each("option", ["--classes", "--multilabel", "--pos-label", "--nan", "--bins"])
def test_eval_refuses_an_option_that_groups_do_not_take(option, call):
    given = [option] if OPTIONS[option] is None else [option, OPTIONS[option]]
    found = error_of(call("eval", "absent.csv", "--task", "binary", "--group", "user", *given))
    assert found.startswith(f"{option} cannot be used with --task grouped; it is for ")


def test_eval_names_the_option_of_a_format_that_cannot_be_read(call, stdin):
    stdin(b"PAR1")
    found = error_of(call("eval", "-", "--format", "parquet"))
    assert found == "--format parquet cannot be read from standard input."


OPTIONS = {
    "--y-true": "y_true",
    "--sample-weight": "w",
    "--y-pred": "y_pred",
    "--y-score": "y_score",
    "--classes": "auto",
    "--multilabel": None,
    "--threshold": "0",
    "--pos-label": "1",
    "--k": "1",
    "--top-k": "1",
    "--ignore-label": "0",
    "--budget": "none",
    "--scores": "probability",
    "--nan": "raise",
    "--group": "user",
    "--group-weight": "impressions",
    "--max-groups": "9",
    "--bins": "15",
    "--qrels": "a.qrels",
    "--no-count-missing": None,
    "--like": "trec_eval",
    "--measures": "map",
    "--relevance-level": "2",
    "--gain": "exp2",
    "--ties": "expected",
    "--ap-norm": "R",
    "--unjudged": "drop",
    "--negative": "zero",
    "--empty": "zero",
    "--missing": "zero",
    "--track-queries": None,
    "--rows-per-query": "9",
    "--max-open-queries": "9",
    "--per-query": None,
    "--trec": None,
    "--compare": None,
    "--intervals": None,
    "--versus": "v",
    "--query": "q",
    "--queries": "q",
    "--relevance": "r",
    "--doc": "d",
    "--retrieved": "t",
    "--num-relevant": "n",
    "--outputs": "a,b",
    "--item": "i",
    "--rank": "r",
    "--popularity": "p",
    "--n-items": "9",
    "--value": "v",
    "--model-a": "x",
    "--model-b": "x",
    "--winner": "x",
    "--models": "x,y",
    "--quantiles": "0.5",
}
COMPARE = " To compare runs query by query, use --task ranking --compare."
ADVICE = {
    ("--versus", "binary"): " To compare areas, use --measures roc_auc without --task.",
    ("--y-true", "ranking"): " For rankings, --relevance names the column of the truth.",
    ("--k", "ranking"): " For rankings, a measure names its cutoff, as in --measures ndcg@10.",
    ("--qrels", "paired"): COMPARE,
}
TAKEN = {
    "classification": {
        *("--y-true", "--sample-weight", "--y-pred", "--y-score", "--classes", "--multilabel"),
        *("--threshold", "--scores", "--pos-label", "--top-k", "--ignore-label", "--versus"),
        "--measures",
    },
    "paired": {
        *(
            "--y-true",
            "--sample-weight",
            "--y-pred",
            "--y-score",
            "--versus",
            "--classes",
            "--multilabel",
        ),
        *("--threshold", "--scores", "--pos-label", "--ignore-label", "--measures", "--budget"),
        *("--value", "--nan"),
    },
    "regression": {
        *("--y-true", "--sample-weight", "--y-pred", "--measures", "--budget", "--intervals"),
        *("--versus", "--outputs", "--nan"),
    },
    "binary": {
        *("--y-true", "--sample-weight", "--y-score", "--classes", "--multilabel", "--pos-label"),
        *("--budget", "--scores", "--nan", "--ignore-label", "--measures", "--group"),
    },
    "grouped": {
        *("--y-true", "--sample-weight", "--y-score", "--budget", "--scores"),
        *("--group", "--group-weight", "--max-groups"),
    },
    "calibration": {
        *("--y-true", "--sample-weight", "--y-score", "--classes", "--bins", "--intervals"),
        "--ignore-label",
    },
    "catalog": {"--item", "--rank", "--popularity", "--n-items", "--k", "--sample-weight"},
    "values": {"--value", "--quantiles", "--budget", "--nan", "--sample-weight", "--versus"},
    "preferences": {"--model-a", "--model-b", "--winner", "--models", "--sample-weight"},
    "ranking": {
        *("--qrels", "--no-count-missing", "--like", "--measures", "--relevance-level", "--gain"),
        *("--ties", "--ap-norm", "--unjudged", "--negative", "--nan", "--empty", "--missing"),
        *("--track-queries", "--rows-per-query", "--max-open-queries", "--per-query", "--trec"),
        *("--compare", "--versus", "--queries"),
        *("--query", "--relevance", "--y-score", "--doc", "--retrieved", "--num-relevant"),
        *("--sample-weight", "--budget", "--rank"),
    },
}


@each("task", TAKEN)
def test_eval_refuses_each_option_of_another_task(task, call):
    former = {"--top-k"} if task == "catalog" else set()
    for option in OPTIONS.keys() - TAKEN[task] - former:
        given = [option] if OPTIONS[option] is None else [option, OPTIONS[option]]
        others = ", ".join(other for other in TAKEN if option in TAKEN[other])
        found = error_of(call("eval", "absent.csv", "--task", task, *given))
        stated = f"{option} cannot be used with --task {task}; it is for {others}."
        assert found == stated + ADVICE.get((option, task), "")


@pytest.mark.parametrize("output", ["link.state", "folder/../labels.jsonl"])
def test_eval_never_overwrites_an_input(output, call, labels, folder):
    (folder / "folder").mkdir()
    (folder / "link.state").symlink_to(labels)
    assert error_of(call("eval", labels, "-o", output)) == f"-o {output} would overwrite an input."


def test_eval_names_a_class_that_was_not_met(call, labels):
    found = error_of(call("eval", labels, "--require", "recall[9]>=0.5"))
    assert found == "no class '9': choose from 0, 1, 2, macro, micro, weighted."


@each(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["eval"], "the following arguments are required: FILE"),
        (["evaluate"], "invalid choice: 'evaluate'"),
        (["eval", "a", "--jobs", "0"], "--jobs: must be an integer of at least 1, got '0'"),
        (["eval", "a", "--jobs", "two"], "--jobs: must be an integer of at least 1, got 'two'"),
        (["eval", "a", "--max-bad", "-1"], "--max-bad: must be an integer of at least 0, got '-1'"),
        (["eval", "a", "--max-bad", "x"], "--max-bad: must be an integer of at least 0, got 'x'"),
        (["eval", "a", "--level", "1"], "--level: must lie in [0, 1), got '1'"),
        (["eval", "a", "--level", "high"], "--level: must be a number, got 'high'"),
        (["eval", "a", "--threshold", "inf"], "--threshold: must be a number, got 'inf'"),
        (["eval", "a", "--format", "xml"], "--format: invalid choice: 'xml'"),
        (["eval", "a", "--task", "rank"], "--task: invalid choice: 'rank'"),
        (["eval", "a", "--y-pred", "p", "--y-score", "s"], "not allowed with argument --y-pred"),
        (["eval", "a", "b", "-x"], "unrecognized arguments: -x; see streameval eval --help."),
        (["merge", "a"], "the following arguments are required: -o"),
        (["show"], "the following arguments are required: STATE"),
        (["plot", "a"], "the following arguments are required: -o"),
    ],
)
def test_arguments_are_refused_with_a_reason(arguments, message, call):
    done = call(*arguments)
    assert done.code == 2
    assert done.err.startswith("streameval: error: ")
    assert done.err.endswith(" --help.\n")
    assert done.err.count("\n") == 1
    assert message in done.err


@each(
    ("arguments", "message"),
    [
        ("eval a --labls x", "no option --labls: did you mean --labels? See streameval eval "),
        (
            "eval a --checkpoint x",
            "no option --checkpoint here: it is for watch; see streameval eval --help",
        ),
        (
            "eval a --metric x",
            "no option --metric here: it is for plot; did you mean --metrics? See streameval eval ",
        ),
        ("eval a --kind x", "no option --kind here: it is for plot; see streameval eval "),
        ("evl a", "argument COMMAND: invalid choice: 'evl'; did you mean 'eval'? Choose from "),
        ("eval a --format jsn", "argument --format: invalid choice: 'jsn'; did you mean 'jsonl'?"),
        ("eval a --fail_under=x", "no option --fail_under: did you mean --require? See str"),
        ("merge a --ouput b", "no option --ouput: did you mean --output? See streameval merge "),
        ("show a --zzz", "no option --zzz; see streameval show "),
        ("--versoin", "no option --versoin: did you mean --version? See streameval "),
        (
            "show a --task binary",
            "no option --task here: it is for eval, watch; see streameval show ",
        ),
        ("--quiet show a", "no option --quiet here: it is for eval, watch, merge, show, "),
    ],
)
def test_misspelt_option_is_suggested_with_the_help_of_its_command(arguments, message, call):
    assert error_of(call(*arguments.split())).startswith(message)


def test_words_after_two_dashes_are_no_options(call):
    assert call("eval", "--", "--labels").err == (
        "streameval: error: --labels: no such file or directory.\n"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        *(["--help"], ["eval", "--help-all"], ["watch", "--help-all"]),
        *([name, "--help"] for name in COMMANDS),
    ],
    ids=" ".join,
)
def test_help_fits_80_columns(arguments, call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    done = call(*arguments)
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 80


@each("command", ["eval", "watch"])
def test_help_shows_what_people_use_and_help_all_the_rest(command, call):
    every = {action.option_strings[0] for action in visible(COMMANDS[command])}
    shown, rest = (
        {word.rstrip(",") for line in text.splitlines() for word in line.split()[:1]} & every
        for text in (call(command, "--help").out, call(command, "--help-all").out)
    )
    assert rest == every
    assert 18 <= len(shown) <= 24 < len(every) / 2


@each("task", TAKEN)
def test_help_of_a_task_shows_its_options(task, call):
    every = {one.option_strings[-1] for one in visible(COMMANDS["eval"])}
    for given in (["--task", task, "--help"], ["-h", f"--task={task}"]):
        lines = call("eval", *given).out.splitlines()
        shown = {word for line in lines if line.startswith("  -") for word in line.split()[:4]}
        assert shown & OPTIONS.keys() == TAKEN[task]
        assert {"--where", "--by", "--json"} < shown & every < every


def visible(parser):
    return [one for one in parser._actions if one.option_strings and one.help != argparse.SUPPRESS]


FORMER = {
    "--label": "--y-true",
    "--pred": "--y-pred",
    "--score": "--y-score",
    "--y-prob": "--y-score",
    "--weight": "--sample-weight",
    "--time-unit": "--unit",
    "--rollup": "--rollups",
    "--join": "--key",
    "--alert": "--alerts",
    "--window": "--windows",
    "--out": "--output",
    "--metric": "--metrics",
    "--curve": "--kind",
    "--fail-under": "--require",
}
REQUIRED = {"watch": ["--checkpoint", "ck.db"], "plot": ["-o", "a.png"]}
VALUES = {"unit": "s", "rollups": "1h:7d", "windows": "1h", "metrics": "n", "gates": "n>=1"}


def test_former_names_of_options_are_hidden_and_mean_the_same():
    met = set()
    for command, parser in COMMANDS.items():
        hidden = [one for one in parser._actions if one.help == argparse.SUPPRESS]
        for former in (name for action in hidden for name in action.option_strings):
            dest = parser._option_string_actions[former].dest
            given = [command, "a", *REQUIRED.get(command, []), former, VALUES.get(dest, "x")]
            now = [FORMER[former] if word == former else word for word in given]
            assert vars(PARSER.parse_args(given)) == vars(PARSER.parse_args(now))
            met.add(former)
    assert met == FORMER.keys()


@each(
    ("typed", "named"),
    [
        ("--unit=s", "--unit needs --time."),
        ("--time-unit=s", "--unit (typed as --time-unit) needs --time."),
        ("--rollup=1h", "--rollups (typed as --rollup) needs --time."),
    ],
)
def test_errors_name_the_former_spelling_that_was_typed(typed, named, capsys, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("y_true,y_pred\n1,1\n")
    assert main(["eval", str(log), typed]) == 2
    assert capsys.readouterr().err == f"streameval: error: {named}\n"


def test_arguments_of_the_library_are_options_of_the_same_name():
    """But for those that are chosen in another way, or that only programs set."""
    otherwise = {
        se.ConfusionAccumulator: {"from_scores", "include_unseen"},
        se.Paired: {"from_scores", "y_pred_a", "y_pred_b"},  # --y-pred and --versus
        se.RankingAccumulator: {"query_weight", "per_query"},  # --sample-weight; printed only
        se.Windowed: {"accumulator", "offset"},
        se.Monitor: {"accumulator", "predictions", "columns", "read_bytes", "clock"},
    }
    known = COMMANDS["eval"]._option_string_actions | COMMANDS["watch"]._option_string_actions
    classes = {*otherwise, se.PRCurveSketch, se.GroupedAUC, se.CalibrationAccumulator}
    for cls in {*classes, se.RegressionAccumulator}:
        arguments = {*inspect.signature(cls).parameters, *getattr(cls, "_arrays", ())}
        options = {f"--{name.replace('_', '-')}" for name in arguments - otherwise.get(cls, set())}
        assert options - known.keys() == set()


def test_help_has_the_defaults_of_a_monitor():
    """But for the bad rows that the command tolerates."""
    COMMANDS["watch"].describe()
    helps = {action.dest: action.help for action in COMMANDS["watch"]._actions}
    parameters = inspect.signature(se.Monitor).parameters.values()
    defaults = {one.name: one.default for one in parameters if isinstance(one.default, (str, int))}
    known = defaults.keys() & helps.keys() - {"max_bad", "migrate"}
    assert {"wait", "idle_after"} & known == {"idle_after"}
    assert [name for name in known if str(defaults[name]) not in helps[name]] == []


def test_help_explains_the_exit_codes(call):
    assert "exit codes:" in call("--help").out


def test_version_is_that_of_the_package(call):
    import streameval

    assert call("--version").out == f"streameval {streameval.__version__}\n"


SINGLE = [
    (command, action)
    for command, parser in COMMANDS.items()
    for action in parser._actions
    if action.option_strings and action.nargs != 0 and action.metavar != "GATE"
    if not isinstance(action, (argparse._AppendAction, argparse._ExtendAction))
]


@each(("command", "action"), SINGLE)
def test_option_that_takes_one_value_is_refused_twice(command, action, call):
    """Whichever of its names it has; one by one, since the first value would be lost."""
    value = str(next(iter(action.choices or ["1"])))
    value = {
        "metric": "accuracy",
        "sort": "n",
        "level": "0.5",
        "empty": "skip",
        "missing": "skip",
    }.get(action.dest, value)
    first, second = action.option_strings[0], action.option_strings[-1]
    told = error_of(call(command, first, value, second, value))
    assert told.startswith(f"argument {'/'.join(action.option_strings)}: was given twice, and")


@each("option", ["--quiet", "--json"])
def test_flag_may_be_repeated(option, call, labels):
    assert call("eval", labels, option, option).code == 0


def test_receivers_need_alerts(call, labels, tmp_path):
    told = error_of(
        call(
            *("watch", labels, "--time", "id", "--pane", "1h"),
            *("--checkpoint", tmp_path / "ck.db", "--on-alert", "cat"),
        )
    )
    assert told == "--on-alert needs --alerts, which says when there is an alert."
