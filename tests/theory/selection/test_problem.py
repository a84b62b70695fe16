"""Votes and ranks: winners and losses from their definitions, how far neighbours move them, and lines that hold all."""

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from utmost.space.integers import Tallies
from utmost.theory.selection.problem import Ranks, Votes


def small_contests():
    for neighbours in ("replace", "add-remove"):
        yield Votes(Tallies(3, 4, neighbours))
        yield Votes(Tallies(2, 6, neighbours, 2))
        yield Votes(Tallies(3, 7, neighbours, 3))
        yield Ranks(Tallies(3, 4, neighbours), Fraction(1, 3), (0, 2, 3))
        yield Ranks(Tallies(2, 5, neighbours, 2), Fraction(1, 2), (0, 1))
        yield Ranks(Tallies(3, 4, neighbours), Fraction(9, 10), (0, 1, 5))


@pytest.mark.parametrize("contest", list(small_contests()), ids=str)
def test_winners_and_losses_are_those_of_the_definitions(contest):
    every = contest.tallies.vectors()
    for loss in contest.losses:
        wanted = [loss_of(contest, loss, tally) for tally in every.tolist()]
        assert contest.loss(loss, every) == pytest.approx(np.array(wanted, dtype=float))
    assert contest.winners(every).tolist() == [winner_of(contest, tally) for tally in every.tolist()]


def winner_of(contest, tally):
    if isinstance(contest, Votes):
        return tally.index(max(tally))
    return next(j for j in range(len(tally)) if sum(tally[: j + 1]) >= contest.share * sum(tally))


def loss_of(contest, loss, tally):
    """What it costs to name each candidate."""
    right, places = winner_of(contest, tally), range(len(tally))
    if loss == "zero-one":
        return [j != right for j in places]
    if loss == "shortfall":
        return [max(tally) - votes for votes in tally]
    if loss == "absolute":
        return [abs(contest.values[j] - contest.values[right]) for j in places]
    wanted = contest.share * sum(tally)
    return [max(0, sum(tally[:j]) - wanted if j else 0, wanted - sum(tally[: j + 1])) for j in places]


@pytest.mark.parametrize("contest", list(small_contests()), ids=str)
def test_neighbours_move_winner_lead_scores_and_steps_by_no_more_than_stated(contest):
    """On every edge: a winner changes between closest races alone; scores move by half their reach, or all one way."""
    every, (one, other) = contest.tallies.vectors(), contest.tallies.space().edge_indices.T
    leads, winners = contest.leads(every), contest.winners(every)
    assert leads.min() >= 1
    assert leads.max() <= contest.most_lead
    depths = -(-leads // contest.lead_reach) - 1
    same = winners[one] == winners[other]
    assert (np.abs(depths[one] - depths[other])[same] <= 1).all()
    assert (depths[one][~same] == 0).all()
    assert (depths[other][~same] == 0).all()
    moved = contest.scores(every)[other] - contest.scores(every)[one]
    one_way = (moved >= 0).all(axis=1) | (moved <= 0).all(axis=1)
    assert np.abs(moved).max() <= contest.score_reach
    assert np.abs(moved[~one_way]).max(initial=0) * 2 <= contest.score_reach
    steps = contest.steps(every)
    assert ((steps == 0) == (winners[:, None] == np.arange(contest.size))).all()
    assert np.abs(steps[one] - steps[other]).max() <= 1


@pytest.mark.parametrize("contest", list(small_contests()), ids=str)
def test_somewhere_neighbours_move_a_lead_by_all_that_is_stated(contest):
    """A reach that is too large would cost accuracy; the last few tallies hold enough rows to move."""
    every, (one, other) = contest.tallies.vectors(), contest.tallies.space().edge_indices.T
    leads = contest.leads(every)
    same = contest.winners(every)[one] == contest.winners(every)[other]
    assert np.abs(leads[one] - leads[other])[same].max() == contest.lead_reach


@pytest.mark.parametrize(
    "contest",
    [
        Votes(Tallies(4, 5, "replace")),
        Votes(Tallies(2, 7, "add-remove")),
        Ranks(Tallies(4, 6, "replace"), Fraction(2, 5), (0, 1, 2, 3)),
        Ranks(Tallies(3, 7, "replace"), Fraction(1, 2), (0, 1, 2)),
        Ranks(Tallies(2, 7, "replace"), Fraction(9, 10), (0, 1)),
    ],
    ids=str,
)
def test_every_tally_is_on_one_line(contest):
    """All draws and turns: each tally is met once a turn, and is closest to another winner in the line's middle."""
    m, met = contest.size, Counter()
    for parts in product(range(contest.most + 1), repeat=m):
        if sum(parts) != contest.most:
            continue
        for turn in range(m):
            for line in contest.lines(np.array(parts), turn):
                tallies = line.tallies(np.arange(line.low, line.high + 1))
                met.update(map(tuple, tallies.tolist()))
                leads = contest.leads(tallies)
                away = np.abs(np.arange(line.low, line.high + 1) - line.middle)
                assert leads.min() >= leads[away == 0][0] - contest.most_lead / contest.most
    assert met == dict.fromkeys(map(tuple, contest.tallies.vectors().tolist()), m)
