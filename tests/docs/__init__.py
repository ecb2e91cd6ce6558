"""The documentation: pages whose blocks run, pages that are written from data, and the site in a browser."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "docs" / "building"))  # what builds the site is no part of the package
