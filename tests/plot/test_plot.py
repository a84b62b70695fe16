"""Pictures show what they should: one mark per point, in the colour of its truth, with its probability written."""

import networkx as nx
import numpy as np
import pyarrow
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


def test_priors_may_stand_alone_in_pictures_of_local_mechanisms():
    """A list of priors is a list of instances for information; what is neither is refused in words."""
    prior, epsilons = [0.5, 0.3, 0.2], [0.5, 3.0]
    for instances in ([prior], [np.array(prior)], [(prior, None)]):
        (line,) = um.plot.local_shares(instances, epsilons).axes[0].get_lines()
        best = um.local.for_information(prior, 0.5).value
        simple = um.local.binary_for_information(prior, 0.5), um.local.randomized_response(3, 0.5)
        assert line.get_ydata()[0] == pytest.approx(max(um.local.information(m, prior) for m in simple) / best)
    assert um.plot.scaling([[0.5, 0.5], prior], 1.0).axes[0].get_xlabel() == "H(X)"
    with pytest.raises(InvalidInput, match="a pair"):
        um.plot.local_shares([(prior, prior, prior)], epsilons)


def test_noise_and_protocols_are_drawn():
    """The bars of noise are its probabilities, those of a protocol the accuracies of its listeners."""
    noise = um.noise.discrete_staircase(1.0, 5)
    heights = [bar.get_height() for bar in um.plot.draw(noise).axes[0].patches]
    assert heights[len(heights) // 2] == noise.probability(0)
    assert um.plot.draw(um.noise.staircase(1.0)).axes[0].get_ylabel() == "density"
    protocol = um.multiparty.optimal("majority", [1.0, 1.0, 2.0])
    bars = [bar.get_height() for bar in um.plot.draw(protocol).axes[0].patches]
    assert bars == [protocol.value(), *(protocol.value(i) for i in range(3))]
    assert um.plot.draw(um.finite.geometric(3, 1.0)).axes[0].get_images()
    with pytest.raises(InvalidInput, match="int has no picture"):
        um.plot.draw(3)
    asked = um.Session(pyarrow.table({"x": [1, 2]}), "t", um.rows(at_most=9), "replace", budget=9).plan
    for plan in (asked.count("x > 1", 1), asked.majority("x > 1", 1), asked.counts(["x > 1", "x > 0"], 1)):
        with pytest.raises(InvalidInput, match=r"plan.picture\(\)"):
            um.plot.draw(plan.solution)
    with pytest.raises(InvalidInput, match="2 whole numbers"):
        um.plot.draw(um.noise.discrete_staircase(1.0, dimension=2))


def test_a_notebook_shows_a_picture():
    """Figures know their PNG, so that a notebook shows what a cell returns."""
    assert um.plot.draw(um.finite.geometric(3, 1.0))._repr_png_().startswith(b"\x89PNG")


def test_heat_maps_name_their_outputs():
    """Sets of letters by their members, every one; of very many outputs every so many."""
    axes = um.plot.heat_map(um.local.subset(4, 1.0, size=2)).axes[0]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["01", "02", "03", "12", "13", "23"]
    axes = um.plot.heat_map(um.finite.geometric(100, 1.0)).axes[0]
    assert [tick.get_text() for tick in axes.get_xticklabels()][:3] == ["0", "4", "8"]


def test_a_path_is_drawn_straight():
    """Whatever its points are called, and from left to right."""
    space = um.Space.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")])
    places = um.plot.layout(space)
    assert (places[:, 1] == 0).all()
    assert (np.diff(places[:, 0]) > 0.99).all()


@pytest.mark.parametrize(
    "space",
    [
        um.path(40),
        um.cycle(40),
        um.complete(12),
        um.grid((6, 6)),
        um.hamming(5, 2),
        um.histograms(7, 3),
        um.Space.from_networkx(nx.random_labeled_tree(40, seed=2)),  # its outermost points were once cut off
        um.Space.from_edges([(i, (i * i + 1) % 40) for i in range(40) if i != (i * i + 1) % 40], points=range(40)),
    ],
)
def test_points_of_a_graph_do_not_overlap(space):
    """Up to 40 points: on the page, no two of them are nearer than they are wide."""
    solution = um.binary.balanced(space, [i % 3 > 0 for i in range(len(space.points))], 1.0)
    figure = um.plot.graph(solution)
    figure.draw_without_rendering()
    axes = figure.axes[0]
    drawn = [dots for dots in axes.collections if len(dots.get_offsets())]
    at = axes.transData.transform(np.array([dots.get_offsets()[0] for dots in drawn])) * 72 / figure.dpi
    width = max(float(np.sqrt(dots.get_sizes()[0])) for dots in drawn)
    places = np.unique(at.round(6), axis=0)
    assert len(places) == len(space.points)
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    assert apart[~np.eye(len(places), dtype=bool)].min() >= width
    assert width > 12  # and they can still be read
    corners = axes.bbox.get_points() * 72 / figure.dpi
    assert (places - width / 2 >= corners[0]).all()  # and none is cut off at an edge
    assert (places + width / 2 <= corners[1]).all()


def test_rainbow_lines_mark_where_growth_ends():
    """RAIN's example: tau_R = 5 and tau_B = 12."""
    axes = um.plot.rainbow([3 / 55, 9 / 55, 43 / 55], um.PureDP.from_ratio("6/5"), 20, ("blue", "red", "green")).axes[0]
    marks = {text.get_text(): text.xy[0] for text in axes.texts}
    assert marks == {"τ(blue)": 12, "τ(blue + red)": 5}


def test_the_region_of_a_level_is_shaded_up_to_its_mirror():
    """(1, 1) is outside, as (0, 0) is: no test of a private mechanism is wrong so often."""
    (shade,) = um.plot.level_region(1, 0.1).axes[0].patches
    for point, inside in (((0.5, 0.5), True), ((0.99, 0.99), False), ((0.01, 0.01), False), ((0.7, 0.7), True)):
        assert shade.get_path().contains_point(point) == inside
