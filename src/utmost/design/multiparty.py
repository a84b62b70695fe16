"""Several parties with one bit each, one function of all bits: the optimal private protocol (LIM chapter 4).

`optimal` computes it for any function, levels and measure of accuracy; a `Protocol` has the message of every party and
the decision rule of every listener, with its proof. `xor_accuracy` is a closed form; `xor_or_and`, `hamming_distance`,
`and_saving_delta` and `xor_sharing_delta` are conversations that do better where the theorem does not apply; `converse`
evaluates any conversation, and `best_talk` optimises those in which one party speaks and one replies.
"""

from utmost.theory.multiparty.design.conversation import Conversation
from utmost.theory.multiparty.design.decision import Decision
from utmost.theory.multiparty.design.functions import by_count
from utmost.theory.multiparty.design.interactive import (
    and_saving_delta,
    hamming_distance,
    xor_or_and,
    xor_sharing_delta,
)
from utmost.theory.multiparty.design.messages import Message
from utmost.theory.multiparty.design.protocol import Protocol, optimal
from utmost.theory.multiparty.design.talk import Talk, best_talk, converse
from utmost.theory.multiparty.design.xor import XorAccuracy, xor_accuracy

__all__ = [
    "Conversation",
    "Decision",
    "Message",
    "Protocol",
    "Talk",
    "XorAccuracy",
    "and_saving_delta",
    "best_talk",
    "by_count",
    "converse",
    "hamming_distance",
    "optimal",
    "xor_accuracy",
    "xor_or_and",
    "xor_sharing_delta",
]
