"""What `state_dict` gives is held by the checkpoints of torch as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from offenders import each
from small_states import EVERY

import streameval as se

torch = pytest.importorskip("torch", reason="torch is not installed")

pytestmark = [pytest.mark.engine(name="transformers"), pytest.mark.filterwarnings("default")]
every_state = each("name", EVERY)


@every_state
def test_torch_loads_weights_only(name: str, tmp_path: Path) -> None:
    accumulator = EVERY[name]()
    model = torch.nn.Linear(2, 1)
    torch.save({"model": model.state_dict(), "metrics": accumulator.state_dict()}, tmp_path / "a")
    other = accumulator.copy().reset()
    other.load_state_dict(torch.load(tmp_path / "a", weights_only=True)["metrics"])
    assert other.to_bytes() == accumulator.to_bytes()


@every_state
def test_safetensors_hold_it_as_metadata(name: str, tmp_path: Path) -> None:
    from safetensors import safe_open
    from safetensors.torch import save_file

    accumulator = EVERY[name]()
    weights = torch.nn.Linear(2, 1).state_dict()
    save_file(weights, tmp_path / "a", metadata=accumulator.state_dict())
    with safe_open(tmp_path / "a", "pt") as file:
        held = file.metadata()
    other = accumulator.copy().reset()
    other.load_state_dict(held)
    assert other.to_bytes() == accumulator.to_bytes()


def test_a_distributed_checkpoint_takes_an_accumulator(tmp_path: Any) -> None:
    from torch.distributed import checkpoint
    from torch.distributed.checkpoint.stateful import Stateful

    accumulator = se.ConfusionAccumulator().update([1, 0, 1], [1, 1, 0])
    other = accumulator.copy().reset()
    assert isinstance(accumulator, Stateful)
    checkpoint.save({"metrics": accumulator}, checkpoint_id=tmp_path / "a", no_dist=True)
    checkpoint.load({"metrics": other}, checkpoint_id=tmp_path / "a", no_dist=True)
    assert other.to_bytes() == accumulator.to_bytes()
