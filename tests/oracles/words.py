"""Random words drawn in another process; in a module of its own, so that the process can import it."""

from utmost.mechanism import sampling


def words_of_a_child(_):
    """A thousand words of the process that calls this."""
    return [sampling._source(16) for _ in range(1000)]
