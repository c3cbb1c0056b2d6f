"""The words of the catalogue: what a benchmark runs, against which peers, and what it must reach."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Contender:
    """One program with its arguments. `program` is looked up in the build folder's `bin`."""

    name: str
    program: str
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Target:
    """What `contender` must reach in `metric`.

    With `peers`, the limit is a factor on the best of them: the lowest for `at_most`, the highest for `at_least`. The ratio is the median over
    rounds. Without `peers`, the limit has the metric's own unit. `peer_metric` is for peers that are compared by another metric than `metric`.
    """

    text: str
    contender: str = "dovetail"
    metric: str = "ns"
    at_most: float | None = None
    at_least: float | None = None
    peers: tuple[str, ...] = ()
    peer_metric: str | None = None

    def __post_init__(self) -> None:
        if (self.at_most is None) == (self.at_least is None):
            raise ValueError(f"target '{self.text}' needs either at_most or at_least")


@dataclass(frozen=True)
class Benchmark:
    """A problem, run by all contenders in turn, round by round.

    A program prints one JSON object for `--json`, with `correct`, `wrong` and `metrics` (name -> list of samples).
    `metric` is the one that the table shows for every contender, in `unit`. `quick` are arguments that `--quick` adds.
    """

    name: str
    title: str
    contenders: tuple[Contender, ...]
    targets: tuple[Target, ...] = ()
    metric: str = "ns"
    unit: str = "ns"
    quick: tuple[str, ...] = ()
    rounds: int = 5
