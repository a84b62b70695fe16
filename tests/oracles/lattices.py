"""What neighbours do to vectors of integers, by the definition of each kind of move."""

from itertools import product

from utmost.space.integers import Holders, Strategy, Tables, Tallies
from utmost.space.line import Line


def moves_of_one_row(moves, d):
    """What one row does, by its definition."""
    if moves == "any":
        return [z for z in product((-1, 0, 1), repeat=d) if sum(map(abs, z)) <= 1]
    if moves == "one-way":
        return [z for z in product((-1, 0, 1), repeat=d) if min(z) >= 0 or max(z) <= 0]
    if moves == "cube":
        return list(product((-1, 0, 1), repeat=d))
    found = [z for z in product((-1, 0, 1), repeat=d) if z.count(1) <= 1 and z.count(-1) <= 1]
    return found if moves == "exchange" else [z for z in found if sum(z) == 0]


def moves_of(space):
    """What one neighbour does: as many moves of single rows as its reach."""
    found = {(0,) * space.dimension}
    for _ in range(space.reach):
        steps = moves_of_one_row(space.moves, space.dimension)
        found = {tuple(a + b for a, b in zip(z, step, strict=True)) for z in found for step in steps}
    return found


def one_neighbour_apart(space, one, other):
    """Whether one neighbour can move a statistic from one point to another, at any distance from the space's ends.

    A closed form for every space of integers; `moves_of` and the edges of small spaces list the same.
    """
    if isinstance(space, Holders):
        return _one_unit_apart(space, one, other)
    if isinstance(space, Line):
        return abs(one - other) <= space.reach
    if isinstance(space, Tables):
        return all(map(one_neighbour_apart, space.lattices(), one, other))
    moved = [b - a for a, b in zip(one, other, strict=True)]
    if isinstance(space, Strategy):
        return _reached_by_rows(_sums_of_one_row(space), tuple(moved), space.cells.reach)
    rises, falls = ([max(sign * x, 0) for x in moved] for sign in (1, -1))
    if isinstance(space, Tallies):
        one_way = min(sum(rises), sum(falls)) == 0
        return (one_way or space.neighbours == "replace") and max(sum(rises), sum(falls)) <= space.rows_each
    if space.moves == "any":
        return sum(rises) + sum(falls) <= space.reach
    if space.moves == "one-way":
        return max(rises) + max(falls) <= space.reach
    if space.moves == "cube":
        return max(map(abs, moved)) <= space.reach
    balanced = space.moves == "exchange" or sum(moved) == 0
    return balanced and max(sum(rises), sum(falls)) <= space.reach


def _sums_of_one_row(space):
    """What one row does to weighted sums of disjoint cells: it comes, goes, or, replaced, changes cells."""
    d = space.cells.dimension
    columns = [tuple(int(x) for x in space.matrix[:, i]) for i in range(d)]
    still = (0,) * space.dimension
    found = {still, *columns, *(tuple(-x for x in column) for column in columns)}
    if space.cells.moves == "exchange":
        found |= {tuple(a - b for a, b in zip(c, e, strict=True)) for c in columns for e in columns}
    return found


def _reached_by_rows(steps, moved, rows):
    """Whether so many rows, each with one of the steps, add up to a move."""
    if rows == 1:
        return moved in steps
    return any(_reached_by_rows(steps, tuple(m - x for m, x in zip(moved, s, strict=True)), rows - 1) for s in steps)


def numbers_by_key(point):
    """How many units hold each key, and its numbers, of a private point of keys that nobody listed."""
    keys = zip(*point.keys.to_pydict().values(), strict=True)
    rows = zip(keys, point.holders.tolist(), map(tuple, point.numbers.tolist()), strict=True)
    return {key: (holders, numbers) for key, holders, numbers in rows}


def _one_unit_apart(space, one, other):
    """Keys that nobody listed: how many change, by one unit each, and what that does to their numbers."""
    here, there, parts = numbers_by_key(one), numbers_by_key(other), one.numbers.shape[1]
    nothing = (0, (0,) * parts)
    pairs = [(here.get(key, nothing), there.get(key, nothing)) for key in {*here, *there}]
    changed = [b[0] - a[0] for a, b in pairs if a[0] != b[0]]
    one_way = space.neighbours == "replace" or len({c > 0 for c in changed}) <= 1
    if not one_way or len(changed) > space.changes or any(abs(c) > 1 for c in changed):
        return False
    if space.numbers is None:
        return True
    if space.numbers.dimension == parts and sum(a[1] != b[1] for a, b in pairs) > 1:
        return False  # the noise is for the numbers of one key
    moved = [y - x for a, b in pairs for x, y in zip(a[1], b[1], strict=True)]
    rises, falls = sum(max(x, 0) for x in moved), sum(max(-x, 0) for x in moved)
    reach = space.numbers.reach
    return (rises + falls if space.numbers.moves == "any" else max(rises, falls)) <= reach
