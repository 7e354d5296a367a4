"""The options of `RegressionAccumulator`: there are none."""

from __future__ import annotations

from typing import Self

import attrs

__all__ = ["RegressionConfig"]


@attrs.frozen(kw_only=True)
class RegressionConfig:
    """Nothing changes what a regression state sums; all of them can merge."""

    @classmethod
    def of(cls) -> Self:
        """Make the one configuration."""
        return cls()
