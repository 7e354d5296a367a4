"""Make the prediction logs beside this file: real models, out of fold, on scikit-learn's own data.

``python docs/data/make.py`` writes the files. ``python docs/data/make.py --check`` makes them
again in memory, compares them with the files on disk and exits with 1 if any differs.
"""

import argparse
import gzip
import io
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

HERE = Path(__file__).parent
SEED = 0
DECIMALS = 9  # few enough to stay small, enough that rows of probabilities still sum to one
TOLERANCE = 1e-6  # another CPU's linear algebra ends in other last bits
QUERIES_PER_DIGIT = 20
DEPTH = 50
FLOAT = re.compile(r"-?\d+(?:\.\d+(?:e[+-]\d+)?|e[+-]\d+)")


def classifier() -> Pipeline:
    """Return an untrained logistic regression, solved to a precision any CPU reproduces."""
    return make_pipeline(StandardScaler(), LogisticRegression(solver="newton-cholesky", tol=1e-8))


def probabilities(features: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return each row's class probabilities from the model that did not see the row."""
    folds = StratifiedKFold(5, shuffle=True, random_state=SEED)
    scores = cross_val_predict(classifier(), features, target, cv=folds, method="predict_proba")
    return scores.round(DECIMALS)


def json_lines(records: Iterable[dict[str, Any]]) -> str:
    """Return the records as JSON, one to a line."""
    return "".join(f"{json.dumps(record)}\n" for record in records)


def csv_table(columns: dict[str, np.ndarray]) -> str:
    """Return the columns as CSV, after an ``id`` that counts rows from 0."""
    return pd.DataFrame(columns).to_csv(index_label="id", lineterminator="\n")


def digits(features: np.ndarray, target: np.ndarray) -> str:
    """Return ten-class predictions: which digit an image shows."""
    scores = probabilities(features, target)
    rows = zip(target.tolist(), scores.argmax(axis=1).tolist(), scores.tolist(), strict=True)
    return json_lines(
        {"id": i, "y_true": true, "y_pred": pred, "y_score": score}
        for i, (true, pred, score) in enumerate(rows)
    )


def breast_cancer() -> str:
    """Return binary predictions: is a tumour malignant, which is class 1 here and 0 upstream."""
    features, upstream = load_breast_cancer(return_X_y=True)
    malignant = 1 - upstream
    score = probabilities(features, malignant)[:, 1]
    return csv_table(
        {
            "y_true": malignant,
            "y_score": score,
            "y_pred": (score >= 0.5).astype(int),
            "label": np.where(malignant == 1, "malignant", "benign"),
        }
    )


def diabetes() -> str:
    """Return regression predictions: how far the disease has progressed after a year."""
    features, target = load_diabetes(return_X_y=True)
    folds = KFold(5, shuffle=True, random_state=SEED)
    pred = cross_val_predict(make_pipeline(StandardScaler(), Ridge()), features, target, cv=folds)
    return csv_table({"y_true": target, "y_pred": pred.round(DECIMALS)})


def query_images(target: np.ndarray) -> np.ndarray:
    """Return the rows to query with, equally many of each digit, in dataset order."""
    rng = np.random.default_rng(SEED)
    members = [np.flatnonzero(target == digit) for digit in range(10)]
    return np.sort(
        np.concatenate([rng.choice(m, QUERIES_PER_DIGIT, replace=False) for m in members])
    )


def cosine_similarity(features: np.ndarray) -> np.ndarray:
    """Return the cosine between every two rows of integers, the same on every CPU."""
    whole = features.astype(np.int64)
    dots = whole @ whole.T
    squares = dots.diagonal()
    return (dots / np.sqrt(np.outer(squares, squares))).round(DECIMALS)


def rankings(features: np.ndarray, target: np.ndarray) -> list[dict[str, Any]]:
    """Return, for each query image, the other images most like it and which show its digit."""
    similarity = cosine_similarity(features)
    records = []
    for query in query_images(target):
        ranked = np.argsort(-similarity[query], kind="stable")
        docs = ranked[ranked != query][:DEPTH]
        same_digit = target == target[query]
        records.append(
            {
                "query": f"q{query}",
                "doc": [f"d{doc}" for doc in docs],
                "score": similarity[query, docs].tolist(),
                "relevance": same_digit[docs].astype(int).tolist(),
                "num_relevant": int(same_digit.sum()) - 1,
            }
        )
    return records


def trec_run(records: list[dict[str, Any]]) -> str:
    """Return rankings as a TREC run, whose ranks count from 1."""
    return "".join(
        f"{record['query']} Q0 {doc} {rank} {score} cosine\n"
        for record in records
        for rank, (doc, score) in enumerate(zip(record["doc"], record["score"], strict=True), 1)
    )


def trec_qrels(target: np.ndarray) -> str:
    """Return TREC judgements: every relevant image of every query, so that recall is known."""
    return "".join(
        f"q{query} 0 d{doc} 1\n"
        for query in query_images(target)
        for doc in np.flatnonzero(target == target[query])
        if doc != query
    )


def make() -> dict[str, str]:
    """Return the text of every file, by file name."""
    features, target = load_digits(return_X_y=True)
    retrieved = rankings(features, target)
    return {
        "digits.jsonl.gz": digits(features, target),
        "breast_cancer.csv": breast_cancer(),
        "diabetes.csv": diabetes(),
        "digits_retrieval.run.gz": trec_run(retrieved),
        "digits_retrieval.qrels.gz": trec_qrels(target),
        "digits_retrieval.jsonl.gz": json_lines(retrieved),
    }


def write(path: Path, text: str) -> None:
    """Write text, compressed without a name or a time where the suffix asks for it."""
    content = text.encode()
    if path.suffix == ".gz":
        buffer = io.BytesIO()
        with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0) as stream:
            stream.write(content)
        content = buffer.getvalue()
    path.write_bytes(content)


def read(path: Path) -> str:
    """Return a file's text, decompressed where its suffix asks for it."""
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode()


def same(text: str, other: str) -> bool:
    """Tell whether two texts are equal but for the last digits of their fractional numbers."""
    if FLOAT.split(text) != FLOAT.split(other):
        return False
    numbers, others = (np.array(FLOAT.findall(t), dtype=float) for t in (text, other))
    return np.allclose(numbers, others, rtol=0, atol=TOLERANCE)


def main() -> None:
    """Write the files, or check the ones on disk."""
    parser = argparse.ArgumentParser(description="Make the prediction logs of the documentation.")
    parser.add_argument("--check", action="store_true", help="compare with the files, write none")
    check = parser.parse_args().check
    with threadpool_limits(1):  # matrices this small are solved eight times slower by two threads
        files = {HERE / name: text for name, text in make().items()}
    if not check:
        for path, text in files.items():
            write(path, text)
        return
    differing = [p.name for p, text in files.items() if not (p.exists() and same(text, read(p)))]
    if differing:
        sys.exit(f"differs from what make.py makes: {', '.join(differing)}")


if __name__ == "__main__":
    main()
