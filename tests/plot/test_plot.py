"""Pictures show what they should: one mark per point, in the colour of its truth, with its probability written."""

import numpy as np
import pytest

import utmost as um
from utmost.errors import InvalidInput


def words(figure):
    return " ".join(text.get_text() for text in figure.axes[0].texts)


def test_a_small_graph_draws_itself(tmp_path):
    """Every point is named with its probability, every edge is a line, and the file is a PNG."""
    votes = um.hamming(3, (1, 2))
    levels = um.per_edge(votes, {((1, 2, 1), (2, 2, 1)): 0.5}, default=1)
    solution = um.binary.balanced(votes, lambda v: v.count(2) >= 2, levels)
    figure = um.plot.draw(solution)
    for point, row in zip(votes.points, solution.mechanism.matrix, strict=True):
        assert f"{''.join(map(str, point))}\n{row[1]:.3f}" in words(figure)
    lines = figure.axes[0].get_lines()
    assert len(lines) == len(votes.edges)
    assert len({line.get_linewidth() for line in lines}) == 2  # the better protected edge is thicker
    assert um.plot.save(figure, tmp_path / "votes.png").read_bytes().startswith(b"\x89PNG")


def test_a_line_is_drawn_as_a_curve():
    """The curve runs through the probabilities."""
    solution = um.binary.balanced(um.counts(50), lambda yes: yes > 25, 1.0)
    (line,) = um.plot.draw(solution).axes[0].get_lines()
    assert np.array_equal(line.get_ydata(), solution.mechanism.matrix[:, 1])


def test_a_rainbow_is_drawn_by_its_rows():
    """RAIN Figure 2: one curve per output, through the probabilities of the line."""
    start = (0.0545, 0.1636, 0.7819)
    figure = um.plot.rainbow(start, 0.1823, 20, ("blue", "red", "green"))
    drawn = np.array([curve.get_ydata() for curve in figure.axes[0].get_lines()]).T
    assert np.array_equal(drawn, um.rainbow.line(start, 0.1823, 20))


def test_heat_maps_and_losses_show_their_numbers():
    """A heat map holds the matrix; a curve runs through its values."""
    mechanism = um.finite.geometric(7, 1.0)
    (image,) = um.plot.heat_map(mechanism).axes[0].get_images()
    assert np.array_equal(image.get_array(), mechanism.matrix)
    (curve,) = um.plot.losses([1, 2], {"it": [0.5, 0.25]}, "title", "loss").axes[0].get_lines()
    assert curve.get_ydata().tolist() == [0.5, 0.25]


@pytest.mark.parametrize(
    "space", [um.path(4), um.cycle(5), um.complete(4), um.grid((3, 3)), um.hamming(4, 2), um.histograms(3, 3)]
)
def test_layouts_keep_points_apart(space):
    """No two points are drawn in one place."""
    places = um.plot.layout(space)
    assert places.shape == (len(space.points), 2)
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    assert apart[~np.eye(len(space.points), dtype=bool)].min() > 1e-3


def test_too_many_points_are_refused():
    """A graph of a thousand points would be a blot."""
    solution = um.binary.balanced(um.grid((40, 40)), lambda p: p[0] > 5, 1.0)
    with pytest.raises(InvalidInput, match="too many"):
        um.plot.graph(solution)


def test_the_region_of_regular_priors_is_drawn_to_its_corners():
    """Three results: triangles whose corners are the corner priors; four: tetrahedra; others are refused."""
    levels = [um.PureDP.from_ratio(2), um.PureDP.from_ratio(5)]
    axes = um.plot.region_of_priors(um.path(3), levels).axes[0]
    filled = [patch.get_xy()[:3] for patch in axes.patches]
    corners = np.array([[0, 0], [1, 0], [0.5, 0.75**0.5]])
    for triangle, level in zip(filled[1:], levels, strict=True):
        assert triangle == pytest.approx(um.finite.corner_priors(um.path(3), level) @ corners)
    figure = um.plot.region_of_priors(um.grid((2, 2)), levels)
    assert len(figure.axes[0].get_lines()) == 3 * 6
    with pytest.raises(InvalidInput, match="5 results"):
        um.plot.region_of_priors(um.path(5), levels)


def test_local_pictures_show_their_numbers():
    """LIM Figures 3.3 to 3.8: curves and dots hold the values of the mechanisms they name."""
    pair, epsilons = ([0.5, 0.3, 0.2], [0.2, 0.2, 0.6]), [0.5, 3.0]
    axes = um.plot.simple_against_optimal([pair], epsilons).axes[0]
    curves = {curve.get_label(): curve.get_ydata() for curve in axes.get_lines()}
    whole = sum(a * np.log(a / b) for a, b in zip(*pair, strict=True))
    assert curves["optimal"][0] == pytest.approx(um.local.for_testing(*pair, 0.5).value / whole)
    assert (curves["optimal"] >= curves["geometric"]).all()
    kept = um.plot.information_shares([pair[0]], epsilons).axes[0].get_lines()[0].get_ydata()
    assert kept[1] == pytest.approx(um.local.for_information(pair[0], 3.0).value / 1.0296530140645737)
    for instances in ([pair], [(pair[0], None)]):
        (line,) = um.plot.local_shares(instances, epsilons).axes[0].get_lines()
        assert ((line.get_ydata() > 0.6) & (line.get_ydata() <= 1 + 1e-9)).all()
        assert len(um.plot.scaling(instances, 0.1).axes[0].collections) == 4
