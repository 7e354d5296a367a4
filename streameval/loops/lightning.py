"""Evaluation in a Lightning `Trainer`: a callback counts the batches and logs the metrics."""

from __future__ import annotations

# The framework may be missing when types are checked.
# pyright: reportMissingImports=false
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from streameval.accumulators.base import Accumulator
from streameval.errors import IncompatibleStateError, InvalidInputError
from streameval.loops._logged import Conversion, Logged, is_function

try:
    from lightning.pytorch import Callback
    from lightning.pytorch.utilities import CombinedLoader
    from torch.utils.data import DistributedSampler
except ImportError as error:
    raise ImportError('Lightning is missing: pip install "streameval[lightning]".') from error

from streameval.engines.torch import gather

__all__ = ["Evaluate"]

Make: TypeAlias = Callable[[Any], Accumulator[Any, Any]]

_STEPS = {"val": "validation_step", "test": "test_step"}


class Evaluate(Callback):  # type: ignore[misc] # it is Any where the framework is missing
    """Count the batches of validation and test epochs, and log the metrics at their end.

    Parameters
    ----------
    accumulators : mapping from ``"val"`` or ``"test"`` to accumulator, or an accumulator
        What to count in which epochs; a single accumulator counts in both. Each is copied. A
        function of the module may make it: ``lambda module: se.ConfusionAccumulator(module.k)``.
    read : callable, optional
        ``read(outputs, batch)`` returns the arguments of `update` by name, given the output of
        the step and the batch. By default, steps return a mapping that holds these arguments, and
        possibly other items. One-hot rows become labels, and for two classes, two logits per row
        become one score. If processes are spawned, functions must be those of a Python module.
    metrics : sequence of str, optional
        The names of the metrics to log, as on the command line: ``"recall[1]"``. By default,
        those of `as_dict`.
    prefix : str
        The prefix of their names, before the name of the epoch.
    per_class : bool
        Whether to log the metrics of each class too, as ``recall[cat]``.
    shift : bool
        Whether the output at a position is about the label at the next one, as causal models return
        it: tokens (B, T) are counted one by one.

    Attributes
    ----------
    accumulators : dict from str to accumulator
        The counts of the last epoch, of all ranks once it has ended, with the keys ``"val"`` and
        ``"test"``, or ``"val/dataloader_idx_0"`` and so on. They are saved in checkpoints.

    Notes
    -----
    The metrics are logged as ``val/accuracy`` or ``val/accuracy/dataloader_idx_0``, with equal
    values on every rank, which Lightning rounds to float32. The batches of the sanity check count
    on trial only, so that mistakes are found before training. A warning says how many rows the
    sampler of Lightning repeats; `streameval.engines.torch.EvaluationSampler` repeats none.
    """

    def __init__(
        self,
        accumulators: Mapping[str, Accumulator[Any, Any] | Make] | Accumulator[Any, Any] | Make,
        *,
        read: Callable[[Any, Any], Mapping[str, Any]] | None = None,
        metrics: Sequence[str] | None = None,
        prefix: str = "",
        per_class: bool = False,
        shift: bool = False,
    ) -> None:
        given: Any = accumulators
        if not isinstance(given, Mapping):
            given = dict.fromkeys(_STEPS, given)
        known = {stage: held for stage, held in given.items() if isinstance(held, Accumulator)}
        self._made = {stage: make for stage, make in given.items() if is_function(make)}
        if not given or known | self._made != given or not given.keys() <= _STEPS.keys():
            raise InvalidInputError(
                f"must be for 'val' or 'test', got {accumulators!r}", argument="accumulators"
            )
        self.accumulators: dict[str, Any] = {}
        self._logged = Logged.checked(metrics, "", per_class=per_class)
        self._empty = {stage: self._logged.empty(held) for stage, held in known.items()}
        self._read, self._conversion, self._prefix = read, Conversion(shift), prefix

    @property
    def state_key(self) -> str:
        """The name under which a checkpoint holds the state."""
        return f"streameval.Evaluate({', '.join(sorted({*self._empty, *self._made}))})"

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:  # noqa: ARG002
        """Make what functions of the module make."""
        self._empty |= {
            name: self._logged.empty(make(pl_module)) for name, make in self._made.items()
        }

    def state_dict(self) -> dict[str, Any]:
        """Return the counts."""
        return {name: held.state_dict() for name, held in self.accumulators.items()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the counts of a checkpoint; skip those of other options with a warning."""
        loaded = {}
        for name, state in state_dict.items():
            held = self._empty[name.partition("/")[0]].copy()
            try:
                held.load_state_dict(state)
                loaded[name] = held
            except IncompatibleStateError as error:
                warnings.warn(f"{name!r} in the checkpoint is ignored: {error}", stacklevel=2)
        self.accumulators = loaded

    def _start(self, trainer: Any, _: Any) -> None:
        for name in self._names(trainer):
            del self.accumulators[name]
        if _stage(trainer) in self._empty and trainer.is_global_zero:
            _warn_of_padding(
                trainer.test_dataloaders if trainer.testing else trainer.val_dataloaders
            )

    def _count(self, trainer: Any, _: Any, outputs: Any, batch: Any, *index: int) -> None:
        is_trial = trainer.sanity_checking
        stage = "val" if is_trial else _stage(trainer)
        if stage in self._empty:
            arrays = outputs if self._read is None else self._read(outputs, batch)
            if not isinstance(arrays, Mapping):
                source = "read" if self._read else _STEPS[stage]
                got = type(arrays).__name__
                raise InvalidInputError(
                    f"must return the arrays by name, got {got}", argument=source
                )
            name = "/".join([stage, *(f"dataloader_idx_{loader}" for loader in index[1:])])
            held = self._empty[stage].copy()
            if not is_trial:
                held = self.accumulators.setdefault(name, held)
            held.update(self._conversion.named(held, arrays))

    def _log(self, trainer: Any, pl_module: Any) -> None:
        stage = _stage(trainer)
        own = [stage] if stage in self._empty else []
        for name in self._names(trainer) or own:  # a rank may not have had a batch
            held = self.accumulators.get(name, self._empty[stage])
            self.accumulators[name] = gather(held) if trainer.world_size > 1 else held.copy()
            values = self._logged.of(self.accumulators[name].compute())
            start, suffix = f"{self._prefix}{stage}/", name.removeprefix(stage)
            named = {f"{start}{metric}{suffix}": value for metric, value in values.items()}
            # All ranks log the same number, and the max of equal numbers is that number.
            pl_module.log_dict(named, reduce_fx="max", sync_dist=True, add_dataloader_idx=False)

    def _names(self, trainer: Any) -> list[str]:
        stage = _stage(trainer)
        return [name for name in self.accumulators if name.partition("/")[0] == stage]

    on_validation_epoch_start = on_test_epoch_start = _start
    on_validation_batch_end = on_test_batch_end = _count
    on_validation_epoch_end = on_test_epoch_end = _log


def _warn_of_padding(loaders: Any) -> None:
    """Warn of rows that are counted twice or not at all to give each rank equally many."""
    for loader in CombinedLoader(loaders).flattened:
        sampler: Any = getattr(loader, "sampler", None)
        if isinstance(sampler, DistributedSampler):
            dataset: Any = sampler.dataset
            n_rows, n_counted = len(dataset), sampler.total_size
            if n_counted != n_rows:
                warnings.warn(
                    f"{sampler.num_replicas} ranks count {n_counted:,} rows of a data set of "
                    f"{n_rows:,}: pass use_distributed_sampler=False to the Trainer, and "
                    "streameval.engines.torch.EvaluationSampler to the data loader",
                    stacklevel=2,
                )


def _stage(trainer: Any) -> str:
    """Name the stage, "val" or "test"; nothing counts in a sanity check."""
    return "sanity" if trainer.sanity_checking else "test" if trainer.testing else "val"
