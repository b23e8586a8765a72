"""The library, and its C ABI of pdl_lab.h."""

import ctypes
import json
import os
import pathlib

ABI = 1

# Kinds of failure, by the code that a function returns.
KINDS = {
    1: "failed",
    2: "usage",
    3: "no-gpu",
    4: "wrong",
    6: "refused",
    70: "internal",
    130: "interrupted",
}


class PdlError(RuntimeError):
    """What could not be done, why, and what to do about it. ``kind`` is one of KINDS' values."""

    def __init__(self, text, kind="failed"):
        super().__init__(text)
        self.kind = kind


class Region(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
    ]


class Code(ctypes.Structure):
    _fields_ = [
        ("function", ctypes.c_void_p),
        ("source", ctypes.c_char_p),
        ("bytes", ctypes.c_void_p),
        ("size", ctypes.c_uint64),
    ]


RESET = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
PROGRESS = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint32
)


class AttachArgs(ctypes.Structure):
    _fields_ = [
        ("graph", ctypes.c_void_p),
        ("outputs", ctypes.POINTER(Region)),
        ("output_count", ctypes.c_uint64),
        ("buffers", ctypes.POINTER(Region)),
        ("buffer_count", ctypes.c_uint64),
        ("codes", ctypes.POINTER(Code)),
        ("code_count", ctypes.c_uint64),
        ("reset", RESET),
        ("user", ctypes.c_void_p),
        ("ignore_process", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
    ]


# Functions that return a code: their arguments. What hands out a text has it as the last one.
TEXT = ctypes.POINTER(ctypes.c_void_p)
FUNCTIONS = {
    "pdl_lab_attach": [ctypes.POINTER(AttachArgs), ctypes.POINTER(ctypes.c_void_p)],
    "pdl_lab_list": [ctypes.c_void_p, TEXT],
    "pdl_lab_list_graph": [ctypes.c_void_p, ctypes.POINTER(Code), ctypes.c_uint64, TEXT],
    "pdl_lab_verify": [ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint32), ctypes.c_uint64, TEXT],
    "pdl_lab_race": [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_char_p, TEXT],
    "pdl_lab_run": [ctypes.c_void_p, ctypes.c_char_p, PROGRESS, ctypes.c_void_p, TEXT],
    "pdl_lab_apply": [
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.POINTER(ctypes.c_uint32),
        ctypes.c_uint64,
        ctypes.c_char_p,
    ],
    "pdl_lab_trials": [ctypes.c_void_p, TEXT],
    "pdl_lab_save": [ctypes.c_char_p, ctypes.c_char_p],
    "pdl_lab_options": [TEXT],
    "pdl_lab_table": [ctypes.c_char_p, TEXT],
    "pdl_lab_page": [ctypes.c_char_p, TEXT],
    "pdl_lab_patch": [ctypes.c_char_p, TEXT],
}

_library = None


def library():
    """Loads the library once: the package's own, or what PDL_LAB_LIBRARY names."""
    global _library
    if _library is not None:
        return _library
    path = os.environ.get("PDL_LAB_LIBRARY") or pathlib.Path(__file__).with_name("libpdl_lab.so")
    try:
        loaded = ctypes.CDLL(os.fspath(path))
    except OSError as error:
        raise PdlError(
            f"cannot load the library: {error}\n     install the wheel that script/wheel builds, or "
            "name the library in PDL_LAB_LIBRARY"
        ) from error
    loaded.pdl_lab_abi.restype = ctypes.c_int32
    if loaded.pdl_lab_abi() != ABI:
        raise PdlError(
            f"cannot use the library {path}: it has ABI {loaded.pdl_lab_abi()}, this package needs {ABI}"
        )
    for name in ("pdl_lab_version", "pdl_lab_error"):
        getattr(loaded, name).restype = ctypes.c_char_p
    loaded.pdl_lab_free.argtypes = [ctypes.c_void_p]
    loaded.pdl_lab_free.restype = None
    loaded.pdl_lab_detach.argtypes = [ctypes.c_void_p]
    loaded.pdl_lab_detach.restype = None
    for name, arguments in FUNCTIONS.items():
        function = getattr(loaded, name)
        function.argtypes = arguments
        function.restype = ctypes.c_int32
    _library = loaded
    return loaded


def call(name, *arguments):
    """Calls a function that returns a code, and raises what the library has to say."""
    loaded = library()
    code = getattr(loaded, name)(*arguments)
    if code != 0:
        text = (loaded.pdl_lab_error() or b"").decode(errors="replace")
        raise PdlError(text, KINDS.get(code, "failed"))


def call_for_text(name, *arguments):
    """The same for a function that hands out a text."""
    place = ctypes.c_void_p()
    call(name, *arguments, ctypes.byref(place))
    try:
        return ctypes.string_at(place.value).decode()
    finally:
        library().pdl_lab_free(place)


def version():
    """Version and revision of the library."""
    return library().pdl_lab_version().decode().strip()


def default_options():
    """Every option of ``AttachedGraph.run`` with its default."""
    return json.loads(call_for_text("pdl_lab_options"))


def options_json(options):
    """Options as the library reads them; unknown ones are refused there."""
    return json.dumps(options).encode()
