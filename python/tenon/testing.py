"""tvm.testing: comparing arrays."""
import numpy


def assert_allclose(actual, desired, rtol=1e-7, atol=1e-7):
    """Raises unless they agree within the tolerances."""
    numpy.testing.assert_allclose(numpy.asarray(actual), numpy.asarray(desired), rtol=rtol, atol=atol)
