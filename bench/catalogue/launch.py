"""How often a launch repeats what it measures. The rounds of run.py are the repeats, so that contenders take turns."""

# One warm-up and one timed run a launch.
ONCE = ("--repeat", "1", "--warmup", "1")
# A learner that has seen one run would have nothing to learn in the next: no warm-up.
COLD = ("--repeat", "1", "--warmup", "0")
