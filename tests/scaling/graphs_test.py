"""dovetail-scaling: a graph whose time is known, bad input, and graphs of generators that equal those of recorded runs.

Status 77 where SimGrid, and with it the program, is missing; also, after all other cases, where programs with MPI are.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

SOURCE = Path(os.environ["DOVETAIL_SOURCE_DIR"])
BUILD = Path(os.environ["DOVETAIL_BUILD_DIR"])
sys.path[:0] = [str(SOURCE / "tools" / "scaling")]

import recording  # noqa: E402
import runs  # noqa: E402

SKIPPED = 77
SIMULATOR = BUILD / "bin" / "dovetail-scaling"


def check(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)


def figure(value: float) -> dict[str, Any]:
    return {"value": value, "source": "this test"}


def machine(**more: Any) -> dict[str, Any]:
    common = {"cores": 1, "ranks_per_node": 1, "workers": 1, "latency": 0.25, "bandwidth": 1000}
    inside = {"local_latency": 0.5, "local_bandwidth": 2000}
    made: dict[str, Any] = {name: figure(value) for name, value in {**common, **inside}.items()}
    return made | {"name": "test", "messages-only": {"spins": figure(1)}, "two-sided": {}, "one-sided": {}} | more


def graph(variant: str = "two-sided", **more: Any) -> dict[str, Any]:
    """A task of rank 0 computes for 1.5 s and sends 500 bytes to one of rank 1, which computes for 2 s."""
    tasks = [[0, 0, 0, False, 1.5], [1, 1, 0, False, 2.0]]
    made = {
        "variant": variant,
        "ranks": 2,
        "names": ["a", "b"],
        "tasks": tasks,
        "edges": [],
        "messages": [[0, 1, 0, 1, 0, 500]],
    }
    return made | more


def task(rank: int = 0, name: int = 0, priority: int = 0) -> list[list[Any]]:
    return [[rank, name, priority, False, 1.5], [1, 1, 0, False, 2.0]]


def message(from_task: int = 0, to_task: int = 1, tag: int = 0, size: int = 500) -> list[list[int]]:
    return [[0, 1, from_task, to_task, tag, size]]


def simulate(folder: Path, tasks: Any, on: Any, *arguments: str) -> subprocess.CompletedProcess[str]:
    for name, content in (("graph", tasks), ("machine", on)):
        (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    command = [SIMULATOR, "--graph", folder / "graph", "--machine", folder / "machine", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def seconds_are(expected: float, folder: Path, tasks: Any, on: Any, *arguments: str) -> None:
    done = simulate(folder, tasks, on, *arguments)
    check(done.returncode == 0, done.stderr)
    found = json.loads(done.stdout)["seconds"]
    check(abs(found - expected) < 1e-6, f"{found} s, and {expected} expected")


def known_graphs_take_their_time(folder: Path) -> None:
    seconds_are(1.5 + 0.25 + 0.5 + 2, folder, graph(), machine())
    # In one node the message takes 0.75 s, and both ranks would share the core if both had something to do.
    seconds_are(1.5 + 0.5 + 0.25 + 2, folder, graph(), machine(), "--ranks-per-node", "2")
    # The rank that waits uses half of the core meanwhile.
    seconds_are(3 + 0.5 + 0.25 + 4, folder, graph("messages-only"), machine(), "--ranks-per-node", "2")
    # In turns of a second the first rank computes until 2.5; what it sends is there at 3.25, and the other has the core from 3 to 4, from 5 to 6 and
    # from 7 on.
    turns = machine(slice=figure(1))
    seconds_are(7.25, folder, graph("messages-only"), turns, "--ranks-per-node", "2")
    # A message that comes while its rank works is noticed at once; else it takes longer.
    late = machine(**{"two-sided": {"notice": figure(0.125), "send": figure(0.5), "receive": figure(0.25)}})
    seconds_are(1.5 + 0.5 + 0.25 + 0.5 + 0.125 + 0.25 + 2, folder, graph(), late)
    # What is spawned takes time of the worker, unless the node has a core more.
    spawns = {"two-sided": {"spawn": figure(0.25)}}
    seconds_are(2 * 0.25 + 1.5 + 0.25 + 0.5 + 2, folder, graph(), machine(**spawns))
    seconds_are(1.5 + 0.25 + 0.5 + 2, folder, graph(), machine(cores=figure(2), **spawns))
    # The second message waits for the first in the link.
    two = graph(
        tasks=[[0, 0, 0, False, 1.5], [1, 1, 0, False, 2.0]], messages=[[0, 1, 0, 1, 0, 500], [0, 1, 0, 1, 1, 500]]
    )
    seconds_are(1.5 + 0.25 + 1 + 2, folder, two, machine())
    # What comes behind a task that sends waits until the message is on the link, for half a second; what may begin when the body has ended does not.
    third = [[0, 0, 0, False, 3.0]]
    seconds_are(1.5 + 0.5 + 3, folder, graph(tasks=task() + third, edges=[[0, 2]]), machine())
    seconds_are(1.5 + 3, folder, graph(tasks=task() + third, edges=[[0, 2, True]]), machine())
    # A node sends one message after the other: of two ranks, the second one's waits, and what it may send has gone a second later.
    both = [[0, 0, 0, False, 1.5], [2, 1, 0, False, 2.0], [1, 0, 0, False, 1.5], [1, 0, 0, False, 3.0]]
    two_ranks = graph(ranks=4, tasks=both, edges=[[2, 3]], messages=[[0, 2, 0, 1, 0, 500], [1, 2, 2, 1, 1, 500]])
    seconds_are(1.5 + 1 + 3, folder, two_ranks, machine(cores=figure(2)), "--ranks-per-node", "2")
    # Messages of two nodes to a third one share its link.
    three = [[0, 0, 0, False, 1.5], [2, 1, 0, False, 2.0], [1, 0, 0, False, 1.5]]
    from_two = [[0, 2, 0, 1, 0, 500], [1, 2, 2, 1, 1, 500]]
    seconds_are(1.5 + 0.25 + 1 + 2, folder, graph(ranks=3, tasks=three, messages=from_two), machine())
    # Many tasks that take no time end one within the other.
    chain = graph(
        tasks=[[0, 0, 0, False, 0]] * 200_000, edges=[[n, n + 1] for n in range(199_999)], messages=[], names=["a"]
    )
    seconds_are(0, folder, chain, machine())
    locked = machine(**{"two-sided": {"locked": figure(0.125)}})
    seconds_are(1.5 + 0.125 + 0.25 + 0.5 + 2 + 0.125, folder, graph(), locked)


REFINED = ["--application", "refinement", "--machine", "m"]


def bad_input_is_said(folder: Path) -> None:
    good = json.dumps(graph())
    cases = [
        ("'frobs' is no key of a machine", graph(), machine(frobs=figure(1))),
        ("'one-sided.frobs' is no key", graph(), machine(**{"one-sided": {"frobs": figure(1)}})),
        ("must be an object with a number, `value`, and a text, `source`", graph(), machine(cores=2)),
        ("must not be negative", graph(), machine(latency=figure(-1))),
        ("must be above 0", graph(), machine(workers=figure(0))),
        ("'messages-only' is missing", graph(), {"name": "test"}),
        ("is no JSON", graph(), "{"),
        ("was cut off", good[: len(good) // 2], machine()),
        ("'frobs' is no key of a graph", graph(frobs=1), machine()),
        ("is not as it should be", {"variant": "two-sided"}, machine()),
        ("the variant is 'three-sided'", graph("three-sided"), machine()),
        ("'ranks' is 0, but must be a whole number from 1 to 1000000", graph(ranks=0), machine()),
        ("'ranks' is -1", graph(ranks=-1), machine()),
        ("'ranks' is 2.5", graph(ranks=2.5), machine()),
        ("'ranks' is 4294967298", graph(ranks=2**32 + 2), machine()),
        ("the rank of a task is 2, but must be a whole number from 0 to 1", graph(tasks=task(rank=2)), machine()),
        ("the name of a task is 65536", graph(tasks=task(name=65536)), machine()),
        ("the priority of a task is 256", graph(tasks=task(priority=256)), machine()),
        ("the second task of an edge is 5", graph(edges=[[0, 5]]), machine()),
        ("the first task of an edge is 4294967296", graph(edges=[[2**32, 1]]), machine()),
        ("the task that receives a message is 4294967296", graph(messages=message(to_task=2**32)), machine()),
        ("the task that sends a message is -2", graph(messages=message(from_task=-2)), machine()),
        ("the tag of a message is -1", graph(messages=message(tag=-1)), machine()),
        ("the size of a message is -1", graph(messages=message(size=-1)), machine()),
        ("'cores' is 4294967297", graph(), machine(cores=figure(2**32 + 1))),
        ("'workers' is 1.5", graph(), machine(workers=figure(1.5))),
        ("'two-sided.workers' is 1e+30", graph(), machine(**{"two-sided": {"workers": figure(1e30)}})),
        ("cannot end: 2 tasks wait for each other", graph(edges=[[0, 1], [1, 0]]), machine()),
    ]
    for text, tasks, on in cases:
        done = simulate(folder, tasks, on)
        check(done.returncode == 2 and text in done.stderr, f"{text}: {done.returncode} {done.stderr}")
    for text, words in {
        "update=x": ["--application", "heat", "--cost", "update=x", "--machine", "m"],
        "what a task 'update' costs is not known": ["--application", "heat", "--machine", "m"],
        "update=nan": ["--application", "heat", "--cost", "update=nan", "--machine", "m"],
        "update=inf": ["--application", "heat", "--cost", "update=inf", "--machine", "m"],
        "--ranks": ["--application", "heat", "--cost", "update=1", "--ranks", "1000001", "--machine", "m"],
        "--rows": ["--application", "heat", "--cost", "update=1", "--rows", "4294967295", "--machine", "m"],
        "--block-bytes": [
            "--application",
            "streaming",
            "--cost",
            "block=1",
            "--block-bytes",
            "-1",
            "--write",
            "/dev/null",
        ],
        "rows of blocks for 9 ranks": ["--application", "heat", "--cost", "update=1", "--ranks", "9", "--machine", "m"],
        "turn 2 comes after the last of 1 refinements": [*REFINED, "--refinements", 1, "--turn", 2],
        "what moves behind turn 1 comes after": [*REFINED, "--refinements", 1, "--turn", 1, "--part", "moves"],
        "the part is 'frobs'": [*REFINED, "--part", "frobs"],
        "an even number from 2 to 32": [*REFINED, "--edge", 5],
        "the finest level is 1, but must not be below": [*REFINED, "--finest", 1],
        "as few as 64 blocks for 65 ranks": [*REFINED, "--ranks", 65],
        "what a task 'face' costs is not known": [
            "--application",
            "refinement",
            "--cost",
            "update=1",
            "--machine",
            "m",
        ],
        "give --graph FILE": ["--machine", "m"],
        "--frobs": ["--frobs"],
        "cannot read the machine": ["--graph", folder / "graph", "--machine", folder / "none"],
        "it cannot be read": ["--graph", folder / "none", "--machine", folder / "none"],
    }.items():
        (folder / "graph").write_text(good)
        done = subprocess.run([SIMULATOR, *map(str, words)], capture_output=True, text=True, check=False)
        check(
            done.returncode == 2 and text in done.stderr + done.stdout,
            f"{text}: {done.returncode} {done.stderr}{done.stdout}",
        )


def one_sweep_has_its_messages(folder: Path) -> None:
    # Two columns of blocks on each of 2 ranks: with one sweep, one message up and one down for each column.
    for variant in runs.VARIANTS:
        made = generated(folder, *runs.Heat(rows=4, columns=4, block=2, steps=1).simulated(2, variant, 1e-6))
        found = sorted((m[0], m[1]) for m in made["messages"])
        check(found == [(0, 1), (0, 1), (1, 0), (1, 0)], f"{variant}: {found}")


def a_buffer_is_sent_before_it_is_written(folder: Path) -> None:
    # Without tasks, 2 ranks with one block: each chunk waits for the body of the one before, and for what that has sent.
    words = ["--application", "streaming", "--variant", "messages-only", "--ranks", 2, "--chunks", 2, "--blocks", 1]
    made = generated(folder, *words, "--cost", "block=1")
    check(made["edges"] == [[0, 1, True], [0, 1], [2, 3, True], [2, 3]], f"streaming: {made['edges']}")
    heat = runs.Heat(rows=4, columns=4, block=2, steps=2)
    found = generated(folder, *heat.simulated(1, "messages-only", 1e-6))["edges"]
    check(sorted(found) == [[0, 1, True], [0, 2], [1, 2, True], [1, 3], [2, 3, True]], f"heat: {found}")


def generated(folder: Path, *words: object) -> dict[str, Any]:
    path = folder / "generated"
    runs.call([SIMULATOR, *words, "--write", path])
    return dict(json.loads(path.read_text()))


def a_bad_machine_is_said_before_the_runs(folder: Path) -> None:
    runs.Programs(BUILD)
    (folder / "machine").write_text("{}")
    for script, words in {"validate.py": [], "figures.py": ["--output", folder]}.items():
        if script == "figures.py" and importlib.util.find_spec("matplotlib") is None:
            print("no matplotlib: figures.py is left out")
            continue
        command = [sys.executable, SOURCE / "tools" / "scaling" / script, "--build-dir", BUILD, *words]
        command += ["--machine", folder / "machine"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        text = "'messages-only' is missing"
        check(done.returncode == 2 and text in done.stderr, f"{script}: {done.returncode} {done.stderr}")


def generators_equal_recordings(folder: Path) -> None:
    """Of the real programs with 4 ranks: tasks and their flags, edges, and messages with both ends, tags and bytes."""
    programs = runs.Programs(BUILD)
    # The last row and column of blocks are smaller than the others.
    heat = runs.Heat(rows=200, columns=360, block=32, steps=4)
    chain: list[object] = ["--chunks", 5, "--blocks", 6, "--block-bytes", 512]
    for variant in ("two-sided", "one-sided"):
        trace = runs.record_heat(programs, heat, 4, variant, folder)
        names = runs.HEAT_NAMES if variant == "two-sided" else "update"
        recorded = recording.graph_of(recording.read_recording(trace), names.split(","))
        found = recording.differences(recorded, generated(folder, *heat.simulated(4, variant, 1e-6)))
        check(found == [], f"heat, {variant}: " + "; ".join(found[:5]))
        trace = runs.record_streaming(programs, chain, 4, variant, folder)
        recorded = recording.graph_of(recording.read_recording(trace), ["block"])
        which: list[object] = ["--application", "streaming", "--variant", variant, "--ranks", 4, "--cost", "block=1e-6"]
        found = recording.differences(recorded, generated(folder, *which, *chain))
        check(found == [], f"streaming, {variant}: " + "; ".join(found[:5]))
        # What was recorded can be replayed as it is.
        (folder / "recorded").write_text(json.dumps(recorded))
        seconds = runs.simulate(programs, ["--graph", folder / "recorded"], runs.HERE / "here.json")["seconds"]
        check(seconds > 0, "a recorded graph takes no time")


COSTS = {"update": 1e-5, "face": 1e-6, "add up": 1e-6, "piece": 1e-6}


def refined_mesh(folder: Path, turn: int, part: str, refinement: runs.Refinement, variant: str) -> dict[str, Any]:
    return generated(folder, *refinement.simulated(4, variant, COSTS, "--turn", turn, "--part", part))


def refinement_equals_recordings(folder: Path) -> None:
    """Of the real program with 4 ranks: stages as above; what moves, and what ranks agree on, as messages."""
    programs = runs.Programs(BUILD)
    # Blocks of three levels; the stages are odd.
    still = runs.Refinement(edge=4, variables=2, coarsest=1, finest=3, stages=3)
    moving = runs.Refinement(edge=4, variables=2, coarsest=1, finest=3, refinements=1, stages=1)
    for variant, names in runs.REFINEMENT_NAMES.items():
        trace = runs.record_refinement(programs, still, 4, variant, folder)
        recorded = recording.graph_of(recording.read_recording(trace), names.split(","))
        found = recording.differences(recorded, refined_mesh(folder, 0, "stages", still, variant))
        check(found == [], f"refinement, {variant}: " + "; ".join(found[:5]))
        trace = runs.record_refinement(programs, moving, 4, variant, folder)
        pieces = sorted(
            [message.sender, message.receiver, message.tag, message.bytes]
            for message in recording.read_recording(trace).messages
            if message.receiving is not None and message.receiving.name == "receive piece"
        )
        made = sorted(m[:2] + m[4:] for m in refined_mesh(folder, 0, "moves", moving, variant)["messages"])
        check(len(pieces) > 0 and made == pieces, f"refinement, {variant}: {made} and {pieces}")
    # Each rank tells 16 bytes for each face that another one writes.
    written = {(m[0], m[1], m[4] // 2) for m in recorded["messages"]}
    told = Counter((receiver, sender) for sender, receiver, _ in written)
    made = refined_mesh(folder, 0, "agreement", still, "one-sided")["messages"]
    check({(m[0], m[1]): m[5] for m in made} == {pair: 16 * faces for pair, faces in told.items()}, f"{made}")


def refinement_has_what_the_program_reports(folder: Path) -> None:
    """Of all turns: updates of blocks, pieces that move, and blocks at the end."""
    programs = runs.Programs(BUILD)
    run = runs.Refinement(edge=2, variables=1, coarsest=1, finest=3, refinements=3, stages=2)
    told = runs.run_refinement(programs, run, 4, "messages-only")
    turns = range(run.refinements + 1)
    blocks = []
    for turn in turns:
        words = run.simulated(4, "messages-only", COSTS, "--turn", turn)
        blocks.append(runs.simulate(programs, words, runs.HERE / "here.json")["blocks"])
        one_by_one = refined_mesh(folder, turn, "stages", run, "two-sided")
        names = Counter(one_by_one["names"][task[1]] for task in one_by_one["tasks"])
        check(names["update"] == blocks[-1] * run.stages, f"turn {turn}: {names} of {blocks[-1]} blocks")
    moved = [len(refined_mesh(folder, turn, "moves", run, "messages-only")["messages"]) for turn in turns[:-1]]
    found = (sum(blocks) * run.stages, sum(moved), blocks[-1])
    check(found == (told["updates"], told["moved"], told["blocks"]), f"{found} and {told}")


def one_body_sends_what_the_next_stage_needs(folder: Path) -> None:
    # Without tasks, a block on each of 8 ranks: a body that sends, one for each of 3 stages, and the sums. Each stage waits for three faces of other
    # ranks; what it sends is written where the face of two stages before was, which must have gone.
    cube = runs.Refinement(edge=2, variables=1, coarsest=1, finest=1, stages=3)
    made = generated(folder, *cube.simulated(8, "messages-only", COSTS))
    check(len(made["tasks"]) == 8 * 5, f"{made['names']}: {len(made['tasks'])} tasks")
    first = sorted(edge for edge in made["edges"] if edge[0] < 5)
    chain = [[n, n + 1, True] for n in range(4)]
    check(first == sorted([*chain, [0, 2], [1, 4], [2, 4]]), f"{first}")
    ends = Counter((m[2], m[3] % 5) for m in made["messages"] if m[0] == 0)
    check(ends == {(0, 1): 3, (1, 2): 3, (2, 3): 3}, f"{ends}")


def main() -> int:
    if not SIMULATOR.is_file():
        print(f"skipped: {SIMULATOR} is missing: `make scaling` installs SimGrid and builds it")
        return SKIPPED
    skipped = 0
    for case in (
        known_graphs_take_their_time,
        bad_input_is_said,
        one_sweep_has_its_messages,
        a_buffer_is_sent_before_it_is_written,
        a_bad_machine_is_said_before_the_runs,
        one_body_sends_what_the_next_stage_needs,
        generators_equal_recordings,
        refinement_equals_recordings,
        refinement_has_what_the_program_reports,
    ):
        with tempfile.TemporaryDirectory() as name:
            try:
                case(Path(name))
            except runs.Missing as missing:
                skipped += 1
                print(f"{case.__name__}: skipped: {missing}")
            else:
                print(f"{case.__name__}: ok")
    if skipped > 0:
        print(f"{skipped} cases were skipped: they need programs with MPI")
        return SKIPPED
    return 0


if __name__ == "__main__":
    sys.exit(main())
