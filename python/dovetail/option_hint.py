"""Which option of a task may be meant by a name that is none."""

from __future__ import annotations

# What other libraries call an option; `retry` is nearer to `retry_on` than to what is meant.
_ELSEWHERE = {
    "delay": "retry_delay",
    "max_retries": "retries",
    "name": "label",
    "num_returns": "returns",
    "retry": "retries",
    "timeout": "time_limit",
}


def hint_at(word: str, words: list[str]) -> str:
    """The end of a sentence that says so; empty if none is like it."""
    import difflib

    close = [_ELSEWHERE[word]] if word in _ELSEWHERE else difflib.get_close_matches(word, words, 1)
    return f"; did you mean '{close[0]}'?" if close else ""
