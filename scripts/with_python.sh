#!/bin/sh
# The Python of the project's environment, else the active one: a clean shell may have no `python`.
root=$(dirname "$0")/..
for python in "${VENV:-$root/.venv}/bin/python" "$(command -v python)" "$(command -v python3)"; do
  if [ -x "$python" ] && "$python" -c "import ruff" 2>/dev/null; then exec "$python" "$@"; fi
done
echo "no Python with ruff: run make setup, or activate the environment" >&2
exit 1
