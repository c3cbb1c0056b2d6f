"""The colours of a report: those of Okabe and Ito, which people with each kind of colour blindness tell apart.

M. Okabe, K. Ito: Color Universal Design. Black is left to text, their vermilion to requests and to what is not hidden.
"""

from __future__ import annotations

INK, IDLE = "#1f2933", "#d5dae1"
TASKS = ["#009e73", "#56b4e9", "#e69f00", "#cc79a7", "#f0e442", "#0072b2"]
OTHER = "#8d99a6"  # of task types that have no colour of their own
REQUEST = "#d55e00"
THROUGHPUT, CONSTRAINT, LEARNING = "#0072b2", "#009e73", "#e69f00"
STATES = {"both": "#009e73", "computing only": "#56b4e9", "I/O only": "#d55e00", "neither": IDLE}
# What a timeline has beside tasks: the trace's category, its name, its colour. report_timeline.js has the same.
OTHERS = [
    ("io", "request in flight", REQUEST),
    ("ahead", "read ahead", "#f0b27a"),
    ("message", "message outstanding", "#0072b2"),
    ("wait", "waiting for the interpreter", "#000000"),
    ("failure", "failure", "#b3261e"),
]
