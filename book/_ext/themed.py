"""A Sphinx extension that lets drawings follow the theme.

A figure is stored as it looks on white. Beside each SVG this writes a second one for
the dark: paper and ink change places, greys and pale grounds with them, and a colour
that would hardly be seen is made lighter. A page has both, and the style sheet shows
the one that fits. Bitmaps inside a drawing, as pictures of digits, stay as they are.
"""

import colorsys
import re
from pathlib import Path

INK, PAPER = (230, 230, 230), (18, 18, 18)  # of the theme in the dark
CONTRAST = 4.0  # of whatever has to be seen; WCAG 1.4.11 asks for 3
PALE = 0.8  # the lightness above which a colour is a ground and no line
IMAGE = re.compile(r'<img\b[^>]*?\ssrc="([^"]*_images/[^"]*)\.svg"[^>]*>')
HEX = re.compile(r"#([0-9a-fA-F]{6}|[0-9a-fA-F]{3})\b(?![\w-])")
SHOWN = 'class="in-{} dark-light '  # the theme leaves what is "dark-light" alone


def luminance(color):
    """Relative luminance of three numbers from 0 to 255, by WCAG."""
    linear = (
        c / 3294.6 if c <= 10.3 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in color
    )
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear))


def contrast(one, other):
    """Of two colours, from 1 to 21."""
    high, low = sorted(map(luminance, (one, other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def in_the_dark(color):
    """What a colour on white becomes on the dark paper."""
    if max(color) - min(color) < 32:  # a grey, from ink to paper
        share = max(0, sum(color) / 765 - 0.2) / 0.8  # a dark grey is ink
        return tuple(round(i + share * (p - i)) for i, p in zip(INK, PAPER))
    hue, light, saturation = colorsys.rgb_to_hls(*(c / 255 for c in color))

    def lit(light):
        return tuple(
            round(255 * c) for c in colorsys.hls_to_rgb(hue, light, saturation)
        )

    if light > PALE:  # a tinted ground, with ink on it
        return lit(1 - light)
    while contrast(color, PAPER) < CONTRAST:
        light += 0.01
        color = lit(light)
    return color


def darkened(svg):
    """The text of a drawing for the dark."""

    def other(found):
        digits = found[1] if len(found[1]) == 6 else "".join(2 * d for d in found[1])
        color = tuple(bytes.fromhex(digits))
        return "#{:02x}{:02x}{:02x}".format(*in_the_dark(color))

    text = HEX.sub(other, svg)
    ink = "#{:02x}{:02x}{:02x}".format(*INK)
    return re.sub(r"<svg\b", f'<svg fill="{ink}"', text, count=1)


def both(found, written):
    """The image of a page, twice: for the light and for the dark."""
    image, address = found[0], found[1]
    if Path(address).name not in written:
        return image
    plain = image if 'class="' in image else image.replace("<img", '<img class=""', 1)
    light = plain.replace('class="', SHOWN.format("light"), 1)
    dark = plain.replace('class="', SHOWN.format("dark"), 1)
    return light + dark.replace(f"{address}.svg", f"{address}.dark.svg")


def _write(app, exception):
    if exception or app.builder.format != "html":
        return
    out, written = Path(app.outdir), set()
    for path in sorted((out / "_images").glob("*.svg")):
        if not path.stem.endswith(".dark"):
            text = darkened(path.read_text(encoding="utf-8"))
            path.with_suffix(".dark.svg").write_text(text, encoding="utf-8")
            written.add(path.stem)
    for path in out.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        if "in-dark" not in text and IMAGE.search(text):
            text = IMAGE.sub(lambda found: both(found, written), text)
            path.write_text(text, encoding="utf-8")


def setup(app):
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
