"""Two parties who speak once each, the second after hearing the first; with inputs of any kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np

from utmost.errors import CannotCertify, InvalidInput
from utmost.exact.arrays import Floats
from utmost.mechanism.certification import CertifiedMechanism, Check
from utmost.privacy import ApproxDP
from utmost.solution import Verification
from utmost.space import Space
from utmost.space.edge_levels import on_edges
from utmost.theory.multiparty.design.decision import Decision
from utmost.theory.multiparty.design.protocol import Protocol


@dataclass(frozen=True, eq=False)
class Conversation:
    """Two speakers, one message each; the second hears the first.

    Attributes
    ----------
    title : str
        A title, for people.
    spaces : pair of Space
        Each speaker's possible inputs; its level protects neighbours.
    levels : pair of ApproxDP
        The level of each speaker.
    first : CertifiedMechanism
        The first speaker's mechanism.
    second : mapping
        The second speaker's mechanism for every message of the first.
    truth : callable
        The function of both inputs.
    answers : tuple
        The possible answers.
    accuracy : array of float
        How good each answer (column) is if each of them (row) is the truth.
    apart : Protocol
        Randomised response of every bit, for comparison.
    """

    title: str
    spaces: tuple[Space, Space]
    levels: tuple[ApproxDP, ApproxDP]
    first: CertifiedMechanism
    second: Mapping[Any, CertifiedMechanism]
    truth: Callable[[Any, Any], Any]
    answers: tuple[Any, ...]
    accuracy: Floats
    apart: Protocol

    def value(self) -> float:
        """The average accuracy of the best decision, over fair bits."""
        total = 0.0
        for m, heard in enumerate(self.first.outputs):
            joint = np.einsum("a,bn,aby->ny", self.first.matrix[:, m], self.second[heard].matrix, self.gains())
            total += float(joint.max(axis=1).sum())
        return total / (len(self.spaces[0]) * len(self.spaces[1]))

    def respond(self, speaker: Literal[0, 1], own: Any, heard: Any = None) -> Any:
        """A speaker's message, drawn exactly: that of the first, or of the second given the first message."""
        if speaker not in (0, 1) or (heard is None) != (speaker == 0):
            raise InvalidInput("speaker 0 speaks first and has heard nothing; speaker 1 gives what it `heard`.")
        if speaker == 1 and heard not in self.second:
            raise InvalidInput(f"{heard!r} is not a message of the first speaker ({self.first.outputs}).")
        return (self.second[heard] if speaker else self.first).sample(own)

    def decide(self, messages: tuple[Any, Any]) -> Decision:
        """The best answer to both messages, with the posterior."""
        first_message, second_message = messages
        if first_message not in self.first.outputs or second_message not in self.second[first_message].outputs:
            raise InvalidInput(f"{messages!r} is not a pair of messages of this conversation.")
        here = self.first.matrix[:, self.first.outputs.index(first_message)]
        there = self.second[first_message].matrix[:, self.second[first_message].outputs.index(second_message)]
        likely = np.multiply.outer(here, there)
        gains = np.einsum("ab,aby->y", likely, self.gains())
        posterior = dict.fromkeys(self.answers, 0.0)
        for (a, b), share in zip(product(*(space.points for space in self.spaces)), likely.ravel(), strict=True):
            posterior[self.truth(a, b)] += float(share / likely.sum())
        best = self.answers[int(gains.argmax())]
        return Decision(best, posterior, {answer: float(answer == best) for answer in self.answers})

    def transcript(self, speaker: Literal[0, 1], other: Any) -> CertifiedMechanism:
        """The transcript as a mechanism of one speaker's input, the other's being fixed, certified in integers.

        `CannotCertify` if it is not private. This is LIM (4.7): an observer of all messages who knows all else.
        """
        bits = max(mechanism.bits for mechanism in self.second.values())
        outputs = [(heard, reply) for heard in self.first.outputs for reply in self.second[heard].outputs]
        fixed = self.spaces[1 - speaker].index(other)
        rows = []
        for own in range(len(self.spaces[speaker])):
            a, b = (own, fixed) if speaker == 0 else (fixed, own)
            row: list[int] = []
            for m, heard in enumerate(self.first.outputs):
                weight = int(self.first.weights[a, m]) << (bits - self.second[heard].bits)
                row += [weight * int(w) for w in self.second[heard].weights[b]]
            rows.append(row)
        levels = on_edges(self.spaces[speaker], self.levels[speaker])
        return CertifiedMechanism(np.array(rows, dtype=object), self.first.bits + bits, outputs, levels)

    def verify(self) -> Verification:
        """Prove the privacy of both speakers, whatever the other's input; nothing is claimed about optimality."""
        checks = []
        for speaker in (0, 1):
            level = self.levels[speaker]
            try:
                for other in self.spaces[1 - speaker].points:
                    self.transcript(speaker, other)
                detail = f"{level} of the whole transcript, proved in exact arithmetic for every input of the other"
                checks.append(Check(f"privacy of speaker {speaker}", True, detail))
            except CannotCertify as reason:
                checks.append(Check(f"privacy of speaker {speaker}", False, str(reason)))
        return Verification(all(check.passed for check in checks), "unproved", float("inf"), tuple(checks))

    def __str__(self) -> str:
        apart, value = self.apart.value(), self.value()
        verdict = "randomised response is not optimal here" if value > apart + 1e-9 else "no gain at this level"
        return (
            f"{self.title}\n  randomised response of every bit: {apart:.6f}\n"
            f"  this conversation: {value:.6f} ({verdict})"
        )

    def gains(self) -> Floats:
        """The accuracy of every answer for every pair of inputs."""
        position = {answer: i for i, answer in enumerate(self.answers)}
        first, second = (space.points for space in self.spaces)
        return np.array([[self.accuracy[position[self.truth(a, b)]] for b in second] for a in first])
