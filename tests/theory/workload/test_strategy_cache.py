"""Strategies on disk: read back and proved again; whatever a file holds, the answer is the same and nothing fails."""

import json
import os
import stat
from itertools import combinations

import pytest

import utmost as um
from utmost.design.workload import Workload, best_workload
from utmost.exact.saved import write_checked
from utmost.solution import Solution
from utmost.theory.workload.design import strategy_cache
from utmost.theory.workload.marginal_algebra import write_workload

SIZES = (2, 3, 4)
WORKLOADS = [
    (Workload("running", 12, "any", 1, 100, "absolute"), um.PureDP(1)),
    (Workload("running", 12, "exchange", 2, 100, "squared"), um.GaussianDP(1)),
    (Workload("ranges", 10, "any", 1, 100), um.ZCDP("0.5")),
    (Workload("ranges", 10, "any", 1, 100), um.PureDP(1)),
    (Workload("marginals", write_workload(SIZES, combinations(range(3), 2)), "any", 1, 100), um.GaussianDP(1)),
    (Workload("marginals", write_workload(SIZES, combinations(range(3), 2)), "exchange", 2, 100), um.PureDP(1)),
    (Workload("hierarchy", "3|2,4,1", "any", 1, 100), um.ApproxDP(1, "1e-6")),
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder of our own; and nothing is remembered in the process."""
    monkeypatch.setenv("UTMOST_STATE", str(tmp_path / "state"))
    best_workload.cache_clear()
    yield tmp_path / "state" / "strategies"
    best_workload.cache_clear()


def again(workload, level, monkeypatch):
    """Asked once more, as by another process: what came of it, and whether it was found anew."""
    from utmost.theory.workload.design import optimize

    made, found = [], optimize._optimize
    best_workload.cache_clear()
    with monkeypatch.context() as patched:
        patched.setattr(optimize, "_optimize", lambda *given: made.append(1) or found(*given))
        return best_workload(workload, level), bool(made)


def alike(one, other):
    """The same problem, noise, value and words."""
    first, second = ([each.problem.space, each.mechanism.to_json(), each.value, str(each)] for each in (one, other))
    return first == second


@pytest.mark.parametrize(("workload", "level"), WORKLOADS, ids=lambda x: getattr(x, "kind", None))
def test_what_was_found_is_read_and_proved(workload, level, folder, monkeypatch):
    """The second time nothing is designed, and all is as it was; the file is for its owner alone."""
    first = best_workload(workload, level)
    (file,) = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    read, anew = again(workload, level, monkeypatch)
    assert not anew
    assert alike(read, first)
    assert read.verify()


def damaged(file, how):
    """Bytes in place of a kept strategy."""
    content = json.loads(file.read_bytes())
    if how == "cut":
        return file.read_bytes()[:100]
    if how == "other":
        return b"{}"
    if how == "level":  # proves itself, at a weaker level
        weaker = best_workload(WORKLOADS[4][0], um.GaussianDP(3), keep=False)
        return weaker.save(file).read_bytes()
    if how == "question":
        return best_workload(*WORKLOADS[0], keep=False).save(file).read_bytes()
    if how == "noise":  # less noise, under a right checksum
        content["mechanism"]["laws"][0]["single"]["variance"] = "1/100"
    if how == "strategy":
        content["problem"]["data"]["strategy"] = "9|0"
    content.pop("sha256")
    return write_checked(file, content).read_bytes()


@pytest.mark.parametrize("how", ["cut", "other", "level", "question", "noise", "strategy"])
def test_a_file_that_does_not_prove_itself_is_made_again(how, folder, monkeypatch):
    """Cut short, forged, or for something else: found anew, as before, and written over."""
    workload, level = WORKLOADS[4]
    first = best_workload(workload, level)
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(damaged(file, how))
    found, anew = again(workload, level, monkeypatch)
    assert anew
    assert alike(found, first)
    assert file.read_bytes() == whole
    assert Solution.load(file).verify()


def test_without_a_folder_strategies_are_found_all_the_same(tmp_path, monkeypatch):
    """A file in the folder's place; and in a search nothing is kept."""
    (tmp_path / "state").write_text("in the way")
    assert best_workload(*WORKLOADS[0]).verify()
    monkeypatch.setenv("UTMOST_STATE", str(tmp_path / "elsewhere"))
    best_workload(*WORKLOADS[1], keep=False)
    assert not (tmp_path / "elsewhere").exists()


def test_few_are_kept(folder, monkeypatch):
    """The oldest go first."""
    monkeypatch.setattr(strategy_cache, "MOST_FILES", 2)
    for place, (workload, level) in enumerate(WORKLOADS[:3]):
        best_workload(workload, level)
        for file in folder.iterdir():
            os.utime(file, (file.stat().st_atime, min(file.stat().st_mtime, 1000 + place)))
    assert len(list(folder.iterdir())) == 2
    assert not again(*WORKLOADS[2], monkeypatch)[1]
    assert again(*WORKLOADS[0], monkeypatch)[1]
