"""What families know of themselves, against the graph they make."""

import numpy as np
import pytest

import utmost as um
from utmost.space.family import Row

SMALL = [
    um.path(5),
    um.counts(4),
    um.sums(3, 2),
    um.sums(2, 0),
    um.differences(3, "replace"),
    um.differences(3, "add-remove"),
    um.cycle(5),
    um.cycle(2),
    um.complete(4),
    um.grid((3, 1, 2)),
    um.grid((3, 2), "manhattan"),
    um.grid((4, 1)),
    um.hamming(3, 2),
    um.hamming(2, ("no", "maybe", "yes")),
    um.histograms(3, 3),
    um.histograms(3, 2, "add-remove"),
]


@pytest.mark.parametrize("space", SMALL, ids=repr)
def test_a_family_knows_its_graph(space):
    """Number of edges, distances, reach, symmetry: as the plain graph with these edges has them."""
    plain = um.Space.from_edges(space.edge_indices, points=range(len(space.points)))
    assert space.edge_count == len(plain.edges)
    assert (space.distances() == plain.distances()).all()
    if isinstance(space.family, Row):
        apart = np.abs(np.subtract(*space.edge_indices.T))
        assert apart.max(initial=1) <= space.family.reach
        assert space.family.is_path == (apart.max(initial=1) == 1)
    if space.family.transitive:
        from_each = np.sort(plain.distances(), axis=1)
        assert (from_each == from_each[0]).all()


@pytest.mark.parametrize("space", SMALL, ids=repr)
def test_distances_add_up_over_the_sides(space):
    """Where a family names its sides, the distance is the sum of those along each side."""
    if space.family.sides is None:
        assert space.family.name in ("sums", "differences", "cycle", "grid", "histograms")
        return
    total = np.zeros((1, 1))
    for size, kind in space.family.sides:
        side = um.path(size) if kind == "path" else um.complete(size)
        total = np.add.outer(total, side.distances()).swapaxes(1, 2).reshape(len(total) * size, -1)
    assert (total == space.distances()).all()


def test_families_are_values():
    """Equal and hashable by their arguments, written as people write them."""
    assert um.grid((3, 2)).family == um.grid([3, 2]).family != um.grid((3, 2), "manhattan").family
    assert len({space.family for space in SMALL}) == len(SMALL)
    assert str(um.sums(3, 2).family) == "sums(people=3, largest=2, neighbours='replace')"
    assert um.hamming(2, 3).to_json() == {"family": "hamming", "people": 2, "values": 3}
