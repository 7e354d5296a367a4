"""TensorBoard: the numbers of every result are scalars, and come back as they were."""

from __future__ import annotations

import numpy as np
import pytest

import streameval as se

pytest.importorskip("tensorboard", reason="tensorboard is not installed")
pytest.importorskip("torch", reason="torch is not installed")

pytestmark = [
    pytest.mark.engine(name="tensorboard"),
    pytest.mark.filterwarnings("ignore:.* is deprecated:DeprecationWarning"),
]

RANDOM = np.random.default_rng(0)
TRUTH = RANDOM.integers(0, 2, 50)
SCORES = RANDOM.random(50)
COUNTED = {
    "confusion": se.ConfusionAccumulator().update(TRUTH, SCORES),
    "curve": se.PRCurveSketch(budget=8).update(TRUTH, SCORES),
    "regression": se.RegressionAccumulator().update(TRUTH, SCORES),
    "calibration": se.CalibrationAccumulator().update(TRUTH, SCORES),
    "collection": se.Collection(
        {"labels": se.ConfusionAccumulator(), "curve": se.PRCurveSketch()}
    ).update({"y_true": TRUTH, "y_pred": SCORES, "y_score": SCORES}),
}


@pytest.mark.parametrize("name", COUNTED)
def test_numbers_of_a_result_are_logged_as_scalars(name, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    metrics = COUNTED[name].compute().as_dict()
    with SummaryWriter(tmp_path) as writer:
        for metric, value in metrics.items():
            writer.add_scalar(metric, value, 7)
    logged = EventAccumulator(str(tmp_path)).Reload()
    assert {*logged.Tags()["scalars"]} == {*metrics}
    for metric, value in metrics.items():
        (event,) = logged.Scalars(metric)
        assert event.step == 7
        assert event.value == np.float32(value) or np.isnan(value)
