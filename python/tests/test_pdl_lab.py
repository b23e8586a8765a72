"""Tests without a GPU: python3 -m unittest discover python/tests, with PDL_LAB_LIBRARY set."""

import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import pdl_lab
from pdl_lab import _code, _memory
from pdl_lab._attach import Reset as ResetCall
from pdl_lab._attach import Watch, takes_argument

FIXTURE = pathlib.Path(__file__).with_name("report.json")
TRIALS = pathlib.Path(__file__).with_name("trials.json")


class Tensor:
    """Enough of a tensor."""

    def __init__(self, shape=(4, 8), cuda=True, contiguous=True, address=0x7F0000000000):
        self.shape, self.is_cuda, self._contiguous, self._address = shape, cuda, contiguous, address
        self.device = "cuda:0" if cuda else "cpu"

    def data_ptr(self):
        return self._address

    def is_contiguous(self):
        return self._contiguous

    def stride(self):
        return (1, 4)

    def numel(self):
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    def element_size(self):
        return 2


class Array:
    def __init__(self, strides=None):
        self.__cuda_array_interface__ = {
            "shape": (3, 4),
            "typestr": "<f4",
            "data": (0x1000, False),
            "strides": strides,
        }


class NotKept:
    """PyTorch's graph without keep_graph."""

    def raw_cuda_graph(self):
        raise RuntimeError("You cannot access the raw cudaGraph_t instance unless\nkeep_graph=True")


class Reset(NotKept):
    """PyTorch's graph after reset()."""

    def raw_cuda_graph(self):
        raise RuntimeError("You cannot access the raw cudaGraph_t instance until capture_end() has been called")


class Handle:
    def __int__(self):
        return 77


class MemoryTest(unittest.TestCase):
    def test_regions_take_what_people_hold(self):
        at = 0x7F0000000000
        cases = [
            (None, []),
            (Tensor(), [("output 0", at, 64)]),
            ([Tensor(), (4096, 16)], [("output 0", at, 64), ("output 1", 4096, 16)]),
            ({"y": Tensor((2,))}, [("y", at, 4)]),
            ((4096, 16), [("output 0", 4096, 16)]),
            (Array(), [("output 0", 0x1000, 48)]),
            (Array((16, 4)), [("output 0", 0x1000, 48)]),
        ]
        for given, expected in cases:
            self.assertEqual(_memory.regions(given, "output"), expected, given)

    def test_what_cannot_be_compared_is_refused_with_a_remedy(self):
        cases = [
            (Tensor(cuda=False), "output 0 is a tensor on cpu"),
            (Tensor(contiguous=False), "output 0 is not contiguous"),
            ({"y": Tensor((0, 3))}, "y is an empty tensor"),
            ([3.5], "output 0 is of type float"),
            (3.5, "outputs are of type float"),
            ([(0, 4)], "output 0 is (0, 4)"),
            (Array((4, 16)), "output 0 is not contiguous"),
        ]
        for given, said in cases:
            with self.assertRaises(pdl_lab.PdlError) as caught:
                _memory.regions(given, "output")
            text = str(caught.exception)
            self.assertIn(said, text)
            self.assertIn("\n     ", text)
            self.assertEqual(caught.exception.kind, "usage")

    def test_handles_of_graphs(self):
        self.assertEqual(_memory.graph_handle(5), 5)
        self.assertEqual(_memory.graph_handle(Handle()), 77)
        for graph, said in [
            (NotKept(), "CUDAGraph(keep_graph=True), and capture it again"),
            (Reset(), "holds nothing any more"),
            (type("CUDAGraph", (), {})(), "PyTorch 2.8 or newer"),
            (0, "it is 0"),
            ("x", "a str is no graph"),
        ]:
            with self.assertRaises(pdl_lab.PdlError) as caught:
                _memory.graph_handle(graph)
            self.assertIn(said, str(caught.exception))
            self.assertEqual(str(caught.exception).count("\n"), 1, "a cause and a remedy")

    def test_nothing_is_attached_while_a_capture_is_under_way(self):
        class Torch:
            class cuda:
                @staticmethod
                def is_current_stream_capturing():
                    return True

        sys.modules["torch"] = Torch
        try:
            with self.assertRaises(pdl_lab.PdlError) as caught:
                pdl_lab.attach(1, [(4096, 16)])
        finally:
            del sys.modules["torch"]
        self.assertIn("a capture is under way", str(caught.exception))


class CodeTest(unittest.TestCase):
    def test_images_come_from_bytes_paths_and_triton(self):
        kernel = type("CompiledKernel", (), {})()
        kernel.asm, kernel.function, kernel.name = {"cubin": b"\x7fELF"}, 99, "add"
        with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            file.write(b"abc")
            file.flush()
            found = _code.images([b"xyz", file.name, kernel])
            self.assertEqual(found[0], (0, "the caller", b"xyz"))
            self.assertEqual(found[1], (0, file.name, b"abc"))
            self.assertEqual(found[2], (99, "Triton's add", b"\x7fELF"))
        for bad, said in [("/nowhere/x.cubin", "cannot read the code"), (7, "has no machine code")]:
            with self.assertRaises(pdl_lab.PdlError) as caught:
                _code.images([bad])
            self.assertIn(said, str(caught.exception))


class LibraryTest(unittest.TestCase):
    def test_the_library_loads_and_tells_its_options(self):
        self.assertRegex(pdl_lab.version(), r"^\d+\.\d+\.\d+")
        options = pdl_lab.default_options()
        self.assertEqual(options["dependency"], "programmatic")
        self.assertIs(options["unsafe_no_sync"], False)

    def test_a_graph_needs_a_gpu_an_output_and_a_place_that_is_device_memory(self):
        with self.assertRaises(pdl_lab.PdlError) as caught:
            pdl_lab.attach(1, [])
        self.assertIn("no output", str(caught.exception))

    def test_a_report_becomes_a_table_a_patch_and_a_page(self):
        result = pdl_lab.Result.load(FIXTURE)
        self.assertIn("to flip", result.table())
        self.assertEqual(str(result), result.table())
        self.assertIn("cudaLaunchAttributeProgrammaticStreamSerialization", result.patch())
        self.assertIn("<!doctype html>", result.page())
        self.assertEqual(json.loads(result.to_json()), result.report)
        self.assertGreater(result.saved_us, 0)
        with tempfile.TemporaryDirectory() as directory:
            saved = result.save(pathlib.Path(directory) / "run")
            self.assertEqual(pdl_lab.Result.load(saved).report, result.report)
        with self.assertRaises(pdl_lab.PdlError) as caught:
            result.apply(5)
        self.assertIn("was closed", str(caught.exception))

    def test_a_run_with_its_samples_is_saved_once_and_read_back(self):
        trials = TRIALS.read_text()
        result = pdl_lab.Result.load(FIXTURE)
        result = pdl_lab.Result(result.report, trials=trials)
        with tempfile.TemporaryDirectory() as directory:
            run = pathlib.Path(directory) / "run"
            result.save(run)
            names = {path.name for path in run.iterdir()}
            self.assertLessEqual(
                {"samples.csv", "summary.csv", "manifest.json", "trials.json", "report.html"}, names
            )
            rows = (run / "samples.csv").read_text().splitlines()
            samples = sum(len(s["rounds"].get("samples", [])) for s in json.loads(trials)["recorded"]["steps"] if "rounds" in s)
            self.assertEqual(len(rows), 1 + samples)
            # The report is made from the samples: what it says is not copied from this object.
            self.assertEqual(pdl_lab.Result.load(run).chosen_edges, [1, 4, 7])
            with self.assertRaises(pdl_lab.PdlError) as caught:
                result.save(run)
            self.assertEqual(caught.exception.kind, "usage")
            self.assertIn("\n     ", str(caught.exception))

    def test_a_broken_report_is_an_error(self):
        with self.assertRaises(pdl_lab.PdlError) as caught:
            pdl_lab.Result({"nodes": 3}).table()
        self.assertIn("cannot read the report", str(caught.exception))
        with self.assertRaises(pdl_lab.PdlError):
            pdl_lab.Result.load("/nowhere")


class CallbackTest(unittest.TestCase):
    def test_what_a_callback_raises_is_kept_and_raised_on_this_side(self):
        def broken():
            raise KeyError("no weights")

        reset = ResetCall(broken)
        self.assertEqual(reset.function(None, None), 1)
        with self.assertRaises(KeyError):
            reset.raise_caught()
        reset.raise_caught()

    def test_a_reset_may_take_the_stream(self):
        seen = []
        self.assertEqual(ResetCall(seen.append).function(None, 12), 0)
        self.assertEqual(seen, [12])
        for function, expected in [(lambda: 0, False), (lambda s: 0, True), (lambda s=1: 0, False)]:
            self.assertEqual(takes_argument(function), expected)
        with self.assertRaises(pdl_lab.PdlError):
            ResetCall(5)

    def test_progress_can_stop_a_run(self):
        told = []
        watch = Watch(lambda step, done, of: told.append((step, done, of)))
        self.assertEqual(watch.function(None, b"time edges", 1, 2), 0)
        self.assertEqual(told, [("time edges", 1, 2)])
        self.assertEqual(Watch(lambda *_: False).function(None, b"x", 0, 0), 1)
        self.assertEqual(Watch(None).function(None, b"x", 0, 0), 0)


if __name__ == "__main__":
    unittest.main()
