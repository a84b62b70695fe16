"""The demonstration: a yes/no question, its optimal mechanism, its picture, and its proof verified."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from utmost import plot
from utmost.design import binary
from utmost.edge_levels import per_edge
from utmost.families import counts, hamming
from utmost.solution import Solution


def run_demo(folder: Path, say: Callable[[str], Any]) -> dict[str, Any]:
    """Answer two questions, write pictures and solutions to a folder, and say what happens."""
    folder.mkdir(parents=True, exist_ok=True)
    say("Did a majority of 101 people say yes? Each is promised epsilon = 1.\n")
    majority = binary.balanced(counts(101), lambda yes: yes > 50, 1.0)
    for yes in (51, 52, 53, 55, 60):
        right = majority.mechanism.probability(yes, True)
        say(f"  {yes} of 101 say yes: the answer is yes with probability {right:.6f}")
    first = _keep(majority, folder, "majority", "Majority of 101 people, ε = 1", say)

    say("\nA vote of three people, where the first one's vote is better protected when it decides (HET Figure 1).\n")
    votes = hamming(3, (1, 2))
    levels = per_edge(votes, {((1, 2, 1), (2, 2, 1)): 0.5, ((1, 1, 2), (2, 1, 2)): 0.5}, default=1)
    cube = binary.best_boundary(votes, lambda v: 2 if v.count(2) >= 2 else 1, levels, outputs=(1, 2))
    for vote in votes.points:
        two = cube.mechanism.probability(vote, 2)
        say(f"  votes {''.join(map(str, vote))}: the answer is 2 with probability {two:.6f}")
    second = _keep(cube, folder, "votes", "Majority of three votes, two edges better protected", say)

    say("\nTen private answers, drawn exactly from the certified majority mechanism when 53 of 101 say yes:\n")
    certified = majority.certified
    answers = ["yes" if answer else "no" for answer in certified.sample(53, 10)]
    say(f"  {' '.join(answers)}\n  {certified!r}, each spends {certified.level}")
    return {
        "verified": first["verified"] and second["verified"],
        "questions": [first, second],
        "answers": answers,
    }


def _keep(solution: Solution, folder: Path, name: str, title: str, say: Callable[[str], Any]) -> dict[str, Any]:
    proof = solution.verify()
    saved = solution.save(folder / f"{name}.json")
    picture = plot.save(plot.draw(solution, title), folder / f"{name}.png")
    say(f"\n{solution}\n{proof}\n  solution: {saved}\n  picture:  {picture}")
    return {
        "question": name,
        "value": solution.value,
        "verified": bool(proof),
        "solution": str(saved),
        "picture": str(picture),
    }
