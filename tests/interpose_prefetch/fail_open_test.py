"""Whatever goes wrong with a plan or with the library, the program runs as it would without."""

import json
import os
import pwd
import shutil
import signal
import stat
import unittest

from support import BUILD, Case, PlanError, Ways, need, read_plan

LUCK = BUILD / "bin" / "prefetch_bad_luck"


class Luck(Case):
    def setUp(self):
        super().setUp()
        self.path = self.file("data", 700_000)

    def both(self, how: str, status: int = 5):
        words = (LUCK, how, self.path)
        plain = self.run_as_it_is(*words)
        if plain[0] == 77:
            self.skipTest("this system does not let a program do that")
        self.assertEqual(plain[0], status, plain)
        plan = self.observe("cat", self.path)
        self.assertEqual(plan[0], 0, plan)
        self.forget(self.path)
        self.assertEqual(sorted(self.run_with_plan(*words)[1].splitlines()), sorted(plain[1].splitlines()))
        self.assertEqual(self.run_with_plan(*words)[0], status)
        observed = self.observe(*words)
        self.assertEqual((observed[0], sorted(observed[1].splitlines())), (status, sorted(plain[1].splitlines())))

    def test_no_descriptor_is_left(self):
        self.both("descriptors")

    def test_all_descriptors_are_closed_and_one_unseen(self):
        self.both("closed")

    def test_a_small_fork_bomb(self):
        self.both("forks")

    def test_a_filter_of_system_calls(self):
        self.both("filter")

    def test_the_first_thread_ends_before_the_program(self):
        self.both("first_thread_ends", status=0)

    def test_a_namespace_for_a_process_with_one_thread(self):
        self.both("namespace")

    def test_rights_are_given_up(self):
        self.both("rights")

    def test_killed_and_what_it_read_before_is_in_the_plan(self):
        self.both("killed", status=-signal.SIGKILL)
        self.assertEqual(sum(count for _, count in self.extents_of(self.path)), 700_000)

    def test_ends_by_the_signal_or_status_of_the_program(self):
        self.assertEqual(self.observe("sh", "-c", "kill -TERM $$")[0], -signal.SIGTERM)
        self.assertEqual(self.observe("sh", "-c", "exit 41")[0], 41)
        self.assertEqual(self.run_with_plan("sh", "-c", "exit 42")[0], 42)
        # As a user calls it.
        self.assertEqual(self.dovetail("observe", "--output", self.plan_file, "--", "sh", "-c", "exit 43")[0], 43)
        for script, status in (("kill -TERM $$", -signal.SIGTERM), ("exit 44", 44)):
            report = self.folder / "report.txt"
            words = ("run", "--plan", self.plan_file, "--report", report, "--", "sh", "-c", script)
            self.assertEqual(self.dovetail(*words)[0], status)
            self.assertIn("nothing was read ahead", report.read_text())
            report.unlink()

    def test_a_program_that_is_not_there(self):
        for run in (self.observe, self.run_with_plan):
            status, output, errors = run("/does/not/exist")
            self.assertEqual((status, output), (2, b""))
            self.assertEqual(errors.count(b"\n"), 1, errors)

    def test_a_folder_that_cannot_be_written(self):
        folder = self.folder / "closed"
        folder.mkdir()
        folder.chmod(0o500)
        if os.access(folder, os.W_OK):
            folder = folder / "none"  # who may write everywhere
        self.plan_file = folder / "plan.json"
        status, output, errors = self.observe("echo", "ran")
        self.assertEqual((status, output), (2, b""), errors)
        self.assertEqual(errors.count(b"\n"), 1, errors)


class Library(Case):
    """Without the commands, with what they would never hand over."""

    def test_memory_that_is_no_plan(self):
        path = self.file("data", 100_000)
        library = BUILD / "lib" / "libdovetail-prefetch.so"
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        short = self.file("short", 10)
        for variable in ("DOVETAIL_PREFETCH_LOG", "DOVETAIL_PREFETCH_PLAN"):
            for memory in ("", "/does/not/exist", fifo, short, path, self.folder, "/dev/zero", "/proc/self/fd/0"):
                environment = {"LD_PRELOAD": str(library), variable: str(memory)}
                found = self.run_as_it_is("cat", path, environment=environment)
                self.assertEqual(found, (0, path.read_bytes(), b""), (variable, memory))
        self.assertEqual(short.stat().st_size, 10)

    def test_nothing_is_loaded_but_the_library(self):
        self.observe("true")
        status, maps, _ = self.run_with_plan("cat", "/proc/self/maps")
        self.assertEqual(status, 0)
        self.assertIn(b"libdovetail-prefetch.so", maps)
        self.assertNotIn(b"libdovetail.so", maps)
        self.assertNotIn(b"libstdc++", maps)


class Files(Case):
    """Plans that do not fit, and plans that are none."""

    def setUp(self):
        super().setUp()
        self.path = self.file("data", 200_000)
        self.observe("cat", self.path)

    def refused(self, *parts: str) -> None:
        for status, output, errors in (self.run_with_plan("echo", "ran"), self.show()):
            self.assertEqual((status, output), (2, b""), errors)
            for part in parts:
                self.assertIn(part.encode(), errors)
            self.assertEqual(errors.count(b"\n"), 1, errors)

    def changed(self, change) -> None:
        plan = self.plan()
        change(plan, plan["files"][0], plan["files"][0]["extents"])
        self.plan_file.write_text(json.dumps(plan))

    def test_a_file_that_has_changed_is_left_alone(self):
        for change in (lambda: self.path.write_bytes(b"other"), self.path.unlink):
            change()
            status, output, errors = self.run_with_plan("sh", "-c", "cat data; echo over")
            self.assertEqual((status, output[-5:]), (0, b"over\n"))
            self.assertIn(b"not read ahead: " + str(self.path).encode(), errors)

    def test_a_file_that_grows_while_it_is_read(self):
        script = "head -c 5000 data | cksum; echo more >> data; cat data | cksum"
        status, output, _ = self.run_with_plan("sh", "-c", script)
        self.path.write_bytes(self.path.read_bytes()[:200_000])
        self.assertEqual((status, output), self.run_as_it_is("sh", "-c", script)[:2])

    def test_a_file_that_is_cut_short_while_it_is_read(self):
        self.check_changed_meanwhile("exec 3< data; head -c 5000 <&3; truncate -s 90000 data; cat <&3; cat data")

    def test_a_file_that_is_deleted_while_it_is_read(self):
        self.check_changed_meanwhile("exec 3< data; head -c 5000 <&3; rm data; cat <&3")

    def test_a_file_that_is_replaced_while_it_is_read(self):
        self.check_changed_meanwhile("exec 3< data; head -c 5000 <&3; echo other > new; mv new data; cat data; cat <&3")

    def check_changed_meanwhile(self, script: str) -> None:
        content = self.path.read_bytes()
        self.forget(self.path)
        found = self.run_with_plan("sh", "-c", script)
        self.path.write_bytes(content)
        self.assertEqual(found, self.run_as_it_is("sh", "-c", script))
        self.assertGreater(len(found[1]), 5000)

    def test_namespaces(self):
        unshare = need(self, "unshare")
        for what in (
            # Where the memory of the plan cannot be found, and where it is that of another process.
            (unshare, "--mount", "sh", "-c", "umount -l /proc && cat data"),
            (unshare, "--fork", "--pid", "--mount-proc", "sh", "-c", "cat data; cat /proc/1/comm"),
        ):
            plain = self.run_as_it_is(*what)
            if plain[0] != 0:
                self.skipTest(f"no namespace can be made here: {plain[2]}")
            self.assertEqual(self.run_with_plan(*what)[:2], plain[:2])
            self.assertEqual(self.run_in(Ways(detection=True), *what)[:2], plain[:2])
            self.assertEqual(self.observe(*what)[:2], plain[:2])

    def test_a_program_with_the_rights_of_its_owner(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a program of another user's")
        program = self.folder / "cat"
        shutil.copy(need(self, "cat"), program)
        nobody = pwd.getpwnam("nobody").pw_uid
        os.chown(program, nobody, -1)
        program.chmod(0o4755)
        self.folder.chmod(0o755)
        words = (program, "/proc/self/status", self.path)
        plain = self.run_as_it_is(*words)
        if plain[0] != 0 or f"Uid:\t0\t{nobody}\t".encode() not in plain[1]:
            self.skipTest("programs here do not get the rights of their owner, or that user cannot read the file")
        for run in (self.run_with_plan, self.run_with_detection, self.observe):
            status, output, _ = run(*words)
            self.assertEqual((status, output[-self.path.stat().st_size :]), (0, self.path.read_bytes()))
            self.assertIn(f"Uid:\t0\t{nobody}\t".encode(), output)

    def test_a_plan_that_is_cut_off(self):
        text = self.plan_file.read_bytes()
        for length in (0, 1, len(text) // 2, len(text) - 3):
            self.plan_file.write_bytes(text[:length])
            self.refused("plan.json: line")

    def test_a_plan_that_is_not_there_or_no_file(self):
        self.plan_file.unlink()
        self.refused("No such file")
        os.mkfifo(self.plan_file)
        self.refused("not a regular file")

    def test_an_inode_may_have_all_of_its_bits(self):
        # As those of GlusterFS have.
        self.changed(lambda plan, file, runs: file.update(inode=(1 << 64) - 1))
        self.assertEqual(read_plan(self.plan_file).files[0].inode, (1 << 64) - 1)
        self.assertEqual(self.run_with_plan("echo", "ran")[:2], (0, b"ran\n"), "it is another file, and that is all")
        self.changed(lambda plan, file, runs: file.update(inode=1 << 64))
        with self.assertRaisesRegex(PlanError, r"files\[0\].inode is 18446744073709551616: "):
            read_plan(self.plan_file)

    def test_what_is_wrong_is_named(self):
        text = self.plan_file.read_text()
        cases = [
            (lambda plan, file, runs: plan.update(dovetail_plan=7), "plan.dovetail_plan is 7"),
            (lambda plan, file, runs: plan.update(more=1), 'plan has the key "more"'),
            (lambda plan, file, runs: plan.pop("files"), 'plan has no key "files"'),
            (lambda plan, file, runs: file.update(size=-1), "plan.files[0].size is -1"),
            (lambda plan, file, runs: file.update(inode=True), "plan.files[0].inode is true"),
            (lambda plan, file, runs: file.update(path="data"), "plan.files[0].path"),
            (lambda plan, file, runs: file.update(device="8"), "plan.files[0].device"),
            (lambda plan, file, runs: file.update(path="/dev/null"), "is not a regular file"),
            (lambda plan, file, runs: plan["files"].append(file), "are the same file"),
            (lambda plan, file, runs: runs[0].update(bytes=0), "plan.files[0].extents[0].bytes is 0"),
            (lambda plan, file, runs: runs[0].update(bytes="5"), "plan.files[0].extents[0].bytes"),
            (lambda plan, file, runs: runs[0].update(offset=1 << 70), "plan.files[0].extents[0].offset"),
            (lambda plan, file, runs: runs[0].update(bytes=300_000), "ends at 300000, behind the end"),
            (lambda plan, file, runs: runs.append(runs[0]), "overlap"),
            (lambda plan, file, runs: runs.append(None), "it must be an object"),
        ]
        for change, sentence in cases:
            self.plan_file.write_text(text)
            self.changed(change)
            status, output, errors = self.run_with_plan("echo", "ran")
            self.assertEqual((status, output), (2, b""), (sentence, errors))
            self.assertIn(sentence.encode(), errors)
        self.plan_file.write_text(text.replace('"size"', '"inode": 3, "size"'))
        self.refused("is there twice")
        self.plan_file.write_text("[" * 100_000)
        self.refused("plan.json")
        self.plan_file.write_text('{"dovetail_plan": NaN}')
        self.refused("NaN")

    def test_more_than_a_million_runs_are_refused(self):
        run = '{"offset": 0, "bytes": 1, "at": 0, "think": 0}'
        text = self.plan_file.read_text()
        begin = text.index('"extents": [') + 12
        self.plan_file.write_text(text[:begin] + ",".join([run] * 1_000_001) + "]}]}")
        status, _, errors = self.run_with_plan("echo", "ran")
        self.assertEqual(status, 2)
        self.assertIn(b"at most 1000000", errors)

    def test_a_setting_that_makes_no_sense(self):
        status, _, errors = self.run_with_plan("echo", "ran", environment={"DOVETAIL_PREFETCH_WINDOW_MB": "some"})
        self.assertEqual(status, 2)
        self.assertIn(b"DOVETAIL_PREFETCH_WINDOW_MB=some", errors)

    def test_nothing_is_left_behind(self):
        before = set(os.listdir(self.folder))
        self.run_with_plan("true")
        self.observe("true")
        self.assertEqual(set(os.listdir(self.folder)), before)
        self.assertTrue(stat.S_ISREG(self.plan_file.stat().st_mode))


if __name__ == "__main__":
    unittest.main(verbosity=2)
