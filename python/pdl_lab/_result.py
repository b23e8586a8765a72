"""What a run says."""

import ctypes
import json
import pathlib

from ._memory import graph_handle
from ._native import PdlError, call, call_for_text


def table(said):
    """A listing or a report as a table."""
    return call_for_text("pdl_lab_table", json.dumps(said).encode())


class Result:
    """The report of a run: ``report`` is all of it as a dict."""

    def __init__(self, report, attached=None, trials=None):
        self.report = report
        self._attached = attached
        # What the report was made from, as the library wants it back.
        self._trials = trials

    @classmethod
    def load(cls, path):
        """Reads ``report.json``, or the directory that ``save`` wrote."""
        path = pathlib.Path(path)
        path = path / "report.json" if path.is_dir() else path
        try:
            return cls(json.loads(path.read_text()))
        except (OSError, ValueError) as error:
            raise PdlError(f"cannot read {path}: {error}") from error

    def __str__(self):
        return self.table()

    @property
    def chosen_edges(self):
        """Indices of the edges to make programmatic."""
        return list(self.report["chosen_edges"])

    @property
    def edges(self):
        """One dict an edge: ``advice``, ``why``, ``in_chosen``, ``race``. A list that pandas or
        polars read in one line."""
        return self.report["edges"]

    @property
    def kinds(self):
        """One dict a kind of edges: ``alone``, ``in_all``, ``in_chosen``."""
        return self.report["kinds"]

    @property
    def saved_us(self):
        """µs that the chosen edges save a graph launch; 0 where none are chosen."""
        chosen = self.report["chosen"]
        if not self.report["chosen_edges"] or chosen is None:
            return 0.0
        return chosen["saved_ns"] * chosen["hops"] / 1e3

    def table(self):
        """For people."""
        return table(self.report)

    def to_json(self, indent=None):
        """Everything, as JSON."""
        return json.dumps(self.report, indent=indent)

    def patch(self):
        """The lines to change where the graph is captured."""
        return call_for_text("pdl_lab_patch", self.to_json().encode())

    def page(self):
        """A page that needs no network."""
        return call_for_text("pdl_lab_page", self.to_json().encode())

    def save(self, directory):
        """Writes a run directory, which must be new or empty: every raw sample (samples.csv), the
        manifest, summary.csv, a chart, report.json, report.html, and beside them report.txt and
        patch.txt. ``pdl report`` makes it again from the samples, ``pdl compare`` reads it. Returns
        the directory.

        A result that was loaded has no samples: of it the report alone is written."""
        directory = pathlib.Path(directory)
        files = {"report.txt": self.table(), "patch.txt": self.patch()}
        if self._trials is None:
            files["report.json"] = self.to_json(indent=1) + "\n"
            files["report.html"] = self.page()
        else:
            call("pdl_lab_save", self._trials.encode(), str(directory).encode())
        try:
            directory.mkdir(parents=True, exist_ok=True)
            for name, text in files.items():
                (directory / name).write_text(text)
        except OSError as error:
            raise PdlError(f"cannot write the report: {error}") from error
        return directory

    def apply(self, graph):
        """Makes the chosen edges programmatic in the caller's own graph, which must be the one that
        was attached, unchanged. Instantiate it again afterwards (PyTorch: ``graph.instantiate()``)."""
        attached = self._attached
        if attached is None or not attached._handle:
            raise PdlError(
                "cannot change the graph: the attached graph was closed\n     call apply before close",
                "usage",
            )
        edges = self.chosen_edges
        numbers = (ctypes.c_uint32 * len(edges))(*edges)
        dependency = self.report["options"]["dependency"].encode()
        handle = graph_handle(graph)
        call("pdl_lab_apply", attached._handle, handle, numbers, len(edges), dependency)
