"""The optimal protocol, conversations, and the decision rules of listeners."""
