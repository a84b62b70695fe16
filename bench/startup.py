"""How long the command and the package take to start: the limits are 0.5 s for help, 0.3 s for the import.

Processor time of a fresh process, the least of several, since the machine may be busy.
"""

import os
import subprocess
import sys

DESIGN = "import utmost as um; um.binary.balanced(um.counts(9), lambda yes: yes > 4, 1.0)"
LIMITS = {
    "import utmost": ([sys.executable, "-c", "import utmost"], 0.3),
    "utmost --help": ([sys.executable, "-m", "utmost", "--help"], 0.5),
    "utmost release --help": ([sys.executable, "-m", "utmost", "release", "--help"], 0.5),
    "utmost design --help": ([sys.executable, "-m", "utmost", "design", "--help"], 0.5),
    "utmost verify --help": ([sys.executable, "-m", "utmost", "verify", "--help"], 0.5),
    "utmost budget --help": ([sys.executable, "-m", "utmost", "budget", "--help"], 0.5),
    "a first design": ([sys.executable, "-c", DESIGN], None),
}


def processor_time(command, repeats=5):
    """The least processor time of a few runs, children's and system's included."""
    times = []
    for _ in range(repeats):
        before = os.times()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = os.times()
        times.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return min(times)


if __name__ == "__main__":
    for name, (command, limit) in LIMITS.items():
        taken = processor_time(command)
        print(
            f"{name:24} {taken:.2f} s" + (f" (limit {limit} s{'' if taken < limit else ': MISSED'})" if limit else "")
        )
