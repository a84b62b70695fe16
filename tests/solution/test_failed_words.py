"""A failed verification says first what failed, and claims nothing beside it."""

from utmost.mechanism.certification import Check
from utmost.solution import Verification


def test_what_failed_comes_first():
    checks = (Check("privacy", True, "proved"), Check("numbers", False, "value: not what follows"))
    first = str(Verification(True, "theorem", 0.0, checks)).splitlines()[0]
    assert first == "NOT verified: this check failed: numbers"
    said = str(Verification(False, "theorem", 0.0, (Check("privacy", False, "an edge breaks it"),)))
    assert said.startswith("NOT verified: this check failed: privacy\n  it is NOT proved private")
