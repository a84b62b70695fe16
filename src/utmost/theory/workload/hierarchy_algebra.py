"""Hierarchies: counts of all nodes of a tree by generalised least squares from noisy counts of its levels.

Upwards, a node's own noisy count and the sum of its children's estimates are averaged by their precision; downwards,
the difference between a parent's final count and the sum of its children is shared out by their variances. That is
generalised least squares on a tree (Hay et al. 2010). Shares are integer multiples of 1/SCALE, so counts are fractions
that add up exactly, and variances are those of the rounded shares.
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
from utmost.mechanism.noise.tables import NoisyTables
from utmost.mechanism.noise.weighted import sum_half_width, sum_mean_size

Tree: TypeAlias = tuple[tuple[int, ...], ...]
"""For every level but the last, the number of children of each of its nodes, in order. The first level is the root."""
SCALE = 2**20
MOST_NODES, MOST_CLASSES = 2 * 10**6, 300
"""The largest tree; and up to how many classes of nodes intervals come from the convolution of the noise."""


def sizes(tree: Tree) -> tuple[int, ...]:
    """The number of nodes of each level."""
    return (*(len(level) for level in tree), sum(tree[-1]))


def tree_weights(tree: Tree, variances: Sequence[float | None]) -> tuple[list[Floats], list[Floats]]:
    """Weights of least squares on a tree: of each node's own count, and its share of its family's difference.

    `variances` are those of the levels' noise, None for a level that is not released. A node's own count is averaged
    with the sum of its children; its share is of the difference between its parent's final count and its siblings' sum.
    """
    last = variances[-1]
    if last is None:
        raise InvalidInput("the finest level of a hierarchy must be released.")
    variances_below: list[Floats] = [np.full(sizes(tree)[-1], float(last))]
    own: list[Floats] = [np.ones(sizes(tree)[-1])]
    shares: list[Floats] = []
    for level in range(len(tree) - 1, -1, -1):
        starts = np.cumsum((0, *tree[level]))[:-1]
        below = np.add.reduceat(variances_below[0], starts)
        shares.insert(0, variances_below[0] / np.repeat(below, tree[level]))
        noise = variances[level]
        weight = np.zeros(len(below)) if noise is None else below / (below + noise) if noise else np.ones(len(below))
        variances_below.insert(
            0, below if noise is None else below * noise / (below + noise) if noise else np.zeros(len(below))
        )
        own.insert(0, weight)
    return own, [np.ones(1), *shares]


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Estimates of the counts of all nodes of a tree from the levels that are released with noise.

    Attributes
    ----------
    tree : tuple of tuples
        How many children every node has.
    strategy : tuple of int
        The levels that are released, in the order of the mechanism's laws.
    mechanism : NoisyTables
        The noise.
    grain : int
        How often one row counts in a released table.
    """

    tree: Tree
    strategy: tuple[int, ...]
    mechanism: NoisyTables
    grain: int = 1

    @cached_property
    def noise(self) -> list[float | None]:
        """The variance of each level's noise; None for levels that are not released."""
        variances = {level: law.mean("squared") for level, law in zip(self.strategy, self.mechanism.laws, strict=True)}
        return [variances.get(level) for level in range(len(self.tree) + 1)]

    @cached_property
    def weights(self) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
        """Own weights and shares as integers over SCALE; the shares of one family add up to SCALE."""
        noise = self.noise
        if not all(noise[level] for level in self.strategy):
            noise = [1.0 if level in self.strategy else None for level in range(len(noise))]
        own, shares = tree_weights(self.tree, noise)
        weights = [np.rint(weight * SCALE).astype(np.int64) for weight in own]
        parts = [np.full(1, SCALE, dtype=np.int64)]
        for children, share in zip(self.tree, shares[1:], strict=True):
            part = np.floor(share * SCALE).astype(np.int64)
            starts = np.cumsum((0, *children))[:-1]
            part[starts] += SCALE - np.add.reduceat(part, starts)
            parts.append(part)
        return weights, parts

    def estimate(self, released: Sequence[Any]) -> list[NDArray[Any]]:
        """The counts of every level, as exact fractions that add up."""
        own, shares = self.weights
        tables = dict(zip(self.strategy, released, strict=True))
        ups: list[Any] = [np.array([Fraction(int(x)) for x in tables[len(self.tree)]], dtype=object)]
        for level in range(len(self.tree) - 1, -1, -1):
            below = np.add.reduceat(ups[0], np.cumsum((0, *self.tree[level]))[:-1])
            if level in tables:
                weight = np.array([Fraction(int(w), SCALE) for w in own[level]], dtype=object)
                estimates = np.array([int(x) for x in tables[level]], dtype=object)
                below = below + weight * (estimates - below)
            ups.insert(0, below)
        counts = [ups[0]]
        for children, share, estimates in zip(self.tree, shares[1:], ups[1:], strict=True):
            over = counts[-1] - np.add.reduceat(estimates, np.cumsum((0, *children))[:-1])
            part = np.array([Fraction(int(w), SCALE) for w in share], dtype=object)
            counts.append(estimates + part * np.repeat(over, children))
        return [np.asarray(level * Fraction(1, self.grain), dtype=object) for level in counts]

    @cached_property
    def variances(self) -> list[Floats]:
        """The variance of every node's count, for the rounded shares.

        z is a node's count from below, f its final one, and f depends on z by the factor k: f = z + share (f of the
        parent - sum of z over its children), and the parent's z depends on a child's by 1 - own weight.
        """
        own, shares = ([numerators / SCALE for numerators in part] for part in self.weights)
        up: list[Floats] = [np.full(len(own[-1]), float(self.noise[-1] or 0.0))]
        for level in range(len(self.tree) - 1, -1, -1):
            below = np.add.reduceat(up[0], np.cumsum((0, *self.tree[level]))[:-1])
            up.insert(0, own[level] ** 2 * (self.noise[level] or 0.0) + (1 - own[level]) ** 2 * below)
        final, factor = [up[0]], np.ones(1)
        for level, children in enumerate(self.tree):
            through = factor * (1 - own[level])  # how the parent's final count depends on a child's z
            below = np.add.reduceat(up[level + 1], np.cumsum((0, *children))[:-1])
            over = np.repeat(final[-1] + below - 2 * through * below, children)
            share, variance, shift = shares[level + 1], up[level + 1], np.repeat(through, children)
            final.append(variance + 2 * share * (shift - 1) * variance + share**2 * over)
            factor = 1 - share + share * shift
        return [np.asarray(level / self.grain**2) for level in final]

    def half_widths(self, confidence: float) -> list[Floats]:
        """Half-widths of the intervals of every node's count, with at least this probability for every table.

        By convolution, once for each class of nodes (those with isomorphic subtrees along the way to the root); for a
        tree with very many classes by the variance: a sum of independent symmetric unimodal noises lies within 2 s / (3
        (1 - confidence)^(1/2)) of 0 with that probability (Vysochanskij and Petunin 1980).
        """
        deviations = 2 / (3 * math.sqrt(1 - confidence))
        return self._by_class(lambda terms: sum_half_width(terms, confidence), deviations)

    def mean_sizes(self) -> list[Floats]:
        """Mean absolute errors of all nodes' counts; for very many classes, those of Gaussians of equal variance."""
        return self._by_class(sum_mean_size, math.sqrt(2 / math.pi))

    def _by_class(self, measure: Callable[[list[tuple[Any, float, int]]], float], deviations: float) -> list[Floats]:
        """Apply a measure to the error of every node, once per class; with very many classes, so many deviations."""
        sorts = self._classes()
        if max(len(set(level)) for level in sorts) > MOST_CLASSES:
            return [np.asarray(deviations * np.sqrt(level)) for level in self.variances]
        measures = []
        for level, names in enumerate(sorts):
            first = {name: place for place, name in reversed(list(enumerate(names)))}
            sizes_of = {name: measure(self._terms(level, place)) for name, place in first.items()}
            measures.append(np.array([sizes_of[name] for name in names]) / self.grain)
        return measures

    @cached_property
    def _subtree_classes(self) -> list[list[int]]:
        """Number the isomorphism classes of subtrees: nodes with the same number have isomorphic subtrees."""
        classes: list[list[int]] = [[0] * sizes(self.tree)[-1]]
        for children in reversed(self.tree):
            ends = np.cumsum((0, *children)).tolist()
            numbers: dict[tuple[int, ...], int] = {}
            below = classes[0]
            classes.insert(0, [numbers.setdefault(tuple(sorted(below[a:b])), len(numbers)) for a, b in pairwise(ends)])
        return classes

    def _classes(self) -> list[list[Any]]:
        """For every node, what the law of its error depends on: the classes of its ancestors' subtrees, and its own."""
        classes: list[list[Any]] = [[(self._subtree_classes[0][0],)]]
        for children, shapes in zip(self.tree, self._subtree_classes[1:], strict=True):
            above = [sort for sort, many in zip(classes[-1], children, strict=True) for _ in range(many)]
            classes.append([(*sort, shape) for sort, shape in zip(above, shapes, strict=True)])
        return classes

    def _terms(self, level: int, place: int) -> list[tuple[Any, float, int]]:
        """The error of a node as a sum of independent noises: (law, factor, how many)."""
        own, shares = ([numerators / SCALE for numerators in part] for part in self.weights)
        way, at = [place], place
        for children in reversed(self.tree[:level]):
            at = int(np.searchsorted(np.cumsum(children), at, side="right"))
            way.insert(0, at)
        terms: dict[tuple[int, float], int] = {}
        factor, outside = 1.0, 1.0
        factors = [1.0]
        for depth in range(level):  # how the final count at this depth depends on its own z
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
        """Add the noise in a node's z, times a factor, to the terms."""
        for (depth, size), many in self._below(level, place).items():
            self._add(terms, depth, size * factor, many)

    def _below(self, level: int, place: int) -> Mapping[tuple[int, float], int]:
        key = level, self._subtree_classes[level][place]
        if key not in self._terms_below:
            terms: dict[tuple[int, float], int] = {}
            weight = float(self.weights[0][level][place]) / SCALE
            self._add(terms, level, weight, 1)
            if level < len(self.tree):
                start = sum(self.tree[level][:place])
                for child in range(start, start + self.tree[level][place]):
                    for (depth, size), many in self._below(level + 1, child).items():
                        self._add(terms, depth, size * (1 - weight), many)
            self._terms_below[key] = terms
        return self._terms_below[key]

    @cached_property
    def _terms_below(self) -> dict[tuple[int, int], dict[tuple[int, float], int]]:
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
    """Parse a tree written by `write_tree`, from an untrusted file."""
    try:
        tree = tuple(tuple(int(n) for n in level.split(",")) for level in str(text).split("|"))
    except ValueError:
        raise InvalidInput("the hierarchy is not written as numbers of children.") from None
    fits = all(sum(above) == len(below) for above, below in pairwise(tree))
    if len(tree[0]) != 1 or not fits or min(map(min, tree)) < 1 or sum(map(sum, tree)) > MOST_NODES:
        raise InvalidInput("the hierarchy's levels do not fit each other.")
    return tree
