"""The survey of the demonstration: 20,000 made-up people, the same in every run, with errors as in real tables."""

from __future__ import annotations

import csv
import random
from pathlib import Path

PEOPLE = 20_000
TOWNS = ("Ashford", "Briar", "Coldwell", "Dunmore")


def write_survey(path: Path, people: int = PEOPLE) -> Path:
    """Write the survey as CSV, with nulls, entries that are no numbers, and implausible values."""
    made_up = random.Random(2026)
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["person", "age", "town", "income", "hours_online", "agrees"])
        for person in range(people):
            age = int(18 + 72 * made_up.random() ** 1.3)
            town = TOWNS[int(4 * made_up.random() ** 1.5)]
            income = round(15_000 + 60_000 * made_up.random() ** 2 + 300 * min(age, 60), 2)
            hours = round(40 * made_up.random() ** 1.5 * (1.3 - age / 120), 1)
            agrees = "yes" if made_up.random() < 0.46 + age / 900 else "no"
            dirt = made_up.random()
            out.writerow(
                [
                    person,
                    "" if dirt < 0.01 else "unknown" if dirt < 0.015 else 999 if dirt < 0.017 else age,
                    town,
                    "NaN" if 0.02 < dirt < 0.03 else income,
                    "" if 0.03 < dirt < 0.05 else hours,
                    "" if 0.05 < dirt < 0.08 else agrees,
                ]
            )
    return path
