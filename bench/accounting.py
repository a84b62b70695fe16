"""Composition against dp_accounting's privacy loss distributions, and against the advanced theorem. One run, ratios.

Aims: 500 different levels at least 50 times faster, with a certified gap below 1e-9 where the peer has none; 10^4 equal
levels at least 10 times faster. The peer rounds losses up to a grid of 1e-4 (its default).
"""

import numpy as np
from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as pld
from timing import seconds

import utmost as um
from utmost.accounting import theorems


def peer(epsilon, delta):
    return pld.from_privacy_parameters(common.DifferentialPrivacyParameters(epsilon, delta))


def different(count=500, delta=1e-5):
    epsilons = [float(e) for e in np.random.default_rng(1).uniform(0.01, 0.5, count)]
    found = {}

    def ours():
        found["ours"] = um.compose([um.ApproxDP(e, 1e-9) for e in epsilons]).epsilon(delta)

    def theirs():
        total = peer(epsilons[0], 1e-9)
        for e in epsilons[1:]:
            total = total.compose(peer(e, 1e-9))
        found["theirs"] = total.get_epsilon_for_delta(delta)

    ours()  # imports and first-time work
    quick, slow = seconds(ours), seconds(theirs, repeats=1)
    lower, upper = um.compose([um.ApproxDP(e, 1e-9) for e in epsilons]).bounds(found["ours"])
    print(
        f"dp_accounting / ours, {count} different levels, epsilon at delta {delta:g}: {slow / quick:.0f}   (aim >= 50)"
    )
    print(f"  ours {found['ours']:.9f}, gap in delta there {upper - lower:.1e} (aim < 1e-9)")
    print(f"  theirs {found['theirs']:.9f}, above ours by {found['theirs'] - found['ours']:.1e}")
    closed = theorems.closed_form_of(epsilons, delta - count * 1e-9)
    print(f"  closed form (2.13) at the same delta: {closed:.4f}; basic: {sum(epsilons):.1f}")


def equal(count=10**4, delta=1e-5):
    level, found = um.ApproxDP(0.01, 1e-10), {}

    def ours():
        found["ours"] = um.compose(level, count).epsilon_bounds(delta)

    def theirs():
        found["theirs"] = peer(0.01, 1e-10).self_compose(count).get_epsilon_for_delta(delta)

    ours()
    quick, slow = seconds(ours), seconds(theirs)
    lower, upper = found["ours"]
    print(f"dp_accounting / ours, {count} equal levels, epsilon at delta {delta:g}: {slow / quick:.0f}   (aim >= 10)")
    print(f"  ours between {lower:.12f} and {upper:.12f}; theirs {found['theirs']:.12f}")
    advanced = theorems.advanced(level, count, delta - count * 1e-10)
    print(f"  the advanced theorem (2.10) at the same delta: {advanced:.4f}, {advanced / upper:.2f} times as much")
    many = seconds(lambda: um.compose(0.001, 10**7).epsilon(delta))
    print(f"  ten million equal levels / ten thousand, ours: {many / quick:.1f} times as long")


if __name__ == "__main__":
    different()
    equal()
