"""Ask libraries of rank measures the same questions; fill the docs' tables of their answers.

Run ``python docs/rank_divergence.py`` after ``pip install . --group benchmarks``. It fails where
an answer of a library is not what streameval gives with the options that the second table names.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import attrs
import numpy as np

import streameval as se

Tables = dict[str, dict[str, float]]

TOLERANCE = 1e-10
IN_FLOAT32 = 1e-6
"""torchmetrics adds and divides in float32."""
FIVE_DECIMALS = 5e-6
"""ir_measures runs gdeval, a Perl script, for gains of 2^rel - 1; it prints so many."""
RAISES = "raises"
MARKS = ("<!-- answers by library -->", "<!-- ways to other answers -->")
PACKAGES = {
    "trec_eval": "pytrec-eval-terrier",
    "scikit-learn": "scikit-learn",
    "ranx": "ranx",
    "ir_measures": "ir_measures",
    "torchmetrics": "torchmetrics",
}


@attrs.frozen
class Data:
    """Scores of what a system returned, and what is known of documents, by query."""

    run: Tables
    qrels: Tables

    @classmethod
    def of(cls, documents: str, scores: list[float], levels: list[int]) -> Data:
        """Make one query; documents without a score were judged, and not returned."""
        names = documents.split()
        run = dict(zip(names, scores, strict=False))
        return cls({"1": run}, {"1": dict(zip(names, levels, strict=False))})

    def rows(self) -> list[tuple[list[float], list[int]]]:
        """Return scores and levels of what was returned; what nobody judged has level 0."""
        return [
            (list(run.values()), [int(self.qrels[query].get(document, 0)) for document in run])
            for query, run in self.run.items()
        ]


Ask = Callable[[Data], float]


def trec_eval(measure: str, **options: Any) -> Ask:
    """Ask pytrec_eval, which is trec_eval inside, for the mean over topics."""

    def ask(data: Data) -> float:
        import pytrec_eval  # noqa: PLC0415 - the documentation is built without libraries

        evaluator = pytrec_eval.RelevanceEvaluator(data.qrels, {measure}, **options)
        found = [
            value for topic in evaluator.evaluate(data.run).values() for value in topic.values()
        ]
        return float(np.mean(found))

    return ask


def scikit_ndcg(data: Data) -> float:
    from sklearn.metrics import ndcg_score  # noqa: PLC0415

    scores, levels = zip(*data.rows(), strict=True)
    return float(ndcg_score(levels, scores))


def scikit_lrap(data: Data) -> float:
    from sklearn.metrics import label_ranking_average_precision_score  # noqa: PLC0415

    scores, levels = zip(*data.rows(), strict=True)
    return float(label_ranking_average_precision_score(levels, scores))


def ranx(measure: str, **options: Any) -> Ask:
    def ask(data: Data) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of numba
            from ranx import Qrels, Run, evaluate  # noqa: PLC0415 - a test has no ranx

            return float(evaluate(Qrels(data.qrels), Run(data.run), measure, **options))

    return ask


def ir_measures(measure: str) -> Ask:
    def ask(data: Data) -> float:
        import ir_measures as library  # noqa: PLC0415

        wanted = library.parse_measure(measure)
        return float(library.calc_aggregate([wanted], data.qrels, data.run)[wanted])

    return ask


def torchmetrics(name: str, **options: Any) -> Ask:
    def ask(data: Data) -> float:
        import torch  # noqa: PLC0415
        from torchmetrics import retrieval  # noqa: PLC0415

        metric = getattr(retrieval, name)(**options)
        for place, (scores, levels) in enumerate(data.rows()):
            preds, target = torch.tensor(scores, dtype=torch.float64), torch.tensor(levels)
            metric.update(preds, target, indexes=torch.full((len(scores),), place))
        return float(metric.compute())

    return ask


Change = Callable[[Data], Data]


def unchanged(data: Data) -> Data:
    return data


def returned_only(data: Data) -> Data:
    """Forget the judged documents that were not returned."""
    return attrs.evolve(
        data,
        qrels={
            query: {document: level for document, level in known.items() if document in run}
            for (query, run), known in zip(data.run.items(), data.qrels.values(), strict=True)
        },
    )


def top(k: int) -> Change:
    """Forget all documents but the k with the highest scores."""

    def change(data: Data) -> Data:
        best = {
            query: dict(sorted(run.items(), key=lambda pair: -pair[1])[:k])
            for query, run in data.run.items()
        }
        return returned_only(Data(best, data.qrels))

    return change


def in_float32(data: Data) -> Data:
    run = {
        query: {document: float(np.float32(score)) for document, score in scores.items()}
        for query, scores in data.run.items()
    }
    return attrs.evolve(data, run=run)


def positive_only(data: Data) -> Data:
    """Call documents with scores of at most 0 not relevant."""
    qrels = {
        query: {
            document: level if data.run[query].get(document, 1.0) > 0 else 0
            for document, level in known.items()
        }
        for query, known in data.qrels.items()
    }
    return attrs.evolve(data, qrels=qrels)


def renamed(order: str) -> Change:
    """Give documents names that fall in an order."""
    names = {name: f"{99 - place}" for place, name in enumerate(order.split())}

    def rename(tables: Tables) -> Tables:
        return {
            query: {names[document]: value for document, value in table.items()}
            for query, table in tables.items()
        }

    return lambda data: Data(rename(data.run), rename(data.qrels))


@attrs.frozen
class Way:
    """How streameval gives a number: options of the accumulator, and what it is handed."""

    text: str
    options: dict[str, Any] = attrs.field(factory=dict)
    change: Change = unchanged
    measure: str | None = None

    def value(self, question: Question) -> float | str:
        measure = self.measure or question.measure
        data = self.change(question.data)
        acc = se.RankingAccumulator([measure], **self.options)
        try:
            return float(acc.update_run(data.run, data.qrels).compute()[measure])
        except se.InvalidInputError:
            return RAISES


DEFAULT = Way("the defaults")


@attrs.frozen
class Answer:
    """What a library is asked, and how streameval gives the same."""

    ask: Ask
    way: Way = DEFAULT
    tolerance: float = TOLERANCE


@attrs.frozen
class Question:
    """Some data, a measure, and the libraries that have it."""

    name: str
    measure: str
    data: Data
    answers: dict[str, Answer]


BY_DOCUMENT = Way('`ties="docid_desc"`', {"ties": "docid_desc"})
EXP2 = Way('`gain="exp2"`', {"gain": "exp2"})
DROP = Way('`unjudged="drop"`', {"unjudged": "drop"})
NEGATIVE = Way('`negative="zero"`', {"negative": "zero"})
RETURNED = Way("without the rows of `retrieved=False`", change=returned_only)
SINGLE = Way('`ties="docid_desc"`, scores rounded to float32', {"ties": "docid_desc"}, in_float32)


def in_order(order: str) -> Way:
    return Way(
        f'`ties="docid_desc"`, documents named so that their order is {order}',
        {"ties": "docid_desc"},
        renamed(order),
    )


TIED = Data.of("b c a d", [0.5, 0.5, 0.5, 0.1], [1, 0, 0, 1])
FIRST = Data.of("a b c d", [1.0] * 4, [1, 0, 0, 0])
LAST = Data.of("a b c d", [1.0] * 4, [0, 0, 0, 1])
CLOSE = Data.of("a b", [0.30000000002, 0.30000000001], [1, 0])
MANY = Data.of("a b c d", [4.0, 3.0, 2.0, 1.0], [1, 0, 1, 1])
UNFOUND = Data.of("a b c d", [3.0, 2.0, 1.0], [1, 0, 2, 3])
EMPTY = Data(
    {"1": {"a": 2.0, "b": 1.0}, "2": {"a": 2.0, "b": 1.0}},
    {"1": {"a": 1, "b": 0}, "2": {"a": 0, "b": 0}},
)
MISSING = Data({"1": {"a": 2.0, "b": 1.0}}, {"1": {"a": 1, "b": 0}, "2": {"a": 1, "b": 0}})
NEGATIVE_SCORES = Data.of("a b c", [1.0, -0.5, -1.0], [0, 1, 1])
GRADED = Data.of("a b c", [3.0, 2.0, 1.0], [1, 3, 2])
LEVEL = Data.of("a b c", [3.0, 2.0, 1.0], [1, 2, 0])
UNJUDGED = Data({"1": {"a": 3.0, "b": 2.0, "c": 1.0}}, {"1": {"b": 1, "c": 1}})
NEGATIVE_LEVEL = Data.of("a b c", [3.0, 2.0, 1.0], [1, -1, 2])

QUESTIONS = [
    Question(
        "AP: three documents tied, one of them relevant, above a relevant one",
        "map",
        TIED,
        {
            "trec_eval": Answer(trec_eval("map"), BY_DOCUMENT),
            "scikit-learn": Answer(scikit_lrap, Way("the measure `lrap`", measure="lrap")),
            "ranx": Answer(ranx("map"), in_order("b c a d")),
            "ir_measures": Answer(ir_measures("AP"), BY_DOCUMENT),
            "torchmetrics": Answer(torchmetrics("RetrievalMAP"), in_order("c a b d")),
        },
    ),
    Question(
        "NDCG of the same",
        "ndcg",
        TIED,
        {
            "trec_eval": Answer(trec_eval("ndcg"), BY_DOCUMENT),
            "scikit-learn": Answer(scikit_ndcg),
            "ranx": Answer(ranx("ndcg"), in_order("b c a d")),
            "ir_measures": Answer(ir_measures("nDCG"), BY_DOCUMENT),
            "torchmetrics": Answer(torchmetrics("RetrievalNormalizedDCG")),
        },
    ),
    Question(
        "RR of a constant scorer: of a, b, c, d the relevant one is a",
        "mrr",
        FIRST,
        {
            "trec_eval": Answer(trec_eval("recip_rank"), BY_DOCUMENT),
            "ranx": Answer(ranx("mrr"), in_order("a b c d")),
            "ir_measures": Answer(ir_measures("RR"), BY_DOCUMENT),
            "torchmetrics": Answer(torchmetrics("RetrievalMRR"), in_order("c d a b")),
        },
    ),
    Question(
        "RR of the same, and it is d",
        "mrr",
        LAST,
        {
            "trec_eval": Answer(trec_eval("recip_rank"), BY_DOCUMENT),
            "ranx": Answer(ranx("mrr"), in_order("a b c d")),
            "ir_measures": Answer(ir_measures("RR"), BY_DOCUMENT),
            "torchmetrics": Answer(torchmetrics("RetrievalMRR"), in_order("c d a b")),
        },
    ),
    Question(
        "RR: two scores that differ, but not in float32",
        "mrr",
        CLOSE,
        {
            "trec_eval": Answer(trec_eval("recip_rank"), SINGLE),
            "ranx": Answer(ranx("mrr")),
            "ir_measures": Answer(ir_measures("RR"), SINGLE),
            "torchmetrics": Answer(torchmetrics("RetrievalMRR")),
        },
    ),
    Question(
        "AP@2 with R = 3: relevant, not, relevant, relevant",
        "map@2",
        MANY,
        {
            "trec_eval": Answer(trec_eval("map_cut.2")),
            "ranx": Answer(ranx("map@2")),
            "ir_measures": Answer(ir_measures("AP@2")),
            "torchmetrics": Answer(
                torchmetrics("RetrievalMAP", top_k=2),
                Way("the first k rows alone, so that R is the hits", change=top(2)),
            ),
        },
    ),
    Question(
        "NDCG: a document of relevance 3 was judged and not returned",
        "ndcg",
        UNFOUND,
        {
            "trec_eval": Answer(trec_eval("ndcg")),
            "scikit-learn": Answer(scikit_ndcg, RETURNED),
            "ranx": Answer(ranx("ndcg")),
            "ir_measures": Answer(ir_measures("nDCG")),
            "torchmetrics": Answer(torchmetrics("RetrievalNormalizedDCG"), RETURNED),
        },
    ),
    Question(
        "AP of the same",
        "map",
        UNFOUND,
        {
            "trec_eval": Answer(trec_eval("map")),
            "ranx": Answer(ranx("map")),
            "ir_measures": Answer(ir_measures("AP")),
        },
    ),
    Question(
        "AP: the first of two queries is perfect, in the second nothing is relevant",
        "map",
        EMPTY,
        {
            "trec_eval": Answer(trec_eval("map")),
            "scikit-learn": Answer(
                scikit_lrap, Way('`lrap` with `empty="one"`', {"empty": "one"}, measure="lrap")
            ),
            "ranx": Answer(ranx("map")),
            "ir_measures": Answer(ir_measures("AP")),
            "torchmetrics": Answer(torchmetrics("RetrievalMAP")),
        },
    ),
    Question(
        "NDCG of the same",
        "ndcg",
        EMPTY,
        {
            "trec_eval": Answer(trec_eval("ndcg")),
            "scikit-learn": Answer(scikit_ndcg),
            "ranx": Answer(ranx("ndcg")),
            "ir_measures": Answer(ir_measures("nDCG")),
            "torchmetrics": Answer(torchmetrics("RetrievalNormalizedDCG")),
        },
    ),
    Question(
        "AP: the first of two queries is perfect, the run lacks the second",
        "map",
        MISSING,
        {
            "trec_eval": Answer(trec_eval("map"), Way('`missing="skip"`', {"missing": "skip"})),
            "ranx": Answer(ranx("map", make_comparable=True)),
            "ir_measures": Answer(ir_measures("AP")),
        },
    ),
    Question(
        "RR: two relevant documents with scores below 0, under one above 0",
        "mrr",
        NEGATIVE_SCORES,
        {
            "trec_eval": Answer(trec_eval("recip_rank")),
            "ranx": Answer(ranx("mrr")),
            "ir_measures": Answer(ir_measures("RR")),
            "torchmetrics": Answer(
                torchmetrics("RetrievalMRR"),
                Way("relevance 0 where the score is 0 or less", change=positive_only),
            ),
        },
    ),
    Question(
        "NDCG: relevances 1, 3, 2 in this order",
        "ndcg",
        GRADED,
        {
            "trec_eval": Answer(trec_eval("ndcg")),
            "scikit-learn": Answer(scikit_ndcg),
            "ranx": Answer(ranx("ndcg")),
            "ir_measures": Answer(ir_measures("nDCG")),
            "torchmetrics": Answer(torchmetrics("RetrievalNormalizedDCG")),
        },
    ),
    Question(
        "NDCG@3 of the same, told to use gains of 2^rel - 1",
        "ndcg@3",
        GRADED,
        {
            "ranx": Answer(ranx("ndcg_burges@3"), EXP2),
            "ir_measures": Answer(ir_measures("nDCG(dcg='exp-log2')@3"), EXP2, FIVE_DECIMALS),
        },
    ),
    Question(
        "NDCG: relevances 1, 2, 0, told that relevant means 2",
        "ndcg",
        LEVEL,
        {
            "trec_eval": Answer(trec_eval("ndcg", relevance_level=2)),
            "ranx": Answer(ranx("ndcg-l2"), Way("`gain={1: 0, 2: 2}`", {"gain": {1: 0, 2: 2}})),
        },
    ),
    Question(
        "AP: a document that nobody judged, above two relevant ones",
        "map",
        UNJUDGED,
        {
            "trec_eval": Answer(trec_eval("map")),
            "ranx": Answer(ranx("map")),
            "ir_measures": Answer(ir_measures("AP")),
        },
    ),
    Question(
        "AP of the same, told to leave it out",
        "map",
        UNJUDGED,
        {
            "trec_eval": Answer(trec_eval("map", judged_docs_only_flag=True), DROP),
            "ir_measures": Answer(ir_measures("AP(judged_only=True)"), DROP),
        },
    ),
    Question(
        "NDCG: relevances 1, -1, 2",
        "ndcg",
        NEGATIVE_LEVEL,
        {
            "trec_eval": Answer(trec_eval("ndcg"), NEGATIVE),
            "scikit-learn": Answer(scikit_ndcg),
            "ranx": Answer(ranx("ndcg"), NEGATIVE),
            "ir_measures": Answer(ir_measures("nDCG"), NEGATIVE),
        },
    ),
]


def shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4f}"


def by_library() -> str:
    """Lay out the answers, which are those that `check` has compared."""
    columns = ["", "question", "streameval", *PACKAGES]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for number, question in enumerate(QUESTIONS, 1):
        cells = [str(number), question.name, shown(DEFAULT.value(question))]
        for library in PACKAGES:
            answer = question.answers.get(library)
            cells.append(shown(answer.way.value(question)) if answer else "")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def by_way() -> str:
    """Lay out what is to be done for each answer that the defaults do not give."""
    lines = ["| | answer | of | streameval gives it with |", "|---|---|---|---|"]
    for number, question in enumerate(QUESTIONS, 1):
        ways: dict[str, list[str]] = {}
        for library, answer in question.answers.items():
            if answer.way is not DEFAULT:
                ways.setdefault(answer.way.text, []).append(library)
        for text, libraries in ways.items():
            value = shown(question.answers[libraries[0]].way.value(question))
            lines.append(f"| {number} | {value} | {', '.join(libraries)} | {text} |")
    return "\n".join(lines)


def filled(text: str) -> str:
    """Replace the marks with the tables."""
    if MARKS[0] not in text:
        return text
    return text.replace(MARKS[0], by_library()).replace(MARKS[1], by_way())


def check(library: str) -> int:
    """Compare the answers of a library with what streameval gives; count them."""
    n = 0
    for question in QUESTIONS:
        if library in question.answers:
            answer, n = question.answers[library], n + 1
            ours = answer.way.value(question)
            try:
                theirs: float | str = answer.ask(question.data)
            except ValueError:
                theirs = RAISES
            about = f"{library}, {question.name}: {theirs}, and {ours} of streameval"
            if isinstance(ours, str) or isinstance(theirs, str):
                assert ours == theirs, about
            else:
                most = IN_FLOAT32 if library == "torchmetrics" else answer.tolerance
                assert abs(ours - theirs) <= most, about
    return n


def main() -> None:
    for library in PACKAGES:
        check(library)
    print(by_library(), by_way(), sep="\n\n")
    print(
        "\n"
        + ", ".join(f"{name} {version(name)}" for name in ("numpy", *PACKAGES.values(), "torch"))
    )


if __name__ == "__main__":
    main()
