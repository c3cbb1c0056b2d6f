"""The model of write-behind gives what can be counted by hand."""

import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(os.environ["DOVETAIL_SOURCE_DIR"]) / "bench" / "staging"))

from model import CASES, FILE_BYTES, NODES, TESTBED, System, hidden_share, perceived, table, waits  # noqa: E402


class StagingModel(unittest.TestCase):
    # 100 MB: 1 s on one tier, 4 s to the file.
    system = System(tier_rate=100e6, drain_rate=50e6, global_rate=25e6, fixed=0.25, drain_fixed=0.5)

    def test_a_drain_that_computation_hides_is_not_waited_for(self):
        self.assertEqual(waits(self.system, 1, 100e6, [4.5, 100.0]), [1.25, 1.25])
        self.assertEqual(hidden_share(self.system, 1, 100e6, [4.5, 100.0]), 1.0)

    def test_what_is_not_hidden_is_waited_for(self):
        self.assertEqual(waits(self.system, 1, 100e6, [4.5, 1.5]), [1.25, 4.25])
        self.assertEqual(hidden_share(self.system, 1, 100e6, [4.5, 1.5]), 6.0 / 9.0)
        self.assertEqual(perceived(self.system, 1, 100e6, [4.5, 1.5]), 200e6 / 5.5)

    def test_tiers_add_up_and_the_global_file_system_does_not(self):
        self.assertEqual(self.system.write_seconds(4, 100e6), 0.5)
        for nodes in (1, 2, 64):
            self.assertEqual(self.system.drain_seconds(nodes, 100e6), 4.5)
        narrow = System(tier_rate=100e6, drain_rate=10e6, global_rate=25e6)
        self.assertEqual([narrow.drain_seconds(nodes, 100e6) for nodes in (1, 2, 4)], [10.0, 5.0, 4.0])

    def test_the_testbed_of_the_thesis(self):
        """Its figures 5.7 and 5.9 show about 30 and 6 GB/s for 64 aggregators."""
        hidden, exposed = (perceived(TESTBED, 64, FILE_BYTES, computing) / 1e9 for computing in CASES.values())
        self.assertAlmostEqual(hidden, 32.0)
        self.assertAlmostEqual(exposed, 6.4)
        self.assertEqual([row["nodes"] for row in table()], [*NODES, *NODES])


if __name__ == "__main__":
    unittest.main(verbosity=2)
