"""Runs as people read them: the README's lines, over the recorded runs."""

import csv
import importlib.util
import pathlib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNS = sorted(path.parent for path in ROOT.glob("plots/*/summary.csv"))
# What a reader does arithmetic with.
NUMBERS = {
    "samples.csv": ["nodes", "round", "order", "duration_ns", "sm_mhz"],
    "summary.csv": ["nodes", "grid_blocks", "samples", "period_ns", "saved_ns", "saved_lo_ns", "speedup"],
}


def installed(name):
    return importlib.util.find_spec(name) is not None


class RunsTest(unittest.TestCase):
    def test_there_are_runs(self):
        self.assertGreater(len(RUNS), 3)

    def test_every_row_has_every_column_and_numbers_are_numbers(self):
        for run in RUNS:
            for name, columns in NUMBERS.items():
                with open(run / name, newline="", encoding="utf-8") as file:
                    header, *rows = csv.reader(file)
                self.assertEqual(len(header), len(set(header)), run)
                self.assertTrue(rows, run)
                for row in rows:
                    self.assertEqual(len(row), len(header), (run, row))
                    for column in columns:
                        if cell := row[header.index(column)]:
                            float(cell)

    @unittest.skipUnless(installed("pandas"), "pandas is not installed")
    def test_pandas_reads_numbers(self):
        import pandas

        for run in RUNS:
            for name, columns in NUMBERS.items():
                frame = pandas.read_csv(run / name)
                for column in columns:
                    self.assertTrue(pandas.api.types.is_numeric_dtype(frame[column]), (run, column))
                self.assertTrue(frame["point"].str.match(r"p\d+$").all(), run)
            best = pandas.read_csv(run / "summary.csv").nlargest(1, "saved_ns")
            self.assertGreater(best["saved_ns"].iloc[0], 0, run)

    @unittest.skipUnless(installed("polars"), "polars is not installed")
    def test_polars_reads_numbers(self):
        import polars

        for run in RUNS:
            for name, columns in NUMBERS.items():
                frame = polars.read_csv(run / name, infer_schema_length=None)
                for column in columns:
                    self.assertTrue(frame[column].dtype.is_numeric(), (run, name, column))
                self.assertEqual(frame["point"].dtype, polars.String)


if __name__ == "__main__":
    unittest.main()
