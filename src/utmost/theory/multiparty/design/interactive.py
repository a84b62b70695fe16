"""Conversations that beat randomised response, where the theorem does not apply.

Two parties speak once each, the second after hearing the first. With several bits per party randomised response of
every bit is not optimal: the two examples of LIM 4.6. Nor is it with delta > 0, contrary to LIM Theorem 4.4.1:
`and_saving_delta` and `xor_sharing_delta`. Each can be run, and the privacy of the whole transcript is proved in
integers.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Literal

import numpy as np

from utmost.errors import InvalidInput, UnsupportedLevel
from utmost.exact import Number
from utmost.mechanism import FiniteMechanism
from utmost.mechanism.certification import CertifiedMechanism, certify_on
from utmost.privacy import ApproxDP, Level, as_level, require_pure
from utmost.space.edge_levels import on_edges
from utmost.space.families import hamming, path
from utmost.theory.linear_program import best_mechanism, mix_until_private
from utmost.theory.multiparty.design.conversation import Conversation
from utmost.theory.multiparty.design.protocol import optimal
from utmost.theory.multiparty.design.response import response
from utmost.theory.priors.design.geometric import geometric


def xor_or_and(privacy: Level | Number, message: Literal["plain", "best"] = "plain") -> Conversation:
    """LIM 4.6, first example: y1 XOR y2 if x = 0, y1 AND y2 if x = 1, where one party holds x and another y1 and y2.

    The second party hears the first's response x̃ and sends a response of the XOR or the AND accordingly ("plain"),
    or the optimal message by a linear program ("best").

    Examples
    --------
    >>> print(xor_or_and(2.0))
    XOR or AND, three bits of two parties at 2-DP
      randomised response of every bit: 0.781267
      this conversation: 0.812709 (randomised response is not optimal here)
    """
    level = require_pure(as_level(privacy))

    def truth(x: int, y: tuple[int, int]) -> int:
        return y[0] & y[1] if x else y[0] ^ y[1]

    apart = optimal(lambda bits: truth(bits[0], bits[1:]), [level] * 3)
    first, cube = response(level), hamming(2, (0, 1))
    second = {}
    for heard in first.outputs:
        plain = [response(level).weights[truth(heard, y)] for y in cube.points]
        second[heard] = CertifiedMechanism(np.array(plain), first.bits, first.outputs, on_edges(cube, level))
    talk = Conversation(
        f"XOR or AND, three bits of two parties at {level}",
        (path(2), cube),
        (level, level),
        first,
        second,
        truth,
        (0, 1),
        np.eye(2),
        apart,
    )
    return talk if _read_choice(message, "plain") else _with_best_second(talk)


def hamming_distance(privacy: Level | Number, message: Literal["geometric", "best"] = "geometric") -> Conversation:
    """LIM 4.6, second example: the Hamming distance of two parties' two bits each, accuracy 2 - |d - answer|.

    The second party hears the first's two responses x̃ and sends its distance to them with truncated geometric noise
    ("geometric"), or the optimal message by a linear program ("best").

    Examples
    --------
    >>> print(hamming_distance(2.0))
    Hamming distance of two parties' two bits at 2-DP
      randomised response of every bit: 1.624120
      this conversation: 1.640918 (randomised response is not optimal here)
    """
    level = require_pure(as_level(privacy))

    def truth(x: tuple[int, int], y: tuple[int, int]) -> int:
        return abs(x[0] - y[0]) + abs(x[1] - y[1])

    def accuracy(distance: int, answer: int) -> int:
        return 2 - abs(distance - answer)

    apart = optimal(lambda bits: truth(bits[:2], bits[2:]), [level] * 4, accuracy)
    cube, one = hamming(2, (0, 1)), response(level)
    pairs = np.kron(one.weights.astype(object), one.weights.astype(object))
    first = CertifiedMechanism(pairs, 2 * one.bits, tuple(cube.points), on_edges(cube, level))
    noise = certify_on(geometric(3, level), on_edges(path(3), level))
    second = {}
    for heard in first.outputs:
        rows = np.array([noise.weights[truth(heard, y)] for y in cube.points])
        second[heard] = CertifiedMechanism(rows, noise.bits, noise.outputs, on_edges(cube, level))
    table = np.array([[accuracy(d, a) for a in range(3)] for d in range(3)], dtype=float)
    talk = Conversation(
        f"Hamming distance of two parties' two bits at {level}",
        (cube, cube),
        (level, level),
        first,
        second,
        truth,
        (0, 1, 2),
        table,
        apart,
    )
    return talk if _read_choice(message, "geometric") else _with_best_second(talk)


def and_saving_delta(level: Level | Number, other: Level | Number) -> Conversation:
    """The AND of two bits, where a party with delta > 0 saves it for when it matters: better than LIM Theorem 4.4.1.

    The other party, at a pure level, speaks first. Only if it says 1 does this party's bit matter, so only then may it
    be revealed: with delta' = delta (1 + e^eps) / e^eps, whose average is at most delta whatever the other's bit.
    Without interaction delta would be wasted whenever the other says 0.

    Examples
    --------
    >>> import utmost as um
    >>> talk = um.multiparty.and_saving_delta(um.ApproxDP(1, 0.1), 1.0)
    >>> print(talk)
    AND of two bits, (1, 0.1)-DP, after a bit at 1-DP
      randomised response of every bit: 0.777054
      this conversation: 0.780670 (randomised response is not optimal here)
    >>> talk.verify().private
    True
    """
    own_level, other_level = _require_approx(level), require_pure(as_level(other))
    first = response(other_level)
    likely = Fraction(int(first.weights[1, 1]), first.total)  # of hearing 1, at most, and so of spending delta'
    second = {
        0: response(_with_delta(own_level, Fraction(0))),
        1: response(_with_delta(own_level, min(own_level.delta / likely, Fraction(1)))),
    }
    return Conversation(
        f"AND of two bits, {own_level}, after a bit at {other_level}",
        (path(2), path(2)),
        (other_level, own_level),
        first,
        second,
        lambda x, y: x & y,
        (0, 1),
        np.eye(2),
        optimal("and", [other_level, own_level]),
    )


def xor_sharing_delta(level: Level | Number, other: Level | Number) -> Conversation:
    """The XOR of two bits, whose parties reveal them at the same time: better than LIM Theorem 4.4.1.

    One bit of two determines nothing about an XOR. The other party speaks first; its randomised response shows whether
    its bit is revealed, which happens with its delta whatever the bit is. This party then does the same, as far as its
    own delta allows. With equal levels the margin is delta + (1 - delta) t², t = tanh(epsilon / 2), in place of
    (delta + (1 - delta) t)²; a shared coin would serve as well.

    Examples
    --------
    >>> import utmost as um
    >>> print(um.multiparty.xor_sharing_delta(um.ApproxDP(0, 0.1), um.ApproxDP(0, 0.1)))
    XOR of two bits, (0, 0.1)-DP, after a bit at (0, 0.1)-DP
      randomised response of every bit: 0.505000
      this conversation: 0.550000 (randomised response is not optimal here)
    """
    own_level, other_level = _require_approx(level), _require_approx(other)
    first = response(other_level)
    revealing = [m for m in first.outputs if not all(int(w) for w in first.weights[:, m])]
    chance_revealed = Fraction(sum(int(first.weights[0, m]) for m in revealing), first.total)  # the same for both bits
    delta_if_revealed = min(own_level.delta / chance_revealed, Fraction(1)) if chance_revealed else Fraction(0)
    delta_if_hidden = (
        max(own_level.delta - chance_revealed, Fraction(0)) / (1 - chance_revealed)
        if chance_revealed < 1
        else Fraction(0)
    )
    return Conversation(
        f"XOR of two bits, {own_level}, after a bit at {other_level}",
        (path(2), path(2)),
        (other_level, own_level),
        first,
        {
            m: response(_with_delta(own_level, delta_if_revealed if m in revealing else delta_if_hidden))
            for m in first.outputs
        },
        lambda x, y: x ^ y,
        (0, 1),
        np.eye(2),
        optimal("xor", [other_level, own_level]),
    )


def _require_approx(privacy: Level | Number) -> ApproxDP:
    """An (epsilon, delta) level, checked."""
    level = as_level(privacy)
    if not isinstance(level, ApproxDP):
        raise UnsupportedLevel(f"the level is {level}; give an (epsilon, delta) level, such as ApproxDP(1, 0.1).")
    return level


def _with_delta(level: ApproxDP, delta: Fraction) -> ApproxDP:
    """The level with its epsilon and another delta."""
    if level.ratio != 1:
        return ApproxDP.from_ratio(level.ratio, delta)
    return ApproxDP(level.exponent, delta)


def _read_choice(message: str, usual: str) -> bool:
    """Whether the usual message was chosen, not the best one."""
    if message not in (usual, "best"):
        raise InvalidInput(f"message is {message!r}; say {usual!r} or 'best'.")
    return message == usual


def _with_best_second(talk: Conversation) -> Conversation:
    """The conversation with the optimal second message for each first one, an answer, by a linear program."""
    levels = on_edges(talk.spaces[1], talk.levels[1])
    gains, second = talk.gains(), {}
    for m, heard in enumerate(talk.first.outputs):
        worth = np.einsum("a,aby->by", talk.first.matrix[:, m], gains)
        matrix, _ = mix_until_private(best_mechanism(levels, worth).matrix, levels)
        second[heard] = certify_on(FiniteMechanism(matrix, talk.spaces[1].points, talk.answers), levels)
    return replace(talk, second=second)
