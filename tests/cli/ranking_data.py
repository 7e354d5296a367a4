"""A run with ties and judgements of several grades, and the same as lists and as rows."""

import numpy as np

rng = np.random.default_rng(11)
QUERIES = [f"t{n}" for n in (12, 3, 30, 4, 21, 7, 8, 25)]


def _documents(number):
    return [f"d{n}" for n in rng.choice(60, number, replace=False)]


RUN = {
    query: dict.fromkeys(_documents(20)) | {f"d{n}": None for n in range(3)} for query in QUERIES
}
RUN = {
    query: {doc: float(rng.integers(0, 9)) / 4 for doc in documents}
    for query, documents in RUN.items()
}
# One query of the run is not judged, one judged query has nothing relevant, two are missing.
QRELS = {
    query: {doc: float(rng.integers(0, 4)) for doc in _documents(25)}
    for query in [*QUERIES[1:], "t99", "t98"]
}
QRELS["t4"] = dict.fromkeys(QRELS["t4"], 0.0)
JUDGED = [query for query in RUN if query in QRELS]


def run_text(run=RUN):
    return "".join(
        f"{query} Q0 {doc} {rank} {score!r} tag\n"
        for query, scores in run.items()
        for rank, (doc, score) in enumerate(scores.items())
    )


def qrels_text(qrels=QRELS):
    return "".join(
        f"{query} 0 {doc} {relevance:g}\n"
        for query, judged in qrels.items()
        for doc, relevance in judged.items()
    )


def as_lists():
    """Return an object for each judged query: unjudged documents are null, unreturned ones last."""
    lines = []
    for query in JUDGED:
        docs = list(RUN[query]) + [doc for doc in QRELS[query] if doc not in RUN[query]]
        lines.append(
            {
                "query": query,
                "doc": docs,
                "relevance": [QRELS[query].get(doc) for doc in docs],
                "score": [RUN[query].get(doc) for doc in docs],
                "retrieved": [doc in RUN[query] for doc in docs],
            }
        )
    return lines


def as_rows():
    """Return a row for each document, in no order."""
    names = ("doc", "relevance", "score", "retrieved")
    rows = [
        {"query": line["query"], **dict(zip(names, values, strict=True))}
        for line in as_lists()
        for values in zip(*(line[name] for name in names), strict=True)
    ]
    return [rows[place] for place in np.random.default_rng(1).permutation(len(rows))]
