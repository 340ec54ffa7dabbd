"""The forms of a report: Markdown, a page of its own, a PDF. What it says is in `sections`."""

import html
import io
import textwrap

from matplotlib import style
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure

from mia_lib import plots

STYLE = """
:root { color-scheme: light dark; --text: #1b1f24; --back: #ffffff; --line: #c9d1d9;
  --head: #f3f5f7; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e9ee; --back: #14181d; --line: #3a424c;
  --head: #20262d; } }
body { color: var(--text); background: var(--back); font: 16px/1.5 system-ui, sans-serif;
  max-width: 60rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
th, td { border-bottom: 1px solid var(--line); padding: 0.25em 0.8em; text-align: left;
  vertical-align: top; }
td { max-width: 34rem; overflow-wrap: anywhere; }
th { background: var(--head); }
figure { margin: 1em 0; } figure svg { background: #ffffff; max-width: 100%; height: auto; }
@media (max-width: 40rem) { body { font-size: 15px; padding: 0.6rem; }
  th, td { padding: 0.2em 0.4em; } }
@media print { :root { --text: #000000; --back: #ffffff; --line: #999999; --head: #eeeeee; }
  body { max-width: none; font-size: 10pt; } h2 { break-after: avoid; } tr { break-inside: avoid; }
  .table { overflow-x: visible; } }
"""
ALT = "Share of members found against share of non-members accused, with bands, on logarithmic axes"
A4 = (8.27, 11.69)  # inches
MARGIN, TOP_MARGIN = 0.09, 0.93  # of the page
LINE = 0.0135  # height of a line of text, of the page
WRAP = 100  # letters of a line
SMALL = 118  # letters of a line of a table, in a typewriter's type


def markdown(title, sections):
    """Text with tables; a ROC becomes a table of its points."""
    lines = [f"# {title}", ""]
    for heading, parts in sections:
        lines += [f"## {heading}", ""]
        for kind, *part in parts:
            if kind == "text":
                lines += [_line(part[0]), ""]
            elif kind == "list":
                lines += [f"- {_line(item)}" for item in part[0]] + [""]
            elif kind == "table":
                lines += _table(*part)
            else:
                for curve in part[0]:
                    lines += _table(*_points(curve))
    return "\n".join(lines)


def page(title, sections):
    """One HTML file with its style and its figures in it."""
    body = [f"<h1>{html.escape(title)}</h1>"]
    for heading, parts in sections:
        body.append(f"<section><h2>{html.escape(heading)}</h2>")
        for kind, *part in parts:
            if kind == "text":
                body.append(f"<p>{html.escape(part[0])}</p>")
            elif kind == "list":
                items = "".join(f"<li>{html.escape(item)}</li>" for item in part[0])
                body.append(f"<ul>{items}</ul>")
            elif kind == "table":
                body.append(_html_table(*part))
            else:
                body.append(f'<figure role="img" aria-label="{ALT}">{_svg(part[0])}</figure>')
        body.append("</section>")
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, '
        f'initial-scale=1"><title>{html.escape(title)}</title><style>{STYLE}</style>'
    )
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n'
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def pdf(path, title, sections):
    """A4 pages, text from top to bottom, tables in a typewriter's type."""
    with style.context(["default", {"pdf.fonttype": 42, "font.size": 9}]):
        with PdfPages(path, metadata={"Title": title, "CreationDate": None}) as file:
            paper = _Paper(file)
            paper.write([title], size=16, weight="bold")
            for heading, parts in sections:
                paper.write(textwrap.wrap(heading, 80), size=12, weight="bold", before=1.2, keep=3)
                for kind, *part in parts:
                    if kind == "text":
                        paper.write(textwrap.wrap(part[0], WRAP), before=0.4)
                    elif kind == "list":
                        for item in part[0]:
                            wrapped = textwrap.wrap(
                                item, WRAP - 2, initial_indent="- ", subsequent_indent="  "
                            )
                            paper.write(wrapped, before=0.3)
                    elif kind == "table":
                        lines = typed(*part)
                        paper.write(lines, before=0.5, size=6.5, family="monospace")
                    else:
                        paper.draw(part[0])
            paper.end()


class _Paper:
    """Pages that are filled from top to bottom."""

    def __init__(self, file):
        self.file = file
        self._begin()

    def _begin(self):
        self.figure, self.height = Figure(figsize=A4, layout="none"), TOP_MARGIN

    def end(self):
        self.file.savefig(self.figure)

    def _turn(self):
        self.end()
        self._begin()

    def write(self, lines, *, before=0.0, size=9, keep=0, **font):
        step = LINE * size / 9
        if self.height - LINE * before - step * (1 + keep) < 0.06:
            self._turn()
        self.height -= LINE * before
        for line in lines:
            if self.height - step < 0.05:
                self._turn()
            # A dollar sign would begin a formula.
            text = line.replace("$", r"\$")
            self.figure.text(MARGIN, self.height, text, size=size, va="top", **font)
            self.height -= step

    def draw(self, curves):
        tall = 0.3
        if self.height - tall < 0.06:
            self._turn()
        axes = self.figure.add_axes((0.15, self.height - tall + 0.04, 0.7, tall - 0.06))
        draw_roc(curves, axes)
        self.height -= tall


def typed(head, rows):
    """A table as lines of equally wide letters; cells that are too long go on in the next line.

    Examples
    --------
    >>> print(*typed(["a", "b"], [["one", "two"]]), sep="\\n")
    a    b
    ---  ---
    one  two
    """
    rows = [[str(cell) for cell in row] for row in [head, *rows]]
    widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
    while sum(widths) + 2 * len(widths) > SMALL and max(widths) > 8:
        widths[widths.index(max(widths))] -= 1
    lines = []
    for place, row in enumerate(rows):
        cells = [textwrap.wrap(cell, width) or [""] for cell, width in zip(row, widths)]
        for k in range(max(map(len, cells))):
            line = [
                (cell[k] if k < len(cell) else "").ljust(width)
                for cell, width in zip(cells, widths)
            ]
            lines.append("  ".join(line).rstrip())
        if place == 0:
            lines.append("  ".join("-" * width for width in widths))
    return lines if any(head) else lines[2:]


def draw_roc(curves, ax):
    """ROC curves with their bands, on logarithmic axes, and guessing."""
    smallest = min(point[0] for curve in curves for point in curve["points"])
    for place, curve in enumerate(curves):
        fpr, tpr, low, high = zip(*curve["points"])
        color, line = plots.COLORS[place], plots.LINES[place]
        ax.plot(fpr, [max(t, smallest) for t in tpr], color=color, ls=line, label=curve["what"])
        floor = [max(t, smallest) for t in low]
        ax.fill_between(fpr, floor, high, color=color, alpha=0.15, linewidth=0)
    ax.plot([smallest, 1], [smallest, 1], color=plots.REFERENCE, ls=":", label="guessing")
    ax.set(xscale="log", yscale="log", xlim=(smallest, 1), ylim=(smallest, 1.05))
    ax.set(xlabel="share of non-members accused (FPR)", ylabel="share of members found (TPR)")
    ax.grid(alpha=0.3)
    ax.legend(frameon=False, loc="lower right", fontsize=8)
    return ax


def _svg(curves):
    # A salt in place of chance, and no date: the same report is the same file.
    plain = {"svg.hashsalt": "audit", "svg.fonttype": "none", "font.size": 10}
    with style.context(["default", plain]):
        figure = Figure(figsize=(6.4, 4.2), layout="constrained")
        draw_roc(curves, figure.add_subplot())
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    text = file.getvalue()
    return text[text.index("<svg") :]


def _points(curve):
    chosen = curve["points"][:: max(1, len(curve["points"]) // 8)]
    rows = [[f"{100 * x:.3g} %", *(f"{100 * y:.3g} %" for y in rest)] for x, *rest in chosen]
    return [f"FPR of {curve['what']}", "TPR", "lower limit", "upper limit"], rows


def _table(head, rows):
    lines = ["| " + " | ".join(map(_cell, head)) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(map(_cell, row)) + " |" for row in rows] + [""]


def _html_table(head, rows):
    cells = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in head)
    top = f"<thead><tr>{cells}</tr></thead>" if any(head) else ""
    lines = [
        "<tr>" + "".join(f"<td>{html.escape(str(text))}</td>" for text in row) + "</tr>"
        for row in rows
    ]
    inner = "\n".join(lines)
    return f'<div class="table"><table>{top}<tbody>\n{inner}\n</tbody></table></div>'


def _line(text):
    """One line: a break in a value would end the table or the list."""
    return " ".join(str(text).split())


def _cell(text):
    return _line(text).replace("|", "\\|")
