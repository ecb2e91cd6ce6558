"""Commands as a user types them, run in this process."""

from dynsim.__main__ import main


def run(capsys, *words):
    """Return the exit status of a command and what it wrote; nothing may escape from `main`, not even `SystemExit`."""
    status = main([str(word) for word in words])
    written = capsys.readouterr()
    return status, written.out, written.err


def answer(capsys, *words) -> str:
    """Return what a command writes that succeeds."""
    status, out, err = run(capsys, *words)
    assert status == 0, out + err
    return out


def refused(capsys, *words) -> str:
    """Return the one sentence with which a command refuses bad input."""
    status, _, err = run(capsys, *words)
    assert status == 2, err
    assert len(err.splitlines()) == 1, err
    assert err.startswith("dynsim: "), err
    return err
