"""`streameval completion`: what shells need to complete what is typed."""

import builtins

import pytest
import shtab
from offenders import each
from shell import bash

from streameval.cli.arguments import argument_parser
from streameval.cli.options import SHELLS
from streameval.reports import RESULTS

# What readline does when the tab key is pressed: the last word is the one to complete.
PRESS_TAB = """
eval "$(streameval completion bash)"
read -r _ _ _ _ complete _ <<< "$(complete -p streameval)"
tab() {
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
    "$complete" streameval "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    echo "${COMPREPLY[*]}"
}
"""


@pytest.mark.slow
def test_bash_is_told_what_completes(folder):
    done = bash('eval "$(streameval completion bash)" && complete -p streameval', folder)
    assert done.returncode == 0
    assert done.stdout.split()[-3:] == ["-F", "_shtab_streameval", "streameval"]


COMMANDS = argument_parser()._subparsers._group_actions[0].choices

# What is typed, and what there is to choose from.
TYPED = {
    "''": " ".join(COMMANDS),
    "d": "diff doctor",
    "eval --ta": "--task",
    "eval --task b": "binary",
    "eval --ties ''": "expected docid_desc pessimistic optimistic",
    "eval --scores ''": "probability real",
    "eval l": "log.csv",
    "eval log.csv --task ranking --qrels t": "test.qrels",
    "merge a.state b": "b.state",
    "show ''": "a.state b.state log.csv test.qrels",
    "show a.state --req": "--require",
    "diff a": "a.state",
    "diff a.state b": "b.state",
    "diff a.state b.state --fail": "--fail-on",
    "plot a.state --kind r": "ratings reliability roc",
    "plot a.state -o l": "log.csv",
    "completion ''": "bash zsh fish tcsh",
}


@pytest.fixture(scope="module")
def completed(tmp_path_factory):
    """Press the tab key after each of them, in one session."""
    folder = tmp_path_factory.mktemp("completion")
    for name in ("a.state", "b.state", "log.csv", "test.qrels"):
        (folder / name).touch()
    done = bash(PRESS_TAB + "".join(f"tab streameval {typed}\n" for typed in TYPED), folder)
    return dict(zip(TYPED, map(str.split, done.stdout.splitlines()), strict=True))


@pytest.mark.slow
@each("typed", TYPED)
def test_bash_completes(typed, completed):
    assert sorted(completed[typed]) == sorted(TYPED[typed].split())


@each("shell", SHELLS)
def test_every_shell_learns_commands_options_and_choices(shell, call):
    done = call("completion", shell)
    assert (done.code, done.err) == (0, "")
    kinds = [kind for result in RESULTS for kind in result.PICTURES]
    for word in ("diff", "fail-on", "docid_desc", *kinds):
        assert word in done.out


@each("meant", ["the state before", "the states after", "TREC judgements", '--output}"['])
def test_zsh_completes_files_where_files_are_meant(meant, call):
    lines = [line for line in call("completion", "zsh").out.splitlines() if meant in line]
    assert lines
    assert all("_files" in line for line in lines)


def test_zsh_completes_no_files_where_columns_are_meant(call):
    lines = call("completion", "zsh").out.splitlines()
    assert [line for line in lines if ":COLUMN:" in line and "_files" in line] == []


@each(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: shell"),
        (["elvish"], "argument shell: invalid choice: 'elvish'"),
    ],
)
def test_completion_refuses_what_is_no_shell(arguments, message, call):
    done = call("completion", *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_completion_says_that_there_is_no_shtab(call, monkeypatch):
    def refuse(name, *arguments):
        if name == "shtab":
            raise ImportError(name)
        return real_import(name, *arguments)

    real_import = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", refuse)
    done = call("completion", "bash")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "streameval: error: completion needs shtab: pip install 'streameval[completion]'.\n"
    )


def test_completion_says_that_shtab_is_too_old(call, monkeypatch):
    monkeypatch.setattr(shtab, "SUPPORTED_SHELLS", ["bash", "zsh", "tcsh"])
    done = call("completion", "fish")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "streameval: error: this shtab is too old for fish: pip install --upgrade shtab.\n"
    )
