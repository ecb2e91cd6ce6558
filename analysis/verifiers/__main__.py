"""Run a verifier in the repository: `python -m analysis.verifiers growing/lemma-4 [WITNESS.json]`."""

import sys

from analysis.verifiers.pages import page, verifiers

exec(compile(page(verifiers()[sys.argv.pop(1)]), "page", "exec"))
