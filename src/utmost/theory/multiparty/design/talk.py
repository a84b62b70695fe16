"""Conversations of your own: parties with inputs of any kind, any function, any messages; what they are worth exactly.

LIM 4.6 shows two conversations that beat randomised response where parties hold several bits. `converse` takes any:
who speaks when, and by which mechanism given what was heard. A transcript's probability is a product of one factor for
each party, so the accuracy of the best decision over up to 2^12 joint inputs is a sum over transcripts, and privacy is
a comparison of each party's factors in integers. `best_talk` finds the best conversation in which one party speaks and
another replies: a linear program over what the first may say, each message worth what the best reply makes of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np

from utmost.errors import InvalidInput, TooLarge, UtmostError, shown
from utmost.exact.arrays import Floats
from utmost.mechanism import FiniteMechanism
from utmost.mechanism.certification import CertifiedMechanism, Check, certify_on
from utmost.mechanism.extreme_columns import extreme_columns
from utmost.privacy import ApproxDP, Level, as_level, require_pure
from utmost.privacy.level import decay_above
from utmost.solution import Verification
from utmost.space import Space
from utmost.space.edge_levels import on_edges
from utmost.theory.linear_program import best_mechanism, mix_until_private
from utmost.theory.multiparty.design.decision import Decision

MOST_INPUTS, MOST_TRANSCRIPTS, MOST_WORST = 2**12, 2**16, 2 * 10**6
"""Joint inputs and transcripts of a conversation; entries of the program for a worst case."""


@dataclass(frozen=True, eq=False)
class Talk:
    """A conversation, evaluated.

    Attributes
    ----------
    parties : each party's possible inputs; neighbours are what its level protects
    levels : what is promised to each party about the whole transcript
    transcripts : everything that may be said, a tuple of messages in the order of the turns
    factors : for every party, integers: a row for each of its inputs, a column for each transcript
    bits : the factors of a transcript, one of each party, multiplied, are its probability times 2^bits
    answers, gains : what may be answered, and how good each answer is at each joint input (first party slowest)
    bound : what no conversation of the same kind exceeds on average, from prices of linear programs, where `best_talk`
        looked for the best; None for a conversation of your own
    """

    parties: tuple[Space, ...]
    levels: tuple[ApproxDP, ...]
    speakers: tuple[int, ...]
    transcripts: tuple[tuple[Any, ...], ...]
    factors: tuple[Any, ...]
    bits: Any
    answers: tuple[Any, ...]
    truths: tuple[Any, ...]
    gains: Floats
    bound: float | None = None

    @cached_property
    def _shares(self) -> list[Floats]:
        """The factors as floats, each party's scaled to be at most 1; the scale is put back where they meet."""
        return [np.asarray(table / Fraction(1), dtype=float) for table in self.factors]

    def likelihoods(self, chunk: slice = slice(None)) -> Floats:
        """The probability of each transcript (row) at each joint input (column)."""
        found = np.ones((len(self.bits[chunk]), 1))
        for number, table in enumerate(self._shares):
            scale = np.ldexp(1.0, -np.asarray(self.bits[chunk])[:, number, None])
            found = (found[:, :, None] * (table[:, chunk].T * scale)[:, None, :]).reshape(len(found), -1)
        return found

    def value(self, criterion: str = "average") -> float:
        """The accuracy of the best decision from the transcript: on average over all inputs, or at the worst.

        Examples
        --------
        >>> import utmost as um
        >>> coin = um.local.randomized_response(2, 1.0)
        >>> talk = um.multiparty.converse([um.path(2)] * 2, [1.0, 1.0], lambda x, y: x & y, [(0, coin), (1, coin)])
        >>> round(talk.value(), 6), round(um.multiparty.optimal("and", [1.0, 1.0]).value(), 6)
        (0.767223, 0.767223)
        """
        if criterion == "worst":
            return self._worst()
        if criterion != "average":
            raise InvalidInput(f"criterion is {criterion!r}; say 'average' or 'worst'.")
        total, size = 0.0, max(1, 2**22 // max(len(self.gains), 1))
        for start in range(0, len(self.transcripts), size):
            total += float((self.likelihoods(slice(start, start + size)) @ self.gains).max(axis=1).sum())
        return total / len(self.gains)

    def _worst(self) -> float:
        """LIM (4.4): the decision rule, with coins, whose least accuracy over the inputs is largest."""
        from scipy.optimize import linprog

        inputs, answers = self.gains.shape
        count = len(self.transcripts) * answers
        if inputs * count > MOST_WORST:
            raise TooLarge(f"the worst case is a linear program of {inputs} x {count} entries; ask for the average.")
        told = (self.likelihoods()[:, None, :] * self.gains.T[None]).reshape(count, inputs)
        upper = np.hstack([-told.T, np.ones((inputs, 1))])
        sums = np.hstack(
            [np.kron(np.eye(len(self.transcripts)), np.ones(answers)), np.zeros((len(self.transcripts), 1))]
        )
        cost = np.append(np.zeros(count), -1.0)
        free = [(0, None)] * count + [(None, None)]
        return -float(linprog(cost, upper, np.zeros(inputs), sums, np.ones(len(sums)), bounds=free).fun)

    def decide(self, transcript: Sequence[Any]) -> Decision:
        """What a listener concludes from everything that was said, all inputs being equally likely."""
        said = tuple(transcript)
        if said not in self.transcripts:
            raise InvalidInput(f"{shown(said)} is not a transcript of this conversation.")
        place = self.transcripts.index(said)
        likely = self.likelihoods(slice(place, place + 1))[0]
        posterior: dict[Any, float] = {}
        for truth, share in zip(self.truths, likely / likely.sum(), strict=True):
            posterior[truth] = posterior.get(truth, 0.0) + float(share)
        best = self.answers[int((likely @ self.gains).argmax())]
        return Decision(best, posterior, {answer: float(answer == best) for answer in self.answers})

    def epsilon(self, party: int) -> float:
        """What the whole transcript really tells about a party, as an epsilon, from its factors: pure privacy."""
        table, (a, b) = self._shares[party], self.parties[party].edge_indices.T
        heard = np.array([bool(np.any(table[:, t])) for t in range(table.shape[1])])
        with np.errstate(divide="ignore"):
            logs = np.log(table[:, heard])
        apart = [float(np.abs(logs[i] - logs[j]).max(initial=0.0)) for i, j in zip(a, b, strict=True)]
        return max(apart, default=0.0)

    def verify(self) -> Verification:
        """Prove what each party is promised about the whole transcript, whatever the others' inputs, in integers.

        At a pure level the others cancel: a party's factors at two neighbouring inputs must keep the ratio. With a
        delta every input of the others is tried. Nothing is claimed about optimality: `bound` is what is known of it.
        """
        checks = []
        for party, level in enumerate(self.levels):
            held = self._keeps(party, level)
            detail = f"{level} of the whole transcript, in exact arithmetic, whatever the others' inputs"
            checks.append(Check(f"privacy of party {party}", held, detail if held else f"not {level}"))
        return Verification(all(check.passed for check in checks), "unproved", math.inf, tuple(checks))

    def _keeps(self, party: int, level: ApproxDP) -> bool:
        table, edges = self.factors[party], self.parties[party].edge_indices
        if math.isinf(level.log_growth):
            return True
        least = decay_above(level) if level.log_growth else Fraction(1)  # at or above e^-epsilon: a proof for it is one
        if not level.delta:
            pairs = ((table[i], table[j]) for i, j in [*edges, *edges[:, ::-1]])
            up, down = least.numerator, least.denominator
            return all(bool((one * up <= other * down).all()) for one, other in pairs)
        others = [t for number, t in enumerate(self.factors) if number != party]
        top = int(self.bits.sum(axis=1).max())
        for rows in product(*(range(len(t)) for t in others)):
            weight = np.array([1 << (top - int(b)) for b in self.bits.sum(axis=1)], dtype=object)
            for t, row in zip(others, rows, strict=True):
                weight = weight * t[row]
            for i, j in [*edges, *edges[:, ::-1]]:
                over = (table[i] * least.numerator - table[j] * least.denominator) * weight
                spent = Fraction(int(over[over > 0].sum()), 1 << top) / least.numerator
                if spent > level.delta:
                    return False
        return True

    def __repr__(self) -> str:
        said = f"Talk of {len(self.parties)} parties, {len(self.speakers)} turns, {len(self.transcripts)} transcripts"
        return said if self.bound is None else f"{said}, accuracy {self.value():.6g} of at most {self.bound:.6g}"


def converse(
    parties: Sequence[Space],
    levels: Sequence[Level | float],
    function: Callable[..., Any],
    turns: Sequence[tuple[Any, ...]],
    accuracy: Any = "zero-one",
) -> Talk:
    """Evaluate a conversation of your own: its exact accuracy, and its privacy, over up to 2^12 joint inputs.

    Parameters
    ----------
    parties : sequence of Space
        What each party may hold, and which of it are neighbours: `um.hamming(3, 2)` for three bits, `um.complete(5)`
        for one of five letters, `um.path(2)` for one bit.
    levels : sequence of levels
        What each party is promised about the whole transcript.
    function : callable
        The function of all parties' inputs that listeners want to know.
    turns : sequence of (party, mechanism) or (party, mechanism, level)
        Who speaks, one after the other. A mechanism has the party's inputs for its points and messages for outputs; a
        function of the tuple of messages heard so far may give another one for each. It is certified at the level of
        the turn, the party's own if none is named; where a party speaks twice, name its share each time.
    accuracy : "zero-one", array or callable
        How good answer y is where the truth is f: 1 if they are equal, or `accuracy(f, y)`.

    Examples
    --------
    LIM 4.6, first example: the second party, who holds two bits, answers with XOR or AND as the first one's bit says.

    >>> import utmost as um
    >>> one, two = um.path(2), um.hamming(2, (0, 1))
    >>> coin = um.local.randomized_response(2, 2.0)
    >>> def f(x, y):
    ...     return y[0] & y[1] if x else y[0] ^ y[1]
    >>> def reply(heard):
    ...     return um.FiniteMechanism([coin.matrix[f(heard[0], y)] for y in two.points], two.points, (0, 1))
    >>> talk = um.multiparty.converse([one, two], [2.0, 2.0], f, [(0, coin), (1, reply)])
    >>> round(talk.value(), 6), bool(talk.verify())
    (0.812709, True)
    """
    spaces, promised = _checked_parties(parties, levels)
    inputs = math.prod(len(space.points) for space in spaces)
    if inputs > MOST_INPUTS:
        raise TooLarge(f"the parties have {inputs} joint inputs; up to {MOST_INPUTS} are evaluated exactly.")
    answers, truths, gains = _worth(spaces, function, accuracy)
    found: list[tuple[tuple[Any, ...], list[Any], list[int]]] = [
        ((), [np.array([1] * len(space.points), dtype=object) for space in spaces], [0] * len(spaces))
    ]
    for turn in turns:
        party, rule, level = _checked_turn(turn, promised)
        made: dict[Any, CertifiedMechanism] = {}
        heard_now = []
        for heard, factors, bits in found:
            said = rule(heard) if not hasattr(rule, "outputs") else rule
            if id(said) not in made:
                certified = isinstance(said, CertifiedMechanism)
                made[id(said)] = said if certified else _certified(said, spaces[party], level)
            mechanism = made[id(said)]
            for column, message in enumerate(mechanism.outputs):
                weights = [np.array([int(w) for w in mechanism.weights[:, column]], dtype=object)]
                if not weights[0].any():
                    continue
                mine = [f * weights[0] if number == party else f for number, f in enumerate(factors)]
                deeper = [b + mechanism.bits if number == party else b for number, b in enumerate(bits)]
                heard_now.append(((*heard, message), mine, deeper))
        found = heard_now
        if len(found) > MOST_TRANSCRIPTS:
            raise TooLarge(f"more than {MOST_TRANSCRIPTS} transcripts; let parties say less, or fewer of them speak.")
    tables = tuple(np.array([factors[number] for _, factors, _ in found]).T for number in range(len(spaces)))
    depths = np.array([bits for _, _, bits in found], dtype=np.int64).reshape(len(found), len(spaces))
    speakers = tuple(int(turn[0]) for turn in turns)
    said_all = tuple(heard for heard, _, _ in found)
    return Talk(spaces, promised, speakers, said_all, tables, depths, answers, truths, gains)


def best_talk(
    parties: Sequence[Space],
    levels: Sequence[Level | float],
    function: Callable[..., Any],
    accuracy: Any = "zero-one",
    rounds: int = 2,
) -> Talk:
    """The best conversation of two parties at pure levels: one speaks and the other replies, or both speak at once.

    With two rounds the result is the best of all conversations in which party 0 speaks once and party 1 replies. A
    first message is a mixture of columns, each as extreme as privacy allows: e^(ε h) with h a function that changes by
    0 or 1 between neighbours. Each column is worth what the best reply makes of it, a linear program, and the best
    mixture is another one. Columns that symmetries of the function turn into each other are solved once.

    Parameters
    ----------
    parties, levels, function, accuracy : as for `converse`, of two parties at pure levels
    rounds : 2, or 1
        With 1 both speak without hearing each other. The accuracy is then linear in either party's mixture of columns,
        so that the best is at a corner of both: all corners of one party are tried, against the best of the other's.
        Where they are too many (three bits each), both are improved in turns from several starts: a local optimum.

    Returns
    -------
    Talk
        Its `bound` is what no conversation of so many rounds exceeds: the value itself up to rounding with two rounds
        and where all corners were tried; otherwise what the best conversation with a reply is worth.

    Examples
    --------
    >>> import utmost as um
    >>> one, two = um.path(2), um.hamming(2, (0, 1))
    >>> best = um.multiparty.best_talk([one, two], [2.0, 2.0], lambda x, y: y[0] & y[1] if x else y[0] ^ y[1])
    >>> round(best.value(), 6), round(best.bound, 6), best.verify().private
    (0.825593, 0.825593, True)
    >>> um.multiparty.best_talk([one, two], [2.0, 2.0], lambda x, y: y[0] & y[1] if x else y[0] ^ y[1], rounds=1)
    Talk of 2 parties, 2 turns, 6 transcripts, accuracy 0.806449 of at most 0.806449
    """
    spaces, promised = _checked_parties(parties, levels)
    if len(spaces) != 2 or rounds not in (1, 2):
        raise InvalidInput("the best conversation is found of two parties, in one or two rounds.")
    for level in promised:
        require_pure(level)
    _, _, gains = _worth(spaces, function, accuracy)
    worth = gains.reshape(len(spaces[0].points), len(spaces[1].points), -1)
    if rounds == 1:
        first, second, most = _best_apart(spaces, promised, worth)
        return replace(converse(spaces, promised, function, [(0, first), (1, second)], accuracy), bound=most)
    first, reply, most = _best_in_turn(spaces, promised, worth)
    turns = [(0, first), (1, lambda heard: reply[heard[0]])]
    return replace(converse(spaces, promised, function, turns, accuracy), bound=most)


def _best_in_turn(
    spaces: tuple[Space, ...], levels: tuple[ApproxDP, ...], worth: Floats
) -> tuple[CertifiedMechanism, dict[Any, CertifiedMechanism], float]:
    """The best first message, the best reply to each, and what no such pair exceeds on average."""
    columns = extreme_columns(spaces[0], levels[0])
    replies = _best_replies(spaces[1], levels[1], [np.einsum("a,aby->by", column, worth) for column in columns])
    shares, most = _mixture(columns, np.array([each.most for each in replies]))
    used = np.flatnonzero(shares > 1e-12)
    first = _private(np.array([shares[c] * columns[c] for c in used]).T, spaces[0], levels[0])
    return first, {number: replies[c].made for number, c in enumerate(used.tolist())}, most / math.prod(worth.shape[:2])


def _mixture(columns: Floats, values: Floats) -> tuple[Floats, float]:
    """How much of each column the best message has, and what no mixture exceeds: columns add up to 1 at every input.

    Prices y with columns @ y >= values bound every mixture by their sum. Where the solver's lack something, all are
    raised by it: the largest entry of a column is 1, so that shares add up to at most the number of inputs.
    """
    from scipy.optimize import linprog

    inputs = columns.shape[1]
    found = linprog(-values, A_eq=columns.T, b_eq=np.ones(inputs), bounds=(0, None), method="highs")
    prices = -found.eqlin.marginals
    lacking = max(float((values - columns @ prices).max()), 0.0)
    return np.asarray(found.x), float(prices.sum()) + inputs * lacking


class _Reply(NamedTuple):
    """A reply, and what no reply exceeds in sum over the inputs."""

    made: CertifiedMechanism
    most: float


def _best_reply(space: Space, level: ApproxDP, worth: Floats) -> _Reply:
    """The best message for what each answer is worth at each input; by prices on what a neighbour allows, the bound."""
    levels = on_edges(space, level)
    best = best_mechanism(levels, worth)
    matrix, _ = mix_until_private(best.matrix, levels)
    priced, growth = worth.copy(), math.exp(level.log_growth)
    for prices, (a, b) in zip(
        np.maximum(best.duals, 0.0), (space.edge_indices.T, space.edge_indices.T[::-1]), strict=True
    ):
        np.add.at(priced, a, -prices)
        np.add.at(priced, b, growth * prices)
    made = certify_on(FiniteMechanism(matrix, space.points, range(worth.shape[1])), levels)
    return _Reply(made, float(priced.max(axis=1).sum()))


def _best_replies(space: Space, level: ApproxDP, worths: Sequence[Floats]) -> list[_Reply]:
    """The best reply for each; those that become one another by a symmetry of the inputs, and answers, solved once."""
    turned, solved, found = automorphisms(space), dict[bytes, _Reply](), []
    levels = on_edges(space, level)
    for worth in worths:
        keys = []
        for rows in turned:
            moved = np.round(worth[rows], 12) + 0.0
            order = np.lexsort(moved[::-1])
            keys.append((moved[:, order].tobytes(), rows, order))
        key, rows, order = min(keys, key=lambda each: each[0])
        if key not in solved:
            solved[key] = _best_reply(space, level, worth[rows][:, order])
        made, most = solved[key]
        weights = np.empty_like(made.weights)
        weights[np.ix_(rows, order)] = made.weights
        found.append(_Reply(CertifiedMechanism(weights, made.bits, made.outputs, levels), most))
    return found


def automorphisms(space: Space) -> list[Any]:
    """Orders of the points that keep all neighbours, the points' own first; up to some hundreds of them.

    Examples
    --------
    >>> import utmost as um
    >>> len(automorphisms(um.hamming(2, 2))), len(automorphisms(um.path(4)))
    (8, 2)
    """
    n = len(space.points)
    near = np.zeros((n, n), dtype=bool)
    a, b = space.edge_indices.T
    near[a, b] = near[b, a] = True
    found = [np.arange(n)]
    stack: list[tuple[int, ...]] = [()] if n <= MOST_TURNED else []
    while stack and len(found) < MOST_SYMMETRIES:
        chosen = stack.pop()
        if len(chosen) == n:
            if chosen != tuple(range(n)):
                found.append(np.array(chosen))
            continue
        place = len(chosen)
        stack += [
            (*chosen, q)
            for q in range(n)
            if q not in chosen and all(near[place, i] == near[q, chosen[i]] for i in range(place))
        ]
    return found


MOST_TURNED, MOST_SYMMETRIES = 16, 400
"""Up to how many inputs symmetries are looked for, and how many of them are used."""


def _best_apart(
    spaces: tuple[Space, ...], levels: tuple[ApproxDP, ...], worth: Floats
) -> tuple[CertifiedMechanism, CertifiedMechanism, float]:
    """The best two messages of parties that do not hear each other, and what none exceeds on average.

    What a pair of columns is worth does not depend on how much of them there is, so the sum is linear in the shares of
    either party's columns.
    """
    mine, theirs = (extreme_columns(space, level) for space, level in zip(spaces, levels, strict=True))
    value = np.array([np.einsum("a,mb,aby->my", column, theirs, worth).max(axis=1) for column in mine])
    inputs = math.prod(worth.shape[:2])
    corners = [_corners(columns) for columns in (mine, theirs)]
    if corners[0] is None and corners[1] is None:
        most = min(
            _best_in_turn(spaces, levels, worth)[2], _best_in_turn(spaces[::-1], levels[::-1], worth.swapaxes(0, 1))[2]
        )
        shares = _improved_in_turns(mine, theirs, value)
    else:
        shares = _best_corners(mine, theirs, value, corners)
        most = float(shares[0] @ value @ shares[1]) / inputs
    pair = [
        _private((table[kept] * share[kept, None]).T, space, level)
        for table, share, space, level in zip((mine, theirs), shares, spaces, levels, strict=True)
        if (kept := share > 1e-12).any()
    ]
    return pair[0], pair[1], most


def _best_corners(mine: Floats, theirs: Floats, value: Floats, corners: list[Floats | None]) -> tuple[Floats, Floats]:
    """The best shares of both: every corner of one party against all corners, or the best message, of the other."""
    if corners[0] is None or (corners[1] is not None and len(corners[1]) < len(corners[0])):
        turned = _best_corners(theirs, mine, value.T, corners[::-1])
        return turned[1], turned[0]
    told = corners[0] @ value
    if corners[1] is not None:
        i, j = np.unravel_index(np.argmax(told @ corners[1].T), (len(told), len(corners[1])))
        return corners[0][i], corners[1][j]
    replies = [_mixture(theirs, each)[0] for each in told]
    best = int(np.argmax([each @ reply for each, reply in zip(told, replies, strict=True)]))
    return corners[0][best], replies[best]


def _improved_in_turns(mine: Floats, theirs: Floats, value: Floats) -> tuple[Floats, Floats]:
    """Shares that neither party gains by changing alone: linear programs in turns, from several starts."""
    best, most = (np.zeros(len(mine)), np.zeros(len(theirs))), -np.inf
    for start in range(STARTS):
        other = _mixture(theirs, np.random.default_rng(start).uniform(size=len(theirs)))[0]
        reached, gained = -np.inf, True
        while gained:
            own = _mixture(mine, value @ other)[0]
            other = _mixture(theirs, own @ value)[0]
            now = float(own @ value @ other)
            gained, reached = now > reached + 1e-12, max(reached, now)
        if reached > most:
            best, most = (own, other), reached
    return best


def _corners(columns: Floats) -> Floats | None:
    """All corners of the mixtures of columns that add up to 1 at every input; None where they are too many to try.

    At a corner at most as many columns have a share as there are inputs, and these are independent.
    """
    count, inputs = columns.shape
    if math.comb(count, inputs) > MOST_CORNERS or float(columns.min()) > NEARLY_EVEN:
        return None
    chosen = np.array(list(combinations(range(count), inputs)))
    bases = columns[chosen].transpose(0, 2, 1)
    independent = np.abs(np.linalg.det(bases)) > 1e-12
    chosen, bases = chosen[independent], bases[independent]
    shares = np.linalg.solve(bases, np.ones((len(bases), inputs, 1)))[:, :, 0]
    inside = (shares > -1e-9).all(axis=1)
    found = np.zeros((int(inside.sum()), count))
    np.put_along_axis(found, chosen[inside], np.maximum(shares[inside], 0.0), axis=1)
    return np.unique(found.round(12), axis=0)


STARTS, MOST_CORNERS, NEARLY_EVEN = 12, 200_000, 0.98
"""From how many random messages of the second party both are improved in turns; how many choices of columns are tried,
and from which least entry on columns are too nearly alike to tell which are independent."""


def _private(matrix: Floats, space: Space, level: ApproxDP) -> CertifiedMechanism:
    levels = on_edges(space, level)
    mended, _ = mix_until_private(matrix / matrix.sum(axis=1, keepdims=True), levels)
    return certify_on(FiniteMechanism(mended, space.points, range(mended.shape[1])), levels)


def _certified(mechanism: Any, space: Space, level: ApproxDP) -> CertifiedMechanism:
    if not hasattr(mechanism, "matrix") or len(mechanism.points) != len(space.points):
        raise InvalidInput(f"a turn has {shown(mechanism)}; give a mechanism with a row for each input of its party.")
    levels = on_edges(space, level)
    try:
        return certify_on(FiniteMechanism(mechanism.matrix, space.points, mechanism.outputs), levels)
    except UtmostError as reason:
        raise InvalidInput(f"a message does not keep {level}, the level of its turn: {reason}") from None


def _checked_parties(
    parties: Sequence[Space], levels: Sequence[Level | float]
) -> tuple[tuple[Space, ...], tuple[ApproxDP, ...]]:
    promised = tuple(as_level(level) for level in levels)
    if not parties or len(parties) != len(promised) or not all(isinstance(space, Space) for space in parties):
        raise InvalidInput("give a Space of inputs and a level for each party, such as [um.path(2)] * 2 and [1, 1].")
    if not all(isinstance(level, ApproxDP) for level in promised):
        raise InvalidInput("conversations are evaluated at (epsilon, delta) levels.")
    return tuple(parties), promised  # type: ignore[return-value]


def _checked_turn(turn: Any, levels: tuple[ApproxDP, ...]) -> tuple[int, Any, ApproxDP]:
    if not isinstance(turn, tuple) or len(turn) not in (2, 3) or turn[0] not in range(len(levels)):
        raise InvalidInput(f"a turn is {shown(turn)}; give (party, mechanism), or (party, mechanism, level).")
    if not callable(turn[1]) and not hasattr(turn[1], "outputs"):
        raise InvalidInput(f"a turn has {shown(turn[1])}; give a mechanism, or a function of what was heard.")
    level = levels[turn[0]] if len(turn) == 2 else as_level(turn[2])
    if not isinstance(level, ApproxDP):
        raise InvalidInput(f"the level of a turn is {level}; give an (epsilon, delta) level.")
    return int(turn[0]), turn[1], level


def _worth(
    spaces: tuple[Space, ...], function: Callable[..., Any], accuracy: Any
) -> tuple[tuple[Any, ...], tuple[Any, ...], Floats]:
    """The answers, the truth at every joint input, and how good each answer is there."""
    truths = tuple(function(*inputs) for inputs in product(*(space.points for space in spaces)))
    answers = tuple(dict.fromkeys(truths))
    with suppress(TypeError):  # answers without an order stay as they come
        answers = tuple(sorted(answers))
    if isinstance(accuracy, str) and accuracy == "zero-one":
        table = np.eye(len(answers))
    elif callable(accuracy):
        table = np.array([[float(accuracy(f, y)) for y in answers] for f in answers])
    else:
        table = np.asarray(accuracy, dtype=float)
    if table.shape != (len(answers), len(answers)) or not np.isfinite(table).all():
        raise InvalidInput(f"accuracy is {shown(accuracy)}; give a number for each of {answers} as truth and answer.")
    at = {answer: i for i, answer in enumerate(answers)}
    return answers, truths, table[[at[truth] for truth in truths]]
