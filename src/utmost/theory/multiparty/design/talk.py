"""Evaluate interactive protocols of your own: inputs, functions and messages of any kind; exact accuracy and privacy.

LIM 4.6 shows two conversations that beat randomised response where parties hold several bits. `converse` takes any:
who speaks when, and by which mechanism given the messages so far. A transcript's probability is a product of one factor
for each party, so the accuracy of the best decision over up to 2^12 joint inputs is a sum over transcripts, and privacy
is a comparison of each party's factors in integers. `best_talk` finds the best conversation in which one party speaks
and another replies: a linear program over the first party's messages, each worth its accuracy with the best reply.
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
from utmost.mechanism import FiniteMechanism, Rows
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
"""The largest numbers of joint inputs and transcripts, and of entries of the linear program for a worst case."""


@dataclass(frozen=True, eq=False)
class Talk:
    """A conversation, evaluated.

    Attributes
    ----------
    parties : tuple of Space
        Each party's possible inputs; its level protects neighbours.
    levels : tuple of ApproxDP
        The level of each party for the whole transcript.
    speakers : tuple of int
        The party of each turn.
    transcripts : tuple of tuples
        All possible transcripts: tuples of messages in the order of the turns.
    factors : tuple of arrays
        For every party, integers: a row for each of its inputs, a column for each transcript.
    bits : array of int
        The product of a transcript's factors, one of each party, is its probability times 2^bits.
    answers : tuple
        The possible answers.
    truths : tuple
        The value of the function at each joint input (first party slowest).
    gains : array of float
        The accuracy of each answer at each joint input.
    bound : float, optional
        From `best_talk`: an upper bound on the average accuracy of every conversation of the same kind, from dual
        prices of linear programs; None for a conversation of your own.
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
        """The factors as floats, up to the scale of `bits`, which `likelihoods` applies."""
        return [np.asarray(table / Fraction(1), dtype=float) for table in self.factors]

    def likelihoods(self, chunk: slice = slice(None)) -> Floats:
        """The probability of each transcript (row) at each joint input (column)."""
        likelihoods_so_far = np.ones((len(self.bits[chunk]), 1))
        for number, table in enumerate(self._shares):
            scale = np.ldexp(1.0, -np.asarray(self.bits[chunk])[:, number, None])
            likelihoods_so_far = (likelihoods_so_far[:, :, None] * (table[:, chunk].T * scale)[:, None, :]).reshape(
                len(likelihoods_so_far), -1
            )
        return likelihoods_so_far

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
        """LIM (4.4): the largest least accuracy over the inputs of any randomised decision rule."""
        from scipy.optimize import linprog

        inputs, answers = self.gains.shape
        count = len(self.transcripts) * answers
        if inputs * count > MOST_WORST:
            raise TooLarge(f"the worst case is a linear program of {inputs} x {count} entries; ask for the average.")
        weighted_gains = (self.likelihoods()[:, None, :] * self.gains.T[None]).reshape(count, inputs)
        upper = np.hstack([-weighted_gains.T, np.ones((inputs, 1))])
        sums = np.hstack(
            [np.kron(np.eye(len(self.transcripts)), np.ones(answers)), np.zeros((len(self.transcripts), 1))]
        )
        cost = np.append(np.zeros(count), -1.0)
        free = [(0, None)] * count + [(None, None)]
        return -float(linprog(cost, upper, np.zeros(inputs), sums, np.ones(len(sums)), bounds=free).fun)

    def decide(self, transcript: Sequence[Any]) -> Decision:
        """The best answer to a transcript, with the posterior, all inputs being equally likely."""
        messages = tuple(transcript)
        if messages not in self.transcripts:
            raise InvalidInput(f"{shown(messages)} is not a transcript of this conversation.")
        position = self.transcripts.index(messages)
        likely = self.likelihoods(slice(position, position + 1))[0]
        posterior: dict[Any, float] = {}
        for truth, share in zip(self.truths, likely / likely.sum(), strict=True):
            posterior[truth] = posterior.get(truth, 0.0) + float(share)
        best = self.answers[int((likely @ self.gains).argmax())]
        return Decision(best, posterior, {answer: float(answer == best) for answer in self.answers})

    def epsilon(self, party: int) -> float:
        """The least epsilon that the whole transcript satisfies for a party, from its factors (pure privacy)."""
        table, (a, b) = self._shares[party], self.parties[party].edge_indices.T
        possible = np.array([bool(np.any(table[:, t])) for t in range(table.shape[1])])
        with np.errstate(divide="ignore"):
            logs = np.log(table[:, possible])
        distances = [float(np.abs(logs[i] - logs[j]).max(initial=0.0)) for i, j in zip(a, b, strict=True)]
        return max(distances, default=0.0)

    def verify(self) -> Verification:
        """Prove each party's level for the whole transcript, whatever the others' inputs, in integers.

        At a pure level the others cancel: a party's factors at two neighbouring inputs must keep the ratio. With a
        delta every input of the others is tried. Nothing is claimed about optimality beyond `bound`.
        """
        checks = []
        for party, level in enumerate(self.levels):
            passed = self._satisfies(party, level)
            detail = f"{level} of the whole transcript, in exact arithmetic, whatever the others' inputs"
            checks.append(Check(f"privacy of party {party}", passed, detail if passed else f"not {level}"))
        return Verification(all(check.passed for check in checks), "unproved", math.inf, tuple(checks))

    def _satisfies(self, party: int, level: ApproxDP) -> bool:
        """Whether the whole transcript satisfies a level for a party, in exact arithmetic."""
        table, edges = self.factors[party], self.parties[party].edge_indices
        if math.isinf(level.log_growth):
            return True
        least = decay_above(level) if level.log_growth else Fraction(1)  # at or above e^-epsilon: a proof for it is one
        if not level.delta:
            pairs = ((table[i], table[j]) for i, j in [*edges, *edges[:, ::-1]])
            up, down = least.numerator, least.denominator
            return all(bool((one * up <= other * down).all()) for one, other in pairs)
        other_factors = [t for number, t in enumerate(self.factors) if number != party]
        top = int(self.bits.sum(axis=1).max())
        for rows in product(*(range(len(t)) for t in other_factors)):
            weight = np.array([1 << (top - int(b)) for b in self.bits.sum(axis=1)], dtype=object)
            for t, row in zip(other_factors, rows, strict=True):
                weight = weight * t[row]
            for i, j in [*edges, *edges[:, ::-1]]:
                over = (table[i] * least.numerator - table[j] * least.denominator) * weight
                spent = Fraction(int(over[over > 0].sum()), 1 << top) / least.numerator
                if spent > level.delta:
                    return False
        return True

    def __repr__(self) -> str:
        summary = (
            f"Talk of {len(self.parties)} parties, {len(self.speakers)} turns, {len(self.transcripts)} transcripts"
        )
        return summary if self.bound is None else f"{summary}, accuracy {self.value():.6g} of at most {self.bound:.6g}"


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
        Each party's possible inputs and their adjacency: `um.hamming(3, 2)` for three bits, `um.complete(5)` for one of
        five letters, `um.path(2)` for one bit.
    levels : sequence of levels or numbers
        The level of each party for the whole transcript.
    function : callable
        The function of all parties' inputs that listeners want to know.
    turns : sequence of tuples
        (party, mechanism) or (party, mechanism, level), one turn after the other. A mechanism has the party's inputs as
        points and messages as outputs; a function of the tuple of messages so far may return a different one for each.
        It is certified at the level of the turn, by default the party's own; if a party speaks twice, name its share
        each time.
    accuracy : "zero-one", array or callable
        The accuracy of answer y where the truth is f: 1 if they are equal, or `accuracy(f, y)`.

    Examples
    --------
    LIM 4.6, first example: the second party, who holds two bits, replies with XOR or AND, depending on the first bit.

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
    branches: list[tuple[tuple[Any, ...], list[Any], list[int]]] = [
        ((), [np.array([1] * len(space.points), dtype=object) for space in spaces], [0] * len(spaces))
    ]
    for turn in turns:
        party, rule, level = _checked_turn(turn, promised)
        cache: dict[Any, CertifiedMechanism] = {}
        longer_branches = []
        for history, factors, bits in branches:
            turn_mechanism: Any = rule if isinstance(rule, Rows) else rule(history)
            if id(turn_mechanism) not in cache:
                is_certified = isinstance(turn_mechanism, CertifiedMechanism)
                cache[id(turn_mechanism)] = (
                    turn_mechanism if is_certified else _certified(turn_mechanism, spaces[party], level)
                )
            mechanism = cache[id(turn_mechanism)]
            for column, message in enumerate(mechanism.outputs):
                weights = [np.array([int(w) for w in mechanism.weights[:, column]], dtype=object)]
                if not weights[0].any():
                    continue
                turn_factors = [f * weights[0] if number == party else f for number, f in enumerate(factors)]
                turn_bits = [b + mechanism.bits if number == party else b for number, b in enumerate(bits)]
                longer_branches.append(((*history, message), turn_factors, turn_bits))
        branches = longer_branches
        if len(branches) > MOST_TRANSCRIPTS:
            raise TooLarge(f"more than {MOST_TRANSCRIPTS} transcripts; let parties say less, or fewer of them speak.")
    tables = tuple(np.array([factors[number] for _, factors, _ in branches]).T for number in range(len(spaces)))
    depths = np.array([bits for _, _, bits in branches], dtype=np.int64).reshape(len(branches), len(spaces))
    speakers = tuple(int(turn[0]) for turn in turns)
    transcripts = tuple(history for history, _, _ in branches)
    return Talk(spaces, promised, speakers, transcripts, tables, depths, answers, truths, gains)


def best_talk(
    parties: Sequence[Space],
    levels: Sequence[Level | float],
    function: Callable[..., Any],
    accuracy: Any = "zero-one",
    rounds: int = 2,
) -> Talk:
    """The best conversation of two parties at pure levels: one speaks and the other replies, or both speak at once.

    With two rounds the result is the best of all conversations in which party 0 speaks once and party 1 replies. A
    first message is a mixture of extreme columns: e^(ε h) with h a function that changes by 0 or 1 between neighbours.
    The value of a column is its accuracy with the best reply, a linear program, and the best mixture is another one.
    Columns that symmetries of the function map to each other are solved once.

    Parameters
    ----------
    parties, levels, function, accuracy : as in `converse`
        For two parties at pure levels.
    rounds : int
        2, or 1: both speak without hearing each other. With 1, the accuracy is linear in either party's mixture of
        columns, so that the optimum is at a vertex of both: all vertices of one party are tried, against the best of
        the other's. Where they are too many (three bits each), alternating optimisation from several starts finds a
        local optimum.

    Returns
    -------
    Talk
        Its `bound` covers every conversation of this number of rounds: equal to the value up to rounding with two
        rounds and where all vertices were tried; otherwise the value of the best conversation with a reply.

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
    """The best first mechanism, the best reply to each message, and an upper bound on the average accuracy."""
    columns = extreme_columns(spaces[0], levels[0])
    replies = _best_replies(spaces[1], levels[1], [np.einsum("a,aby->by", column, worth) for column in columns])
    shares, most = _mixture(columns, np.array([reply.most for reply in replies]))
    support = np.flatnonzero(shares > 1e-12)
    first = _private(np.array([shares[c] * columns[c] for c in support]).T, spaces[0], levels[0])
    reply_to = {number: replies[c].mechanism for number, c in enumerate(support.tolist())}
    return first, reply_to, most / math.prod(worth.shape[:2])


def _mixture(columns: Floats, values: Floats) -> tuple[Floats, float]:
    """The shares of the columns in the best mixture, and an upper bound: mixtures add up to 1 at every input.

    Prices y with columns @ y >= values bound every mixture by their sum. The solver's violation is added: the largest
    entry of a column is 1, so shares add up to at most the number of inputs.
    """
    from scipy.optimize import linprog

    inputs = columns.shape[1]
    solution = linprog(-values, A_eq=columns.T, b_eq=np.ones(inputs), bounds=(0, None), method="highs")
    prices = -solution.eqlin.marginals
    violation = max(float((values - columns @ prices).max()), 0.0)
    return np.asarray(solution.x), float(prices.sum()) + inputs * violation


class _Reply(NamedTuple):
    """A reply, and an upper bound on the sum over the inputs for every reply."""

    mechanism: CertifiedMechanism
    most: float


def _best_reply(space: Space, level: ApproxDP, worth: Floats) -> _Reply:
    """The best reply for the worth of each answer at each input; the bound is from dual prices of privacy."""
    levels = on_edges(space, level)
    best = best_mechanism(levels, worth)
    matrix, _ = mix_until_private(best.matrix, levels)
    reduced_worth, growth = worth.copy(), math.exp(level.log_growth)
    for prices, (a, b) in zip(
        np.maximum(best.duals, 0.0), (space.edge_indices.T, space.edge_indices.T[::-1]), strict=True
    ):
        np.add.at(reduced_worth, a, -prices)
        np.add.at(reduced_worth, b, growth * prices)
    mechanism = certify_on(FiniteMechanism(matrix, space.points, range(worth.shape[1])), levels)
    return _Reply(mechanism, float(reduced_worth.max(axis=1).sum()))


def _best_replies(space: Space, level: ApproxDP, worths: Sequence[Floats]) -> list[_Reply]:
    """The best reply for each worth; those related by a symmetry of the inputs, and of answers, are solved once."""
    symmetries, reply_by_key, replies = automorphisms(space), dict[bytes, _Reply](), []
    levels = on_edges(space, level)
    for worth in worths:
        keys = []
        for rows in symmetries:
            permuted_worth = np.round(worth[rows], 12) + 0.0
            order = np.lexsort(permuted_worth[::-1])
            keys.append((permuted_worth[:, order].tobytes(), rows, order))
        key, rows, order = min(keys, key=lambda entry: entry[0])
        if key not in reply_by_key:
            reply_by_key[key] = _best_reply(space, level, worth[rows][:, order])
        mechanism, most = reply_by_key[key]
        weights = np.empty_like(mechanism.weights)
        weights[np.ix_(rows, order)] = mechanism.weights
        replies.append(_Reply(CertifiedMechanism(weights, mechanism.bits, mechanism.outputs, levels), most))
    return replies


def automorphisms(space: Space) -> list[Any]:
    """Automorphisms of the graph as orders of its points, the identity first; up to some hundreds of them.

    Examples
    --------
    >>> import utmost as um
    >>> len(automorphisms(um.hamming(2, 2))), len(automorphisms(um.path(4)))
    (8, 2)
    """
    n = len(space.points)
    adjacency = np.zeros((n, n), dtype=bool)
    a, b = space.edge_indices.T
    adjacency[a, b] = adjacency[b, a] = True
    orders = [np.arange(n)]
    stack: list[tuple[int, ...]] = [()] if n <= MOST_TURNED else []
    while stack and len(orders) < MOST_SYMMETRIES:
        prefix = stack.pop()
        if len(prefix) == n:
            if prefix != tuple(range(n)):
                orders.append(np.array(prefix))
            continue
        position = len(prefix)
        stack += [
            (*prefix, q)
            for q in range(n)
            if q not in prefix and all(adjacency[position, i] == adjacency[q, prefix[i]] for i in range(position))
        ]
    return orders


MOST_TURNED, MOST_SYMMETRIES = 16, 400
"""The largest number of inputs for which symmetries are searched, and of symmetries in use."""


def _best_apart(
    spaces: tuple[Space, ...], levels: tuple[ApproxDP, ...], worth: Floats
) -> tuple[CertifiedMechanism, CertifiedMechanism, float]:
    """The best two mechanisms of parties that do not hear each other, and an upper bound on the average accuracy.

    The best answer to a pair of columns does not depend on their shares, so the accuracy is linear in the shares of
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
        shares = _alternating_optimum(mine, theirs, value)
    else:
        shares = _best_corners(mine, theirs, value, corners)
        most = float(shares[0] @ value @ shares[1]) / inputs
    pair = [
        _private((table[support] * share[support, None]).T, space, level)
        for table, share, space, level in zip((mine, theirs), shares, spaces, levels, strict=True)
        if (support := share > 1e-12).any()
    ]
    return pair[0], pair[1], most


def _best_corners(mine: Floats, theirs: Floats, value: Floats, corners: list[Floats | None]) -> tuple[Floats, Floats]:
    """The best shares of both: every vertex of one party against all vertices, or the best mixture, of the other."""
    if corners[0] is None or (corners[1] is not None and len(corners[1]) < len(corners[0])):
        swapped = _best_corners(theirs, mine, value.T, corners[::-1])
        return swapped[1], swapped[0]
    values_by_corner = corners[0] @ value
    if corners[1] is not None:
        i, j = np.unravel_index(np.argmax(values_by_corner @ corners[1].T), (len(values_by_corner), len(corners[1])))
        return corners[0][i], corners[1][j]
    replies = [_mixture(theirs, values)[0] for values in values_by_corner]
    best = int(np.argmax([values @ reply for values, reply in zip(values_by_corner, replies, strict=True)]))
    return corners[0][best], replies[best]


def _alternating_optimum(mine: Floats, theirs: Floats, value: Floats) -> tuple[Floats, Floats]:
    """Shares that neither party can improve alone: alternating linear programs, from several starts."""
    best, best_accuracy = (np.zeros(len(mine)), np.zeros(len(theirs))), -np.inf
    for start in range(STARTS):
        other = _mixture(theirs, np.random.default_rng(start).uniform(size=len(theirs)))[0]
        best_of_start, gained = -np.inf, True
        while gained:
            own = _mixture(mine, value @ other)[0]
            other = _mixture(theirs, own @ value)[0]
            accuracy = float(own @ value @ other)
            gained, best_of_start = accuracy > best_of_start + 1e-12, max(best_of_start, accuracy)
        if best_of_start > best_accuracy:
            best, best_accuracy = (own, other), best_of_start
    return best


def _corners(columns: Floats) -> Floats | None:
    """All vertices of the mixtures of columns that add up to 1 at every input; None if they are too many to try.

    At a vertex at most as many columns have a share as there are inputs, and these are independent.
    """
    count, inputs = columns.shape
    if math.comb(count, inputs) > MOST_CORNERS or float(columns.min()) > NEARLY_EVEN:
        return None
    subsets = np.array(list(combinations(range(count), inputs)))
    bases = columns[subsets].transpose(0, 2, 1)
    independent = np.abs(np.linalg.det(bases)) > 1e-12
    subsets, bases = subsets[independent], bases[independent]
    shares = np.linalg.solve(bases, np.ones((len(bases), inputs, 1)))[:, :, 0]
    inside = (shares > -1e-9).all(axis=1)
    vertices = np.zeros((int(inside.sum()), count))
    np.put_along_axis(vertices, subsets[inside], np.maximum(shares[inside], 0.0), axis=1)
    return np.unique(vertices.round(12), axis=0)


STARTS, MOST_CORNERS, NEARLY_EVEN = 12, 200_000, 0.98
"""The number of random starts of the alternating optimisation; the largest number of subsets of columns; the least
entry from which on columns are too nearly equal for a numerical test of independence."""


def _private(matrix: Floats, space: Space, level: ApproxDP) -> CertifiedMechanism:
    """A solver's matrix, made private and certified."""
    levels = on_edges(space, level)
    mended, _ = mix_until_private(matrix / matrix.sum(axis=1, keepdims=True), levels)
    return certify_on(FiniteMechanism(mended, space.points, range(mended.shape[1])), levels)


def _certified(mechanism: Any, space: Space, level: ApproxDP) -> CertifiedMechanism:
    """A turn's mechanism, certified at its level."""
    if not isinstance(mechanism, Rows) or len(mechanism.points) != len(space.points):
        raise InvalidInput(f"a turn has {shown(mechanism)}; give a mechanism with a row for each input of its party.")
    levels = on_edges(space, level)
    try:
        return certify_on(FiniteMechanism(mechanism.matrix, space.points, mechanism.outputs), levels)
    except UtmostError as reason:
        raise InvalidInput(f"a message does not keep {level}, the level of its turn: {reason}") from None


def _checked_parties(
    parties: Sequence[Space], levels: Sequence[Level | float]
) -> tuple[tuple[Space, ...], tuple[ApproxDP, ...]]:
    """The parties' spaces and levels, checked."""
    promised = tuple(as_level(level) for level in levels)
    if not parties or len(parties) != len(promised) or not all(isinstance(space, Space) for space in parties):
        raise InvalidInput("give a Space of inputs and a level for each party, such as [um.path(2)] * 2 and [1, 1].")
    if not all(isinstance(level, ApproxDP) for level in promised):
        raise InvalidInput("conversations are evaluated at (epsilon, delta) levels.")
    return tuple(parties), promised  # type: ignore[return-value]


def _checked_turn(turn: Any, levels: tuple[ApproxDP, ...]) -> tuple[int, Any, ApproxDP]:
    """A turn's party, mechanism or rule, and level, checked."""
    if not isinstance(turn, tuple) or len(turn) not in (2, 3) or turn[0] not in range(len(levels)):
        raise InvalidInput(f"a turn is {shown(turn)}; give (party, mechanism), or (party, mechanism, level).")
    if not callable(turn[1]) and not isinstance(turn[1], Rows):
        raise InvalidInput(f"a turn has {shown(turn[1])}; give a mechanism, or a function of what was heard.")
    level = levels[turn[0]] if len(turn) == 2 else as_level(turn[2])
    if not isinstance(level, ApproxDP):
        raise InvalidInput(f"the level of a turn is {level}; give an (epsilon, delta) level.")
    return int(turn[0]), turn[1], level


def _worth(
    spaces: tuple[Space, ...], function: Callable[..., Any], accuracy: Any
) -> tuple[tuple[Any, ...], tuple[Any, ...], Floats]:
    """The answers, the truth at every joint input, and the accuracy of each answer there."""
    truths = tuple(function(*inputs) for inputs in product(*(space.points for space in spaces)))
    answers = tuple(dict.fromkeys(truths))
    with suppress(TypeError):  # answers without an order keep the order of appearance
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
