"""Pictures of privacy regions, their composition, and budgets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from utmost.accounting import Account, Region, compose, region, theorems
from utmost.errors import InvalidInput
from utmost.exact import Number
from utmost.plot.canvas import Figure, canvas, caption
from utmost.privacy import ApproxDP, Level

COLOURS = ("#4271ae", "#c44e52", "#55a868", "#8172b3", "#ccb974", "#64b5cd", "#8c8c8c")


def regions(named: Mapping[str, Region], title: str = "Privacy regions", beside: Figure | None = None) -> Figure:
    """Privacy regions below the diagonal: the errors of any test between neighbours lie above them (LIM Figure 2.1).

    Parameters
    ----------
    named : mapping
        The regions by their names in the legend.
    title : str
        The title of the picture.
        beside : Figure, optional
        A figure with one pair of axes; this picture is added on its right.

    Examples
    --------
    >>> from utmost.accounting import region
    >>> figure = regions({"1-DP": region(1)})
    """
    if beside is None:
        figure, axes = canvas(title, size=(5.6, 5.2))
    else:
        figure = beside
        figure.set_size_inches(11.2, 5.2)
        figure.axes[0].set_subplotspec(figure.add_gridspec(1, 2)[0])
        axes = figure.add_subplot(figure.axes[0].get_gridspec()[1])
        axes.set_title(title, fontsize=11)
    axes.plot([0, 1], [1, 0], color="#999999", linewidth=0.8, linestyle=":")
    for i, (name, shape) in enumerate(named.items()):
        axes.plot(*shape.corners.T, color=COLOURS[i % len(COLOURS)], linewidth=1.6, label=name)
    axes.set_xlabel("missed detection")
    axes.set_ylabel("false alarm")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_aspect("equal")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize=9)
    return figure


def level_region(epsilon: Number, delta: Number) -> Figure:
    """The privacy region of one level, with the point of largest total variation (LIM Figure 2.1)."""
    level = ApproxDP(epsilon, delta)
    figure = regions({str(level): region(level)}, f"Privacy region of {level}")
    axes, corner = figure.axes[0], (1 - theorems.total_variation(level)) / 2
    lower = region(level).corners
    outline = [
        *lower.tolist(),
        *(1 - lower).tolist(),
    ]  # the opposite guess mirrors the errors, so the region ends above too
    axes.fill(*zip(*outline, strict=True), color=COLOURS[0], alpha=0.08)
    axes.plot([0, 2 * corner], [2 * corner, 0], color=COLOURS[1], linestyle="--", linewidth=1)
    axes.plot([corner], [corner], "o", color=COLOURS[1], markersize=4)
    caption(figure, f"dashed: errors add up to {2 * corner:.3f}, so the total variation is {1 - 2 * corner:.3f}")
    return figure


def composition_regions(level: Level | Number, times: Sequence[int], title: str | None = None) -> Figure:
    """Privacy regions of compositions, by the number of releases (LIM Figure 2.4)."""
    named = {f"k = {k}": compose(level, k).region() for k in times}
    return regions(named, title or f"Composition of {level if isinstance(level, Level) else f'{level}-DP'}")


def theorem_regions(epsilon: Number, delta: Number, times: int) -> Figure:
    """The regions of exact, basic and advanced composition (LIM Figure 2.5): smaller regions are better."""
    level = ApproxDP(epsilon, delta)
    slacks = [10.0**-k for k in (0.05, 0.2, 0.4, 0.7, 1, 1.5, 2, 3, 4, 6, 8)]
    share = float(level.delta) * times
    advanced = [(theorems.advanced(level, times, s), min(1.0, share + s)) for s in slacks]
    basic = theorems.basic([level] * times)
    named = {
        "exact (Theorem 2.4.3)": compose(level, times).region(),
        "advanced (Theorem 2.4.2)": Region.from_levels(advanced),
        "basic (Theorem 2.4.1)": region(basic),
    }
    return regions(named, f"{times} releases at {level}")


def region_tangents(
    one: Region, epsilons: Sequence[float], title: str = "A region and its tangents", beside: Figure | None = None
) -> Figure:
    """A privacy region with tangent lines from below (LIM Figure 2.5, right).

    P_FA = 1 - d(e) - e^e P_MD is tangent to the region if d(e) is its least delta at epsilon e, so the pairs (e, d(e))
    determine the region.

    Parameters
    ----------
    one : Region
        Such as `um.compose(um.ApproxDP(0.1, 0.001), 30).region()`.
    epsilons : sequence of float
        The epsilons of the tangents; each is drawn with its mirror image.
    title : str
        The title of the picture.
    beside : Figure, optional
        A figure of regions; this picture is added on its right, as in LIM Figure 2.5.

    Examples
    --------
    >>> import utmost as um
    >>> figure = um.plot.region_tangents(um.compose(um.ApproxDP(0.1, 0.001), 30).region(), [0, 0.5, 1])
    """
    figure = regions({"region": one}, title, beside)
    axes = figure.axes[-1]
    missed = [0.0, 1.0]
    for i, epsilon in enumerate(epsilons):
        delta, growth = one.delta(float(epsilon)), math.exp(min(float(epsilon), 700.0))
        colour = COLOURS[(i + 1) % len(COLOURS)]
        axes.plot(
            missed, [1 - delta - growth * x for x in missed], color=colour, linewidth=0.9, label=f"ε = {epsilon:g}"
        )
        axes.plot(missed, [(1 - delta - x) / growth for x in missed], color=colour, linewidth=0.9)
    axes.legend(frameon=False, fontsize=9)
    return figure


def budget(accounts: Account | Sequence[Account]) -> Figure:
    """Spent and remaining budgets: a bar for each resource of each account."""
    all_accounts = [accounts] if isinstance(accounts, Account) else list(accounts)
    if not all_accounts:
        raise InvalidInput("there is no account to draw; open one first.")
    rows = [
        (account, name, float(spent), float(limit))
        for account in all_accounts
        for (name, spent), limit in zip(account.spent.amounts().items(), account.filter.limits, strict=True)
    ]
    figure, axes = canvas("Privacy budgets", size=(7.2, 1.2 + 0.5 * len(rows)))
    shares = [spent / limit if limit > 0 else float(spent > 0) for _, _, spent, limit in rows]
    places = range(len(rows))
    axes.barh(places, [1] * len(rows), color="#e6e6e6", height=0.6)
    axes.barh(places, shares, color=COLOURS[0], height=0.6)
    axes.set_yticks(places, [f"{account.dataset}: {name}" for account, name, _, _ in rows])
    for place, (_, _, spent, limit) in zip(places, rows, strict=True):
        axes.annotate(f"{spent:.4g} of {limit:.4g}", (1.01, place), va="center", fontsize=8)
    axes.set_xlim(0, 1.25)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
    axes.set_xlabel("share of the budget that is spent")
    axes.invert_yaxis()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure
