"""Evaluation in Ignite: an accumulator as a metric of an engine."""

from __future__ import annotations

# The framework may be missing when types are checked.
# pyright: reportMissingImports=false
from collections.abc import Callable, Sequence
from typing import Any

from streameval.accumulators.base import Accumulator
from streameval.loops._logged import Conversion, Logged

try:
    from ignite.metrics import Metric
except ImportError as error:
    raise ImportError('Ignite is missing: pip install "streameval[ignite]".') from error

from streameval.engines.torch import gather

__all__ = ["Evaluate"]


class Evaluate(Metric):  # type: ignore[misc] # it is Any where the framework is missing
    """Count the outputs of an engine, and add the metrics to `engine.state.metrics`.

    Attach it as any metric of Ignite, ``Evaluate(acc).attach(evaluator, "eval")``: each number has
    its own name there. The states of all ranks are merged with `gather`, once for each evaluation.

    Parameters
    ----------
    accumulator : accumulator
        What to count; a copy is taken.
    output_transform : callable, optional
        From the output of the engine to the prediction and the truth, in Ignite's order. One-hot
        rows become labels, and for two classes, two logits per row become one score.
    metrics : sequence of str, optional
        The names of the metrics to add, as on the command line: ``"recall[1]"``. By default,
        those of `as_dict`.
    prefix : str
        The prefix of their names.
    per_class : bool
        Whether to add the metrics of each class too, as ``recall[cat]``.
    shift : bool
        Whether the output at a position is about the label at the next one, as causal models return
        it: tokens (B, T) are counted one by one.

    Attributes
    ----------
    accumulator : streameval.Accumulator
        The counts of this rank since the evaluation began.
    """

    def __init__(
        self,
        accumulator: Accumulator[Any, Any],
        output_transform: Callable[[Any], Any] = lambda output: output,
        *,
        metrics: Sequence[str] | None = None,
        prefix: str = "",
        per_class: bool = False,
        shift: bool = False,
    ) -> None:
        self._logged = Logged.checked(metrics, prefix, accumulator, per_class=per_class)
        self._conversion = Conversion(shift)
        self.accumulator: Any = accumulator.copy()
        super().__init__(output_transform)

    def reset(self) -> None:
        """Forget what was counted."""
        self.accumulator.reset()

    def update(self, output: tuple[Any, Any]) -> None:
        """Count the prediction and the truth of a batch."""
        prediction, truth = output
        counted, convert = self.accumulator, self._conversion
        counted.update(convert.truth(counted, truth), convert.prediction(counted, prediction))

    def compute(self) -> dict[str, Any]:
        """Compute the metrics of all ranks by name."""
        return self._logged.of(gather(self.accumulator).compute())
