"""Plans with anything in them: the commands use them or name what is wrong, and the program gives what it gives without."""

import contextlib
import copy
import json
import os
import random
import unittest

from support import BUILD, Case, PlanError, preload, read_plan, replay

PROGRAM = BUILD / "bin" / "prefetch_random_calls"
CALLS = 300
ROUNDS = int(os.environ.get("DOVETAIL_TEST_ROUNDS", "40"))
SEED = int(os.environ.get("DOVETAIL_TEST_SEED", random.randrange(1 << 30)))
HEADER = 64  # bytes of the form in memory in front of what is about files
NUMBERS = (
    0,
    1,
    2,
    7,
    4095,
    4096,
    1 << 16,
    1 << 20,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 40,
    1 << 62,
    1 << 63,
    (1 << 64) - 1,
)
VALUES = (
    "",
    "x",
    "/",
    "8:1",
    "/dev/null",
    None,
    True,
    -1,
    1.5,
    1e300,
    1 << 70,
    [],
    {},
    [[]],
    [1],
    [1, 2],
    {"offset": 0},
)
WORDS = (b"0", b"-1", b"1e400", b"1.5", b"18446744073709551616", b"null", b"[]", b"{}", b'""', b"true", b"NaN", b"\xff", b"\\u0000")  # fmt: skip


def changed_numbers(memory: bytes, dice: random.Random) -> bytes:
    """Other numbers in the form in memory; sometimes also in its header, without which it is no plan."""
    changed = bytearray(memory)
    for _ in range(dice.choice((1, 2, 5, 30))):
        size = dice.choice((1, 4, 8))
        first = 0 if dice.random() < 0.1 else HEADER
        at = dice.randrange(first, len(changed) - size) // size * size
        number = dice.choice(NUMBERS) if dice.random() < 0.5 else dice.getrandbits(8 * size)
        changed[at : at + size] = (number % (1 << 8 * size)).to_bytes(size, "little")
    return bytes(changed)


def changed_document(text: bytes, dice: random.Random) -> bytes:
    """Another value, or one more or one less, somewhere in it."""
    document = json.loads(text)
    for _ in range(dice.choice((1, 1, 3))):
        place = document
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = dice.choice(keys) if keys else None
            if key is None or not isinstance(place[key], dict | list) or not place[key] or dice.random() < 0.2:
                break
            place = place[key]
        if key is None or dice.random() < 0.1:
            (place.append if isinstance(place, list) else place.setdefault)(dice.choice(VALUES[:5]))
        elif dice.random() < 0.1:
            del place[key]
        else:
            # A copy: what is changed next may lie in it.
            place[key] = copy.deepcopy(dice.choice((*VALUES, *NUMBERS)))
        if not isinstance(document, dict) or not document:
            break
    return json.dumps(document).encode()


def changed_text(text: bytes, dice: random.Random) -> bytes:
    if dice.random() < 0.5:
        return changed_document(text, dice)
    for _ in range(dice.choice((1, 1, 2, 5))):
        begin = dice.randrange(len(text))
        end = min(len(text), begin + dice.choice((0, 1, 3, 40)))
        how = dice.randrange(4)
        if how == 0:
            text = text[:begin] + text[end:]
        elif how == 1:
            text = text[:begin] + dice.choice(WORDS) + text[end:]
        elif how == 2:
            text = text[:end] + text[begin:end] + text[end:]
        else:
            # A value in place of a value.
            numbers = [at for at in range(len(text) - 1) if text[at : at + 1] == b":"]
            at = dice.choice(numbers) + 1 if numbers else 0
            stop = next((place for place in range(at, len(text)) if text[place] in b",}]"), len(text))
            text = text[:at] + dice.choice((*WORDS, b"%d" % dice.choice(NUMBERS))) + text[stop:]
        text = text or b" "
    return text


class PlanFuzz(Case):
    def setUp(self):
        super().setUp()
        self.files = [self.file(name, 1_100_000 + 300_000 * number, number) for number, name in enumerate("abc")]
        self.words = [str(PROGRAM), str(self.folder), "11", str(CALLS)]
        self.plain = self.run_as_it_is(*self.words)[:2]
        self.assertEqual(self.observe(*self.words)[:2], self.plain)
        print("DOVETAIL_TEST_SEED is", SEED, flush=True)

    def with_memory(self, content: bytes):
        def run() -> int:
            with preload.shared_memory("plan", content, len(content)) as (_, memory):
                return preload.run(self.words, {"DOVETAIL_PREFETCH_PLAN": memory})

        return self._in_child(run)[:2]

    def test_the_form_in_memory(self):
        memory = replay.compact(read_plan(self.plan_file), 1 << 20, timed=True).content
        self.assertGreater(len(memory), 1000)
        for number in range(ROUNDS):
            self.forget(*self.files)
            found = self.with_memory(changed_numbers(memory, random.Random(SEED + number)))
            self.assertEqual(found, self.plain, f"DOVETAIL_TEST_SEED={SEED + number}")

    def test_the_file(self):
        text = self.plan_file.read_bytes()
        accepted = []
        for number in range(20 * ROUNDS):
            self.plan_file.write_bytes(changed_text(text, random.Random(SEED + number)))
            try:
                # Whatever else is raised is an error of this test.
                with contextlib.suppress(PlanError):
                    replay.compact(read_plan(self.plan_file), 1 << 20)
                    accepted.append(number)
            except Exception as error:
                raise AssertionError(f"DOVETAIL_TEST_SEED={SEED + number}") from error
        self.assertTrue(accepted, "some plans are as good as before")
        for number in random.Random(SEED).sample(accepted, min(len(accepted), ROUNDS // 4)):
            self.plan_file.write_bytes(changed_text(text, random.Random(SEED + number)))
            self.assertEqual(self.run_with_plan(*self.words)[:2], self.plain, f"DOVETAIL_TEST_SEED={SEED + number}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
