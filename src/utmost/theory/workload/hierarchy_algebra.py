"""The algebra of hierarchies: counts of a tree's nodes, made of noisy counts of its levels, in agreement.

Upwards, a node's own noisy count and the sum of what its children say are averaged by their precision; downwards, what
a parent's final count and its children's disagree by is shared out by their variances. That is generalised least
squares on a tree (Hay et al. 2010). Shares are whole multiples of one over SCALE, so counts are fractions that add up
exactly, and variances are those of the shares that are used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput
from utmost.exact.arrays import Floats
from utmost.mechanism.noise.tables import NoisyTables, sum_half_width, sum_mean_size

Tree: TypeAlias = tuple[tuple[int, ...], ...]
"""For every level but the last: how many children each of its nodes has, parent after parent. The first is the root."""
SCALE = 2**20
MOST_NODES, MOST_ALIKE = 2 * 10**6, 300
"""How large a tree may be; for how many sorts of nodes intervals come from the convolution of the noise."""


def sizes(tree: Tree) -> tuple[int, ...]:
    """How many nodes each level has."""
    return (*(len(level) for level in tree), sum(tree[-1]))


def up_and_down(tree: Tree, variances: Sequence[float | None]) -> tuple[list[Floats], list[Floats]]:
    """The weight of each node's own count beside its children's sum, and its share of what its family disagrees by.

    `variances` are those of the levels' noise; None of a level that is not released.
    """
    last = variances[-1]
    if last is None:
        raise InvalidInput("the finest level of a hierarchy must be released.")
    found: list[Floats] = [np.full(sizes(tree)[-1], float(last))]
    own: list[Floats] = [np.ones(sizes(tree)[-1])]
    shares: list[Floats] = []
    for level in range(len(tree) - 1, -1, -1):
        starts = np.cumsum((0, *tree[level]))[:-1]
        below = np.add.reduceat(found[0], starts)
        shares.insert(0, found[0] / np.repeat(below, tree[level]))
        noise = variances[level]
        weight = np.zeros(len(below)) if noise is None else below / (below + noise) if noise else np.ones(len(below))
        found.insert(0, below if noise is None else below * noise / (below + noise) if noise else np.zeros(len(below)))
        own.insert(0, weight)
    return own, [np.ones(1), *shares]


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Counts of all nodes of a tree, made of the levels that are released with noise.

    Attributes
    ----------
    tree : how many children every node has
    strategy : the levels that are released, in the order of the mechanism's laws
    mechanism : the noise
    grain : what one row counts as in a released table
    """

    tree: Tree
    strategy: tuple[int, ...]
    mechanism: NoisyTables
    grain: int = 1

    @cached_property
    def noise(self) -> list[float | None]:
        """The variance of each level's noise; None of those that are not released."""
        known = {level: law.mean("squared") for level, law in zip(self.strategy, self.mechanism.laws, strict=True)}
        return [known.get(level) for level in range(len(self.tree) + 1)]

    @cached_property
    def weights(self) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
        """Own weights and shares as whole numbers over SCALE; the shares of one family add up to SCALE."""
        noise = self.noise
        if not all(noise[level] for level in self.strategy):
            noise = [1.0 if level in self.strategy else None for level in range(len(noise))]
        own, shares = up_and_down(self.tree, noise)
        whole = [np.rint(each * SCALE).astype(np.int64) for each in own]
        parts = [np.full(1, SCALE, dtype=np.int64)]
        for children, share in zip(self.tree, shares[1:], strict=True):
            found = np.floor(share * SCALE).astype(np.int64)
            starts = np.cumsum((0, *children))[:-1]
            found[starts] += SCALE - np.add.reduceat(found, starts)
            parts.append(found)
        return whole, parts

    def estimate(self, released: Sequence[Any]) -> list[NDArray[Any]]:
        """The counts of every level, as exact fractions that add up."""
        own, shares = self.weights
        listed = dict(zip(self.strategy, released, strict=True))
        ups: list[Any] = [np.array([Fraction(int(x)) for x in listed[len(self.tree)]], dtype=object)]
        for level in range(len(self.tree) - 1, -1, -1):
            below = np.add.reduceat(ups[0], np.cumsum((0, *self.tree[level]))[:-1])
            if level in listed:
                weight = np.array([Fraction(int(w), SCALE) for w in own[level]], dtype=object)
                here = np.array([int(x) for x in listed[level]], dtype=object)
                below = below + weight * (here - below)
            ups.insert(0, below)
        found = [ups[0]]
        for children, share, here in zip(self.tree, shares[1:], ups[1:], strict=True):
            over = found[-1] - np.add.reduceat(here, np.cumsum((0, *children))[:-1])
            part = np.array([Fraction(int(w), SCALE) for w in share], dtype=object)
            found.append(here + part * np.repeat(over, children))
        return [np.asarray(level * Fraction(1, self.grain), dtype=object) for level in found]

    @cached_property
    def variances(self) -> list[Floats]:
        """The variance of every node's count, for the shares that are used.

        z is a node's count from below, f its final one, and f depends on z by the factor k: f = z + share (f of the
        parent - sum of z over its children), and the parent's z depends on a child's by 1 - own weight.
        """
        own, shares = ([each / SCALE for each in part] for part in self.weights)
        up: list[Floats] = [np.full(len(own[-1]), float(self.noise[-1] or 0.0))]
        for level in range(len(self.tree) - 1, -1, -1):
            below = np.add.reduceat(up[0], np.cumsum((0, *self.tree[level]))[:-1])
            up.insert(0, own[level] ** 2 * (self.noise[level] or 0.0) + (1 - own[level]) ** 2 * below)
        found, factor = [up[0]], np.ones(1)
        for level, children in enumerate(self.tree):
            through = factor * (1 - own[level])  # how the parent's final count depends on a child's z
            below = np.add.reduceat(up[level + 1], np.cumsum((0, *children))[:-1])
            over = np.repeat(found[-1] + below - 2 * through * below, children)
            share, here, shift = shares[level + 1], up[level + 1], np.repeat(through, children)
            found.append(here + 2 * share * (shift - 1) * here + share**2 * over)
            factor = 1 - share + share * shift
        return [np.asarray(level / self.grain**2) for level in found]

    def half_widths(self, confidence: float) -> list[Floats]:
        """How far off each node's count is at most, with at least this probability, whatever the rows are.

        By convolution for nodes of each sort (those with alike families along their way to the root); of a tree with
        very many sorts by the variance: a sum of independent symmetric noises with one peak lies within 2 s / (3
        (1 - confidence)^(1/2)) of 0 with that probability (Vysochanskij and Petunin 1980).
        """
        far = 2 / (3 * math.sqrt(1 - confidence))
        return self._by_sort(lambda terms: sum_half_width(terms, confidence), far)

    def mean_sizes(self) -> list[Floats]:
        """How far off each node's count is on average: computed likewise, or as of a Gaussian of the same variance."""
        return self._by_sort(sum_mean_size, math.sqrt(2 / math.pi))

    def _by_sort(self, measure: Callable[[list[tuple[Any, float, int]]], float], far: float) -> list[Floats]:
        """What is measured of the error of every node, once for each sort; of very many sorts, so many deviations."""
        sorts = self._sorts()
        if max(len(set(level)) for level in sorts) > MOST_ALIKE:
            return [np.asarray(far * np.sqrt(level)) for level in self.variances]
        found = []
        for level, names in enumerate(sorts):
            first = {name: place for place, name in reversed(list(enumerate(names)))}
            sizes_of = {name: measure(self._terms(level, place)) for name, place in first.items()}
            found.append(np.array([sizes_of[name] for name in names]) / self.grain)
        return found

    @cached_property
    def _shapes(self) -> list[list[int]]:
        """What the tree below each node is like: nodes with the same number have like trees."""
        found: list[list[int]] = [[0] * sizes(self.tree)[-1]]
        for children in reversed(self.tree):
            ends = np.cumsum((0, *children)).tolist()
            known: dict[tuple[int, ...], int] = {}
            below = found[0]
            found.insert(0, [known.setdefault(tuple(sorted(below[a:b])), len(known)) for a, b in pairwise(ends)])
        return found

    def _sorts(self) -> list[list[Any]]:
        """For every node what its error's law depends on: the like of its ancestors' trees, and its own."""
        found: list[list[Any]] = [[(self._shapes[0][0],)]]
        for children, shapes in zip(self.tree, self._shapes[1:], strict=True):
            above = [sort for sort, many in zip(found[-1], children, strict=True) for _ in range(many)]
            found.append([(*sort, shape) for sort, shape in zip(above, shapes, strict=True)])
        return found

    def _terms(self, level: int, place: int) -> list[tuple[Any, float, int]]:
        """What a node's error is made of: (law, factor, how many)."""
        own, shares = ([each / SCALE for each in part] for part in self.weights)
        way, at = [place], place
        for children in reversed(self.tree[:level]):
            at = int(np.searchsorted(np.cumsum(children), at, side="right"))
            way.insert(0, at)
        terms: dict[tuple[int, float], int] = {}
        factor, outside = 1.0, 1.0
        factors = [1.0]
        for depth in range(level):  # how the final count on the way depends on its own z
            through = factor * (1 - own[depth][way[depth]])
            share = shares[depth + 1][way[depth + 1]]
            factor = 1 - share + share * through
            factors.append(factor)
        self._add_below(terms, level, place, factor)
        for depth in range(level - 1, -1, -1):
            outside *= float(shares[depth + 1][way[depth + 1]])
            weight = own[depth][way[depth]]
            self._add(terms, depth, outside * factors[depth] * weight, 1)
            start = sum(self.tree[depth][: way[depth]])
            siblings = [i for i in range(start, start + self.tree[depth][way[depth]]) if i != way[depth + 1]]
            for sibling in siblings:
                self._add_below(terms, depth + 1, sibling, outside * (factors[depth] * (1 - weight) - 1))
        laws = dict(zip(self.strategy, self.mechanism.laws, strict=True))
        return [(laws[depth].single, size, many) for (depth, size), many in terms.items()]

    def _add(self, terms: dict[tuple[int, float], int], level: int, factor: float, many: int) -> None:
        if level in self.strategy and factor:
            key = level, float(f"{abs(factor):.12g}")  # noise is symmetric
            terms[key] = terms.get(key, 0) + many

    def _add_below(self, terms: dict[tuple[int, float], int], level: int, place: int, factor: float) -> None:
        """The noise in a node's z, times a factor."""
        for (depth, size), many in self._below(level, place).items():
            self._add(terms, depth, size * factor, many)

    def _below(self, level: int, place: int) -> Mapping[tuple[int, float], int]:
        key = level, self._shapes[level][place]
        if key not in self._known:
            found: dict[tuple[int, float], int] = {}
            weight = float(self.weights[0][level][place]) / SCALE
            self._add(found, level, weight, 1)
            if level < len(self.tree):
                start = sum(self.tree[level][:place])
                for child in range(start, start + self.tree[level][place]):
                    for (depth, size), many in self._below(level + 1, child).items():
                        self._add(found, depth, size * (1 - weight), many)
            self._known[key] = found
        return self._known[key]

    @cached_property
    def _known(self) -> dict[tuple[int, int], dict[tuple[int, float], int]]:
        return {}


def write_tree(tree: Tree) -> str:
    """A tree as text.

    Examples
    --------
    >>> write_tree(((2,), (3, 1))), read_tree("2|3,1")
    ('2|3,1', ((2,), (3, 1)))
    """
    return "|".join(",".join(map(str, level)) for level in tree)


def read_tree(text: Any) -> Tree:
    """The tree written by `write_tree`; a file may hold anything here."""
    try:
        tree = tuple(tuple(int(n) for n in level.split(",")) for level in str(text).split("|"))
    except ValueError:
        raise InvalidInput("the hierarchy is not written as numbers of children.") from None
    fits = all(sum(above) == len(below) for above, below in pairwise(tree))
    if len(tree[0]) != 1 or not fits or min(map(min, tree)) < 1 or sum(map(sum, tree)) > MOST_NODES:
        raise InvalidInput("the hierarchy's levels do not fit each other.")
    return tree
