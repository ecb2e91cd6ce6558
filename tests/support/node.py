"""Run JavaScript with Node.js, without a browser."""

import json
import shutil
import subprocess

NODE = shutil.which("node") or shutil.which("nodejs")
WHY_NOT = "Node.js is not installed"


def in_node(source: str, value: str, given=None):
    """Evaluate an expression after a source; `given` is the variable of this name, and numbers need not be finite."""
    plain = "(key, v) => typeof v === 'number' && !Number.isFinite(v) ? `number ${v}` : typeof v === 'boolean' ? +v : v"
    asked = f"{source}\nconst given = {json.dumps(given)};\nconsole.log(JSON.stringify({value}, {plain}));\n"
    ran = subprocess.run([NODE, "-"], input=asked, capture_output=True, text=True, check=False)
    assert not ran.returncode, ran.stderr
    return _numbers(json.loads(ran.stdout))


def _numbers(found):
    if isinstance(found, list):
        return [_numbers(one) for one in found]
    if isinstance(found, dict):
        return {name: _numbers(one) for name, one in found.items()}
    return float(found[7:]) if isinstance(found, str) and found.startswith("number ") else found
