"""Graphs with their marks: what is drawn is counted and looked up, not only that something is."""

import numpy as np
import pytest

import utmost as um
from utmost.errors import InvalidInput


def test_boundary_edges_are_dashed_and_its_points_have_thick_rims():
    """BIN Figure 1: on 20 random graphs, as many dashed lines and rims as comparing truths says."""
    rng = np.random.default_rng(27)
    for _ in range(20):
        n = int(rng.integers(3, 8))
        edges = [(i, j) for i in range(n) for j in range(i) if rng.random() < 0.5] or [(0, 1)]
        space, truth = um.Space.from_edges(edges, points=range(n)), rng.integers(0, 2, n).tolist()
        axes = um.plot.space_graph(space, truth=truth).axes[0]
        crossing = [edge for edge in space.edges if truth[edge[0]] != truth[edge[1]]]
        assert sum(line.get_linestyle() == "--" for line in axes.lines) == len(crossing)
        assert len(axes.lines) == len(space.edges)
        rims = [dots.get_linewidths()[0] for dots in axes.collections[:n]]
        assert [rim > 2 for rim in rims] == [any(i in edge for edge in crossing) for i in range(n)]


def test_hitting_sets_are_squares_and_strict_edges_thick():
    """HET Figure 1."""
    cube, majority = um.hamming(3, 2), lambda votes: sum(votes) > 1
    levels = um.per_edge(cube, lambda a, b: "0.2" if a[0] != b[0] else 1)
    chosen = um.binary.hitting_set(cube, majority)
    axes = um.plot.space_graph(cube, truth=majority, hitting=chosen, privacy=levels).axes[0]
    widths = [line.get_linewidth() for line in axes.lines]
    strict = [a[0] != b[0] for a, b in cube.edges]
    assert all((width > 4) is first for width, first in zip(widths, strict, strict=True))
    corners = [len(dots.get_paths()[0].vertices) for dots in axes.collections[:8]]
    squares = {point for point, count in zip(cube.points, corners, strict=True) if count <= 5}
    assert squares == set(chosen)


def test_points_lie_where_they_are_put():
    space = um.path(3)
    places = {0: (0.0, 5.0), 1: (1.0, 2.0), 2: (7.0, 7.0)}
    axes = um.plot.space_graph(space, positions=places).axes[0]
    assert [tuple(dots.get_offsets()[0]) for dots in axes.collections[:3]] == list(places.values())


def test_a_rainbow_graph_stands_beside_its_boundary_graph(tmp_path):
    """RAIN Figure 1: on the right as many points as rankings and distances, and both are written to a file."""
    ranking = lambda i: tuple("brg" if i < 3 else "rgb")  # noqa: E731
    figure = um.plot.rainbow_graphs(um.path(7), ranking)
    small, _ = um.rainbow.boundary_space(um.path(7), ranking)
    assert len(figure.axes[1].lines) == len(small.edges)
    assert len(figure.axes[1].texts) == len(small.points)
    assert um.plot.save(figure, tmp_path / "rainbow.png").stat().st_size > 10_000


def test_queries_stand_side_by_side():
    """REG Figures 1 and 5."""
    spaces = {"count": um.counts(4), "sum": um.sums(2, 3), "two counts": um.grid((3, 3))}
    figure = um.plot.query_graphs(spaces)
    assert [len(axes.lines) for axes in figure.axes] == [len(space.edges) for space in spaces.values()]
    with pytest.raises(InvalidInput):
        um.plot.query_graphs({})


def test_tangents_touch_the_region_and_lie_below_it():
    """LIM Figure 2.5, right."""
    region = um.compose(um.ApproxDP("0.1", "0.001"), 30).region()
    axes = um.plot.region_tangents(region, [0, 0.4, 0.8]).axes[0]
    for line in axes.lines[2:]:
        (x0, x1), (y0, y1) = line.get_xdata(), line.get_ydata()
        at = y0 + (y1 - y0) / (x1 - x0) * (region.corners[:, 0] - x0)
        below = region.corners[:, 1] - at
        assert below.min() == pytest.approx(0, abs=1e-9)


def test_scaling_is_drawn_against_the_leading_quantity():
    """LIM Figures 3.5 and 3.8, left."""
    p0, p1 = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    axes = um.plot.scaling([(p0, p1)], 0.1, against="leading").axes[0]
    assert axes.collections[0].get_offsets()[0][0] == pytest.approx(0.3)
    axes = um.plot.scaling([p0], 0.1, against="leading").axes[0]
    assert axes.collections[0].get_offsets()[0][0] == pytest.approx(0.25)
    with pytest.raises(InvalidInput):
        um.plot.scaling([p0], 0.1, against="nothing")


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(InvalidInput, match="not both"):
        um.plot.space_graph(um.path(2), truth=[0, 1], preferences=[("a", "b")] * 2)
    with pytest.raises(InvalidInput, match="too many"):
        um.plot.space_graph(um.path(500))


def test_answers_called_like_a_colour_have_it_and_rings_are_the_ranking():
    """Blue is drawn blue, whatever comes first; the rings of a point are its preferences, the first one largest."""
    truth = ["blue", "red", "blue"]
    dots = um.plot.space_graph(um.path(3), truth=truth).axes[0].collections[:3]
    red, _, blue = np.array([each.get_facecolors()[0][:3] for each in dots]).T
    assert ((blue > red) == [name == "blue" for name in truth]).all()
    ranking = ("green", "blue", "red")
    rings = um.plot.space_graph(um.path(1), preferences=[ranking]).axes[0].collections[:3]
    assert [each.get_sizes()[0] for each in rings] == sorted((each.get_sizes()[0] for each in rings), reverse=True)
    assert [int(np.argmax(each.get_facecolors()[0][:3])) for each in rings] == [1, 2, 0]


def test_levels_stand_side_by_side_with_truths():
    """HET Figure 1: the same points, thick edges where less may be told; LIM Figure 2.5 has two pairs of axes."""
    votes = um.hamming(3, (1, 2))
    levels = um.personalized(votes, [0.5, 1, 1])
    figure = um.plot.query_graphs({"plain": votes, "first vote": levels}, truth=lambda v: v.count(2) > 1)
    plain, first = figure.axes
    assert len({line.get_linewidth() for line in plain.lines}) == 1
    assert sum(line.get_linewidth() > 4 for line in first.lines) == 4
    pair = um.plot.region_tangents(
        um.accounting.region(1.0), [0, 0.5], beside=um.plot.theorem_regions("0.1", "0.001", 3)
    )
    assert [len(axes.lines) for axes in pair.axes] == [4, 6]
