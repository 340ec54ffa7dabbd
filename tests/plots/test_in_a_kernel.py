"""What a page's first cell sets up holds in a real kernel."""

import os

import nbformat
import pytest
from nbclient import NotebookClient

START = """import sys
from matplotlib import pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from myst_nb import glue
from mia_lib import plots
plots.style()
drawn, draw = [], FigureCanvasAgg.draw
FigureCanvasAgg.draw = lambda canvas: drawn.append(canvas) or draw(canvas)"""
FIGURE = "fig, ax = plt.subplots()\nax.plot([0, 1])\nglue('one', 1, display=False)"
SAID = "print(len(drawn), len(plt.get_fignums()), 'lark' in sys.modules)"


@pytest.mark.slow
def test_a_figure_is_drawn_once_as_vectors_and_glue_parses_no_grammar():
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in (START, FIGURE, SAID)]
    environment = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute(env=environment)
    figures = [output.data for output in notebook.cells[1].outputs if "data" in output]
    assert [set(data) for data in figures if "image/svg+xml" in data] == [
        {"text/plain", "image/svg+xml"}
    ]
    assert notebook.cells[2].outputs[0]["text"] == "0 0 False\n"
