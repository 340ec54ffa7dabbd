"""A Sphinx extension that keeps the built pages from asking for anything outside
themselves.

Jupyter Book always loads sphinx-thebe. Its listeners write the address of a script on
another server, and a constant that is declared twice, into every page, also where live
code is switched off. They are taken out here, and with them the style sheet that they
would have put in place.
"""


def _without_thebe(app, config):
    for listeners in app.events.listeners.values():
        listeners[:] = [
            one
            for one in listeners
            if not one.handler.__module__.startswith("sphinx_thebe")
        ]
    app.registry.css_files[:] = [
        one for one in app.registry.css_files if one[0] != "sphinx-thebe.css"
    ]


def setup(app):
    app.connect("config-inited", _without_thebe, priority=999)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
