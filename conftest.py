"""What holds for every test: one thread, no progress lines, no window, and a reason for what is
skipped.
"""

import os

os.environ.setdefault(
    "OMP_NUM_THREADS", "1"
)  # before torch is imported: two threads are slower than one
os.environ.setdefault("MIA_PROGRESS", "off")

import hypothesis
import matplotlib
import pytest
from nbval.kernel import RunningKernel
from nbval.plugin import IPyNbFile

matplotlib.use("Agg")
hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.register_profile(
    "mutate",  # few examples, the same every time, and no search for a smaller one
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=25,
    phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
)
hypothesis.settings.load_profile("unhurried")


def _execute_as_a_notebook_does(kernel, source, allow_stdin=None):
    """nbval keeps no history, and without it IPython does not see the semicolon that hides a cell's
    last value.
    """
    return kernel.kc.execute(
        source, store_history=True, allow_stdin=allow_stdin, stop_on_error=False
    )


RunningKernel.execute_cell_input = _execute_as_a_notebook_does


def _collected_without_vectors(self, *args, **kwargs):
    """nbval compares no bitmaps; ours are vectors, which name every last digit."""
    _collected(self, *args, **kwargs)
    self.skip_compare += ("image/svg+xml",)


_collected, IPyNbFile.__init__ = IPyNbFile.__init__, _collected_without_vectors


def pytest_collection_modifyitems(items):
    if os.environ.get("MIA_DATA"):
        return
    for item in items:
        if item.get_closest_marker("real_data"):
            item.add_marker(
                pytest.mark.skip(reason="needs real data: set MIA_DATA to a folder that holds it")
            )
