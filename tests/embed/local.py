"""Python loads libtenon.so as it loads everything, for itself alone, and calls a kernel with vector functions."""
import ctypes
import math
import sys

tenon = ctypes.CDLL(sys.argv[1])
for name in ("tn_context_new", "tn_program_parse", "tn_schedule_new", "tn_build", "tn_kernel_function"):
    getattr(tenon, name).restype = ctypes.c_void_p
tenon.tn_context_message.restype = ctypes.c_char_p
tenon.tn_context_message.argtypes = [ctypes.c_void_p]
context = ctypes.c_void_p(tenon.tn_context_new(None))


def check(value):
    if not value:
        sys.exit(tenon.tn_context_message(context).decode())
    return ctypes.c_void_p(value)


program = check(tenon.tn_program_parse(context, b"Y[i<64] = exp(X[i]) + tanh(X[i])", 0, None))
schedule = check(tenon.tn_schedule_new(program))
check(tenon.tn_schedule_apply(schedule, b"split(Y, i, 16); vectorize(Y, i.inner)") == 0)
kernel = check(tenon.tn_build(schedule, None))
function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(tenon.tn_kernel_function(kernel))
x = (ctypes.c_float * 64)(*(i / 64 for i in range(64)))
y = (ctypes.c_float * 64)()
assert function(x, y) == 0
for a, b in zip(x, y):
    assert abs(math.exp(a) + math.tanh(a) - b) < 1e-5, (a, b)
tenon.tn_context_free(context)
