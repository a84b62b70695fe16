"""An independent verifier of what Utmost releases: answers, publications, solutions, surveys, ledgers.

It is written from `docs/report-format.md` alone, imports nothing of Utmost and nothing beyond the standard library, and
is short enough to read in an afternoon. Section numbers in comments are those of that page.

    python utmost_verify.py answer.json                         # one answer, or a list of answers
    python utmost_verify.py pages/*.json                        # a publication: also whether its budget adds up
    python utmost_verify.py answer.json --ledger budget.db      # also whether the ledger has recorded it

Privacy is decided in integers, rationals and enclosures (pairs of decimals that are rounded outwards), never in floats.
Floats serve intervals only. What is not checked is listed in the verdict.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal, DecimalException
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, combinations, pairwise, product
from math import comb
from pathlib import Path
from statistics import NormalDist
from typing import Any

MOST_BYTES = 64 * 2**20
"""The largest file that is read; `--most-megabytes` raises it."""
LARGEST = 2**200
"""The largest integer in a file (section 1)."""
MOST_DIGITS, MOST_EXPONENT = 30_000, 4000
"""The most characters of a rational number, and the largest exponent of one."""
MOST_LEVEL = 10_000
"""The largest epsilon, mu or rho: beyond, nothing is protected."""
MOST_POINTS, MOST_EDGES = 10_000, 2 * 10**6
"""The largest tables of weights that are checked edge by edge."""
CONFIDENCE = Fraction(95, 100)
CLOSE = 1e-9
"""The relative tolerance for numbers that are floats in a report."""


class Refused(Exception):
    """The file does not say what it must, or says what does not follow."""


class TooFar(Exception):
    """A number that is too expensive to be recomputed here: it is listed as not checked."""


def require(condition: Any, reason: str) -> None:
    if not condition:
        raise Refused(reason)


# ---- section 1: JSON ----


class Object(dict[str, Any]):
    """An object of JSON that remembers which of its names were read: one that nobody reads is refused (section 1)."""

    def __init__(self, pairs: Iterable[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.read.add(name)
        return super().get(name, default)

    def __contains__(self, name: object) -> bool:
        self.read.add(str(name))
        return super().__contains__(name)


def require_read(content: Any, place: str, besides: Iterable[str] = ()) -> None:
    """Refuse names within a part of a file that this verifier has not read: they could say anything."""
    parts = [content]
    for one in parts:
        if isinstance(one, Object):
            unread = set(one) - one.read - set(besides)
            require(
                not unread,
                f"{place} has names that the format does not know, such as {sorted(unread)[0]!r}" if unread else "",
            )
        parts.extend(
            one.values()
            if isinstance(one, dict)
            else one
            if isinstance(one, list) and one and isinstance(one[0], dict | list)
            else []
        )


def parse_json(raw: bytes | str) -> Any:
    """JSON with one meaning: no name twice in an object, no NaN, no number beyond any that Utmost writes."""

    def whole(digits: str) -> int:
        require(len(digits) <= 62 and abs(int(digits)) <= LARGEST, "it holds a whole number beyond 2^200")
        return int(digits)

    def real(digits: str) -> float:
        require(len(digits) <= 400 and math.isfinite(float(digits)), "it holds a number beyond any float")
        return float(digits)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        parts = Object(pairs)
        require(len(parts) == len(pairs), "an object names the same thing twice")
        return parts

    def constant(name: str) -> Any:
        raise Refused(f"it holds {name}, which is no number")

    try:
        return json.loads(raw, parse_int=whole, parse_float=real, parse_constant=constant, object_pairs_hook=unique)
    except (ValueError, RecursionError, MemoryError):
        raise Refused("it is not JSON, or nested too deeply") from None


def canonical(content: Any) -> bytes:
    """The canonical text: sorted names, no spaces, characters as they are (section 1)."""
    try:
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return text.encode()
    except (ValueError, RecursionError):
        raise Refused("it holds text or numbers that have no canonical form") from None


def part(content: Any, name: str, kind: Any = None) -> Any:
    """A member of an object, of a type; `bool` is not taken for a whole number."""
    require(isinstance(content, dict) and name in content, f"{name} is missing")
    value = content[name]
    fits = kind is None or (isinstance(value, kind) and not (kind is int and isinstance(value, bool)))
    require(fits, f"{name} is of the wrong kind")
    return value


def is_whole(value: Any) -> bool:
    return type(value) is int


def whole_numbers(values: Any, size: int | None = None) -> list[int]:
    fits = isinstance(values, list) and all(map(is_whole, values)) and (size is None or len(values) == size)
    require(fits, "what is released are whole numbers, as many as there are names")
    return list(values)


RATIONAL = re.compile(r"-?[0-9]+(?:/[0-9]+|(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,5})?)", re.ASCII)


def rational(value: Any) -> Fraction:
    """A rational number as the format writes it: "1/3", "0.1", "1e-6", or a number of JSON (a float is its decimal)."""
    text = repr(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    require(isinstance(text, str) and len(text) <= MOST_DIGITS, "a rational number is missing, or too long")
    require(RATIONAL.fullmatch(text), "a rational number is not written as one")
    exponent = re.search(r"[eE]([-+]?[0-9]+)$", text)
    require(exponent is None or abs(int(exponent[1])) <= MOST_EXPONENT, "a rational number has a huge exponent")
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(MOST_DIGITS + MOST_EXPONENT)
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise Refused("a rational number is not written as one") from None
    finally:
        sys.set_int_max_str_digits(limit)


# ---- enclosures: a real number between two decimals, each rounded outwards ----

EXACT = Context(prec=10**6, Emax=MAX_EMAX, Emin=MIN_EMIN)
DIGITS = (30, 60, 120, 240, 480)


@lru_cache(maxsize=32)
def contexts(digits: int) -> tuple[Context, Context]:
    return tuple(Context(prec=digits, rounding=r, Emax=MAX_EMAX, Emin=MIN_EMIN) for r in (ROUND_FLOOR, ROUND_CEILING))  # type: ignore[return-value]


@dataclass(frozen=True)
class Enclosure:
    """A real number that is at least `low` and at most `high`, at a number of digits."""

    low: Decimal
    high: Decimal
    digits: int

    @staticmethod
    def of(value: Fraction | int, digits: int) -> Enclosure:
        down, up = contexts(digits)
        top, bottom = Decimal(Fraction(value).numerator), Decimal(Fraction(value).denominator)
        return Enclosure(down.divide(top, bottom), up.divide(top, bottom), digits)

    def _pair(self, other: Enclosure | Fraction | int) -> Enclosure:
        return other if isinstance(other, Enclosure) else Enclosure.of(other, self.digits)

    def __add__(self, other: Enclosure | Fraction | int) -> Enclosure:
        (down, up), b = contexts(self.digits), self._pair(other)
        return Enclosure(down.add(self.low, b.low), up.add(self.high, b.high), self.digits)

    def __neg__(self) -> Enclosure:
        return Enclosure(self.high.copy_negate(), self.low.copy_negate(), self.digits)

    def __sub__(self, other: Enclosure | Fraction | int) -> Enclosure:
        return self + -self._pair(other)

    def __mul__(self, other: Enclosure | Fraction | int) -> Enclosure:
        (down, up), b = contexts(self.digits), self._pair(other)
        ends = [(x, y) for x in (self.low, self.high) for y in (b.low, b.high)]
        return Enclosure(min(down.multiply(*e) for e in ends), max(up.multiply(*e) for e in ends), self.digits)

    def __truediv__(self, other: Enclosure | Fraction | int) -> Enclosure:
        (down, up), b = contexts(self.digits), self._pair(other)
        require(b.low > 0 or b.high < 0, "a quotient is not known to exist")
        ends = [(x, y) for x in (self.low, self.high) for y in (b.low, b.high)]
        return Enclosure(min(down.divide(*e) for e in ends), max(up.divide(*e) for e in ends), self.digits)

    def _monotone(self, name: str) -> Enclosure:
        """exp, ln or sqrt, which `decimal` rounds correctly, to the nearest: so one unit outwards encloses it."""
        down, up = contexts(self.digits)
        low, high = getattr(down, name)(self.low), getattr(up, name)(self.high)
        return Enclosure(down.next_minus(low), up.next_plus(high), self.digits)

    def exp(self) -> Enclosure:
        return self._monotone("exp")

    def ln(self) -> Enclosure:
        require(self.low > 0, "a logarithm is not known to exist")
        return self._monotone("ln")

    def sqrt(self) -> Enclosure:
        floor = Enclosure(max(self.low, Decimal(0)), self.high, self.digits)
        root = floor._monotone("sqrt")
        return Enclosure(max(root.low, Decimal(0)), root.high, self.digits)

    def min(self, other: Enclosure | Fraction | int) -> Enclosure:
        b = self._pair(other)
        return Enclosure(min(self.low, b.low), min(self.high, b.high), self.digits)


def proved(difference: Callable[[int], Enclosure]) -> bool:
    """Whether a real number, enclosed with any number of digits, is proved to be 0 or more."""
    for digits in DIGITS:
        try:
            ball = difference(digits)
        except (Refused, DecimalException):  # not yet precise enough for a quotient or a logarithm
            continue
        if ball.low >= 0:
            return True
        if ball.high < 0:
            return False
    return False


@lru_cache(maxsize=8)
def pi(digits: int) -> Enclosure:
    """Machin's formula, in integers; the error of each of the two sums is below its number of terms."""
    unit, total, error = 10 ** (digits + 10), 0, 0
    for times, base in ((16, 5), (-4, 239)):
        power, n, sign = unit // base, 1, 1
        while power:
            total, error = total + sign * times * (power // n), error + 2 * abs(times)
            power, n, sign = power // base**2, n + 2, -sign
    return Enclosure(
        Enclosure.of(Fraction(total - error, unit), digits).low,
        Enclosure.of(Fraction(total + error, unit), digits).high,
        digits,
    )


def upper_normal(x: Enclosure) -> Enclosure:
    """Pr[N(0, 1) >= x]."""
    down, up = contexts(x.digits)
    low, high = _upper_normal_at(x.high, x.digits), _upper_normal_at(x.low, x.digits)
    return Enclosure(max(down.plus(low.low), Decimal(0)), up.plus(high.high), x.digits)


def _upper_normal_at(point: Decimal, digits: int) -> Enclosure:
    """At one point: 1/2 less the density times x + x^3/3 + x^5/15 + ..., with digits to spare for the difference."""
    if point < 0:
        return Enclosure.of(1, digits) - _upper_normal_at(point.copy_negate(), digits)
    more = digits + 20 + (int(point * point / 4) if point <= 60 else 0)
    x = Enclosure(point, point, more)
    density = (-(x * x * Fraction(1, 2))).exp() / (pi(more) * 2).sqrt()
    if point > 60:  # between density/x (1 - 1/x^2) and density/x
        most = density / x
        return Enclosure((most - most / (x * x)).low, most.high, digits)
    total, term, n = x, x, 1
    while term.high * n > Decimal(10) ** -more or n < 2 * point * point:
        n += 2
        term = term * x * x / n
        total = total + term
    rest = Enclosure(
        Decimal(0), contexts(more)[1].multiply(term.high, Decimal(2)), more
    )  # a geometric series, q <= 1/2
    return Enclosure.of(Fraction(1, 2), more) - density * (total + rest)


def normal(x: Enclosure) -> Enclosure:
    """Pr[N(0, 1) <= x]."""
    return upper_normal(-x)


# ---- section 2: privacy levels ----


@dataclass(frozen=True)
class Level:
    """A privacy level: "approx" (pure where delta = 0), "gaussian", "approx-gaussian", "zcdp" or "knots"."""

    family: str
    exponent: Fraction = Fraction(0)
    """epsilon is exponent + ln ratio."""
    ratio: Fraction = Fraction(1)
    delta: Fraction = Fraction(0)
    size: Fraction = Fraction(0)
    """mu or rho."""
    knots: tuple[tuple[Fraction, Fraction], ...] = ()

    def growth(self, digits: int) -> Enclosure:
        """e^epsilon."""
        return (
            Enclosure.of(self.exponent, digits).exp() * self.ratio
            if self.exponent
            else Enclosure.of(self.ratio, digits)
        )

    def epsilon(self, digits: int) -> Enclosure:
        log = Enclosure.of(self.ratio, digits).ln() if self.ratio != 1 else Enclosure.of(0, digits)
        return log + self.exponent

    @property
    def pure(self) -> bool:
        return self.family == "approx" and self.delta == 0

    def at(self, alpha: Fraction) -> Fraction:
        """The upper function of a pair of knots."""
        for (a, u), (b, v) in pairwise(self.knots):
            if alpha <= b:
                return u + (v - u) * (alpha - a) / (b - a)
        return Fraction(1)

    def upper(self, alpha: Enclosure) -> Enclosure:
        """The largest probability at a neighbour of an event that has probability alpha here (section 2)."""
        digits = alpha.digits
        if self.family == "approx":
            growth = self.growth(digits)
            first, second = (
                growth * alpha + self.delta,
                Enclosure.of(1, digits) - (Enclosure.of(1 - self.delta, digits) - alpha) / growth,
            )
            return first.min(second).min(1)
        if self.family == "knots":
            ends = [self.at(min(max(Fraction(x), Fraction(0)), Fraction(1))) for x in (alpha.low, alpha.high)]
            return Enclosure(Enclosure.of(ends[0], digits).low, Enclosure.of(ends[1], digits).high, digits)
        require(self.family in ("gaussian", "approx-gaussian"), "this level bounds no single probability")
        inner = alpha / (1 - self.delta)
        shifted = normal(quantile(inner) + self.size)
        return (shifted * (1 - self.delta) + self.delta).min(1)


def quantile(share: Enclosure) -> Enclosure:
    """x with Pr[N(0, 1) <= x] = share."""
    require(share.low > 0 and share.high < 1, "a quantile is not known to exist")
    return Enclosure(quantile_at(share.low, -1, share.digits), quantile_at(share.high, 1, share.digits), share.digits)


@lru_cache(maxsize=4096)
def quantile_at(target: Decimal, side: int, digits: int) -> Decimal:
    """A point below (side -1) or above (1) the quantile, and close to it: Newton steps from a float, then verified."""
    more = digits + 10
    add = contexts(more)[0].add
    guess = Decimal(NormalDist().inv_cdf(min(max(float(target), 1e-300), 1 - 1e-16)))
    for _ in range(more.bit_length() - 4):  # each step doubles the digits
        x = Enclosure(guess, guess, more)
        density = (-(x * x * Fraction(1, 2))).exp() / (pi(more) * 2).sqrt()
        guess = add(guess, ((Enclosure(target, target, more) - normal(x)) / density).low)
    spare = max(abs(guess), Decimal(1)) * Decimal(10) ** (5 - digits)
    for _ in range(60):
        point = add(guess, spare * side)
        there = normal(Enclosure(point, point, more))
        if (side < 0 and there.high <= target) or (side > 0 and there.low >= target):
            return point
        spare *= 10
    raise Refused("a quantile could not be enclosed")


def gaussian_allows(below: Fraction, above: Fraction, mu: Fraction) -> bool:
    """Whether Phi(Phi^-1(below) + mu) is proved to be at least `above`."""

    def slack(digits: int) -> Enclosure:
        low = quantile_at(Enclosure.of(below, digits).low, -1, digits)
        return normal(Enclosure(low, low, digits) + mu) - above

    return proved(slack)


def level_of(data: Any) -> Level:
    """A level from its JSON; an infinite one, or one beyond reason, protects nothing and is refused."""
    kind = part(data, "kind", str)
    names = {"pure": "epsilon", "approx": "epsilon", "gaussian": "mu", "approx-gaussian": "mu", "zcdp": "rho"}
    if kind == "suitable-pair":
        knots = tuple((rational(a), rational(u)) for a, u in part(data, "knots", list))
        slopes = [(v - u) / (b - a) if b > a else None for (a, u), (b, v) in pairwise(knots)]
        ordered = (
            len(knots) > 1 and None not in slopes and knots[0][0] == 0 and knots[-1] == (1, 1) and knots[0][1] >= 0
        )
        require(ordered and all(v <= u for u, v in pairwise(slopes)), "a pair of knots is no concave upper function")  # type: ignore[operator]
        inverse = all(Level("knots", knots=knots).at(1 - u) <= 1 - a for a, u in knots)
        require(inverse and all(a <= u <= 1 for a, u in knots), "a pair of knots is not suitable")
        return Level("knots", knots=knots)
    require(kind in names, "a privacy level is of an unknown kind")
    delta = rational(part(data, "delta")) if kind.startswith("approx") else Fraction(0)
    require(0 <= delta < 1, "a delta is a probability below 1")
    if "ratio" in data and names[kind] == "epsilon":
        ratio = rational(data["ratio"])
        require(1 <= ratio <= 2**14_000, "a ratio e^epsilon is 1 or more")
        return Level("approx", Fraction(0), ratio, delta)
    size = rational(part(data, names[kind]))
    require(0 <= size <= MOST_LEVEL, "a level is 0 or more, and at most 10 000")
    if names[kind] == "epsilon":
        return Level("approx", size, Fraction(1), delta)
    require(kind != "approx-gaussian" or delta > 0, "approximate Gaussian levels have a delta above 0")
    return Level(kind, delta=delta, size=size)


Falls = Sequence[tuple[Fraction, int]]
"""Factors decay^steps by which probabilities fall."""


def keeps(level: Level, falls: Falls) -> bool:
    """Section 2: whether a law whose probabilities change by a factor of at least the product of decay^steps keeps a
    level. It is epsilon-DP for epsilon = -ln of that product, and so keeps another level iff that allows the corner."""
    falls = [(decay, steps) for decay, steps in falls if steps and decay < 1]
    if not falls:
        return True
    if any(decay <= 0 or steps < 0 for decay, steps in falls):
        return False
    size = sum((b.numerator.bit_length() + b.denominator.bit_length()) * steps for b, steps in falls)
    fall = math.prod(b**steps for b, steps in falls) if size <= 20_000 else None

    def log(digits: int) -> Enclosure:
        total = Enclosure.of(0, digits)
        for b, steps in falls:
            total = total + Enclosure.of(b, digits).ln() * steps
        return total

    if level.family == "zcdp":
        return proved(lambda digits: Enclosure.of(2 * level.size, digits) - log(digits) * log(digits))
    if level.family == "approx":
        if fall is not None and level.exponent == 0 and fall * level.ratio >= 1:
            return True
        if proved(lambda digits: log(digits) + level.epsilon(digits)):
            return True
        if level.delta == 0:
            return False

    def slack(digits: int) -> Enclosure:
        d = log(digits).exp()
        corner = d / (d + 1)
        return level.upper(corner) + corner - 1

    return proved(slack)


def keeps_gaussian(level: Level, squares: Fraction, discrete: bool) -> bool:
    """Section 2: whether Gaussian noise keeps a level if its squared l2 sensitivity over the variance is `squares`."""
    if squares == 0:
        return True
    if level.family == "zcdp":
        return squares <= 2 * level.size
    if discrete:
        return False
    if level.family == "gaussian":
        return squares <= level.size**2
    return (
        level.family == "approx"
        and level.delta > 0
        and proved(lambda digits: Enclosure.of(level.delta, digits) - gaussian_delta(squares, level, digits))
    )


def gaussian_delta(squares: Fraction, level: Level, digits: int) -> Enclosure:
    """The delta of mu-Gaussian privacy, mu^2 = squares, at the epsilon of a level."""
    mu = Enclosure.of(squares, digits).sqrt()
    shift, half = level.epsilon(digits) / mu, mu * Fraction(1, 2)
    return upper_normal(shift - half) - level.growth(digits) * upper_normal(shift + half)


def implies(pure: Level, level: Level) -> bool:
    """Whether a pure level implies another."""
    if pure == level or (level.family == "approx" and (pure.exponent, pure.ratio) == (level.exponent, level.ratio)):
        return True
    if level.family == "zcdp":
        return pure.ratio == 1 and pure.exponent**2 <= 2 * level.size

    def slack(digits: int) -> Enclosure:
        corner = Enclosure.of(1, digits) / (pure.growth(digits) + 1)
        return level.upper(corner) + corner - 1

    return proved(slack)


def at_most(level: Level, other: Level) -> bool:
    """Whether the epsilon of a level is at most that of another."""
    if (level.exponent, level.ratio) == (other.exponent, other.ratio):
        return True
    return proved(lambda digits: other.epsilon(digits) - level.epsilon(digits))


# ---- section 3: tables of integer weights ----


@lru_cache(maxsize=64)
def growth_below(level: Level) -> Fraction:
    """A rational at or just below e^epsilon."""
    return level.ratio if level.exponent == 0 else max(Fraction(1), Fraction(level.growth(60).low))


def row_keeps(level: Level, here: Sequence[int], there: Sequence[int], total: int) -> bool:
    """Whether one row of weights keeps a level against another: every event, in integers."""
    if level.family == "approx":
        growth = growth_below(level)
        n, d = growth.numerator, growth.denominator
        return sum(max(0, a * d - n * b) for a, b in zip(here, there, strict=True)) <= level.delta * total * d
    require(level.family in ("gaussian", "knots"), "weights are not checked at this kind of level")
    order = sorted(
        range(len(here)), key=lambda o: (there[o] == 0 and here[o] > 0, Fraction(here[o], there[o] or 1)), reverse=True
    )
    above, below = 0, 0
    for o in order[:-1] if len(here) != 2 else order[:1]:
        above, below = above + here[o], below + there[o]
        if level.family == "knots":
            fits = Fraction(above) <= level.at(Fraction(below, total)) * total
        elif below in (0, total) or above in (0, total) or above <= below:
            fits = above <= below or below == total
        else:
            fits = gaussian_allows(Fraction(below, total), Fraction(above, total), level.size)
        if not fits:
            return False
    return True


def weights_of(rows: Any, columns: int, total: int) -> list[tuple[int, ...]]:
    """Rows of integer weights, written as text; each row adds up to the total."""
    require(isinstance(rows, list) and len(rows) > 0, "there are no weights")
    table = []
    for row in rows:
        require(isinstance(row, list) and len(row) == columns, "a row of weights has another length")
        require(
            all(isinstance(w, str) and re.fullmatch(r"[0-9]{1,1300}", w, re.ASCII) for w in row),
            "a weight is no whole number",
        )
        table.append(tuple(map(int, row)))
        require(sum(table[-1]) == total, "a row of weights does not add up to its total")
    return table


def total_of_bits(bits: Any) -> int:
    require(is_whole(bits) and 0 < bits <= 4096, "weights are over a power of two up to 2^4096")
    return 1 << bits


def prove_edges(table: Sequence[Sequence[int]], total: int, edges: Iterable[tuple[int, int, Level]]) -> None:
    """Check both directions of every edge; equal pairs of rows once."""
    done = set()
    for number, (i, j, level) in enumerate(edges):
        require(number < MOST_EDGES, "the table has more edges than are checked here")
        for a, b in ((table[i], table[j]), (table[j], table[i])):
            if (a, b, level) not in done:
                require(row_keeps(level, a, b, total), "the weights of two neighbours break the level")
                done.add((a, b, level))


# ---- section 4: spaces of integers, and their sensitivities ----

MOVES = ("one-way", "cube", "exchange", "sum-zero", "any")


def integer(content: Any, name: str, least: int | None = None, optional: bool = False) -> Any:
    value = content.get(name) if optional else part(content, name)
    require(
        (value is None and optional) or (is_whole(value) and (least is None or value >= least)),
        f"{name} is no whole number that fits",
    )
    return value


@dataclass(frozen=True)
class Line:
    """The integers first..last, or all; neighbours are at most `reach` apart."""

    first: int | None
    last: int | None
    reach: int

    @staticmethod
    def of(data: Any) -> Line:
        line = Line(
            integer(data, "first", optional=True), integer(data, "last", optional=True), integer(data, "reach", 0)
        )
        require(
            (line.first is None) == (line.last is None) and (line.first is None or line.first <= line.last),
            "a line has both ends, or none",
        )
        return line

    @property
    def points(self) -> int:
        require(self.first is not None, "the line has no ends")
        return self.last - self.first + 1  # type: ignore[operator]

    def clamp(self, value: int) -> int:
        return value if self.first is None else min(max(value, self.first), self.last)  # type: ignore[type-var]


@dataclass(frozen=True)
class Lattice:
    """Vectors of integers; one neighbour makes `reach` moves of a shape, at most `each` in one integer."""

    dimension: int
    moves: str
    reach: int
    lower: int | None = None
    upper: int | None = None
    each: int | None = None

    @staticmethod
    def of(data: Any) -> Lattice:
        moves = part(data, "moves", str)
        ends = (integer(data, name, optional=True) for name in ("lower", "upper", "each"))
        space = Lattice(integer(data, "dimension", 1), moves, integer(data, "reach", 0), *ends)
        require(moves in MOVES and (space.lower is None) == (space.upper is None), "these are no vectors of integers")
        require(
            space.each is None or (moves in ("any", "exchange") and 0 < space.each <= space.reach),
            "the bound on one integer does not fit",
        )
        return space

    def norm(self, shape: str) -> int | None:
        """The sensitivity in the norm of a shape; None if noise of this shape does not hide the moves."""
        d, moves = self.dimension, self.moves
        if moves == "sum-zero" and d == 1:
            return 0
        if shape == "sum-zero":
            return self.reach if moves == "sum-zero" else None
        if self.each is not None:
            twice = 2 if d > 1 and moves == "exchange" and shape in ("any", "one-way") else 1
            return self.each if shape == "cube" else min(self.reach * twice, d * self.each)
        if d == 1 or moves == "any" or shape == "cube":
            return self.reach
        if shape == "one-way":
            return self.reach * (1 if moves == "one-way" else 2)
        if moves in ("exchange", "sum-zero"):
            return self.reach * (1 if shape == "exchange" else 2)
        return self.reach * d

    @property
    def l1(self) -> int:
        return self.norm("any") or 0

    @property
    def l2_squared(self) -> int:
        d, moves = self.dimension, self.moves
        if moves == "sum-zero" and d == 1:
            return 0
        if self.each is not None:
            alone = _largest_square(self.reach, self.each, d)
            return alone if moves == "any" else min(2 * alone, _largest_square(2 * self.reach, self.each, d))
        return (1 if d == 1 or moves == "any" else d if moves in ("one-way", "cube") else 2) * self.reach**2


def _largest_square(total: int, bound: int, integers: int) -> int:
    """The largest sum of squares of integers from 0 to `bound` that add up to at most `total`."""
    full = min(total // bound, integers)
    rest = min(total - full * bound, bound) if full < integers else 0
    return full * bound**2 + rest**2


@dataclass(frozen=True)
class Strategy:
    """Weighted sums of disjoint cells."""

    cells: Lattice
    rows: tuple[tuple[int, tuple[int, ...]], ...]

    @staticmethod
    def of(data: Any) -> Strategy:
        cells, rows = Lattice.of(part(data, "cells", dict)), []
        for row in part(data, "rows", list):
            require(isinstance(row, list) and len(row) == 2 and is_whole(row[0]), "a sum has a first cell and weights")
            weights = whole_numbers(row[1])
            require(
                row[0] >= 0 and row[0] + len(weights) <= cells.dimension and all(abs(w) <= 10**6 for w in weights),
                "a sum exceeds its cells",
            )
            rows.append((row[0], tuple(weights)))
        require(
            1 <= len(rows) <= 2000
            and cells.dimension <= 2000
            and cells.moves in ("any", "exchange")
            and cells.each is None,
            "a strategy is sums of disjoint cells",
        )
        return Strategy(cells, tuple(rows))

    @property
    def dimension(self) -> int:
        return len(self.rows)

    @property
    def columns(self) -> list[list[int]]:
        """The weights of each cell in all sums."""
        columns = [[0] * len(self.rows) for _ in range(self.cells.dimension)]
        for i, (first, weights) in enumerate(self.rows):
            for j, weight in enumerate(weights):
                columns[first + j][i] = weight
        return columns

    def _largest(self, size: Callable[[Sequence[int]], int]) -> int:
        columns = self.columns
        largest = max(map(size, columns))
        if self.cells.moves == "exchange":
            largest = max(
                largest, *(size([a - b for a, b in zip(x, y, strict=True)]) for x, y in combinations(columns, 2)), 0
            )
        return largest

    @property
    def l1(self) -> int:
        return self._largest(lambda c: sum(map(abs, c))) * self.cells.reach

    @property
    def l2_squared(self) -> int:
        return self._largest(lambda c: sum(x * x for x in c)) * self.cells.reach**2


@dataclass(frozen=True)
class Tallies:
    """The numbers of rows in disjoint cells, at most `rows` in all."""

    cells: int
    rows: int
    neighbours: str
    rows_each: int

    @staticmethod
    def of(data: Any) -> Tallies:
        neighbours = part(data, "neighbours", str)
        require(neighbours in ("add-remove", "replace"), "an adjacency is add-remove or replace")
        return Tallies(integer(data, "cells", 1), integer(data, "rows", 0), neighbours, integer(data, "rows_each", 1))

    @property
    def turn(self) -> int:
        """Rows of one neighbour that may change: once where they come or go, twice where they are replaced."""
        return self.rows_each * (2 if self.neighbours == "replace" else 1)

    def neighbours_of(self, tally: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Every tally that one neighbour makes of this one, by up to `rows_each` rows."""
        ways = [w for w in product(range(self.rows_each + 1), repeat=self.cells) if sum(w) <= self.rows_each]
        none = (0,) * self.cells
        for more in ways:
            for less in ways if self.neighbours == "replace" else [none]:
                for sign in (1, -1):
                    yield tuple(x + sign * (a - b) for x, a, b in zip(tally, more, less, strict=True))


@dataclass(frozen=True)
class Holders:
    """Keys that are found: the units of each, and the numbers of each."""

    units: int | None
    keys_each: int
    neighbours: str
    numbers: Lattice | None

    @staticmethod
    def of(data: Any) -> Holders:
        numbers = part(data, "numbers")
        require(part(data, "neighbours") in ("add-remove", "replace"), "an adjacency is add-remove or replace")
        return Holders(
            integer(data, "units", 0, optional=True),
            integer(data, "keys_each", 1),
            data["neighbours"],
            None if numbers is None else Lattice.of(numbers),
        )

    @property
    def changes(self) -> int:
        return self.keys_each * (2 if self.neighbours == "replace" else 1)


@dataclass(frozen=True)
class Tables:
    """Tables of counts of the same rows; `centred` names the columns of each and those along which it is centred."""

    sizes: tuple[int, ...]
    moves: str
    reach: int
    upper: int | None
    shape: tuple[int, ...] = ()
    centred: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = ()
    grain: int = 1

    @staticmethod
    def of(data: Any) -> Tables:
        moves, reach, upper = part(data, "moves"), integer(data, "reach", 0), integer(data, "upper", 0, optional=True)
        require(moves in ("any", "exchange"), "tables have moves of one row")
        if data.get("integers") == "tables":
            sizes = tuple(whole_numbers(part(data, "sizes")))
            require(sizes and min(sizes) >= 1, "a table has cells")
            return Tables(sizes, moves, reach, upper)
        shape = tuple(whole_numbers(part(data, "shape")))
        tables = []
        for pair in part(data, "tables", list):
            require(isinstance(pair, list) and len(pair) == 2, "a table has its columns, and those it is centred along")
            columns, centred = (tuple(whole_numbers(one)) for one in pair)
            ordered = all(list(some) == sorted(set(some)) for some in (columns, centred))
            require(
                ordered and set(centred) <= set(columns) <= set(range(len(shape))),
                "a table has its columns once and in order",
            )
            require(all(shape[i] > 1 for i in centred), "a table is centred along a column of one value")
            tables.append((columns, centred))
        require(shape and min(shape) >= 1 and tables, "tables have sizes")
        sizes = tuple(math.prod(shape[i] for i in columns) for columns, _ in tables)
        return Tables(sizes, moves, reach, upper, shape, tuple(tables), integer(data, "grain", 1))

    def lattices(self) -> list[Lattice]:
        return [Lattice(size, self.moves, self.reach) for size in self.sizes]

    @property
    def times(self) -> tuple[int, ...]:
        return tuple(-(-self.grain // math.prod(self.shape[i] for i in centred)) for _, centred in self.centred)

    def squares(self, variances: Sequence[Fraction]) -> Fraction:
        """The largest sum over tables of the squared l2 sensitivity over the variance."""
        if not self.centred:
            return sum(
                (Fraction(table.l2_squared) / v for table, v in zip(self.lattices(), variances, strict=True)),
                Fraction(0),
            )
        alone = [
            Fraction(t**2 * math.prod(self.shape[i] * (self.shape[i] - 1) for i in c)) / v
            for t, (_, c), v in zip(self.times, self.centred, variances, strict=True)
        ]
        largest = sum(alone)
        if self.moves == "exchange":
            wide = [i for i, n in enumerate(self.shape) if n > 1 and any(i in columns for columns, _ in self.centred)]
            if self.reach == 1 and len(wide) <= 10:
                ways = [frozenset(d) for k in range(1, len(wide) + 1) for d in combinations(wide, k)]
                largest = max(
                    [
                        largest,
                        *(sum(self._moved(alone[t], t, w, variances[t]) for t in range(len(alone))) for w in ways),
                    ]
                )
            else:
                each = [
                    max([alone[t], *(self._moved(alone[t], t, frozenset({i}), variances[t]) for i in wide)])
                    for t in range(len(alone))
                ]
                largest = max(largest, sum(each))
        return Fraction(largest) * self.reach**2

    def _moved(self, alone: Fraction, table: int, differing: frozenset[int], variance: Fraction) -> Fraction:
        columns, centred = self.centred[table]
        if not differing & set(columns):
            return Fraction(0)
        if differing & (set(columns) - set(centred)):
            return 2 * alone
        inner = self.times[table] ** 2 * math.prod(
            -self.shape[i] if i in differing else self.shape[i] * (self.shape[i] - 1) for i in centred
        )
        return max(alone, 2 * (alone - Fraction(inner) / variance))


@dataclass(frozen=True)
class Tiers:
    """One integer for each public group, each with its share of the level."""

    lines: tuple[Line, ...]
    shares: tuple[str, ...]

    @staticmethod
    def of(data: Any) -> Tiers:
        lines = tuple(Line.of(line) for line in part(data, "lines", list))
        shares = tuple(part(data, "shares", list))
        require(
            0 < len(lines) == len(shares) <= 5 and all(isinstance(s, str) and 0 < rational(s) <= 1 for s in shares),
            "tiers have lines and shares",
        )
        require(all(line.first is not None for line in lines), "a tier has at most so many members")
        return Tiers(lines, shares)

    def decay_power(self, tiers: Iterable[int]) -> Fraction:
        """The least share among some tiers."""
        return min(rational(self.shares[t]) for t in tiers)

    def together(self, tiers: Sequence[int]) -> Line:
        lines = [self.lines[t] for t in tiers]
        return Line(
            sum(line.first or 0 for line in lines),
            sum(line.last or 0 for line in lines),
            max(line.reach for line in lines),
        )


SPACES: dict[str, Any] = {
    "line": Line,
    "lattice": Lattice,
    "strategy": Strategy,
    "tallies": Tallies,
    "holders": Holders,
    "tables": Tables,
    "centred tables": Tables,
    "tiers": Tiers,
}


def space_of(data: Any, wanted: Any = object) -> Any:
    kind = part(data, "integers", str)
    require(kind in SPACES, "a space of integers is of an unknown kind")
    space = SPACES[kind].of(data)
    require(isinstance(space, wanted), "a space of integers is of another kind than its mechanism")
    return space


# ---- section 5: laws of noise on integers ----
#
# `prove(space, level)` decides privacy exactly. `beyond(n)` is Pr[|X| > n] of one integer's noise, in floats: intervals
# follow from it.


def half_width(beyond: Callable[[int], float], confidence: Fraction = CONFIDENCE) -> int:
    """The least n with Pr[|X| > n] <= 1 - confidence; refused as too close to call in floats if it is."""
    rest = float(1 - confidence)

    def suffices(n: int) -> bool:
        return beyond(n) <= rest * (1 + 1e-12)

    low, high = -1, 1
    while not suffices(high):
        low, high = high, 2 * high
        if high > 2**120:
            raise TooFar("the interval of noise this wide")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high


def log_of(value: Fraction) -> float:
    """ln of a rational between 0 and 1, with all digits near 1."""
    if value > Fraction(1, 2):
        return math.log1p(float(value - 1))
    return math.log(value.numerator) - math.log(value.denominator)


@dataclass(frozen=True)
class Layers:
    """Pr[X = k] proportional to decay^s(|k|), s(n) = n // period + (1 if n % period >= upper)."""

    decay: Fraction
    period: int
    upper: int

    def steps(self, reach: int) -> int:
        """The most steps between two integers at most `reach` apart."""
        n = self.upper - 1 + reach
        return n // self.period + (1 if n % self.period >= self.upper else 0)

    def prove(self, reach: int, level: Level) -> None:
        require(keeps(level, [(self.decay, self.steps(reach))]), "the noise falls too fast for the level")

    def beyond(self, n: int) -> float:
        b, u, p = float(self.decay), self.upper, self.period
        block = u + b * (p - u)
        whole = 2 * block / float(1 - self.decay) - 1
        q, place = divmod(n + 1, p)
        rest = max(u - place, 0) + b * (p - max(place, u)) + b * block / float(1 - self.decay)
        return 2 * math.exp(q * log_of(self.decay)) * rest / whole

    def mass(self, k: int) -> float:
        b, n = float(self.decay), abs(k)
        whole = 2 * (self.upper + b * (self.period - self.upper)) / float(1 - self.decay) - 1
        return math.exp((n // self.period + (n % self.period >= self.upper)) * log_of(self.decay)) / whole

    @property
    def wide(self) -> int:
        """Where the law is negligible: e^-44.36 = 2^-64 of its top (section 7)."""
        return self.period * (1 + math.ceil(64 * math.log(2) / -log_of(self.decay)))


@dataclass(frozen=True)
class Gaussian:
    """A Gaussian rounded to integers, or the discrete Gaussian Pr[X = k] proportional to e^(-k^2/2v)."""

    variance: Fraction
    discrete: bool

    def prove(self, reach: int, level: Level) -> None:
        require(
            keeps_gaussian(level, Fraction(reach) ** 2 / self.variance, self.discrete),
            "the Gaussian noise does not keep the level",
        )

    def beyond(self, n: int) -> float:
        v = float(self.variance)
        if not self.discrete:
            return math.erfc((n + 0.5) / math.sqrt(2 * v))
        sums = _discrete_tails(v)
        return 2 * sums[min(n + 1, len(sums) - 1)] / (2 * sums[1] + 1)

    def mass(self, k: int) -> float:
        n = abs(k)
        return 1 - self.beyond(0) if n == 0 else (self.beyond(n - 1) - self.beyond(n)) / 2

    @property
    def wide(self) -> int:
        return math.ceil(9.5 * math.sqrt(self.variance)) + 2


@lru_cache(maxsize=8)
def _discrete_tails(v: float) -> list[float]:
    far = math.ceil(9.5 * math.sqrt(v)) + 4
    if far > 10**6:
        raise TooFar("the interval of a discrete Gaussian this wide")
    sums = list(accumulate((math.exp(-(k**2) / (2 * v)) for k in range(far, -1, -1)), initial=0.0))
    return sums[::-1]


@dataclass(frozen=True)
class Canonical:
    """T(t) = Pr[X >= t] starts at T(1) = c with upper(c) = 1 - c, T(t + 1) = lower(T(t)); times `step`, plus J."""

    level: Level
    step: int

    def prove(self, reach: int, level: Level) -> None:
        require(self.satisfies(-(-reach // self.step), level), "the canonical noise is not that of the level")

    def satisfies(self, steps: int, level: Level) -> bool:
        """Group privacy over some steps, compared exactly."""
        own = self.level
        if steps == 0 or (steps == 1 and own == level):
            return True
        if own.family == level.family == "gaussian":
            return steps * own.size <= level.size
        if own.family != "approx" or level.family != "approx":
            return False
        same = own.ratio**steps == level.ratio if steps < 64 else own.ratio == level.ratio == 1
        grows = same and steps * own.exponent == level.exponent
        if not grows and not proved(lambda digits: level.epsilon(digits) - own.epsilon(digits) * steps):
            return False
        if own.delta == 0 or steps == 1:
            return own.delta <= level.delta

        def spare(digits: int) -> Enclosure:
            growth = own.growth(digits + 10)
            power = (own.epsilon(digits + 10) * steps).exp()
            times = Enclosure.of(steps, digits) if own.exponent == 0 and own.ratio == 1 else (power - 1) / (growth - 1)
            return Enclosure.of(level.delta, digits) - times * own.delta

        return proved(spare)

    def tail(self, t: int) -> float:
        """Pr[X >= t], t >= 1."""
        level = self.level
        if level.family == "gaussian":
            return math.erfc(float(level.size) * (t - 0.5) / math.sqrt(2)) / 2
        if level.family == "knots":
            return float(_orbit(level, t))
        e, d = float(level.exponent) + math.log(level.ratio), float(level.delta)
        c = (1 - d) / (1 + math.exp(e))
        if e == 0:
            return max(0.0, c - (t - 1) * d)
        k = d / math.expm1(e)
        return max(0.0, (c + k) * math.exp(-e * (t - 1)) - k)

    def beyond(self, n: int) -> float:
        """Pr[step X + J > n], J uniform on one step, its two ends half each where the step is even."""
        r, n = self.step, n + 1
        q = (n + (r - 1) // 2) // r
        least = (r + 1) / 2 if r % 2 else r / 2 + 0.5
        inner = self.tail(q + 1)
        mass = self.tail(q) - inner if q else 1 - 2 * inner
        return 2 * (inner + mass * (least - (n - r * q)) / r)

    def mass(self, k: int) -> float:
        n = abs(k)
        return 1 - self.beyond(0) if n == 0 else (self.beyond(n - 1) - self.beyond(n)) / 2

    @property
    def wide(self) -> int:
        t = 1
        while self.tail(t) >= 2.0**-64:
            t += 1
            if t > 10**6:
                raise TooFar("noise this wide")
        return self.step * t


@lru_cache(maxsize=4096)
def _orbit(level: Level, t: int) -> Fraction:
    """The t-th tail of canonical noise at a pair of knots."""
    if t == 1:
        for (a, u), (b, v) in pairwise(level.knots):
            if b + v >= 1:
                rest = 1 - a - u
                return a + (b - a) * rest / (b + v - a - u) if rest > 0 else a
    if t > 500:
        raise TooFar("noise of so many knots")
    return 1 - level.at(1 - _orbit(level, t - 1))


@dataclass(frozen=True)
class Balls:
    """Noise on vectors: Pr[z] proportional to decay^s(norm of z), s as for layers, in the norm of a shape."""

    shape: str
    dimension: int
    decay: Fraction
    period: int
    upper: int
    slack: int

    def prove_vector(self, space: Any, level: Level) -> None:
        require(
            isinstance(space, Lattice) and space.dimension == self.dimension,
            "noise of balls is for vectors of as many integers",
        )
        reach = space.norm(self.shape)
        require(reach is not None, "noise of this shape does not hide what one neighbour changes")
        steps = Layers(self.decay, self.period, self.upper).steps(reach)
        require(keeps(level, [(self.decay, steps)]), "the noise falls too fast for the level")

    def beyond(self, n: int) -> float:
        """A mixture over k of uniform points of balls of radius k period + upper - 1, by decay^k times their number."""
        whole, over = _ball_sums(self, None), _ball_sums(self, n + 1)
        return float(2 * over / whole)


def count_above(shape: str, d: int, s: int, t: int, slack: int) -> int:
    """Section 5.4: the number of points of a ball of radius s whose first integer is t or more, t >= 1."""
    if t > s + slack * (shape == "exchange"):
        return 0
    if shape == "sum-zero":
        return count_above("exchange", d - 1, s, t, 0) if d > 1 else 0
    if shape == "one-way":

        def sums(v: int) -> int:
            return comb(max(v - t + 2, 0), 2) if v >= 0 else 0

        if s < slack:
            return (2 * s + 1) ** (d - 1) * (sums(s) - sums(s - 1))
        return (s + slack + 1) ** (d - 1) * (sums(s) - sums(slack - 1)) - (s + slack) ** (d - 1) * (
            sums(s - 1) - sums(slack - 1)
        )
    r = s - t + 1
    if shape == "cube":
        return r * (2 * s + 1) ** (d - 1)
    if shape == "any":
        return sum((comb(d - 1, j) << j) * comb(r, j + 1) for j in range(d))
    points = sum(comb(d - 1, a) * comb(s + d - 1 - a, d - 1 - a) * comb(r, a + 1) for a in range(d)) if r > 0 else 0
    rests = (s - (d - 1) * j - max(t - j, 0) for j in range(1, slack + 1))
    return points + sum(comb(rest + d - 1, d - 1) for rest in rests if rest >= 0)


def count_ball(shape: str, d: int, s: int, slack: int) -> int:
    """Section 5.4: the number of points of a ball of radius s."""
    if shape == "sum-zero":
        return count_ball("exchange", d - 1, s, 0) if d > 1 else 1
    if shape == "cube" or (shape == "one-way" and s < slack):
        return (2 * s + 1) ** d
    if shape == "one-way":
        return (s - slack + 1) * (s + slack + 1) ** d - (s - slack) * (s + slack) ** d
    if shape == "any":
        return sum((comb(d, j) << j) * comb(s, j) for j in range(d + 1))
    points = sum(comb(d, a) * comb(s, a) * comb(s + d - a, d - a) for a in range(d + 1))
    return points + sum(2 * comb(s - (d - 1) * j + d - 1, d - 1) for j in range(1, slack + 1) if s >= (d - 1) * j)


@lru_cache(maxsize=256)
def _ball_sums(law: Balls, t: int | None) -> Fraction:
    """The sum over k of decay^k times the number of points (or of those with a first integer of t or more)."""
    context = Context(prec=40, Emax=MAX_EMAX, Emin=MIN_EMIN)
    b = context.divide(Decimal(law.decay.numerator), Decimal(law.decay.denominator))
    total, power, k = Decimal(0), Decimal(1), 0
    if t is not None and t > law.upper - 1:
        k = max(0, (t - law.upper - law.slack + 1) // law.period)
        power = context.power(b, k) if k and b else Decimal(0 if k else 1)
    limit = 20_000 if law.dimension <= 40 else 2_000_000 // law.dimension**2
    for number in range(limit):
        s = k * law.period + law.upper - 1
        points = (
            count_ball(law.shape, law.dimension, s, law.slack)
            if t is None
            else count_above(law.shape, law.dimension, s, t, law.slack)
        )
        term = context.multiply(power, context.create_decimal(points))
        total = context.add(total, term)
        k, power = k + 1, context.multiply(power, b)
        if number > law.dimension and (
            not b or (term < total * Decimal("1e-25") and k * -log_of(law.decay) > law.dimension)
        ):
            return Fraction(total)
    raise TooFar("the interval of noise on vectors this wide")


@dataclass(frozen=True)
class Independent:
    """Independent noise of one law on every integer."""

    dimension: int
    single: Any

    def prove_vector(self, space: Any, level: Level) -> None:
        require(
            isinstance(space, Lattice | Strategy) and space.dimension == self.dimension,
            "the noise is for vectors of another length",
        )
        if isinstance(self.single, Gaussian):
            squares = Fraction(space.l2_squared) / self.single.variance
            require(keeps_gaussian(level, squares, self.single.discrete), "the Gaussian noise does not keep the level")
        elif isinstance(self.single, Canonical):
            require(
                self.single.step == 1 and self.single.satisfies(space.l1, level),
                "the canonical noise is not that of the level",
            )
        else:
            require(keeps(level, [(self.single.decay, space.l1)]), "the noise falls too fast for the level")

    def beyond(self, n: int) -> float:
        return float(self.single.beyond(n))


@dataclass(frozen=True)
class Carried:
    """Section 5.5: noise on consecutive cells, each handing on its error up to a width; a step of one is one factor."""

    decay: Fraction
    widths: tuple[int, ...]

    @property
    def dimension(self) -> int:
        return len(self.widths) + 1

    def prove_vector(self, space: Any, level: Level) -> None:
        require(
            isinstance(space, Lattice) and space.dimension == self.dimension,
            "the noise is for vectors of another length",
        )
        require(keeps(level, [(self.decay, space.l1)]), "the noise falls too fast for the level")

    def beyond(self, n: int) -> float:
        raise TooFar("intervals of noise that carries")


def noise_of(data: Any) -> Any:
    """Noise on vectors, from its JSON."""
    law = part(data, "law", str)
    if law == "carried":
        widths = tuple(whole_numbers(part(data, "widths")))
        decay = rational(part(data, "decay"))
        require(
            0 < decay < 1 and 1 <= len(widths) < 1000 and 0 <= min(widths) <= max(widths) <= 10**6,
            "noise that carries has widths",
        )
        return Carried(decay, widths)
    dimension = integer(data, "dimension", 1)
    if law == "independent":
        single = part(data, "single", dict)
        kind = part(single, "kind", str)
        if kind == "canonical":
            return Independent(dimension, canonical_law(single))
        if kind == "geometric":
            decay = rational(part(single, "decay"))
            require(0 <= decay < 1, "a decay is from 0 to below 1")
            return Independent(dimension, Layers(decay, 1, 1) if decay else NoNoise())
        require(kind in ("rounded Gaussian", "discrete Gaussian"), "noise is of an unknown kind")
        return Independent(dimension, gaussian_law(single, kind.startswith("discrete")))
    require(law == "balls", "noise is of an unknown kind")
    period, upper, slack = integer(data, "period", 1), integer(data, "upper", 1), data.get("slack", 0)
    decay, shape = rational(part(data, "decay")), part(data, "shape", str)
    fits = shape in MOVES and 0 <= decay < 1 and upper <= period <= 2**62 and dimension <= 1000 and is_whole(slack)
    most = {"one-way": 10_000, "exchange": 300}.get(shape, 0) if dimension > 1 else 0
    require(fits and 0 <= slack <= most, "a law of balls has parameters that do not fit")
    return Balls(shape, dimension, decay, period, upper, slack)


@dataclass(frozen=True)
class NoNoise:
    """A decay of 0: no noise."""

    decay: Fraction = Fraction(0)

    def beyond(self, n: int) -> float:
        return 0.0


def canonical_law(data: Any) -> Canonical:
    require(part(data, "noise") == "canonical", "noise is of an unknown kind")
    level = level_of(part(data, "level", dict))
    require(level.family in ("approx", "gaussian", "knots"), "canonical noise has a concave level")
    require(
        level.exponent > 0 or level.ratio > 1 or level.delta > 0 or level.size > 0 or level.knots,
        "noise over all integers hides not everything",
    )
    return Canonical(level, integer(data, "step", 1))


def gaussian_law(data: Any, discrete: bool) -> Gaussian:
    variance = rational(part(data, "variance"))
    require(Fraction(1, 10**60) <= variance <= 10**60, "a variance is from 1e-60 to 1e60")
    return Gaussian(variance, discrete)


# ---- section 6: mechanisms ----


@dataclass(frozen=True)
class NoisyLine:
    """Noise on one integer, then the best guess, the clamped number, or the number itself."""

    line: Line
    noise: Any
    remap: str
    loss: str
    prior: Any

    def prove(self, space: Any, level: Level) -> None:
        require(space == self.line, "the mechanism is made for another range or sensitivity")
        self.noise.prove(self.line.reach, level)

    def interval(self, value: int, confidence: Fraction) -> tuple[int, int]:
        """Section 7.2: the noisy numbers that lead to the answer, widened by the half width of the noise."""
        half = half_width(self.noise.beyond, confidence)
        if self.remap == "none":
            return value - half, value + half
        first, last = 0, self.line.points - 1
        outputs = [value - (self.line.first or 0)]
        if self.remap == "best":
            outputs = self.preimage(outputs[0])
        low, high = (
            self.line.clamp((self.line.first or 0) + min(max(end, first), last))
            for end in (min(outputs) - half, max(outputs) + half)
        )
        return min(low, value), max(high, value)

    def preimage(self, place: int) -> list[int]:
        """The outputs (folded at the ends) whose best guess is a place; uniform priors only."""
        if self.prior is not None:
            raise TooFar("the interval of a best guess under a listed prior")
        last, wide = self.line.points - 1, self.noise.wide
        period = self.noise.period if isinstance(self.noise, Layers) else wide
        if wide > 2_000_000:
            return [place]
        wide = min(wide, last + period)
        if wide > 50_000:
            raise TooFar("the interval of a best guess of noise this wide")
        law = [self.noise.mass(k) for k in range(wide + 1)]
        sums = list(accumulate([*law[:0:-1], *law], initial=0.0))
        moments = list(accumulate((law[abs(u)] * u for u in range(-wide, wide + 1)), initial=0.0))
        tolerance = int(self.loss.split()[1]) if self.loss.startswith("within") else 0

        def shift(output: int) -> int:
            low, high = max(-output, -wide), min(last - output, wide)
            if self.loss == "absolute":
                target = (sums[low + wide] + sums[high + wide + 1]) / 2
                s = _first_at_least(sums, target) - 1 - wide
            elif self.loss == "squared":
                mass = sums[high + wide + 1] - sums[low + wide]
                s = round((moments[high + wide + 1] - moments[low + wide]) / mass) if mass > 0 else 0
            elif high - low < 2 * tolerance:
                s = (low + high) // 2
            else:
                s = min(max(0, low + tolerance), max(high - tolerance, low + tolerance))
            return min(max(s, low), high)

        inner = wide + 1
        near = set(range(-period, inner + 1)) | set(range(last - inner, last + period + 1)) | {place}
        found = [o for o in near if -period <= o <= last + period and o + shift(o) == place]
        return found or [min(max(place, 0), last)]


def _first_at_least(values: Sequence[float], target: float) -> int:
    low, high = -1, len(values)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if values[middle] >= target else (middle, high)
    return high


@dataclass(frozen=True)
class Chains:
    """One start per threshold; from there the upper function upwards, the lower one downwards."""

    line: Line
    level: Level
    starts: tuple[tuple[float, int], ...]
    """Runs of equal starts: (x, how many)."""

    def prove(self, space: Any, level: Level) -> None:
        require(
            space == self.line and level == self.level and self.line.reach == 1,
            "the chains are made for another range or level",
        )
        require(level.family in ("approx", "gaussian", "knots"), "chains have a concave level")
        for (x, _), (y, _) in pairwise(self.starts):
            if y > x:
                a, b = Fraction(x), Fraction(y)
                if level.family == "knots":
                    fits = b <= level.at(a)
                elif level.family == "gaussian" and (a in (0, 1) or b in (0, 1)):
                    fits = a == 1
                else:
                    fits = proved(lambda digits: level.upper(Enclosure.of(a, digits)) - b)  # noqa: B023 - called at once
                require(fits, "a chain starts higher than the one before allows")

    def start(self, t: int) -> float:
        for x, many in self.starts:
            if t <= many:
                return x
            t -= many
        raise Refused("a threshold has no chain")

    def interval(self, value: int, confidence: Fraction) -> tuple[int, int]:
        first, last = self.line.first or 0, self.line.points - 1
        place, rest = value - first, float(1 - confidence) / 2 * (1 - 1e-9)

        def tail(t: int, position: int) -> float:
            if t <= 0 or t > last:
                return float(t <= 0)
            return self.value(self.start(t), position - t + 1)

        def accepted(position: int) -> bool:
            return 1 - tail(place + 1, position) > rest and tail(place, position) > rest

        low = high = place
        while low > 0 and accepted(low - 1):
            low -= 1
        while high < last and accepted(high + 1):
            high += 1
        return first + low, first + high

    def value(self, start: float, steps: int) -> float:
        """The chain so many steps above its start (negative: below)."""
        level = self.level
        if level.family == "gaussian":
            if start in (0, 1):
                return start
            return NormalDist().cdf(NormalDist().inv_cdf(start) + steps * float(level.size))
        x = start if steps > 0 else 1 - start
        for _ in range(abs(steps)):
            if level.family == "knots":
                x = float(level.at(Fraction(x)))
            else:
                growth, delta = math.exp(float(level.exponent)) * float(level.ratio), float(level.delta)
                x = min(growth * x + delta, 1 - (1 - delta - x) / growth, 1.0)
            if x >= 1:
                break
        return x if steps > 0 else 1 - x


@dataclass(frozen=True)
class Table:
    """A row of weights for every integer of a line; every answer is a point."""

    line: Line
    rows: Any
    total: int

    def prove(self, space: Any, level: Level) -> None:
        require(space == self.line, "the table is made for another range or sensitivity")
        n = self.line.points
        prove_edges(
            self.rows,
            self.total,
            ((i, j, level) for i in range(n) for j in range(i + 1, min(n, i + self.line.reach + 1))),
        )

    def interval(self, value: int, confidence: Fraction) -> tuple[int, int]:
        first, rest = self.line.first or 0, float(1 - confidence) / 2 * (1 - 1e-9)
        place = value - first
        accepted = [
            first + i
            for i, row in enumerate(self.rows)
            if sum(row[: place + 1]) > rest * self.total and sum(row[place:]) > rest * self.total
        ]
        return min([value, *accepted]), max([value, *accepted])


@dataclass(frozen=True)
class Blocks:
    """Yes or no about an integer: weights of no and yes for every block of `width` integers."""

    first_yes: int
    width: int
    no: int
    rows: Any
    total: int

    def prove(self, space: Any, level: Level) -> None:
        require(
            isinstance(space, Line) and 0 < self.no < len(self.rows),
            "blocks are about an integer, on both sides of a border",
        )
        n, apart = len(self.rows), -(-space.reach // self.width)
        prove_edges(
            self.rows, self.total, ((i, j, level) for i in range(n) for j in range(i + 1, min(n, i + apart + 1)))
        )


@dataclass(frozen=True)
class Vector:
    """Noise added to a vector of integers."""

    noise: Any

    def prove(self, space: Any, level: Level) -> None:
        self.noise.prove_vector(space, level)


@dataclass(frozen=True)
class NoisyTables:
    """Independent noise on every cell of several tables; their losses add up."""

    laws: tuple[Independent, ...]

    def prove(self, space: Any, level: Level) -> None:
        require(
            isinstance(space, Tables) and space.sizes == tuple(law.dimension for law in self.laws),
            "the noise is for tables of other sizes",
        )
        singles = [law.single for law in self.laws]
        if all(isinstance(s, Gaussian) for s in singles):
            require(len({s.discrete for s in singles}) == 1, "Gaussian noise of two kinds is not added up")
            squares = space.squares([s.variance for s in singles])
            require(keeps_gaussian(level, squares, singles[0].discrete), "the Gaussian noise does not keep the level")
            return
        require(
            not space.centred and all(isinstance(s, Layers | NoNoise) for s in singles),
            "noise of these kinds is not added up",
        )
        falls = [(s.decay, table.l1) for s, table in zip(singles, space.lattices(), strict=True)]
        require(keeps(level, falls), "the noise falls too fast for the level")


@dataclass(frozen=True)
class Contest:
    """A vote, or a quantile among candidates, decided by tallies."""

    tallies: Tallies
    share: Fraction | None

    @staticmethod
    def of(data: Any) -> Contest:
        kind, tallies = part(data, "contest"), space_of(part(data, "tallies", dict), Tallies)
        require(
            kind in ("votes", "ranks") and 2 <= tallies.cells <= 1000, "a contest is of votes or ranks, among several"
        )
        if kind == "votes":
            return Contest(tallies, None)
        share, values = rational(part(data, "q")), part(data, "values", list)
        fits = 0 < share < 1 and share.denominator <= 1000 and len(values) == tallies.cells
        require(
            fits and all(isinstance(v, int | float) for v in values) and all(a < b for a, b in pairwise(values)),
            "a quantile has candidates in order",
        )
        return Contest(tallies, share)

    @property
    def lead_reach(self) -> int:
        if self.share is None:
            return self.tallies.turn
        a, b = self.share.numerator, self.share.denominator
        return self.tallies.rows_each * (b if self.tallies.neighbours == "replace" else max(a, b - a))

    @property
    def score_reach(self) -> int:
        return self.lead_reach * (self.tallies.cells if self.share is None else 2)


@dataclass(frozen=True)
class Powers:
    """Noisy max, permute and flip, the exponential mechanism, nearest, three ranks: powers of one decay."""

    kind: str
    contest: Contest
    pure: Level
    decay: Fraction

    def prove(self, space: Any, level: Level) -> None:
        require(space == self.contest.tallies, "the mechanism is made for other tallies")
        steps = self.contest.score_reach if self.kind in ("permute-and-flip", "exponential") else 1
        require(self.pure.pure and keeps(self.pure, [(self.decay, steps)]), "the decay is not within the pure level")
        require(implies(self.pure, level), "the pure level does not imply the level")
        if self.kind == "nearest-choice":
            require(
                (self.contest.tallies.cells - 1) * self.decay <= 1,
                "wrong answers may have too much probability together",
            )
        if self.kind == "three-ranks":
            fits = self.contest.share is not None and self.contest.tallies.cells == 3
            require(fits and self.decay + self.decay**2 <= 1, "three ranks are private where b + b^2 is at most 1")


@dataclass(frozen=True)
class ChoiceTable:
    """Weights over 2^62 for the state of a contest: leads, tallies, or folded tallies."""

    kind: str
    contest: Contest
    rows: Any

    def prove(self, space: Any, level: Level) -> None:
        tallies, total = self.contest.tallies, 1 << 62
        require(space == tallies, "the table is made for other tallies")
        if self.kind == "lead-lines":
            start = self.rows[0]
            require(len(set(start[1:])) == 1, "candidates that do not win are not alike at the start of a line")
            rows = [*self.rows, (start[1], start[0], *start[2:])]
            edges = [(i, i + 1, level) for i in range(len(self.rows) - 1)] + [(0, len(self.rows), level)]
            return prove_edges(rows, total, edges)
        folded = self.kind == "folded-table"
        if folded:
            require(
                tallies.neighbours == "add-remove" and tallies.rows_each == 1,
                "tallies are folded where single rows come and go",
            )
        else:
            require(tallies.neighbours == "replace", "a table of more rows than declared would not be protected")
        require(len(self.rows) <= 2500, "the table is larger than any that is written")
        points = list(_listed(tallies, folded))
        require(len(points) == len(self.rows), "the table has not a row for every tally")
        place = {tally: i for i, tally in enumerate(points)}
        edges = (
            (i, place[other], level)
            for tally, i in place.items()
            for other in tallies.neighbours_of(tally)
            if place.get(other, -1) > i
        )
        return prove_edges(self.rows, total, edges)


def _listed(tallies: Tallies, folded: bool) -> Iterator[tuple[int, ...]]:
    """Section 6.6: tallies of at most so many rows; or those of which no two cells hold more together."""
    require(tallies.cells <= 12, "the table is larger than any that is written")
    if folded:

        def longer(tally: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
            if len(tally) == tallies.cells:
                yield tally
                return
            for count in range(tallies.rows - max(tally, default=0) + 1):
                yield from longer((*tally, count))

        count = longer(())
    else:

        def sums(tally: tuple[int, ...], left: int) -> Iterator[tuple[int, ...]]:
            if len(tally) == tallies.cells:
                yield tally
                return
            for count in range(left + 1):
                yield from sums((*tally, count), left - count)

        count = sums((), tallies.rows)
    for number, tally in enumerate(count):
        require(number < 2500, "the table is larger than any that is written")
        yield tally


@dataclass(frozen=True)
class Top:
    """The k largest counts after noise, or k rounds of noisy max."""

    k: int
    noise: Any = None
    decay: Fraction = Fraction(0)
    reach: int = 0

    def prove(self, space: Any, level: Level) -> None:
        require(isinstance(space, Tallies) and 1 <= self.k <= space.cells, "the list is of other counts")
        if self.noise is None:
            require(self.reach >= space.turn and 0 < self.decay < 1, "the noise is not for what one neighbour changes")
            require(keeps(level, [(self.decay, self.k)]), "the noise falls too fast for the level")
            return
        require(isinstance(self.noise, Independent), "counts get noise of their own each")
        moves = "any" if space.neighbours == "add-remove" else "exchange"
        self.noise.prove_vector(Lattice(space.cells, moves, min(space.rows_each, space.rows), 0, space.rows), level)


@dataclass(frozen=True)
class RankChoices:
    """Exponential mechanisms on ranks, one after the other."""

    cells: int
    targets: tuple[tuple[Fraction, Fraction], ...]

    def prove(self, space: Any, level: Level) -> None:
        require(isinstance(space, Tallies) and space.cells == self.cells, "the choices are among other candidates")
        falls = []
        for share, decay in self.targets:
            a, b = share.numerator, share.denominator
            falls.append((decay, 2 * space.rows_each * (b if space.neighbours == "replace" else max(a, b - a))))
        require(keeps(level, falls), "the choices together do not keep the level")


@dataclass(frozen=True)
class Keys:
    """Keys released by thresholds, p(n + 1) = upper(p(n)), with a count or noisy numbers beside each."""

    step: Level
    lost: Fraction
    border: int | None
    noise: Any
    spent: tuple[Level, ...]

    def prove(self, space: Any, level: Level) -> None:
        fits = (
            isinstance(space, Holders)
            and (self.noise is None) == (space.numbers is None)
            and len(self.spent) == (1 if self.noise is None else 2)
        )
        require(
            fits and not (self.border is not None and self.noise is not None),
            "these keys and numbers are not those that are asked for",
        )
        require(level.family in ("approx", "approx-gaussian"), "keys are found at levels with a delta")
        require(self._sum_within(level), "keys and numbers together spend more than the level")
        require(
            self._composed(space.changes, self.spent[0]), "the keys that one neighbour changes together break the level"
        )
        if self.noise is not None:
            alone = isinstance(self.noise, Independent) or (self.noise.dimension == 1 == space.changes)
            require(alone, "numbers of several keys need noise of their own each")
            self.noise.prove_vector(space.numbers, self.spent[1])

    def _sum_within(self, level: Level) -> bool:
        if level.family == "approx-gaussian":
            fits = self.spent[0].family == "approx-gaussian" and all(s.family == "gaussian" for s in self.spent[1:])
            return fits and sum(s.size**2 for s in self.spent) <= level.size**2 and self.spent[0].delta <= level.delta
        if any(s.family != "approx" for s in self.spent) or sum(s.delta for s in self.spent) > level.delta:
            return False
        total = Level(
            "approx",
            sum((s.exponent for s in self.spent), Fraction(0)),
            math.prod((s.ratio for s in self.spent), start=Fraction(1)),
        )
        return at_most(total, level)

    def _composed(self, changes: int, level: Level) -> bool:
        """Section 6.9: so many equal steps together keep a level."""
        step = self.step
        if changes > 10**4:
            return False
        if step.family == "gaussian":
            squares, rest = changes * step.size**2, (1 - self.lost) ** changes
            if level.family == "approx-gaussian":
                return squares <= level.size**2 and rest >= 1 - level.delta
            if level.family != "approx":
                return False
            return proved(
                lambda digits: (
                    (Enclosure.of(1, digits) - gaussian_delta(squares, level, digits)) * rest - (1 - level.delta)
                )
            )
        if level.family != "approx" or step.family != "approx" or step.delta <= 0:
            return False
        if changes == 1:
            return at_most(step, level) and step.delta <= level.delta
        for i in range(changes // 2 + 1):  # Kairouz, Oh and Viswanath: ((m - 2i) eps, 1 - (1 - delta)^m (1 - delta_i))
            if not at_most(Level("approx", step.exponent * (changes - 2 * i), step.ratio ** (changes - 2 * i)), level):
                continue
            if i == 0:
                return (1 - step.delta) ** changes >= 1 - level.delta

            def slack(digits: int, i: int = i) -> Enclosure:
                def power(n: int) -> Enclosure:
                    return (step.epsilon(digits + changes) * n).exp()

                terms = [(power(changes - t) - power(changes - 2 * i + t)) * comb(changes, t) for t in range(i)]
                whole = ((step.growth(digits + changes) + 1).ln() * changes).exp()
                delta = sum(terms[1:], terms[0]) / whole
                return (Enclosure.of(1, digits) - delta) * (1 - step.delta) ** changes - (1 - level.delta)

            return proved(slack)
        return False


@dataclass(frozen=True)
class TierSums:
    """Sums of some tiers' integers, each released by a mechanism of its own."""

    tiers: Tiers
    parts: tuple[tuple[int, ...], ...]
    laws: tuple[Any, ...]

    def prove(self, space: Any, level: Level) -> None:
        summed = [t for some in self.parts for t in some]
        require(
            space == self.tiers and len(set(summed)) == len(summed),
            "the sums are not of these tiers, each in one at most",
        )
        for some, law in zip(self.parts, self.laws, strict=True):
            law.prove(self.tiers.together(some), share_of(level, self.tiers.decay_power(some)))


@dataclass(frozen=True)
class TierTable:
    """Weights of no and yes on a window of the grid of tiers, in row-major order."""

    window: Tiers
    rows: Any
    total: int

    def prove(self, space: Any, level: Level) -> None:
        require(isinstance(space, Tiers) and space.shares == self.window.shares, "the table is on another grid")
        for own, line in zip(self.window.lines, space.lines, strict=True):
            inside = (line.first or 0) <= (own.first or 0) and (own.last or 0) <= (line.last or 0)
            require(inside and own.reach == min(line.reach, own.points - 1), "the table is not on a window of the grid")
        sizes = [line.points for line in self.window.lines]
        require(math.prod(sizes) == len(self.rows) <= 10**5, "the table has not a row for every point")
        strides = [math.prod(sizes[t + 1 :]) for t in range(len(sizes))]
        levels = [share_of(level, rational(s)) for s in self.window.shares]

        def edges() -> Iterator[tuple[int, int, Level]]:
            for at in range(len(self.rows)):
                for t, (stride, size, line) in enumerate(zip(strides, sizes, self.window.lines, strict=True)):
                    for step in range(1, min(line.reach, size - 1 - at // stride % size) + 1):
                        yield at, at + step * stride, levels[t]

        prove_edges(self.rows, self.total, edges())


def share_of(level: Level, share: Fraction) -> Level:
    """A share of a pure level; of a rational ratio, a ratio just below."""
    require(level.pure, "tiers have pure levels")
    if share == 1:
        return level
    if level.ratio == 1:
        return Level("approx", level.exponent * share)
    return Level("approx", Fraction(0), max(Fraction(1), Fraction((level.epsilon(60) * share).exp().low)))


def line_mechanism(kind: str, data: Any) -> Any:
    """A mechanism for one integer on a line."""
    line, prior = space_of(part(data, "line", dict), Line), part(data, "prior")
    loss = part(data, "loss", str)
    require(
        loss in ("absolute", "squared", "zero-one") or re.fullmatch("within [0-9]{1,15}", loss), "a loss is unknown"
    )
    require(prior is None or (isinstance(prior, list) and len(prior) == line.points), "a prior lists every point")
    if kind == "line.noise":
        remap, noise = part(data, "remap"), part(data, "noise")
        require(
            remap in ("best", "cut", "none") and (line.first is not None or (remap == "none" and prior is None)),
            "an unbounded number is released as it is",
        )
        if noise == "layers":
            law: Any = Layers(rational(part(data, "decay")), integer(data, "period", 1), integer(data, "upper", 1))
            require(0 < law.decay < 1 and law.upper <= law.period <= 2**62, "layers have a decay between 0 and 1")
        elif noise == "canonical":
            law = canonical_law(data)
        else:
            require(noise == "gaussian" and data.get("law") in ("rounded", "discrete"), "noise is of an unknown kind")
            law = gaussian_law(data, data["law"] == "discrete")
        return NoisyLine(line, law, remap, loss, prior)
    if kind == "line.chains":
        starts = part(data, "starts", list)
        runs = [tuple(run) for run in starts if isinstance(run, list) and len(run) == 2]
        fits = len(runs) == len(starts) and all(
            isinstance(x, int | float) and 0 <= x <= 1 and is_whole(n) and n > 0 for x, n in runs
        )
        require(fits and sum(n for _, n in runs) == line.points - 1, "there is a chain for every threshold")
        return Chains(line, level_of(part(data, "level", dict)), tuple(runs))
    total = total_of_bits(part(data, "bits"))
    require(
        line.points <= 1500 and len(part(data, "weights", list)) == line.points,
        "a table has a row for every point",
    )
    return Table(line, weights_of(data["weights"], line.points, total), total)


def mechanism_of(data: Any) -> Any:
    """A mechanism on integers, from its JSON (section 6)."""
    kind = part(data, "kind", str)
    if kind in ("line.noise", "line.chains", "line.table"):
        return line_mechanism(kind, data)
    if kind == "yes or no by blocks":
        total = total_of_bits(part(data, "bits"))
        first, width, no = integer(data, "first_yes"), integer(data, "width", 1), integer(data, "no", 0)
        return Blocks(first, width, no, weights_of(part(data, "weights"), 2, total), total)
    if kind in ("noisy-max", "permute-and-flip", "exponential", "nearest-choice", "three-ranks"):
        decay = rational(part(data, "decay"))
        require(Fraction(1, 10**300) <= decay < 1, "a decay is between 0 and 1")
        return Powers(kind, Contest.of(part(data, "on", dict)), level_of(part(data, "pure", dict)), decay)
    if kind in ("lead-lines", "tally-table", "folded-table"):
        contest = Contest.of(part(data, "on", dict))
        return ChoiceTable(kind, contest, weights_of(part(data, "weights"), contest.tallies.cells, 1 << 62))
    if kind == "top.noise":
        return Top(integer(data, "k", 1), noise_of(part(data, "noise", dict)))
    if kind == "top.peeling":
        return Top(integer(data, "k", 1), None, rational(part(data, "decay")), integer(data, "reach", 1))
    if kind == "ranks.choices":
        targets = part(data, "targets", list)
        fits = 1 <= len(targets) <= 300 and all(isinstance(t, list) and len(t) == 3 and is_whole(t[1]) for t in targets)
        require(fits, "choices by ranks are a list of shares, shifts and decays")
        pairs = tuple((rational(q), rational(b)) for q, _, b in targets)
        require(
            all(0 < q < 1 and q.denominator <= 1000 and 0 < b < 1 for q, b in pairs),
            "a choice by ranks has a share and a decay",
        )
        return RankChoices(integer(data, "cells", 2), pairs)
    if kind == "keys.kept":
        law, border = part(data, "law", dict), part(data, "border")
        step, lost = level_of(part(law, "level", dict)), rational(part(law, "lost"))
        require(
            (0 < lost < 1) if step.family == "gaussian" else (step.family == "approx" and lost == 0 and step.delta > 0),
            "a key is released at a level with a delta",
        )
        require(border is None or (is_whole(border) and 1 <= border <= 10**7), "the border of counts is a whole number")
        noise = None if part(data, "noise") is None else noise_of(data["noise"])
        return Keys(step, lost, border, noise, tuple(level_of(level) for level in part(data, "spent", list)))
    if kind == "tiers.sums":
        tiers, parts = (
            space_of(part(data, "tiers", dict), Tiers),
            [tuple(whole_numbers(p)) for p in part(data, "parts", list)],
        )
        laws = tuple(mechanism_of(law) for law in part(data, "laws", list))
        fits = len(parts) == len(laws) and all(p and all(0 <= t < len(tiers.lines) for t in p) for p in parts)
        require(
            fits and all(isinstance(law, NoisyLine | Chains | Table | Blocks) for law in laws),
            "sums are of tiers, each with a law",
        )
        return TierSums(tiers, tuple(parts), laws)
    if kind == "tiers.table":
        total = total_of_bits(part(data, "bits"))
        return TierTable(
            space_of(part(data, "window", dict), Tiers), weights_of(part(data, "weights"), 2, total), total
        )
    if kind == "tables.noise":
        laws = tuple(noise_of(law) for law in part(data, "laws", list))
        require(
            1 <= len(laws) <= 4096 and all(isinstance(law, Independent) for law in laws),
            "noise on tables has a law for each",
        )
        return NoisyTables(laws)
    require(kind == "vector.noise", "a mechanism is of an unknown kind")
    return Vector(noise_of(data))


# ---- section 7: answers ----


@dataclass
class Verdict:
    """What was proved of one file, and what was not checked."""

    name: str
    proved: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    refused: str = ""

    def __bool__(self) -> bool:
        return not self.refused

    def __str__(self) -> str:
        if self.refused:
            return f"{self.name}: REFUSED: {self.refused}"
        lines = [f"{self.name}: verified", *(f"  proved: {text}" for text in self.proved)]
        return "\n".join([*lines, *(f"  not checked here: {text}" for text in self.unchecked)])


UNIT = re.compile(
    r"(?:rows|people by (?P<id>'.*'|\".*\"), (?P<each>[0-9]{1,13}) rows? each"
    r"(?:, chosen before any condition|, chosen for each question)?"
    r"(?:, at most (?P<groups>[0-9]{1,13}) groups? each)?(?:, at most (?P<group>[0-9]{1,13}) rows? each in a group)?)"
    r"(?:, at most (?P<most>[0-9]{1,13}))?(?P<tiers>; .*)?",
    re.ASCII,
)
TIER = re.compile(
    r"; at most (?P<most>[0-9]{1,13}) with (?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\") are promised "
    r"(?P<promised>[^ ;]{1,40}) of (?P<whole>[^ ;]{1,40})",
    re.ASCII,
)


@dataclass(frozen=True)
class Asked:
    """The public part of an answer: the question, whose rows are protected, and how neighbours differ."""

    question: Mapping[str, Any]
    people: bool
    each: int
    groups: int | None
    group: int | None
    most: int | None
    tiers: tuple[tuple[int, Fraction], ...]
    replace: bool
    level: Level

    @property
    def rows_each(self) -> int:
        """Rows of one unit that are used: 1 where people are counted."""
        return 1 if self.question.get("of") == "people" or self.question["question"] in OF_PEOPLE else self.each

    @property
    def most_rows(self) -> int | None:
        return None if self.most is None else self.most * self.rows_each

    @property
    def moved(self) -> int:
        return self.rows_each if self.most_rows is None else min(self.rows_each, self.most_rows)

    @property
    def moves(self) -> str:
        return "exchange" if self.replace else "any"

    def counts(self, cells: int, moves: str | None = None) -> Lattice:
        return Lattice(cells, moves or self.moves, self.moved, None if self.most is None else 0, self.most_rows)

    def line(self, low: int, high: int, rows_each: int | None = None, replace: bool | None = None) -> Line:
        """A sum over rows of integers between two ends that enclose 0."""
        each, swap = self.rows_each if rows_each is None else rows_each, self.replace if replace is None else replace
        row = high - low if swap else max(-low, high)
        if self.most_rows is None:
            return Line(None, None, row * each)
        return Line(self.most_rows * low, self.most_rows * high, min(row * each, self.most_rows * (high - low)))

    def tallies(self, cells: int) -> Tallies:
        require(self.most_rows is not None, "this question needs a stated number of rows")
        keyed = "by" in self.question
        return Tallies(
            cells,
            self.most_rows or 0,
            "add-remove" if keyed else "replace" if self.replace else "add-remove",
            1 if keyed else self.rows_each,
        )


OF_PEOPLE = ("left_out", "share_left_out", "rows_per_person")


def asked(content: Any) -> Asked:
    question, unit = part(content, "question", dict), part(content, "unit", str)
    part(question, "question", str)
    match = UNIT.fullmatch(unit)
    require(
        match and part(content, "neighbours") in ("add-remove", "replace"),
        "the unit or the adjacency is not written as Utmost writes it",
    )
    assert match
    number = {name: None if match[name] is None else int(match[name]) for name in ("each", "groups", "group", "most")}
    tiers, at = [], 0
    while match["tiers"] and at < len(match["tiers"]):
        tier = TIER.match(match["tiers"], at)
        require(tier and len(tiers) < 4, "the unit's tiers are not written as Utmost writes them")
        assert tier
        promised, whole = rational(tier["promised"]), rational(tier["whole"])
        require(0 < promised <= whole, "a tier is promised more than the others")
        tiers.append((int(tier["most"]), promised / whole))
        at = tier.end()
    require(number["each"] != 0 and (not tiers or number["most"] is not None), "the unit is none")
    require(
        question.get("of", "rows") in ("rows", "people") and (question.get("of") != "people" or match["id"]),
        "people are counted where the unit is a row",
    )
    level = level_of(part(content, "privacy", dict))
    require(
        level != Level("approx") and level != Level("gaussian") and level != Level("zcdp"),
        "a level of 0 releases nothing",
    )
    return Asked(
        question,
        bool(match["id"]),
        number["each"] or 1,
        number["groups"],
        number["group"],
        number["most"],
        tuple(tiers),
        content["neighbours"] == "replace",
        level,
    )


def steps_of(question: Mapping[str, Any]) -> tuple[int, int, Fraction]:
    """The ends of a clamped column in steps of its grid, and the grid."""
    low, high, grid = (rational(part(question, name)) for name in ("lower", "upper", "grid"))
    fits = grid > 0 and low <= high and (low / grid).denominator == (high / grid).denominator == 1
    require(
        fits and max(abs(low), abs(high)) < 2**48 * grid and not low == high == 0,
        "lower and upper are not multiples of the grid",
    )
    return int(low / grid), int(high / grid), grid


def columns_of(by: Any) -> list[tuple[str, str, list[Any]]]:
    """The columns of public keys: name, type and values; bins have one value fewer than edges."""
    columns = []
    for column in part(by, "columns", list):
        fits = (
            isinstance(column, list) and len(column) == 3 and isinstance(column[0], str) and isinstance(column[2], list)
        )
        kinds = {
            "string": str,
            "int64": int,
            "uint64": int,
            "double": float,
            "bool": bool,
            "date32[day]": str,
            "bins": (int, float),
        }
        fits = fits and column[1] in kinds and all(isinstance(v, kinds[column[1]]) or v is None for v in column[2])
        require(fits and column[2], "public keys are columns with their values")
        columns.append((column[0], column[1], column[2]))
    return columns


def size_of_column(by: Any, kind: str, values: list[Any]) -> int:
    return len(values) - (kind == "bins") + ("other" in by)


def keys_of(by: Any) -> list[list[Any]] | None:
    """Public keys in their order, as lists; None where their names are not restated here (bins)."""
    columns = columns_of(by)
    if any(kind == "bins" for _, kind, _ in columns):
        return None
    lists = [values + ([by["other"]] if "other" in by else []) for _, _, values in columns]
    if by.get("product"):
        require(math.prod(map(len, lists)) <= 10**6, "there are more than a million keys")
        return [list(key) for key in product(*lists)]
    require(len(set(map(len, lists))) == 1, "public keys have equally long columns")
    return [list(key) for key in zip(*lists, strict=True)]


def number_of_keys(by: Any) -> int:
    sizes = [size_of_column(by, kind, values) for _, kind, values in columns_of(by)]
    size = math.prod(sizes) if by.get("product") else sizes[0]
    require(0 < size <= 10**6 and (by.get("product") or len(set(sizes)) == 1), "there are up to a million keys")
    return size


PARTS = {
    "count": ["count"],
    "sum": ["sum"],
    "clamped": ["clamped"],
    "left_out": ["left_out"],
    "mean": ["above_lower", "below_upper"],
    "variance": ["lower_squares", "products", "upper_squares"],
    "covariance": ["low_low", "low_high", "high_low", "high_high", "inside_x", "inside_y"],
}


def aggregate(a: Asked) -> tuple[tuple[int, int], str, int]:
    """Section 7.1: the range of what a row adds, and its moves and sensitivity, for one group."""
    name, q = a.question["question"], a.question
    if name in ("count", "clamped"):
        return (0, 1), a.moves, 1
    if name == "left_out":
        up_to = integer(q, "up_to", 1, optional=True) or 1
        return (0, up_to), a.moves, up_to
    if name == "sum":
        low, high, _ = steps_of(q)
        ends, largest = (min(low, 0), max(high, 0)), max(abs(low), abs(high))
        if not a.replace:
            return ends, "any", largest
        return ends, *(("any", 2 * largest) if low < 0 < high else ("exchange", largest))
    if name == "covariance":
        unit = covariance_unit(q)
        return (0, unit), a.moves, 3 * unit // 2
    low, high, _ = steps_of(q)
    require(low < high, "a mean needs a range")
    weight = (high - low) ** (2 if name == "variance" else 1)
    return (0, weight), a.moves, weight


def covariance_widths(q: Mapping[str, Any]) -> list[int]:
    widths = []
    for column in "xy":
        ends = part(q, f"{column}_range", list)
        require(len(ends) == 2, "a range has two ends")
        low, high, _ = steps_of({"lower": ends[0], "upper": ends[1], "grid": part(q, f"{column}_grid")})
        require(low < high, "a covariance needs ranges")
        widths.append(high - low)
    return widths


def covariance_unit(q: Mapping[str, Any]) -> int:
    first, second = covariance_widths(q)
    return (first * second if first * second <= 2**24 else math.lcm(first, second)) ** 2


def expected_spaces(a: Asked, data: Mapping[str, Any], mechanism: Any) -> list[Any]:
    """Section 7.1: the spaces that a solution for this question may have; the first one is the usual."""
    name, by = a.question["question"], a.question.get("by")
    if (isinstance(by, dict) and "discover" in by) or name == "keys":
        return [found_space(a)]
    if a.tiers:
        return [tiers_space(a)]
    if name in PARTS:
        return [number_space(a)]
    if name in ("majority", "threshold", "plurality", "top") or (name == "quantile" and "one" in a.question):
        return [choice_space(a, data, mechanism)]
    if name == "quantile" and "shares" not in a.question:
        return [a.tallies(len(part(a.question, "candidates", list)))]
    return cell_spaces(a, data)


def number_space(a: Asked) -> Line | Lattice:
    """Of counts, sums, means, variances and covariances: of the whole table, or by public keys."""
    name, by = a.question["question"], a.question.get("by")
    (low, high), moves, sensitivity = aggregate(a)
    if by is None:
        ends = (None, None) if a.most_rows is None else (a.most_rows * low, a.most_rows * high)
        if len(PARTS[name]) > 1:
            return Lattice(len(PARTS[name]), moves, sensitivity * a.rows_each, *ends)
        line = a.line(low, high)
        return line if "unbiased" in a.question else Lattice(1, "any", line.reach, line.first, line.last)
    require(name not in ("covariance", "clamped", "left_out"), "this question is not asked by keys")
    size = number_of_keys(by)
    each, in_group = bounds_by_keys(a, size)
    ends = (None, None) if a.most is None else (a.most * in_group * low, a.most * in_group * high)
    bound = sensitivity * in_group if in_group < each else None
    return Lattice(len(PARTS[name]) * size, moves, sensitivity * each, *ends, bound)


def choice_space(a: Asked, data: Mapping[str, Any], mechanism: Any) -> Any:
    """Of yes or no, winners, lists, and quantiles by ranks."""
    q, name, keyed = a.question, a.question["question"], a.question.get("by") is not None
    if name in ("majority", "threshold"):
        ends = (-1, 1) if name == "majority" else (0, 1)
        require(a.most is not None, "yes or no is asked of a stated number of rows")
        return a.line(*ends, 1, False) if keyed else a.line(*ends)
    if name != "quantile":
        return a.tallies(len(labels_of(part(q, "candidates"))))
    rows = min(2**38, a.most_rows if a.most_rows is not None else 2**38)
    neighbours, each = ("add-remove", 1) if keyed else ("replace" if a.replace else "add-remove", a.rows_each)
    tallies = Tallies(candidates_of(q)[0], rows, neighbours, each)
    if not isinstance(mechanism, NoisyTables):
        return tallies
    sizes = [integer(data, "branching", 2)]
    while sizes[-1] < tallies.cells:
        sizes.append(sizes[-1] * sizes[0])
    return Tables(tuple(sizes), "any" if neighbours == "add-remove" else "exchange", min(each, max(rows, 1)), rows)


def cell_spaces(a: Asked, data: Mapping[str, Any]) -> list[Any]:
    """Of counts of cells, and sums of them."""
    q, name = a.question, a.question["question"]
    if name == "histogram":
        cells = len(histogram_names(q))
        everything = q.get("other") is not None and q.get("where") is None and cells > 1
        published = everything and a.replace and not a.people and q.get("total") != "noisy"
        return [a.counts(cells, "sum-zero" if published else None)]
    if name == "rows_per_person":
        return [a.counts(len(rows_per_person_names(integer(q, "largest", 1))))]
    if name == "share_left_out":
        return [a.counts(2)]
    if name == "share":
        require(a.replace and a.rows_each == 1, "a share is among a public number of rows, which are replaced")
        return [Line(0, integer(q, "among", 1), 1)]
    if name == "counts":
        cells, complete = len(part(q, "conditions", dict)), a.replace and not a.people and q.get("total") != "noisy"
        every = ["cube" if a.replace else "one-way", None, "one-way", *(["sum-zero"] if complete else [])]
        return [a.counts(cells, moves) for moves in every]
    if name == "cdf":
        cells = len(part(q, "edges", list))
        return [a.counts(cells), a.counts(cells, "one-way")]
    if name == "ranges":
        return [a.counts(len(part(q, "edges", list)) - 1)]
    if name == "quantile":
        return [a.counts(len(part(q, "candidates", list)))]
    if name == "marginals":
        return [marginal_tables(a, data).space]
    require(name == "hierarchy", f"the question {name!r} is not known here")
    return [hierarchy_tables(a, data).space]


def found_space(a: Asked) -> Holders:
    q, by = a.question, part(a.question, "by", dict)
    each, name = integer(by, "keys_each", 1), a.question["question"]
    require(each == 1 or a.people, "a row has one key")
    if name == "keys":
        return Holders(a.most, each, "replace" if a.replace else "add-remove", None)
    require(name in ("count", "sum", "mean", "top"), "this question is not asked by found keys")
    people = q.get("of") == "people"
    each = each if people else min(each, a.each)
    numbers = None
    if not (name in ("count", "top") and (not a.people or people or a.each == 1)):
        (low, high), moves, sensitivity = aggregate(a) if name != "top" else ((0, 1), a.moves, 1)
        ends = (None, None) if a.most_rows is None else (a.most_rows * low, a.most_rows * high)
        groups = 1 if each == 1 and not a.replace else 2
        numbers = Lattice(len(PARTS.get(name, ["count"])) * groups, moves, sensitivity * a.rows_each, *ends)
    return Holders(a.most, each, "replace" if a.replace else "add-remove", numbers)


def tiers_space(a: Asked) -> Tiers:
    name, (low, high) = a.question["question"], (-1, 1) if a.question["question"] == "majority" else (0, 1)
    require(
        name in ("count", "majority", "threshold") and "by" not in a.question, "this question is not asked of tiers"
    )
    sizes, shares = [size for size, _ in a.tiers], [str(share) for _, share in a.tiers]
    rest = (a.most or 0) - sum(sizes)
    require(rest >= 0, "the tiers have more members than there are")
    if rest:
        sizes, shares = [*sizes, rest], [*shares, "1"]
    row = high - low if a.replace else max(-low, high)
    lines = []
    for size in sizes:
        rows = size * a.rows_each
        lines.append(Line(low * rows, high * rows, min(row * a.rows_each, (high - low) * rows)))
    return Tiers(tuple(lines), tuple(shares))


def bounds_by_keys(a: Asked, size: int) -> tuple[int, int]:
    """Contribution bounds over all groups, and in one of them."""
    if a.question.get("of") == "people":
        return (1 if a.groups is None else min(a.groups, size)), 1
    groups = a.groups if a.groups is not None and a.groups < a.each else None
    in_group = None if a.group == a.each else a.group
    each = a.each if in_group is None else min(a.each, (size if groups is None else min(groups, size)) * in_group)
    return each, min(each, in_group or each)


def labels_of(values: Any) -> list[Any]:
    """The categories of one column; bins are named [low, high)."""
    if isinstance(values, dict):
        edges = part(values, "bins", list)
        return [f"[{low}, {high})" for low, high in pairwise(edges)]
    require(isinstance(values, list) and len(values) > 0, "categories are a list")
    return list(values)


def histogram_names(q: Mapping[str, Any]) -> list[str]:
    categories, other = part(q, "categories", list), q.get("other")
    require(
        1 <= len(categories) <= 2 and all(isinstance(c, list) and len(c) == 2 for c in categories),
        "a histogram is over one column or two",
    )
    lists = [[*map(str, labels_of(values)), *([] if other is None else [str(other)])] for _, values in categories]
    names = [", ".join(label) for label in product(*lists)]
    require(len(set(names)) == len(names), "two cells have one name")
    return names


def rows_per_person_names(largest: int) -> list[str]:
    tens = [t * 10**p // 10 for p in range(1, len(str(largest)) + 1) for t in (10, 12, 15, 20, 25, 30, 40, 50, 60, 80)]
    ends = [n for n in (*range(1, 7), 8, *tens) if n < largest] + [largest]
    starts = [end + 1 for end in (0, *ends)]
    return [*(str(e) if s == e else f"{s} to {e}" for s, e in zip(starts, ends, strict=False)), f"more than {largest}"]


def candidates_of(q: Mapping[str, Any]) -> tuple[int, Callable[[int], Any], Callable[[int], float]]:
    """The number of candidates of a quantile, the candidate at a place, and what lies halfway to the next."""
    if "candidates" in q:
        values = part(q, "candidates", list)
        require(
            all(type(v) in (int, float) for v in values) and all(x < y for x, y in pairwise(values)),
            "candidates are numbers in order",
        )
        return len(values), lambda place: values[place], lambda place: values[place] / 2 + values[place + 1] / 2
    low, high, step = (rational(part(q, name)) for name in ("lower", "upper", "grid"))
    require(low < high and 0 < step <= high - low, "candidates lie between bounds")
    return (
        int((high - low) / step) + 1,
        lambda place: plain(low + place * step),
        lambda place: float(low + (place + Fraction(1, 2)) * step),
    )


def between(q: Mapping[str, Any], low: int, high: int) -> list[Any]:
    """The values that are rounded to the candidates from one place to another; whole numbers for a whole column."""
    size, value, halfway = candidates_of(q)
    first, last = (
        rational(q[name]) if name in q else rational(value(at)) for name, at in (("lower", 0), ("upper", size - 1))
    )
    least = plain(first) if low == 0 else halfway(low - 1)
    most = plain(last) if high == size - 1 else halfway(high)
    if not q.get("whole") or math.ceil(least) > math.floor(most):
        return [least, most]
    return [math.ceil(least), math.floor(most)]


def plain(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


# ---- tables that agree (section 7.6) ----

SCALE, TREE_SCALE = 2**24, 2**20


@dataclass(frozen=True)
class Estimator:
    """Released tables, and the wanted ones that are made of them."""

    space: Tables
    labels: list[str]
    wanted: Callable[[list[list[int]], Any], list[tuple[list[str], list[Fraction]]]]
    """From released tables and the mechanism: the columns and numbers of every wanted table."""


def _sets(text: str) -> tuple[tuple[int, ...], list[tuple[tuple[int, ...], tuple[int, ...]]]]:
    require(
        re.fullmatch(r"[0-9]{1,7}(,[0-9]{1,7})*(\|([0-9]{1,3}c?(,[0-9]{1,3}c?)*)?)+", text, re.ASCII),
        "tables are not written as sizes and columns",
    )
    first, *rest = text.split("|")
    tables = []
    for word in rest:
        names = [name for name in word.split(",") if name]
        tables.append((tuple(int(n.rstrip("c")) for n in names), tuple(int(n[:-1]) for n in names if n.endswith("c"))))
    return tuple(map(int, first.split(","))), tables


def marginal_tables(a: Asked, data: Mapping[str, Any]) -> Estimator:
    q, by = a.question, part(a.question, "by", dict)
    names = [name for name, _, _ in columns_of(by)]
    shape = tuple(size_of_column(by, kind, values) for _, kind, values in columns_of(by))
    wanted = [tuple(names.index(c) if c in names else -1 for c in table) for table in part(q, "tables", list)]
    text = "|".join([",".join(map(str, shape)), *(",".join(map(str, table)) for table in wanted)])
    strategy_shape, strategy = _sets(part(data, "strategy", str))
    grain = integer(data, "grain", 1)
    require(
        data.get("workload") == text and strategy_shape == shape and grain <= 10**9, "the solution is for other tables"
    )
    reach, upper = a.moved, a.most_rows
    if any(centred for _, centred in strategy):
        space = Tables.of(
            {
                "integers": "centred tables",
                "shape": list(shape),
                "tables": [[list(c), list(d)] for c, d in strategy],
                "moves": a.moves,
                "reach": reach,
                "upper": upper,
                "grain": grain,
            }
        )
    else:
        sizes = [math.prod(shape[i] for i in columns) for columns, _ in strategy]
        space = Tables(tuple(sizes), a.moves, reach * grain, None if upper is None else upper * grain)
    labels = []
    for columns, centred in strategy:
        label = " × ".join(names[i] for i in columns) or "total"
        labels.append(f"{label}, centred along {', '.join(names[i] for i in centred)}" if centred else label)
    times = [-(-grain // math.prod(shape[i] for i in centred)) for _, centred in strategy]
    units = [t * math.prod(shape[i] for i in centred) for t, (_, centred) in zip(times, strategy, strict=True)]

    def wanted_tables(released: list[list[int]], mechanism: Any) -> list[tuple[list[str], list[Fraction]]]:
        variances = [nominal_variance(law.single) / u**2 for law, u in zip(mechanism.laws, units, strict=True)]
        variances = variances if all(variances) else [Fraction(1)] * len(variances)
        made: dict[tuple[int, ...], Mapping[tuple[int, ...], Fraction]] = {}

        def contrast(some: tuple[int, ...]) -> Mapping[tuple[int, ...], Fraction]:
            """The part of a set of columns: averaged by precision over the released tables that tell it."""
            able = [
                t
                for t, (columns, centred) in enumerate(strategy)
                if set(some) <= set(columns) and set(centred) <= set(some)
            ]
            require(able, "a wanted table is not made of those that are released")
            precise = [1 / (variances[t] * math.prod(shape[i] for i in strategy[t][0] if i not in some)) for t in able]
            shares = [int(SCALE * p / sum(precise)) for p in precise]
            shares[precise.index(max(precise))] += SCALE - sum(shares)
            total = dict.fromkeys(product(*(range(shape[i]) for i in some)), Fraction(0))
            for t, share in zip(able, shares, strict=True):
                columns = strategy[t][0]
                table = dict.fromkeys(total, 0)
                for cell, number in zip(product(*(range(shape[i]) for i in columns)), released[t], strict=True):
                    table[tuple(cell[columns.index(i)] for i in some)] += number
                for axis in range(len(some)):  # each number less the mean along the column
                    sums: dict[tuple[int, ...], int] = {}
                    for cell, number in table.items():
                        rest = cell[:axis] + cell[axis + 1 :]
                        sums[rest] = sums.get(rest, 0) + number
                    n = shape[some[axis]]
                    table = {cell: n * number - sums[cell[:axis] + cell[axis + 1 :]] for cell, number in table.items()}
                scale = Fraction(share, SCALE * units[t] * math.prod(shape[i] for i in some))
                for cell, number in table.items():
                    total[cell] += scale * number
            return total

        tables = []
        for table in wanted:
            numbers = dict.fromkeys(product(*(range(shape[i]) for i in table)), Fraction(0))
            many = [i for i in table if shape[i] > 1]
            for some in (p for k in range(len(many) + 1) for p in combinations(many, k)):
                if some not in made:
                    made[some] = contrast(some)
                outside = math.prod(shape[i] for i in table if i not in some)
                for cell in numbers:
                    numbers[cell] += made[some][tuple(cell[table.index(i)] for i in some)] / outside
            tables.append(([names[i] for i in table], list(numbers.values())))
        return tables

    return Estimator(space, labels, wanted_tables)


def nominal_variance(single: Any) -> Fraction:
    if isinstance(single, Gaussian):
        return single.variance
    b = single.decay
    return 2 * b / (1 - b) ** 2


def hierarchy_tables(a: Asked, data: Mapping[str, Any]) -> Estimator:
    q, by = a.question, part(a.question, "by", dict)
    keys, names, levels = keys_of(by), [name for name, _, _ in columns_of(by)], part(q, "levels", list)
    if keys is None:
        raise TooFar("a hierarchy of bins")
    require(sorted(map(str, levels)) == sorted(names), "the levels are the columns of the keys")
    order = [names.index(level) for level in levels]
    rows = [(*(key[i] for i in order), number) for number, key in enumerate(keys)]
    first: dict[tuple[Any, ...], int] = {}
    for row in rows:
        for depth in range(1, len(row)):
            first.setdefault(row[:depth], len(first))
    rows.sort(key=lambda row: [first[row[:depth]] for depth in range(1, len(row))])
    nodes = [list(dict.fromkeys(row[:depth] for row in rows)) for depth in range(len(levels) + 1)]
    tree = []
    for depth in range(len(levels)):
        children = dict.fromkeys(nodes[depth], 0)
        for node in nodes[depth + 1]:
            children[node[:depth]] += 1
        tree.append(list(children.values()))
    text, grain = "|".join(",".join(map(str, level)) for level in tree), integer(data, "grain", 1)
    strategy = part(data, "strategy", str)
    require(
        re.fullmatch("[0-9]{1,3}(,[0-9]{1,3})*", strategy) and data.get("workload") == text,
        "the solution is for another hierarchy",
    )
    released_levels = list(map(int, strategy.split(",")))
    require(
        released_levels == sorted(set(released_levels)) and released_levels[-1] == len(tree),
        "the finest level is released",
    )
    sizes = tuple(len(nodes[level]) for level in released_levels)
    upper = None if a.most_rows is None else a.most_rows * grain
    space = Tables(sizes, a.moves, a.moved * grain, upper)
    labels = [levels[level - 1] if level else "total" for level in released_levels]

    def wanted(released: list[list[int]], mechanism: Any) -> list[tuple[list[str], list[Fraction]]]:
        tables = dict(zip(released_levels, released, strict=True))
        noise: dict[int, float] = {
            level: mean_square(law.single) for level, law in zip(released_levels, mechanism.laws, strict=True)
        }
        if not all(noise.values()):
            noise = dict.fromkeys(noise, 1.0)
        spread = [noise[len(tree)]] * len(nodes[-1])
        up = [Fraction(x) for x in tables[len(tree)]]
        ups, shares = [up], []
        for level in range(len(tree) - 1, -1, -1):
            ends = list(accumulate(tree[level], initial=0))
            below = [math.fsum(spread[i:j]) for i, j in pairwise(ends)]
            family = []
            for total, (i, j) in zip(below, pairwise(ends), strict=True):
                own = [math.floor(s / total * TREE_SCALE) for s in spread[i:j]]
                own[0] += TREE_SCALE - sum(own)
                family += own
            shares.insert(0, family)
            up = [sum(up[i:j], Fraction(0)) for i, j in pairwise(ends)]
            if level in noise:
                weights = [round(b / (b + noise[level]) * TREE_SCALE) for b in below]
                up = [u + Fraction(w, TREE_SCALE) * (x - u) for u, w, x in zip(up, weights, tables[level], strict=True)]
                spread = [b * noise[level] / (b + noise[level]) for b in below]
            else:
                spread = below
            ups.insert(0, up)
        final = [ups[0]]
        for children, family, numbers in zip(tree, shares, ups[1:], strict=True):
            row, ends = [], list(accumulate(children, initial=0))
            for parent, (i, j) in zip(final[-1], pairwise(ends), strict=True):
                over = parent - sum(numbers[i:j], Fraction(0))
                row += [x + Fraction(s, TREE_SCALE) * over for x, s in zip(numbers[i:j], family[i:j], strict=True)]
            final.append(row)
        return [(levels[:depth], [x / grain for x in row]) for depth, row in enumerate(final)]

    return Estimator(space, labels, wanted)


def mean_square(single: Any) -> float:
    """The mean square of one integer's noise."""
    if isinstance(single, Layers):
        return float(2 * single.decay / (1 - single.decay) ** 2)
    if isinstance(single, NoNoise):
        return 0.0
    if not single.discrete and single.variance >= 900:
        return float(single.variance) + 1 / 12
    return math.fsum((2 * t - 1) * single.beyond(t - 1) for t in range(1, single.wide + 1))


# ---- the answer itself ----


def close(stated: Any, recomputed: Any) -> bool:
    """Whether two plain values are equal, numbers up to rounding; a tuple of values stands for any of them."""
    if isinstance(recomputed, tuple):
        return any(close(stated, one) for one in recomputed)
    if isinstance(recomputed, dict):
        return (
            isinstance(stated, dict)
            and stated.keys() == recomputed.keys()
            and all(close(stated[k], v) for k, v in recomputed.items())
        )
    if isinstance(recomputed, list):
        return isinstance(stated, list) and len(stated) == len(recomputed) and all(map(close, stated, recomputed))
    if isinstance(recomputed, bool | str) or recomputed is None or isinstance(stated, bool):
        return type(stated) is type(recomputed) and stated == recomputed
    return isinstance(stated, int | float) and math.isclose(stated, recomputed, rel_tol=CLOSE, abs_tol=1e-300)


@dataclass
class Found:
    """What follows from the released integers; None for an interval that is not recomputed here."""

    value: Any
    intervals: Any = None
    unchecked: list[str] = field(default_factory=list)


def names_of(released: Mapping[str, Any], names: Iterable[str]) -> None:
    require(list(released) and set(released) == set(names), "other names were released than this question has")


def widened(names: Sequence[str], numbers: Sequence[int], half: int) -> dict[str, Any]:
    return {name: [n - half, n + half] for name, n in zip(names, numbers, strict=True)}


def answer_follows(a: Asked, mechanism: Any, space: Any, released: Mapping[str, Any], data: Mapping[str, Any]) -> Found:
    """Sections 7.3 to 7.6: which integers can be released, and the value and intervals that follow."""
    q, name = a.question, a.question["question"]
    by = q.get("by")
    if (isinstance(by, dict) and "discover" in by) or name == "keys":
        return found_keys(a, mechanism, released)
    if a.tiers and name == "count":
        return tiers_follow(a, mechanism, space, released)
    if name in PARTS:
        return numbers_follow(a, mechanism, space, released)
    if name == "share":
        names_of(released, ("count", "blur"))
        count, blur = whole_numbers([released["count"], released["blur"]])
        require(0 <= blur < 2**53, "what was released beside the count is a number of 53 bits")
        half, n = half_width(mechanism.noise.beyond), q["among"]
        return Found(
            count / n, {"share": [min(max(float(Fraction(end, n)), 0.0), 1.0) for end in (count - half, count + half)]}
        )
    if name == "share_left_out":
        names_of(released, ("losing_rows", "losing_none"))
        losing, none = whole_numbers([released["losing_rows"], released["losing_none"]])
        share = min(max(losing / (losing + none), 0.0), 1.0) if losing + none > 0 else 0.5
        return Found(share)
    if name in ("histogram", "rows_per_person"):
        names = histogram_names(q) if name == "histogram" else rows_per_person_names(q["largest"])
        return counts_follow(names, mechanism, released)
    if name in ("counts", "cdf", "ranges") or (name == "quantile" and "one" not in q and "shares" in q):
        return sums_follow(a, mechanism, space, released)
    if name in ("marginals", "hierarchy"):
        estimator = marginal_tables(a, data) if name == "marginals" else hierarchy_tables(a, data)
        names_of(released, estimator.labels)
        tables = [
            whole_numbers(released[label], size) for label, size in zip(estimator.labels, space.sizes, strict=True)
        ]
        numbers = estimator.wanted(tables, mechanism)
        return Found(
            [{"columns": columns, "numbers": [str(x) for x in row]} for columns, row in numbers],
            None,
            ["the half widths of the tables"],
        )
    return choices_follow(a, space, released)


def counts_follow(names: Sequence[str], mechanism: Any, released: Mapping[str, Any]) -> Found:
    names_of(released, names)
    numbers = whole_numbers([released[name] for name in names])
    value = dict(zip(names, numbers, strict=True))
    try:
        return Found(value, widened(names, numbers, half_width(mechanism.noise.beyond)))
    except TooFar as far:
        return Found(value, None, [str(far)])


def increasing(counts: Sequence[int]) -> list[int]:
    """The nearest increasing integers: where counts fall, neighbours take their mean, rounded half up."""
    blocks: list[tuple[int, int]] = []
    for count in counts:
        total, size = count, 1
        while blocks and blocks[-1][0] * size >= total * blocks[-1][1]:
            total, size = total + blocks[-1][0], size + blocks.pop()[1]
        blocks.append((total, size))
    return [(2 * total + size) // (2 * size) for total, size in blocks for _ in range(size)]


def sums_follow(a: Asked, mechanism: Any, space: Any, released: Mapping[str, Any]) -> Found:
    """Counts, running counts, ranges and quantiles of cells: from counts, cells, or weighted sums of cells."""
    q, name = a.question, a.question["question"]
    if name == "counts":
        names = list(part(q, "conditions", dict))
    elif name == "cdf":
        names = [f"<= {edge}" for edge in q["edges"]]
    else:
        names = []
    as_counts = name in ("counts", "cdf") and set(released) == set(names)
    if as_counts:
        found = counts_follow(names, mechanism, released)
        numbers = list(found.value.values())
        if name == "cdf" and q.get("monotone"):
            shown = increasing(numbers)
            found.value = dict(zip(names, shown, strict=True))
            if found.intervals:
                found.intervals = {
                    n: [min(low, s), max(high, s)]
                    for (n, (low, high)), s in zip(found.intervals.items(), shown, strict=True)
                }
        return found
    kind = "sum" if isinstance(space, Strategy) else "cell"
    labels = [f"{kind} {i + 1}" for i in range(space.dimension)]
    names_of(released, labels)
    numbers = whole_numbers([released[label] for label in labels])
    if kind == "sum":
        return Found(None, None, ["estimates from weighted sums of cells (least squares)"])
    running = list(accumulate(numbers))
    unchecked = ["the intervals of sums of cells"]
    if name == "cdf":
        shown = increasing(running) if q.get("monotone") else running
        return Found(dict(zip(names, shown, strict=True)), None, unchecked)
    if name == "counts":  # which conditions lie inside which is in their texts
        return Found(("in some order", names, running), None, [*unchecked, "that the conditions imply each other"])
    if name == "ranges":
        ends = [0, *running]
        edges = part(q, "edges", list)
        pairs = combinations(zip(edges, ends, strict=True), 2)
        return Found({f"[{low}, {high})": str(y - x) for (low, x), (high, y) in pairs}, None, unchecked)
    sums, candidates = increasing(running), part(q, "candidates", list)
    value = {}
    for share in part(q, "shares", list):
        order = rational(share)
        place = next((i for i, count in enumerate(sums) if count >= order * sums[-1]), len(sums) - 1)
        value[str(float(order))] = candidates[place]
    return Found(value, None, unchecked)


def numbers_follow(a: Asked, mechanism: Any, space: Any, released: Mapping[str, Any]) -> Found:
    """Counts, sums, means, variances and covariances, of the whole table or by public keys."""
    q, name = a.question, a.question["question"]
    names_of(released, PARTS[name])
    by = q.get("by")
    if by is None and isinstance(space, Line):
        return one_number(a, mechanism, space, released)
    size = 1 if by is None else number_of_keys(by)
    lists = [whole_numbers([released[p]] if by is None else released[p], size) for p in PARTS[name]]
    values, ends, unchecked = group_estimates(a, mechanism.noise, lists)
    if by is None:
        return Found(
            values if isinstance(values, dict) else values[0], None if ends is None else {name: ends[0]}, unchecked
        )
    keys = keys_of(by)
    if keys is None:
        return Found(None, None, ["values by bins"])
    return Found(
        [[*key, value] for key, value in zip(keys, values, strict=True)],
        None if ends is None else keyed(keys, ends),
        unchecked,
    )


def keyed(keys: list[list[Any]], ends: list[tuple[list[Any], ...]]) -> list[Any]:
    """The intervals of groups after their keys; of each, any of several that are possible."""
    return [tuple([*key, *pair] for pair in pairs) for key, pairs in zip(keys, ends, strict=True)]


def group_estimates(a: Asked, noise: Any, lists: list[list[int]]) -> tuple[Any, Any, list[str]]:
    """Values and intervals of many groups, from the released integers of each part."""
    q, name = a.question, a.question["question"]
    if name in ("count", "top", "clamped", "left_out", "sum"):
        step, roundings = (Fraction(1), [Fraction(0)]) if name != "sum" else (steps_of(q)[2], roundings_of_sum(a))
        values = [plain_step(x, step) for x in lists[0]]
        try:
            half = half_width(noise.beyond)
        except TooFar as far:
            return values, None, [str(far)]
        wider = [half + math.ceil(r / step) for r in roundings]
        return values, [tuple([plain_step(x - h, step), plain_step(x + h, step)] for h in wider) for x in lists[0]], []
    low, high = (float(rational(q[end])) for end in ("lower", "upper")) if name != "covariance" else (0.0, 0.0)
    if name == "mean":
        shares = [min(max(r / (r + s), 0.0), 1.0) if r + s > 0 else 0.5 for r, s in zip(*lists, strict=True)]
        weight = aggregate(a)[2]
        counts = [(2 * (r + s) + weight) // (2 * weight) for r, s in zip(*lists, strict=True)]
        least = integer(q, "min_rows", 1, optional=True) or -math.inf
        shown = [
            min(max(low + (high - low) * m, low), high) if n >= least else None
            for m, n in zip(shares, (max(n, 0) for n in counts), strict=True)
        ]
        return shown, None, ["the interval of a mean, and of its number of rows"]
    if name == "variance":
        half = (rational(q["upper"]) - rational(q["lower"])) / 2
        relative = [
            min(max((4 * x * z - y * y) / (x + y + z) ** 2, 0.0), 1.0) if x + y + z > 0 else 1 / 3
            for x, y, z in zip(*lists, strict=True)
        ]
        variances = [r * float(half**2) for r in relative]
        if "by" not in q:
            return (
                {"variance": variances[0], "standard deviation": math.sqrt(variances[0])},
                None,
                ["the interval of a variance, and of its number of rows"],
            )
        weight = aggregate(a)[2]
        least = integer(q, "min_rows", 1, optional=True) or -math.inf
        counts = [max((2 * sum(t) + weight) // (2 * weight), 0) for t in zip(*lists, strict=True)]
        return (
            [v if n >= least else None for v, n in zip(variances, counts, strict=True)],
            None,
            ["the interval of a variance, and of its number of rows"],
        )
    return (
        covariance_values(q, [sums[0] for sums in lists]),
        None,
        ["the intervals of a covariance, and of its number of rows"],
    )


def covariance_values(q: Mapping[str, Any], sums: list[int]) -> dict[str, float]:
    """Section 7.3: covariance, correlation and slope from six sums: on the unit square, then in units."""
    unit = covariance_unit(q)
    low_low, low_high, high_low, high_high, inside_x, inside_y = (Fraction(x, unit) for x in sums)
    n = low_low + low_high + high_low + high_high
    width, height = (float(rational(q[f"{c}_range"][1]) - rational(q[f"{c}_range"][0])) for c in "xy")
    covariance, correlation, slope = Fraction(0), 0.0, 0.0
    if n > 0:
        x, y = (high_low + high_high) / n, (low_high + high_high) / n
        covariance = min(max(high_high / n - x * y, Fraction(-1, 4)), Fraction(1, 4))
        of_x, of_y = x - inside_x / n - x**2, y - inside_y / n - y**2
        both = math.sqrt(of_x * of_y) if of_x > 0 and of_y > 0 else 0.0
        correlation = min(max(float(covariance) / both, -1.0), 1.0) if both else 0.0
        slope = float(covariance / of_x) if of_x > 0 else 0.0
    steepest = float(covariance_widths(q)[0])
    return {
        "covariance": float(covariance) * width * height,
        "correlation": correlation,
        "slope": min(max(slope, -steepest), steepest) * (height / width),
    }


def plain_step(x: int, step: Fraction) -> int | float:
    return x * step.numerator if step.denominator == 1 else x * step.numerator / step.denominator


def roundings_of_sum(a: Asked) -> list[Fraction]:
    """Section 7.3: what rounding every row can change; of an unbounded sum it may be left out, so both are possible."""
    q = a.question
    if not q.get("rounded_values"):
        return [Fraction(0)]
    low, high, grid = rational(q["lower"]), rational(q["upper"]), rational(q["grid"])
    error = grid * (Fraction(1, 2) + Fraction(int(max(abs(low), abs(high)) / grid), 2**51))
    rows = a.most_rows if a.most_rows is not None else 10**9 * a.rows_each
    return [error * rows] if a.most_rows is not None else [error * rows, Fraction(0)]


def one_number(a: Asked, mechanism: Any, space: Line, released: Mapping[str, Any]) -> Found:
    q, name = a.question, a.question["question"]
    (number,) = whole_numbers([released[name]])
    require(q.get("unbiased") or space.clamp(number) == number, "a best guess lies where the number does")
    step = steps_of(q)[2] if name == "sum" else Fraction(1)
    try:
        low, high = mechanism.interval(number, CONFIDENCE)
    except TooFar as far:
        return Found(plain(number * step), None, [str(far)])
    if space.first is None and name in ("count", "left_out"):
        low, high = max(low, 0), max(high, 0)
    roundings = roundings_of_sum(a) if name == "sum" else [Fraction(0)]
    return Found(
        plain(number * step), {name: tuple([plain(low * step - r), plain(high * step + r)] for r in roundings)}
    )


def tiers_follow(a: Asked, mechanism: Any, space: Tiers, released: Mapping[str, Any]) -> Found:
    parts = mechanism.parts
    names = ["count"] if len(parts) == 1 else [f"tier {'+'.join(str(t + 1) for t in p)}" for p in parts]
    names_of(released, names)
    numbers = whole_numbers([released[name] for name in names])
    left_out = [t for t in range(len(space.lines)) if not any(t in p for p in parts)]
    low = high = guess = 0
    for t in left_out:
        first, last = space.lines[t].first or 0, space.lines[t].last or 0
        low, high, guess = low + first, high + last, guess + (first + last) // 2
    for law, number in zip(mechanism.laws, numbers, strict=True):
        require(
            a.question.get("unbiased") or law.line.clamp(number) == number, "a best guess lies where the number does"
        )
    try:
        for law, number in zip(mechanism.laws, numbers, strict=True):
            ends = law.interval(number, 1 - (1 - CONFIDENCE) / len(mechanism.laws))
            low, high = low + ends[0], high + ends[1]
    except TooFar as far:
        return Found(sum(numbers) + guess, None, [str(far)])
    return Found(sum(numbers) + guess, {"count": [low, high]})


KEY_TYPES: dict[str, Any] = {
    "string": str,
    "large_string": str,
    "bool": bool,
    "double": float,
    "date32[day]": str,
    **{f"{u}int{b}": int for u in ("", "u") for b in (8, 16, 32, 64)},
    "float": float,
}


def found_keys(a: Asked, mechanism: Keys, released: Mapping[str, Any]) -> Found:
    """Section 7.5: keys, different and in order, each with its number."""
    q, name = a.question, a.question["question"]
    parts = PARTS.get("count" if name == "top" else name, [])
    names_of(released, ["keys", *parts])
    columns, discover = part(released, "keys", list), part(part(q, "by", dict), "discover", list)
    require(
        all(isinstance(c, list) and len(c) == 3 and isinstance(c[2], list) for c in columns),
        "released keys are columns with their values",
    )
    require([c[0] for c in columns] == discover, "the released keys are not of the columns that were asked for")
    for _, kind, values in columns:
        fits = isinstance(kind, str) and kind in KEY_TYPES and all(type(v) is KEY_TYPES[kind] for v in values)
        require(fits, "the released keys are not of one kind of values each")
    require(len({len(c[2]) for c in columns}) == 1, "the released keys have columns of different lengths")
    keys = [list(key) for key in zip(*(c[2] for c in columns), strict=True)]
    ordered = all(x < y for x, y in pairwise(keys))
    require(
        ordered or (name == "top" and len(set(map(tuple, keys))) == len(keys)),
        "the released keys are not in order, or not different",
    )
    if name == "keys":
        return Found(keys, {})
    lists = [whole_numbers(released[p], len(keys)) for p in parts]
    if name == "top":
        k = integer(q, "k", 1)
        require(
            len(keys) <= k and lists[0] == sorted(lists[0], reverse=True), "at most k keys are named, the largest first"
        )
        if mechanism.border is not None:
            require(
                min(lists[0], default=mechanism.border) >= mechanism.border, "a count below the border is not shown"
            )
        return Found(keys, None, ["the intervals of counts of found keys"])
    if mechanism.noise is None:
        require(
            name == "count"
            and mechanism.border is not None
            and min(lists[0], default=mechanism.border) >= mechanism.border,
            "a count below the border is not shown",
        )
        return Found(
            [[*key, n] for key, n in zip(keys, lists[0], strict=True)], None, ["the intervals of counts of found keys"]
        )
    values, ends, unchecked = group_estimates(a, mechanism.noise, lists)
    return Found(
        [[*key, v] for key, v in zip(keys, values, strict=True)], None if ends is None else keyed(keys, ends), unchecked
    )


def choices_follow(a: Asked, space: Any, released: Mapping[str, Any]) -> Found:
    """Section 7.4: yes or no, a candidate, a list, or quantiles; one answer, or one for every key."""
    q, name, by = a.question, a.question["question"], a.question.get("by")
    label = "yes" if name in ("majority", "threshold") else "places" if name == "top" or "one" in q else "place"
    names_of(released, [label])
    answers = [released[label]] if by is None else part(released, label, list)
    rows: list[list[Any]] = []
    ends: list[list[list[Any]]] = []
    for answer in answers:
        if label == "yes":
            require(isinstance(answer, bool), "what is released is yes or no")
            rows.append([answer])
        elif label == "place":
            labels = labels_of(q["candidates"])
            require(is_whole(answer) and 0 <= answer < len(labels), "what is released is the place of a candidate")
            rows.append([labels[answer]])
        elif name == "top":
            labels, k = labels_of(q["candidates"]), integer(q, "k", 1)
            places = whole_numbers(answer, k)
            require(
                len(set(places)) == k and all(0 <= p < len(labels) for p in places), "different candidates are named"
            )
            rows.append([[labels[p] for p in places]])
        else:
            size, value, _ = candidates_of(q)
            shares = part(q, "shares", list)
            require(isinstance(answer, list) and len(answer) == len(shares), "places of every quantile are released")
            triples = [whole_numbers(triple, 3) for triple in answer]
            require(all(0 <= low <= at <= high < size for at, low, high in triples), "a quantile lies between its ends")
            rows.append([value(at) for at, _, _ in triples])
            ends.append([between(q, low, high) for _, low, high in triples])
    one = label != "places" or name == "top" or q.get("one")
    names = [] if one else [str(float(rational(s))) for s in q["shares"]]
    unchecked = [] if ends or name == "top" else ["the confidence of a choice"]
    if by is None:
        labelled = dict(zip(names or [name], ends[0], strict=True)) if ends else None
        return Found(dict(zip(names, rows[0], strict=True)) if names else rows[0][0], labelled, unchecked)
    require(len(rows) == number_of_keys(by), "there is an answer for every key")
    keys = keys_of(by)
    if keys is None:
        return Found(None, None, [*unchecked, "values by bins"])
    labels = [[*key, *name] for key in keys for name in ([[float(n)] for n in names] or [[]])]
    numbers, pairs = [x for row in rows for x in row], [x for row in ends for x in row]
    return Found(
        [[*label, number] for label, number in zip(labels, numbers, strict=True)],
        [[*label, *pair] for label, pair in zip(labels, pairs, strict=True)] if ends else None,
        unchecked,
    )


LEDGER_NUMBER = r"(?:[-+0-9./e]{1,500}|inf)"
ONE_SUM = rf"(?:epsilon|delta|mu²|rho) {LEDGER_NUMBER} of {LEDGER_NUMBER}"
LEDGER_SUMS = rf"{ONE_SUM}(?:, {ONE_SUM})*"
LEDGER = {
    "time": r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:Z|[-+][0-9]{2}:[0-9]{2})",
    "spent": LEDGER_SUMS,
    "left": LEDGER_SUMS,
    "head": "[0-9a-f]{64}",
}
QUOTED = r"""(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")"""
APART = rf"(?:, not {QUOTED}| in another place or with other columns)"
SHARED = "all tables under one data set name share its budget and its recorded answers"
OTHER_TABLE = (
    rf"(?:this recorded answer was drawn from another table, {QUOTED}{APART}; fresh=True asks the open one, and spends|"
    rf"the account {QUOTED} was used before with another table, {QUOTED}{APART}; {SHARED})?"
)


def ledger_state(content: Any) -> dict[str, Any]:
    state: dict[str, Any] = part(content, "ledger", dict)
    for name, form in LEDGER.items():
        require(re.fullmatch(form, part(state, name, str)), f"the ledger's {name} is not in words that a ledger says")
    other = state.get("other_table", "")
    require(
        isinstance(other, str) and re.fullmatch(OTHER_TABLE, other),
        "the ledger's notice is not in words that a ledger says",
    )
    require(
        integer(state, "entry", 1) and type(part(state, "kept")) is bool, "the ledger's entry is a number from 1 on"
    )
    for amount in part(state, "amounts", dict).values():
        spent, limit = part(amount, "spent", int | float), part(amount, "limit", int | float)
        require(0 <= spent <= limit * (1 + 1e-12), "the ledger has spent more than its budget")
    return state


def level_in_numbers(level: Level) -> dict[str, float]:
    """The level as floats, as a report states it beside the exact one."""
    if level.family == "approx":
        return {
            "epsilon": float(level.exponent) if level.ratio == 1 else math.log(level.ratio),
            "delta": float(level.delta),
        }
    if level.family == "approx-gaussian":
        return {"delta": float(level.delta), "mu": float(level.size)}
    return {"rho" if level.family == "zcdp" else "mu": float(level.size)} if level.family != "knots" else {}


def proved_level(a: Asked, stated: Level) -> None:
    """Section 7.2: the level of the solution is that of the answer; by keys, that of one step of several."""
    by = a.question.get("by")
    keyed = a.question["question"] in ("majority", "threshold", "quantile") and by is not None
    steps = a.rows_each * (2 if a.replace else 1) if keyed else 1
    if steps == 1:
        require(stated == a.level, "the solution is for another privacy level than the answer")
        return
    require(
        stated.family == a.level.family and stated.family in ("approx", "gaussian"),
        "this level is not shared among steps",
    )
    if stated.family == "gaussian":
        require(stated.size * steps == a.level.size, "the level of a step is not a share of the answer's")
        return
    total = Level("approx", stated.exponent * steps, stated.ratio**steps)
    require(at_most(total, a.level), "the steps together spend more than the answer's epsilon")
    require(
        float(total.epsilon(30).low) >= 0.999 * float(a.level.epsilon(30).low),
        "the level of a step is not a share of the answer's",
    )

    def spare(digits: int) -> Enclosure:
        powers = [(stated.epsilon(digits) * i).exp() for i in range(steps)]
        return Enclosure.of(a.level.delta, digits) - sum(powers[1:], powers[0]) * stated.delta

    require(
        stated.delta == a.level.delta == 0 or (steps <= 1000 and proved(spare)),
        "the steps together spend more than the answer's delta",
    )


def geometric_is_optimal(problem: Mapping[str, Any], mechanism: Any, level: Level) -> bool:
    """Section 8: geometric noise as wide as the level needs, at sensitivity 1, with the best guess, is optimal."""
    if not (isinstance(mechanism, NoisyLine) and isinstance(mechanism.noise, Layers) and level.pure):
        return False
    noise, line = mechanism.noise, mechanism.line
    tight = noise.period == 1 and not keeps(level, [(noise.decay * (1 - Fraction(1, 2**50)), 1)])
    return (
        tight
        and line.reach == 1
        and line.first is not None
        and mechanism.remap == "best"
        and not problem["data"].get("unbiased")
    )


def solution_parts(solution: Any) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """The problem, the certificate and the mechanism of a solution; the value is a number."""
    require(
        part(solution, "format") == "utmost-solution" and part(solution, "version") == 1,
        "it is no solution of version 1",
    )
    problem, certificate = part(solution, "problem", dict), part(solution, "certificate", dict)
    part(problem, "question", str)
    part(certificate, "evidence", dict)
    part(certificate, "notes", list)
    require(
        part(certificate, "claim") in ("theorem", "bound", "unproved"),
        "a certificate claims a theorem, a bound, or nothing",
    )
    part(solution, "value", int | float)
    for name in ("reason", "quantity", "method"):
        part(certificate, name, str)
    data = part(problem, "data", dict)
    return problem, certificate, data


def optimality(
    problem: Mapping[str, Any], certificate: Mapping[str, Any], mechanism: Any, level: Any, verdict: Verdict
) -> None:
    bound, gap, value = certificate.get("bound"), certificate.get("gap"), None
    for number in (bound, gap):
        require(
            number is None or (isinstance(number, int | float) and not isinstance(number, bool)), "a bound is a number"
        )
    del value
    if isinstance(level, Level) and geometric_is_optimal(problem, mechanism, level):
        verdict.proved.append(
            "optimal among all private mechanisms, for every prior and monotone loss (Ghosh, Roughgarden, Sundararajan)"
        )
    elif certificate["claim"] != "unproved":
        verdict.unchecked.append("optimality")


SUPPOSED = "whether the texts of the conditions make them disjoint, nested or complete, as the sensitivity supposes"
KNOWN = {"question": (), "released": (), "privacy": ("words",), "ledger": ("epsilon", "delta", "mu²", "rho")}
"""Parts of which every name is read, but for these."""
SOLUTION = {"format", "version", "problem", "mechanism", "certified", "value", "certificate", "sha256"}
CERTIFICATE = {"claim", "reason", "quantity", "method", "bound", "gap", "evidence", "notes"}
ANSWER = {
    "format",
    "version",
    "value",
    "words",
    "accuracy",
    "question",
    "dataset",
    "unit",
    "neighbours",
    "space",
    "privacy",
    "mechanism",
    "proof",
    "notes",
    "compared",
    "curve",
    "released",
    "ledger",
    "solution",
}


def verify_answer(content: Any, name: str) -> tuple[Verdict, dict[str, Any]]:
    """One answer: privacy for this question, released integers, value, intervals, and the ledger's words."""
    verdict = Verdict(name)
    require(part(content, "format") == "utmost-answer", "it is no answer of Utmost")
    version = content.get("version")
    require(version == 2 or "version" not in content, "it is of a version that is not known here")
    part(content, "dataset", str)
    a, solution, released = asked(content), part(content, "solution", dict), part(content, "released", dict)
    problem, certificate, data = solution_parts(solution)
    level, mechanism = level_of(part(problem, "privacy", dict)), mechanism_of(part(solution, "mechanism", dict))
    space = space_of(part(problem, "space", dict))
    proved_level(a, level)
    spaces = expected_spaces(a, data, mechanism)
    if isinstance(space, Strategy):
        require(
            space.cells == spaces[0] or space.cells in spaces[:2],
            "the solution is for other integers or another sensitivity",
        )
    else:
        require(space in spaces, "the solution is for other integers or another sensitivity")
    require(part(data, "loss") == part(a.question, "loss"), "the solution is for another loss")
    require(
        close(part(content["privacy"], "numbers", dict), level_in_numbers(a.level)),
        "the level in numbers is not the level",
    )
    require(part(solution, "certified") is None, "a law on integers has no table of certified integers")
    problem_data_fits(a, data)
    mechanism.prove(space, level)
    supposed = a.question["question"] == "counts" and space != spaces[0]
    if supposed:
        verdict.unchecked.append(SUPPOSED)
    condition = ", if the conditions are disjoint, nested or complete as it supposes" if supposed else ""
    verdict.proved.append(f"the mechanism is private at {level_in_numbers(a.level) or 'its level'}{condition}")
    require(content["ledger"] is not None, "the ledger is missing")
    state = ledger_state(content)
    try:
        found = answer_follows(a, mechanism, space, released, data)
    except TooFar as far:
        found = Found(None, None, [str(far)])
        if isinstance(released, Object):
            released.read |= set(released)
    if isinstance(found.value, tuple) and found.value[0] == "in some order":
        _, names, running = found.value
        stated = part(content, "value", dict)
        require(
            set(stated) == set(names) and sorted(map(str, stated.values())) == sorted(map(str, running)),
            "the value does not follow from the released integers",
        )
    elif found.value is not None:
        require(close(part(content, "value"), found.value), "the value does not follow from the released integers")
        verdict.proved.append("the released integers are possible, and the value follows from them")
    if found.intervals is not None and version == 2:
        stated = part(part(part(content, "accuracy", dict), "after", dict), "intervals")
        require(close(stated, found.intervals), "the intervals do not follow from the released integers and the law")
        require(content["accuracy"]["after"].get("confidence") == 0.95, "intervals are of 95 %")
        if found.intervals:
            verdict.proved.append("the 95 % intervals follow from the law of the noise")
    elif found.intervals is not None:
        verdict.unchecked.append("intervals (version 0.2 left rounding out of them)")
    verdict.unchecked += found.unchecked
    for place, besides in KNOWN.items():
        require_read(content[place], place, besides)
    for place in ("space", "privacy"):
        require_read(problem[place], f"the problem's {place}")
    require_read(solution["mechanism"], "the mechanism")
    require(
        set(problem) <= {"question", "space", "privacy", "data"}
        and set(solution) <= SOLUTION
        and set(certificate) <= CERTIFICATE,
        "the solution has names that the format does not know",
    )
    require(set(content) <= ANSWER, "the answer has names that the format does not know")
    optimality(problem, certificate, mechanism, level, verdict)
    return verdict, state


def problem_data_fits(a: Asked, data: Mapping[str, Any]) -> None:
    """Section 7.2: the question's own fields, and the data of the problem that must be those of the question."""
    q, name = a.question, a.question["question"]
    if name in ("majority", "threshold"):
        border = 1 if name == "majority" else integer(q, "at_least", 1)
        require(is_whole(data.get("border")) and data["border"] == border, "the solution is for another threshold")
    if name == "top" and "discover" not in str(q.get("by")):
        require(data.get("k") == q.get("k"), "the solution is for a list of another length")
    if "unbiased" in q:
        require(
            type(q["unbiased"]) is bool and bool(data.get("unbiased")) is q["unbiased"],
            "the solution is for another kind of answer",
        )
    if "prior" in q:
        require((q["prior"] == "uniform") is (data.get("prior") is None), "the solution is for another prior")
    for text in ("column", "x", "y", "loss", "of"):
        require(isinstance(q.get(text, ""), str), f"{text} is a text")
    for flag in ("rounded_values", "monotone", "whole", "one", "one_row"):
        value = q.get(flag, False)
        pair = name == "covariance" and isinstance(value, list) and [type(x) for x in value] == [bool, bool]
        require(type(value) is bool or pair, f"{flag} is true or false")
    require(q.get("where") is None or isinstance(q["where"], str), "a condition is a text")
    require({"loss"} <= set(q) and ("prior" in q), "the question lacks its loss or its prior")
    require("where" in q or name == "counts", "the question lacks its condition")
    require(
        q.get("total") in (None, "noisy") and (q.get("other") is None or isinstance(q["other"], str)),
        "the question has another total",
    )
    for number in ("min_rows", "up_to", "largest", "among", "at_least", "k"):
        integer(q, number, 1, optional=True)
    if name == "clamped":
        require(rational(part(q, "lower")) <= rational(part(q, "upper")), "values are clamped to a range")
    if name == "quantile" and "shares" not in q:
        require(data.get("q") == part(q, "q") and 0 < rational(q["q"]) < 1, "the solution is for another quantile")
    if name == "counts":
        conditions = part(q, "conditions", dict)
        require(all(isinstance(conditions[label], str | None) for label in conditions), "conditions are texts")
    if name in ("marginals", "hierarchy"):
        require(
            type(part(q["by"], "product")) is bool and (name == "hierarchy" or q["by"]["product"]),
            "marginals are of every combination",
        )
    if name == "quantile" and "shares" in q:
        shares = [rational(share) for share in part(q, "shares", list)]
        require(
            shares and all(0 < share < 1 and share.denominator <= 1000 for share in shares),
            "a quantile has a share between 0 and 1",
        )
        require("one" not in q or data.get("shares") == q["shares"], "the solution is for other quantiles")
    expected = q.get("expected_rows")
    for rows in expected if isinstance(expected, list) else [] if expected is None else [expected]:
        require(0 < rational(rows) <= (a.most_rows or math.inf), "the expected rows are not possible")


# ---- section 9: publications and ledgers ----


def entries_add_up(answers: Sequence[tuple[dict[str, Any], dict[str, Any]]], verdict: Verdict) -> None:
    """Section 9.1: of every data set, what the answers shown spend is no more than what their ledger says was spent."""
    accounts: dict[tuple[str, str], list[tuple[dict[str, Any], dict[str, Any]]]] = {}
    for content, state in answers:
        accounts.setdefault(
            (content["dataset"], "people" if content["unit"].startswith("people") else "rows"), []
        ).append((content, state))
    for (dataset, _), some in accounts.items():
        entries: dict[int, list[tuple[dict[str, Any], dict[str, Any]]]] = {}
        for content, state in some:
            entries.setdefault(state["entry"], []).append((content, state))
        for shared in entries.values():
            require(
                len({state["time"] for _, state in shared}) == 1,
                f"answers of one entry of {dataset!r} have different times",
            )
        last = max((state for _, state in some), key=lambda state: state["entry"])
        ordered = sorted({state["entry"]: state for _, state in some}.items())
        for (_, one), (_, next_one) in pairwise(ordered):
            for resource, amount in one["amounts"].items():
                later = next_one["amounts"].get(resource)
                require(
                    later is not None and later["limit"] == amount["limit"],
                    f"the budget of {dataset!r} changes between answers",
                )
                require(
                    later["spent"] >= amount["spent"] * (1 - CLOSE),
                    f"the ledger of {dataset!r} says less was spent later",
                )
        single = [level_of(shared[0][0]["privacy"]) for shared in entries.values() if len(shared) == 1]
        spent = {"epsilon": Fraction(0), "delta": Fraction(0), "mu²": Fraction(0), "rho": Fraction(0)}
        for level in single:
            if level.family == "approx":
                spent["epsilon"] += Fraction(float(level.epsilon(40).low))
            elif level.family in ("gaussian", "approx-gaussian"):
                spent["mu²"] += level.size**2
                spent["rho"] += level.size**2 / 2
            else:
                spent["rho"] += level.size
            spent["delta"] += level.delta
        for resource, amount in last["amounts"].items():
            least = float(spent.get(resource, Fraction(0)))
            require(
                amount["spent"] >= least * (1 - CLOSE),
                f"the answers about {dataset!r} spend more {resource} than the ledger says",
            )
        batches = sum(len(shared) > 1 for shared in entries.values())
        verdict.proved.append(
            f"{dataset}: {len(some)} answers of {len(entries)} entries fit what their ledger says was spent"
        )
        if batches:
            verdict.unchecked.append(f"{dataset}: what {batches} batches cost together (give the ledger)")


@dataclass
class Event:
    """One link of a chain."""

    dataset: str
    number: int
    kind: str
    entry: int
    slot: int
    time: str
    body: dict[str, Any]
    head: str


def read_ledger(path: Path) -> dict[str, list[Event]]:
    """Section 9.2: a ledger file; every line, chain and mark is checked. The accounts by data set."""
    require(path.stat().st_size <= MOST_BYTES, "the ledger is larger than is read here")
    raw = path.read_bytes()
    require(_block({"file": "ledger of Utmost", "version": 2}) == raw[:512], "it is no ledger of version 2")
    marks = [mark for mark in (_mark(raw[at : at + 512]) for at in (512, 1024)) if mark]
    require(marks, "neither mark says how far the ledger was written")
    lines, end, digest = max(marks)
    require(end <= len(raw), "the ledger was cut short")
    accounts: dict[str, list[Event]] = {}
    reserved: dict[str, set[tuple[int, int]]] = {}
    at, total, number = 1536, "0" * 64, 0
    while at < len(raw):
        stop = raw.find(b"\n", at) + 1
        if not stop and at >= end:  # half a line that a crash left
            break
        line = raw[at:stop] if stop else raw[at:]
        try:
            _take(line, accounts, reserved)
        except Refused:
            if at >= end and len(marks) == 2:
                break
            raise
        total, at, number = hashlib.sha256(total.encode() + line).hexdigest(), at + len(line), number + 1
        require(number != lines or (at, total) == (end, digest), "the lines are not those that were marked")
    require(number >= lines, "the ledger has fewer lines than were marked")
    return accounts


def _block(content: Any) -> bytes:
    return canonical(content).ljust(511) + b"\n"


def _mark(raw: bytes) -> tuple[int, int, str] | None:
    try:
        content = parse_json(raw)
        lines, end, digest = content["lines"], content["end"], content["digest"]
    except (Refused, KeyError, TypeError):
        return None
    plain_mark = {"digest": digest, "end": end, "lines": lines}
    fits = is_whole(lines) and is_whole(end) and isinstance(digest, str)
    return (
        (lines, end, digest)
        if fits and _block({**plain_mark, "sha256": hashlib.sha256(canonical(plain_mark)).hexdigest()}) == raw
        else None
    )


def _take(line: bytes, accounts: dict[str, list[Event]], reserved: dict[str, set[tuple[int, int]]]) -> None:
    content = parse_json(line)
    require(canonical(content) + b"\n" == line, "a line of the ledger is not canonical")
    records = content if isinstance(content, list) else [content]
    require(records and (not isinstance(content, list) or len(records) > 1), "a line of the ledger holds no event")
    for record in records:
        fields = part(record, "event", list)
        kinds = (str, int, str, int, int, str, dict)
        require(
            len(fields) == 7
            and all(isinstance(f, k) and not isinstance(f, bool) for f, k in zip(fields, kinds, strict=True)),
            "an event has other fields",
        )
        event = Event(*fields, part(record, "head", str))
        chain = accounts.setdefault(event.dataset, [])
        opening = event.kind == "open"
        require(opening == (not chain) and opening == ("secret" in record), "an account is opened once, first")
        require(
            set(record) == ({"event", "head", "secret"} if opening else {"event", "head"}), "an event has other parts"
        )
        if opening:
            secret = record["secret"]
            require(
                isinstance(secret, str) and re.fullmatch("[0-9a-f]*", secret) and len(secret) % 2 == 0,
                "a secret is in hexadecimal",
            )
            require(
                event.body.get("secret") == hashlib.sha256(bytes.fromhex(secret)).hexdigest(),
                "an account has another secret than its own",
            )
        previous = chain[-1].head if chain else "0" * 64
        require(event.number == len(chain), "an event is missing or is there twice")
        require(
            hashlib.sha256(canonical([previous, *fields])).hexdigest() == event.head,
            "an event was changed after it was written",
        )
        require(
            not chain or (chain[-1].kind == "suspend") == (event.kind == "resume"),
            "something was charged while the account was suspended",
        )
        place, places = (event.entry, event.slot), reserved.setdefault(event.dataset, set())
        if event.kind in ("reserve", "slot"):
            require("question" in event.body, "a reservation has no question")
            places.add(place)
        elif event.kind == "complete":
            require(place in places, "an answer has no reservation")
        else:
            require(event.kind in ("open", "suspend", "resume"), "an event is of an unknown kind")
        chain.append(event)


RESOURCES = {
    "pure": ("epsilon",),
    "basic": ("epsilon", "delta"),
    "zcdp": ("rho", "delta"),
    "concentrated": ("rho",),
    "gaussian": ("mu²",),
    "gaussian-delta": ("mu²", "delta"),
}


def amount_of(data: Any) -> tuple[Fraction, Fraction]:
    """An amount [rational, ratio]: rational + ln ratio."""
    require(
        isinstance(data, list) and len(data) == 2 and all(isinstance(x, str) for x in data),
        "an amount is a rational and a ratio",
    )
    first = Fraction(10) ** 100 if data[0] == "inf" else rational(data[0])
    ratio = rational(data[1])
    require(first >= 0 and ratio >= 1, "an amount is 0 or more")
    return first, ratio


def no_more(a: tuple[Fraction, Fraction], b: tuple[Fraction, Fraction]) -> bool:
    """Whether an amount is at most another."""
    if a[1] == b[1]:
        return a[0] <= b[0]
    return proved(
        lambda digits: (
            Enclosure.of(b[0] - a[0], digits) + Enclosure.of(b[1], digits).ln() - Enclosure.of(a[1], digits).ln()
        )
    )


def budget_adds_up(events: Sequence[Event], verdict: Verdict) -> None:
    """Section 9.3: sums are carried along, never above the limits; single releases are charged at least their level."""
    rule = part(events[0].body, "filter", dict)
    require(part(rule, "name") in RESOURCES, "an account has an unknown rule")
    limits, resources = [amount_of(x) for x in part(rule, "limits", list)], RESOURCES[rule["name"]]
    require(len(limits) == len(resources), "an account has another number of limits")
    spent = [(Fraction(0), Fraction(1)) for _ in limits]
    for event in events:
        if event.kind == "reserve":
            cost = [amount_of(x) for x in part(event.body, "cost", list)]
            require(len(cost) == len(limits), "a charge has another number of amounts")
            levels = [level_of(x) for x in part(event.body, "levels", list)]
            if len(levels) == 1 and not event.body.get("slots"):
                covers(levels[0], dict(zip(resources, cost, strict=True)), rule["name"], verdict)
            else:
                batch_covers(
                    levels * max(1, event.body.get("slots") or 1),
                    dict(zip(resources, cost, strict=True)),
                    rule["name"],
                    verdict,
                )
            spent = [(a + c, b * d) for (a, b), (c, d) in zip(spent, cost, strict=True)]
        require([amount_of(x) for x in part(event.body, "spent", list)] == spent, "an event carries a wrong sum")
        require(
            all(no_more(s, limit) for s, limit in zip(spent, limits, strict=True)), "more was spent than the budget"
        )


def covers(level: Level, cost: Mapping[str, tuple[Fraction, Fraction]], rule: str, verdict: Verdict) -> None:
    """Whether a charge covers one release at a level."""
    wrong = "a release was charged less than its level costs"
    delta = cost.get("delta", (Fraction(0), Fraction(1)))[0]
    if rule in ("pure", "basic"):
        epsilon = cost["epsilon"]
        if level.family == "approx":
            require(no_more((level.exponent, level.ratio), epsilon) and level.delta <= delta, wrong)
        elif level.family in ("gaussian", "approx-gaussian"):
            size = Level("approx", *epsilon, delta=delta)
            rest = 1 - level.delta
            fits = epsilon[0] > MOST_LEVEL or proved(
                lambda d: (
                    Enclosure.of(delta, d)
                    - (Enclosure.of(1, d) - (Enclosure.of(1, d) - gaussian_delta(level.size**2, size, d)) * rest)
                )
            )
            require(fits, wrong)
        else:
            verdict.unchecked.append("the (epsilon, delta) that zCDP was charged as")
        return
    require(level.delta <= delta, wrong)
    if rule in ("zcdp", "concentrated"):
        if level.family == "approx":
            verdict.unchecked.append("the rho that a pure level was charged as")
        else:
            require(
                no_more((level.size if level.family == "zcdp" else level.size**2 / 2, Fraction(1)), cost["rho"]), wrong
            )
    elif level.family == "approx":
        mu2 = cost["mu²"][0]  # Phi(mu/2) >= E/(1 + E)
        fits = mu2 > 10**6 or proved(
            lambda d: normal(Enclosure.of(mu2, d).sqrt() * Fraction(1, 2)) - level.growth(d) / (level.growth(d) + 1)
        )
        require(fits or level.exponent > 400, wrong)
    else:
        require(
            level.family in ("gaussian", "approx-gaussian") and no_more((level.size**2, Fraction(1)), cost["mu²"]),
            wrong,
        )


def batch_covers(
    levels: Sequence[Level], cost: Mapping[str, tuple[Fraction, Fraction]], rule: str, verdict: Verdict
) -> None:
    """Whether a charge covers releases that were declared together: by adding up, or by exact composition."""
    delta = cost.get("delta", (Fraction(0), Fraction(1)))[0]
    if all(level.family == "approx" for level in levels) and rule in ("pure", "basic"):
        total = (
            sum((x.exponent for x in levels), Fraction(0)),
            math.prod((x.ratio for x in levels), start=Fraction(1)),
        )
        if no_more(total, cost["epsilon"]) and sum(x.delta for x in levels) <= delta:
            return
        target = Level("approx", *cost["epsilon"])
        require(
            proved(lambda digits: Enclosure.of(delta, digits) - composed_delta(levels, target, digits)),
            "a batch was charged less than its composition costs",
        )
    elif all(level.family == "gaussian" for level in levels) and rule.startswith("gaussian"):
        require(sum(x.size**2 for x in levels) <= cost["mu²"][0], "a batch was charged less than its composition costs")
    elif all(level.family in ("gaussian", "zcdp") for level in levels) and rule in ("zcdp", "concentrated"):
        require(
            sum(x.size if x.family == "zcdp" else x.size**2 / 2 for x in levels) <= cost["rho"][0],
            "a batch was charged less than its composition costs",
        )
    else:
        verdict.unchecked.append("the cost of a batch of levels of several kinds")


def composed_delta(levels: Sequence[Level], target: Level, digits: int) -> Enclosure:
    """Section 9.4: the exact delta of (epsilon, delta) levels together at an epsilon (Kairouz, Oh and Viswanath).

    A release loses +epsilon_i with probability e^eps/(1 + e^eps) and -epsilon_i else, or tells all with delta_i.
    """
    kinds: dict[Level, int] = {}
    for level in levels:
        kinds[level] = kinds.get(level, 0) + 1
    require(math.prod(n + 1 for n in kinds.values()) <= 5000, "a batch of very many different levels")
    more, one = digits + 20, Enclosure.of(1, digits + 20)
    total, kept, epsilon = Enclosure.of(0, more), one, target.epsilon(more)
    for level, many in kinds.items():
        for _ in range(many):
            kept = kept * (1 - level.delta)
    for losses in product(*(range(n + 1) for n in kinds.values())):
        weight, loss = one, Enclosure.of(0, more)
        for (level, many), high in zip(kinds.items(), losses, strict=True):
            own = level.epsilon(more)
            weight = weight * comb(many, high) * ((own * high) - (own.exp() + 1).ln() * many).exp()
            loss = loss + own * (2 * high - many)
        term = one - (epsilon - loss).exp()
        if term.high > 0:
            total = total + weight * Enclosure(max(term.low, Decimal(0)), term.high, more)
    return one - kept * (one - total)


def recorded(content: Mapping[str, Any], state: Mapping[str, Any], events: Sequence[Event]) -> None:
    """Section 9.5: whether the ledger has recorded an answer: its entry, level, released numbers, time and head."""
    own = [event for event in events if event.entry == state["entry"]]
    require(own, "the ledger has no such entry")
    levels = [level_of(x) for event in own if event.kind == "reserve" for x in part(event.body, "levels", list)]
    stated = level_of(content["privacy"])
    require(stated in levels, "the ledger's entry is at another level")
    require(
        own[0].time == state["time"] and own[-1].head == state["head"], "the ledger's entry has another time or head"
    )
    answers = [_released(event.body) for event in own if event.kind == "complete"]
    require(any(content["released"] in some for some in answers), "the ledger's entry has other released numbers")
    require(
        any(content["question"]["question"] in _questions(event.body) for event in own),
        "the ledger's entry is for another question",
    )


def _released(body: Any) -> list[Any]:
    """Every object within the body of an answer: what was released is one of them."""
    parts = [body]
    for one in parts:
        parts.extend(
            one.values()
            if isinstance(one, dict)
            else one
            if isinstance(one, list) and not all(map(is_whole, one))
            else []
        )
    return [one for one in parts if isinstance(one, dict)]


def _questions(body: Any) -> list[Any]:
    return [one.get("question") for one in _released(body)]


# ---- section 10: saved solutions on graphs, surveys and forms ----


def edges_of(space: Any) -> tuple[int, list[tuple[int, int]]]:
    """Section 10.1: the number of points of a graph, and its edges by position."""
    if "family" not in space:
        points, pairs = part(space, "points", list), part(space, "edges", list)
        fits = all(
            isinstance(e, list)
            and len(e) == 2
            and all(is_whole(x) and 0 <= x < len(points) for x in e)
            and e[0] != e[1]
            for e in pairs
        )
        require(fits, "an edge joins two points")
        return len(points), [(a, b) for a, b in pairs]
    family = space["family"]
    if family in ("path", "counts", "sums", "differences"):
        people = integer(space, "people" if family != "path" else "n", 0)
        largest = integer(space, "largest", 0) if family == "sums" else 1
        n = {"path": people, "counts": people + 1, "sums": people * largest + 1, "differences": 2 * people + 1}[family]
        reach = {"sums": largest, "differences": 2 if space.get("neighbours") == "replace" else 1}.get(family, 1)
        require(n * max(1, reach) <= MOST_EDGES, "the space is larger than is checked here")
        return n, [(i, j) for i in range(n) for j in range(i + 1, min(n, i + reach + 1))]
    if family in ("cycle", "complete"):
        n = integer(space, "n", 0)
        require(n <= (MOST_POINTS * 10 if family == "cycle" else 2000), "the space is larger than is checked here")
        if family == "complete":
            return n, list(combinations(range(n), 2))
        return n, [(i, (i + 1) % n) for i in range(n if n > 2 else n - 1)]
    if family == "grid":
        shape = part(space, "shape")
        sides = whole_numbers(shape["tuple"] if isinstance(shape, dict) else shape)
        diagonal = space.get("metric", "chebyshev") == "chebyshev"
        points, moves = (
            _grid(sides),
            [m for m in product((-1, 0, 1), repeat=len(sides)) if diagonal or sum(map(abs, m)) == 1],
        )
    elif family == "hamming":
        people, values = integer(space, "people", 0), part(space, "values")
        size = values if is_whole(values) else len(values["tuple"] if isinstance(values, dict) else values)
        points = _grid([size] * people)
        place = {point: i for i, point in enumerate(points)}
        return len(points), [
            (i, place[(*p[:k], v, *p[k + 1 :])])
            for p, i in place.items()
            for k in range(people)
            for v in range(p[k] + 1, size)
        ]
    else:
        require(family == "histograms", "a graph is of an unknown family")
        people, bins, swap = (
            integer(space, "people", 0),
            integer(space, "bins", 1),
            space.get("neighbours", "replace") == "replace",
        )
        points = [p for p in _grid([people + 1] * bins) if (sum(p) == people if swap else sum(p) <= people)]
        unit = [tuple(int(i == j) for j in range(bins)) for i in range(bins)]
        moves = (
            [tuple(x - y for x, y in zip(a, b, strict=True)) for a in unit for b in unit if a != b] if swap else unit
        )
    place = {point: i for i, point in enumerate(points)}
    edges = []
    for point, i in place.items():
        for move in moves:
            j = place.get(tuple(x + y for x, y in zip(point, move, strict=True)), -1)
            if j > i or (j >= 0 and family == "histograms" and not swap):
                edges.append((min(i, j), max(i, j)))
    return len(points), edges


def _grid(sides: Sequence[int]) -> list[tuple[int, ...]]:
    require(
        all(s >= 0 for s in sides) and math.prod(sides) <= MOST_POINTS * 10, "the space is larger than is checked here"
    )
    return list(product(*map(range, sides)))


ORDERED = (None, "path", "counts", "complete", "cycle")
"""Spaces whose edges have an order in the format: those that list them, and these families."""


def edge_levels(data: Any, space: Mapping[str, Any], edges: Sequence[tuple[int, int]]) -> list[Level]:
    """The level of every edge."""
    if isinstance(data, dict) and "kind" in data:
        return [level_of(data)] * len(edges)
    require(space.get("family") in ORDERED, "levels that differ by edge are not checked on this family of spaces")
    if isinstance(data, dict) and "levels" in data:
        named = [level_of(level) for level in part(data, "levels", list)]
        which = whole_numbers(part(data, "which"), len(edges))
        require(all(0 <= w < len(named) for w in which), "the levels do not match the edges")
        return [named[w] for w in which]
    epsilons, deltas = part(data, "epsilon", list), part(data, "delta")
    deltas = deltas if isinstance(deltas, list) else [deltas] * len(edges)
    require(len(epsilons) == len(deltas) == len(edges), "the levels do not match the edges")
    pairs = zip(epsilons, deltas, strict=True)
    return [level_of({"kind": "approx", "epsilon": e, "delta": d}) for e, d in pairs]


def checked_file(content: Any, what: str) -> None:
    """Section 1: the checksum of a saved file."""
    stated = part(content, "sha256", str)
    body = {name: value for name, value in content.items() if name != "sha256"}
    require(hashlib.sha256(canonical(body) + b"\n").hexdigest() == stated, f"the {what} does not match its checksum")


def verify_solution(content: Any, name: str) -> Verdict:
    """A saved solution: on integers by its law, on a graph by its certified integers."""
    verdict = Verdict(name)
    checked_file(content, "solution")
    problem, certificate, _data = solution_parts(content)
    space, mechanism = part(problem, "space", dict), part(content, "mechanism", dict)
    if "integers" in space:
        level, law = level_of(part(problem, "privacy", dict)), mechanism_of(mechanism)
        law.prove(space_of(space), level)
        verdict.proved.append("the mechanism is private on its space of integers")
        optimality(problem, certificate, law, level, verdict)
        return verdict
    n, edges = edges_of(space)
    levels = edge_levels(part(problem, "privacy"), space, edges)
    if "peaks" in mechanism:
        peaks_are_private(part(mechanism, "peaks", list), n, edges, levels)
        verdict.proved.append(
            "columns decay by e^-epsilon with every edge, so the mechanism is private by the triangle inequality"
        )
    else:
        outputs, matrix = part(mechanism, "outputs", list), part(mechanism, "matrix", list)
        certified = content.get("certified")
        require(isinstance(certified, dict), "it has no certified integers, so nothing is drawn from it")
        total = total_of_bits(part(certified, "bits"))
        rows = weights_of(part(certified, "weights"), len(outputs), total)
        require(len(rows) == n == len(matrix), "the weights are not for these points")
        for row, design in zip(rows, matrix, strict=True):
            fits = (
                isinstance(design, list)
                and len(design) == len(row)
                and all(isinstance(p, int | float) and 0 <= p <= 1 for p in design)
            )
            require(fits and abs(math.fsum(design) - 1) < 1e-9, "a row of the design is no distribution")
            require(
                math.fsum(abs(w / total - p) for w, p in zip(row, design, strict=True)) / 2 <= 1e-4,
                "the integers are not those of the design",
            )
        prove_edges(rows, total, ((i, j, level) for (i, j), level in zip(edges, levels, strict=True)))
        verdict.proved.append(f"the integer weights are private on all {len(edges)} edges")
    optimality(problem, certificate, None, None, verdict)
    return verdict


def peaks_are_private(peaks: Sequence[Any], n: int, edges: Sequence[tuple[int, int]], levels: Sequence[Level]) -> None:
    """Columns z_k e^(-epsilon d(i, k)): rows must add up to 1."""
    require(
        len(peaks) == n <= 2000 and all(isinstance(z, int | float) and 0 <= z <= 1 for z in peaks),
        "there is a peak for each of up to 2000 points",
    )
    require(len(set(levels)) <= 1 and all(level.pure for level in levels), "columns that decay have one pure level")
    near: list[list[int]] = [[] for _ in range(n)]
    for a, b in edges:
        near[a].append(b)
        near[b].append(a)
    decay = math.exp(-float(levels[0].epsilon(30).low)) if levels else 1.0
    for start in range(n):
        distance, queue = {start: 0}, [start]
        for i in queue:
            for j in near[i]:
                if j not in distance:
                    distance[j] = distance[i] + 1
                    queue.append(j)
        require(
            abs(math.fsum(peaks[k] * decay**d for k, d in distance.items()) - 1) < 1e-9, "a row does not add up to 1"
        )


def verify_survey(content: Any, name: str) -> Verdict:
    """Section 10.2: surveys and forms, in which every person draws a set of categories."""
    verdict = Verdict(name)
    survey = content.get("format") == "utmost-survey"
    checked_file(content, "survey" if survey else "form")
    whole = level_of(part(content, "privacy", dict))
    spent: list[Level] = []
    for question in [content] if survey else part(content, "questions", list):
        level, categories, size = (
            level_of(part(question, "privacy", dict)),
            part(question, "categories", list),
            integer(question, "size", 1),
        )
        k = len(categories)
        require(level.pure and 2 <= k <= 10**6 and size < k, "a survey is among several categories, at a pure level")
        require(len({canonical(c) for c in categories}) == k, "a category is there twice")
        require(question.get("other") is None or question["other"] in categories, "other is a category")
        spent.append(level)
        if not survey:
            inside = Fraction(rational(part(question, "named", str)), rational(part(question, "of", str)))
            require(0 < inside < 1, "a response names the true category with a probability")
            odds = inside * (k - size) / ((1 - inside) * size)
            require(
                odds >= 1 and (odds == 1 or keeps(level, [(1 / odds, 1)])),
                "a response tells more than its level allows",
            )
    total = Level(
        "approx", sum((x.exponent for x in spent), Fraction(0)), math.prod((x.ratio for x in spent), start=Fraction(1))
    )
    require(spent and whole.pure and at_most(total, whole), "the questions spend more than the form promises")
    verdict.proved.append(
        "responses are drawn within the level"
        if survey
        else "the odds of every question are within its level, and all together within the form's"
    )
    verdict.unchecked.append("that clients draw as the page says, and responses of people")
    return verdict


# ---- the command ----


def verify_file(path: Path) -> tuple[list[Verdict], list[tuple[dict[str, Any], dict[str, Any]]]]:
    """The verdicts on a file, and its answers with what they say of their ledger."""
    name = str(path)
    try:
        require(path.is_file(), "there is no such file")
        require(path.stat().st_size <= MOST_BYTES, f"it is larger than {MOST_BYTES >> 20} megabytes")
        content = parse_json(path.read_bytes())
        first = content[0] if isinstance(content, list) and content else content
        form = first.get("format") if isinstance(first, dict) else None
        if form == "utmost-solution":
            return [verify_solution(content, name)], []
        if form in ("utmost-survey", "utmost-form"):
            return [verify_survey(content, name)], []
        verdicts, answers = [], []
        listed = content if isinstance(content, list) else [content]
        require(listed, "it holds no answer")
        for number, one in enumerate(listed, 1):
            label = name if len(listed) == 1 else f"{name}, answer {number}"
            try:
                verdict, state = verify_answer(one, label)
                verdicts.append(verdict)
                answers.append((one, state))
            except NONSENSE as wrong:
                verdicts.append(Verdict(label, refused=reason_of(wrong)))
        return verdicts, answers
    except NONSENSE as wrong:
        return [Verdict(name, refused=reason_of(wrong))], []


NONSENSE = (
    Refused,
    TooFar,
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    RecursionError,
    MemoryError,
    DecimalException,
    OSError,
)


def reason_of(wrong: BaseException) -> str:
    if isinstance(wrong, Refused):
        return str(wrong)
    kind = f"{type(wrong).__name__}: {str(wrong)[:80]}"
    return f"a part is missing, of the wrong kind, or beyond what is checked here ({kind})"


def verify(paths: Sequence[Path], ledger: Path | None = None) -> list[Verdict]:
    """Everything about some files: each by itself, their budget together, and what a ledger says of them."""
    verdicts, answers = [], []
    for path in paths:
        own, found = verify_file(path)
        verdicts += own
        answers += found
    if len(answers) > 1 or ledger is not None:
        together = Verdict("together")
        try:
            entries_add_up(answers, together)
            if ledger is not None:
                accounts = read_ledger(ledger)
                for events in accounts.values():
                    budget_adds_up(events, together)
                together.proved.append(f"the chains of {len(accounts)} accounts are intact, and their budgets add up")
                for content, state in answers:
                    require(content["dataset"] in accounts, "the ledger has no account of this data set")
                    recorded(content, state, accounts[content["dataset"]])
                if answers:
                    together.proved.append(f"the ledger has recorded all {len(answers)} answers")
        except NONSENSE as wrong:
            together.refused = reason_of(wrong)
        verdicts.append(together)
    return verdicts


def main(arguments: Sequence[str] | None = None) -> int:
    global MOST_BYTES
    parser = argparse.ArgumentParser(description="Verify what Utmost released, without Utmost and without the table.")
    parser.add_argument("files", nargs="*", type=Path, help="JSON of answers, solutions, surveys or forms")
    parser.add_argument(
        "--ledger", type=Path, help="a ledger file: its chains, its budgets, and that it recorded the answers"
    )
    parser.add_argument("--json", action="store_true", help="write the verdicts as JSON")
    parser.add_argument("--most-megabytes", type=int, default=MOST_BYTES >> 20, help="the largest file that is read")
    options = parser.parse_args(arguments)
    if not options.files and options.ledger is None:
        parser.error("name a file")
    MOST_BYTES = options.most_megabytes << 20
    verdicts = verify(options.files, options.ledger)
    if options.json:
        print(
            json.dumps(
                [
                    {
                        "name": v.name,
                        "verified": bool(v),
                        "refused": v.refused,
                        "proved": v.proved,
                        "unchecked": v.unchecked,
                    }
                    for v in verdicts
                ],
                indent=2,
                ensure_ascii=False,
            )
        )
    else:
        print("\n".join(map(str, verdicts)))
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
