import sys

import pytest
from notebook_runs import run


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Data, models, results and builds of a run in a folder of the test; the run changes the folder
    and the search path.
    """
    for name in ("MIA_DATA", "MIA_RUNS", "MIA_RESULTS"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("MIA_PROGRESS", "off")
    monkeypatch.setattr(run, "BUILD", tmp_path / "_build")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path
