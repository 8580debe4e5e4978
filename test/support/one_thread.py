"""Linear algebra of the tests in one thread, as that of nodes and commands: imported before NumPy.

Matrices of an arm are too small to be shared between threads, and a thread of BLAS that waits for its next share keeps
a core busy. Processes that a test starts do not inherit this: they have to see to it themselves.
"""

import pytest

with pytest.MonkeyPatch.context() as patch:
    patch.setenv("OPENBLAS_NUM_THREADS", "1")  # read when the library is loaded; NumPy and SciPy have one each
    import numpy  # noqa: F401
    import scipy.linalg  # noqa: F401
