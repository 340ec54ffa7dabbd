"""Where a headless Chromium is, and a server on loopback for what it opens."""

import contextlib
import functools
import http.server
import os
import shutil
import threading


def browser_path():
    """Where Chromium is, or None: what CHROMIUM names, else one on the PATH."""
    named = os.environ.get("CHROMIUM")
    return named or next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serve(folder):
    """Serve a folder on loopback; gives the address."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()
