"""The text of rules: what is read, what is refused and where, and the canonical form."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from offenders import each

from streameval.errors import InvalidInputError
from streameval.metrics.evidence import Limit
from streameval.monitoring.alerts import parse_rule
from streameval.monitoring.metric_rules import EvidenceRule, MetricRule, ValueRule
from streameval.monitoring.rule_text import Selector
from streameval.monitoring.rules import ShareRule, SilenceRule
from streameval.results.names import Inequality, MetricName


def claim(metric: str, sign: str, number: float, of: str | None = None) -> Inequality:
    return Inequality(MetricName(metric, of), sign, number)


@each(
    ("text", "rule"),
    [
        ("recall[1] < 0.8", EvidenceRule(claim("recall", "<", 0.8, "1"))),
        ("rmse>=1e3", EvidenceRule(claim("rmse", ">=", 1000.0))),
        ("recall_at(0.5) <= .25", EvidenceRule(claim("recall_at(0.5)", "<=", 0.25))),
        ("my model/ndcg@10 < 0", EvidenceRule(claim("my model/ndcg@10", "<", 0.0))),
        ("recall[a<b] > -1", EvidenceRule(claim("recall", ">", -1.0, "a<b"))),
        (
            "accuracy < 0.9 for 3 panes, n >= 500",
            ValueRule(claim("accuracy", "<", 0.9), lasting=3, min_n=500),
        ),
        (
            " accuracy<0.9,n>=5,over 90m , for 1 pane ",
            ValueRule(claim("accuracy", "<", 0.9), over="90m", lasting=1, min_n=5),
        ),
        ("accuracy < 1 for 1h30m", ValueRule(claim("accuracy", "<", 1.0), lasting="90m")),
        ("accuracy < 1 over 2 panes", ValueRule(claim("accuracy", "<", 1.0), over=2)),
        (
            "accuracy{all} < 1",
            EvidenceRule(claim("accuracy", "<", 1.0), Selector(())),
        ),
        (
            "recall[b]c]{ country = DE , path='a/\\'b{' } < 1",
            EvidenceRule(
                claim("recall", "<", 1.0, "b]c"),
                Selector((("country", "DE", False), ("path", "a/'b{", True))),
            ),
        ),
        (
            'accuracy{"my column"=New York} < 1',
            EvidenceRule(
                claim("accuracy", "<", 1.0), Selector((("my column", "New York", False),))
            ),
        ),
        ("coverage < 0.5 for 3 panes", ValueRule(claim("coverage", "<", 0.5), lasting=3)),
        ("no data for 10m", SilenceRule(of_labels=False, duration=600_000_000)),
        (" labels  stalled for 1h ", SilenceRule(of_labels=True, duration=3_600_000_000)),
        ("late  labels>1%", ShareRule("late labels", 0.01)),
        ("late labels > 0.005", ShareRule("late labels", 0.005)),
        ("bad rows > 0.5%", ShareRule("bad rows", 0.005)),
        ("unmatched labels>5%", ShareRule("unmatched labels", 0.05)),
    ],
)
def test_rule_is_read(text: str, rule: Any) -> None:
    assert parse_rule(text) == rule
    assert parse_rule(rule.text) == rule


@each(
    ("text", "canonical"),
    [
        ("recall[1]<.80", "recall[1] < 0.8"),
        ("n_x > 3.0 n>=2 for 60m", "n_x > 3 for 1h, n >= 2"),
        ('accuracy{a=\'1\',b=x y,c="q\\"\\\\"} < 1', 'accuracy{a="1",b=x y,c="q\\"\\\\"} < 1'),
        ("accuracy{ all } < 1 over 120s", "accuracy{all} < 1 over 2m"),
        ("no data for 60m", "no data for 1h"),
        ("labels stalled for 90s", "labels stalled for 90s"),
        ("late labels>0.07", "late labels > 7%"),
    ],
)
def test_rule_has_a_canonical_form(text: str, canonical: str) -> None:
    assert parse_rule(text).text == canonical


@each(
    ("text", "expected", "position", "got"),
    [
        ("", "a metric", 0, "the end"),
        ("< 3", "a metric", 0, "'< 3'"),
        ("recall", "one of <, <=, > and >= after the metric", 6, "the end"),
        ("recall == 3", "one of <, <=, > and >= after the metric", 7, "'== 3'"),
        ("recall{a=b} == 3", "one of <, <=, > and >=", 12, "'== 3'"),
        ("recall << 3", "a finite number", 8, "'< 3'"),
        ("recall <", "a finite number", 8, "the end"),
        ("recall < nan", "a finite number", 9, "'nan'"),
        ("recall < 0,8", "over, for or n >=", 11, "'8'"),
        ("recall < 0.8 since 3", "over, for or n >=", 13, "'since 3'"),
        ("recall < 0.8,", "over, for or n >=", 13, "the end"),
        ("recall < 0.8 for", "3 panes, or a duration such as 15m", 16, "the end"),
        ("recall < 0.8 for 3", "3 panes, or a duration such as 15m", 17, "'3'"),
        ("recall < 0.8 for 0 panes", "at least 1 pane", 17, "'0 panes'"),
        ("recall < 0.8 for 0s", "3 panes, or a duration such as 15m", 17, "'0s'"),
        ("recall < 0.8 for 1m for 1m", "for once", 20, "'for 1m'"),
        ("recall < 0.8, n >= many", "a count", 19, "'many'"),
        ("recall{} < 1", "the column of slices, or all", 7, "'} < 1'"),
        ("recall{a} < 1", "= after the column", 8, "'} < 1'"),
        ("recall{a=} < 1", "a value", 9, "'} < 1'"),
        ("recall{a=~b} < 1", "a value", 9, "'~b} < 1'"),
        ("recall{a=b < 1", "} after the value", 14, "the end"),
        ("recall{a=b,a=c} < 1", "another column", 11, "'a=c} < 1'"),
        ("coverage < 1 over 1h", "coverage of a pane, without over", 0, "'coverage < 1 over 1h'"),
        ("no data for ever", "a duration such as 10m", 12, "'ever'"),
        ("no data for 10m!", "the end of the rule", 15, "'!'"),
        ("labels stalled for ", "a duration such as 10m", 19, "the end"),
        ("late labels > ", "a share such as 1%", 14, "the end"),
        ("late labels > few", "a share such as 1%", 14, "'few'"),
        ("late labels > 100%", "a share such as 1%", 14, "'100%'"),
        ("late labels > 1% for 1h", "the end of the rule", 17, "'for 1h'"),
    ],
)
def test_error_names_the_rule_and_the_position(
    text: str, expected: str, position: int, got: str
) -> None:
    message = f"{text!r} is not a rule: expected {expected} at position {position}, got {got}."
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}"):
        parse_rule(text)


def test_rule_must_be_text() -> None:
    with pytest.raises(InvalidInputError, match="`rule` must be text, got 3"):
        parse_rule(3)  # type: ignore[arg-type]


def test_evidence_decides_a_rule_without_clauses() -> None:
    assert isinstance(parse_rule("recall < 0.8"), EvidenceRule)
    for text in ("recall < 1 for 1 pane", "recall < 1 over 1h", "recall < 1, n >= 0", "coverage<1"):
        assert isinstance(parse_rule(text), ValueRule)


@each(("sign", "is_floor"), [("<", True), ("<=", True), (">", False)])
def test_limit_is_what_is_kept_while_there_is_no_alarm(sign: str, is_floor: bool) -> None:
    rule = parse_rule(f"recall {sign} 0.8")
    assert isinstance(rule, MetricRule)
    assert rule.limit == Limit(0.8, is_floor=is_floor)


@each(
    ("pairs", "value", "chosen"),
    [
        ([("a", "1", False)], 1, True),
        ([("a", "1", False)], "1", True),
        ([("a", "1", True)], 1, False),
        ([("a", "1", True)], "1", True),
        ([("a", "(missing)", False)], None, True),
        ([("a", "(missing)", True)], None, False),
        ([("a", "2", False)], 1, False),
        ([("b", "1", False)], 1, False),
    ],
)
def test_selector_chooses_a_slice_by_its_text(
    pairs: list[tuple[str, str, bool]], value: Any, chosen: bool
) -> None:
    assert Selector(tuple(pairs)).chooses({"a": value}) is chosen


def test_selector_of_several_columns_names_all_of_them_in_any_order() -> None:
    selector = Selector((("b", "y", False), ("a", "x", False)))
    assert selector.chooses({"a": "x", "b": "y"})
    assert not selector.chooses({"a": "y", "b": "x"})
    assert not Selector((("a", "x", False),)).chooses({"a": "x", "b": "y"})


NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


@given(
    pairs=st.dictionaries(NAMES, st.tuples(NAMES, st.booleans()), max_size=3),
    number=st.floats(allow_nan=False, allow_infinity=False),
    over=st.sampled_from([None, 1, 20, "90m"]),
    min_n=st.sampled_from([None, 0, 500]),
)
def test_canonical_form_is_read_as_the_same_rule(
    pairs: dict[str, tuple[str, bool]], number: float, over: Any, min_n: int | None
) -> None:
    selector = Selector(tuple((column, *value) for column, value in pairs.items()))
    named = claim("recall", "<", number, "a b")
    is_compared = over is not None or min_n is not None
    rule: MetricRule = EvidenceRule(named, selector)
    if is_compared:
        rule = ValueRule(named, selector, over, None, min_n)
    again = parse_rule(rule.text)
    assert isinstance(again, type(rule))
    assert again.text == rule.text
    assert again.claim == rule.claim
    if isinstance(again, ValueRule):
        assert (again.over, again.min_n) == (over, min_n)
    assert again.selector is not None
    assert [pair[:2] for pair in again.selector.pairs] == [pair[:2] for pair in selector.pairs]


def refusal_of(text: str) -> str:
    try:
        parse_rule(text)
    except InvalidInputError as error:
        return str(error)
    return ""


@given(text=st.text("recall<>=0.5{}[]\"'\\, nfoverpdatzbs", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    refusal = refusal_of(text)
    if refusal:
        assert refusal.startswith(f"{text!r} is not a rule: expected ")
    else:
        canonical = parse_rule(text).text
        assert parse_rule(canonical).text == canonical
