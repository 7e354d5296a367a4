"""Strengths of models that were compared in pairs, by the model of Bradley and Terry.

Model i is preferred to model j with the probability ``s_i / (s_i + s_j)``; a tie is half a win of
each (Bradley and Terry, Rank analysis of incomplete block designs, 1952).
"""

from __future__ import annotations

import math

import attrs
import numpy as np

from streameval.exact.array_types import Floats, Mask
from streameval.metrics.bounded import Interval
from streameval.metrics.intervals import UNDEFINED, proportion
from streameval.metrics.shares import quotient

_STEPS = 200
_CLOSE = 1e-8  # a step this small leaves an error of its square
_SOLVED, _PRODUCTS = 1e-10, 50
_NOISE = 1e-13  # the share of a likelihood that rounding may take, by which no step is shortened


def win_rate(wins: float, losses: float, ties: float) -> float:
    """Compute the share of the comparisons of a model that it won, a tie as half a win.

    >>> win_rate(2.0, 1.0, 1.0)
    0.625
    """
    return quotient(wins + ties / 2.0, wins + losses + ties)


def win_rate_interval(wins: float, losses: float, ties: float, z: float) -> Interval:
    """Compute Wilson's interval of a win rate, for the draws whose variance ties have reduced."""
    n, value = wins + losses + ties, win_rate(wins, losses, ties)
    squares = wins * (1.0 - value) ** 2 + losses * value**2 + ties * (0.5 - value) ** 2
    return proportion(value, squares / n / n, n, z)


@attrs.frozen(eq=False)
class Strengths:
    """Strengths of K models, and the variances of their logarithms.

    Parameters
    ----------
    values : float64 array, shape (K,)
        Those of comparable models have the geometric mean 1.
    variances : float64 array, shape (K,)
        The sandwich variance of the logarithm; infinite if it is unknown.
    """

    values: Floats
    variances: Floats

    def interval(self, index: int, z: float) -> Interval:
        """Compute the interval of a strength, which is normal on the scale of its logarithm.

        nan if data do not limit the strength: it is 0 or infinite, or there are no more comparisons
        than models.
        """
        value, variance = self.values[index].item(), self.variances[index].item()
        if not 0.0 < value < math.inf or not math.isfinite(variance):
            return UNDEFINED
        factor = math.exp(min(z * math.sqrt(variance), 700.0))
        return value / factor, value * factor


def strengths(wins: Floats, ties: Floats) -> Strengths:
    """Fit the strengths of models by maximum likelihood.

    Parameters
    ----------
    wins : float64 array, shape (K, K)
        Weights by winner and loser.
    ties : float64 array, shape (K, K)
        Symmetric.

    Returns
    -------
    Strengths
        A model that beats all comparable ones without any way back is infinite, one that loses to
        all of them 0. nan for models that were not compared, and wherever no ratio to the others
        follows from the data.

    Examples
    --------
    >>> wins = np.array([[0.0, 3.0], [1.0, 0.0]])
    >>> strengths(wins, np.zeros((2, 2))).values.round(4).tolist()
    [1.7321, 0.5774]
    """
    credit = wins + ties / 2.0
    values, core = _comparable(credit > 0.0)
    variances = np.full(len(values), math.inf)
    if core.any():
        tables, inner = (credit, wins, ties), np.ix_(core, core)
        fitted = tables if core.all() else [table[inner] for table in tables]
        logs, variances[core] = _fit(*fitted)
        values[core] = np.exp(logs)
    return Strengths(values, variances)


def _comparable(beats: Mask) -> tuple[Floats, Mask]:
    """Find the models with finite strengths, and give the others 0, infinity or nan.

    Strengths are finite and unique within a set of models in which each has beaten each, directly
    or by way of others (Ford, Solution of a ranking problem from binary comparisons, 1957).
    """
    if (_reached(beats, 0) & _reached(beats.T, 0)).all():  # as nearly always
        return np.ones(len(beats)), np.ones(len(beats), dtype=bool)
    above = _closed(beats)
    mutual = above & above.T
    values = np.full(len(beats), math.nan)
    in_core = mutual.sum(axis=1) > 1
    links = beats | beats.T
    compared = links.any(axis=1)
    if not compared.any() or (compared & ~_reached(links, int(compared.argmax()))).any():
        return values, np.zeros(len(beats), dtype=bool)
    core = in_core & mutual[int(in_core.argmax())]
    if in_core.any() and (core == in_core).all():
        member = int(core.argmax())
        values[above[:, member]] = math.inf
        values[above[member]] = 0.0
        return values, core
    values[compared & ~beats.any(axis=0)] = math.inf
    values[compared & ~beats.any(axis=1)] = 0.0
    return values, np.zeros(len(beats), dtype=bool)


def _reached(links: Mask, start: int) -> Mask:
    """Find the models that are linked with one, in any number of steps."""
    found = np.zeros(len(links), dtype=bool)
    further = links[start]
    while (further != found).any():
        found, further = further, further | links[further].any(axis=0)
    return found


def _closed(links: Mask) -> Mask:
    """Compute which models are reached from which, in any number of steps."""
    reached = links
    while True:
        steps = reached.astype(np.float32)
        further = reached | (steps @ steps > 0.0)
        if (further == reached).all():
            return further
        reached = further


def _fit(credit: Floats, wins: Floats, ties: Floats) -> tuple[Floats, Floats]:
    """Fit logarithms of strengths, whose mean is 0, by Newton's method; also their variances."""
    k = len(credit)
    n_compared, won = credit + credit.T, credit.sum(axis=1)
    scale, logs = n_compared.sum() / k, np.log((won + 0.5) / (credit.sum(axis=0) + 0.5))
    logs -= logs.mean()
    shift = scale / k  # of every item: the information alone is singular
    winner, loser = np.nonzero(credit)
    weights = credit[winner, loser]

    def likelihood(logs: Floats) -> float:
        return -float(weights @ np.logaddexp(0.0, logs[loser] - logs[winner]))

    best = likelihood(logs)
    for _ in range(_STEPS):
        chance = _chances(logs)
        slope = won - np.einsum("ij,ij->i", n_compared, chance)
        step = _solved(_information(n_compared, chance, shift), slope)
        step -= step.mean()
        while True:
            found = likelihood(logs + step)
            if found >= best + _NOISE * best or np.abs(step).max() < _CLOSE:
                break
            step /= 2.0
        logs, best = logs + step, max(best, found)
        if np.abs(step).max() < _CLOSE:
            break
    n, free = n_compared.sum() / 2.0, n_compared.sum() / 2.0 - (k - 1)
    if free <= 0.0:
        return logs, np.full(k, math.inf)
    chance = _chances(logs)
    won_squares = wins * (1.0 - chance) ** 2  # of one minus the chance of the winner
    spread = -ties * (0.5 - chance) ** 2
    spread -= won_squares
    spread -= won_squares.T
    spread[np.diag_indices(k)] -= spread.sum(axis=1)
    inverse = np.linalg.inv(_information(n_compared, chance, shift))
    inverse -= 1.0 / (scale * k)
    return logs, np.einsum("ij,ij->i", inverse @ spread, inverse) * (n / free)


def _solved(matrix: Floats, target: Floats) -> Floats:
    """Solve symmetric equations by conjugate gradients, or directly if these take many steps.

    With comparisons of most models, about 15 products take a tenth of the time of a solution.
    """
    scale, found = matrix.diagonal(), np.zeros(len(target))
    residual, direction = target.copy(), target / scale
    size = residual @ direction
    enough = size * _SOLVED**2
    for _ in range(_PRODUCTS):
        if size <= enough:
            return found
        product = matrix @ direction
        found += (share := size / (direction @ product)) * direction
        residual -= share * product
        before, size = size, residual @ (residual / scale)
        direction = residual / scale + size / before * direction
    return np.asarray(np.linalg.solve(matrix, target), dtype=np.float64)


def _chances(logs: Floats) -> Floats:
    """Compute the probability that each model is preferred to each."""
    chance = logs - logs[:, None]
    with np.errstate(over="ignore"):  # 1 / inf is 0
        np.exp(chance, out=chance)
    chance += 1.0
    return np.divide(1.0, chance, out=chance)


def _information(compared: Floats, chance: Floats, shift: float) -> Floats:
    """Compute the information of the logarithms, the Laplacian of a graph, plus a constant."""
    found = compared * chance
    found *= chance.T
    degrees = found.sum(axis=1)
    np.subtract(shift, found, out=found)
    found[np.diag_indices(len(found))] += degrees
    return found
