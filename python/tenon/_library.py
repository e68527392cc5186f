"""Finds libtenon_profile, which brings libtenon with it, and gives the functions of both their types. `lib.tn_NAME` is the C function; nothing is checked here."""
import ctypes
import ctypes.util
import os
import pathlib

from . import _c


def _candidates():
    """Paths in order: what TENON_LIBRARY names, a build folder around this package, the prefix it is installed in, the system."""
    named = os.environ.get("TENON_LIBRARY")
    if named:
        return [named]
    here = pathlib.Path(__file__).resolve().parent
    found = [str(p) for up in list(here.parents)[:5] for folder in (up, up / "lib", *up.glob("lib/*-linux-gnu"))
             for p in [folder / "libtenon_profile.so.0"] if p.exists()]
    return found + [ctypes.util.find_library("tenon_profile") or "libtenon_profile.so.0"]


def _open():
    tried = []
    for path in _candidates():
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            tried.append(f"  {path}: {error}")
    raise ImportError("tenon: libtenon_profile.so.0 cannot be loaded; set TENON_LIBRARY to its path, or install it\n" + "\n".join(tried))


lib = _open()
for _name, (_result, _arguments) in _c._functions.items():
    if _name == "tn_plugin_init":  # a profiler's plug-in defines it
        continue
    _function = getattr(lib, _name)
    _function.restype, _function.argtypes = _result, _arguments

_free = ctypes.CDLL(None).free
_free.argtypes, _free.restype = [ctypes.c_void_p], None


def take_text(pointer):
    """The str of malloc'ed text, which is freed; None for NULL."""
    if not pointer:
        return None
    text = ctypes.string_at(pointer).decode()
    _free(pointer)
    return text
