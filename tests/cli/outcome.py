"""What a command leaves: the error that it prints, and the files of a folder."""


def error_of(done, code=2):
    """Return the error of a command that has printed nothing else."""
    assert (done.code, done.out) == (code, ""), done.err
    (line,) = done.err.splitlines()
    return line.removeprefix("streameval: error: ")


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())
