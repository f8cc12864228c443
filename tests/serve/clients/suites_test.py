#!/usr/bin/env python3
"""suites.py: its time limit, and the reruns of tests that failed."""
import contextlib
import io
import tempfile
import time
import unittest
from unittest import mock

import suites


class SuitesTest(unittest.TestCase):
    def test_ends_with_one_line_when_the_time_is_over(self):
        def run(_, folder):
            yield suites.run_group(["sleep", "50"], folder, None, folder + "/log.txt")

        printed, began = io.StringIO(), time.monotonic()
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(suites, "END", began + 0.5), \
                mock.patch.object(suites, "run_api", run), mock.patch("sys.argv",
                                                                      ["suites.py", "api", "berth", folder]), \
                contextlib.redirect_stdout(printed):
            self.assertEqual(suites.main(), 1)
        self.assertLess(time.monotonic() - began, 40)
        self.assertRegex(printed.getvalue(), r"^api: sleep has not ended 600 s after [^\n]*\n$")

    def test_a_second_rerun_decides(self):
        reruns = iter([{"TestSlow": "FAIL", "TestSlower": "FAIL", "TestOnce": "PASS"},
                       {"TestSlow": "PASS", "TestSlower": "FAIL"}])
        got, asked = {"TestSlow": "FAIL", "TestSlower": "FAIL", "TestOnce": "FAIL", "TestKnown": "FAIL",
                      "TestGood": "PASS"}, []

        def run(names):
            asked.append(names)
            return next(reruns)

        suites.rerun_failed(got, {"TestKnown": "why"}, run)
        self.assertEqual(asked, [["TestOnce", "TestSlow", "TestSlower"], ["TestSlow", "TestSlower"]])
        self.assertEqual(got, {"TestSlow": "PASS", "TestSlower": "FAIL", "TestOnce": "PASS", "TestKnown": "FAIL",
                               "TestGood": "PASS"})


if __name__ == "__main__":
    unittest.main()
