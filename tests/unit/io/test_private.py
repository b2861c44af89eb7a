from __future__ import annotations

import os
import stat

from retrieval_eval.io.user_files import is_private, write_private


def test_a_file_that_others_could_read_is_replaced_by_one_they_cannot(tmp_path):
    path = tmp_path / "new" / "secret"
    write_private(path, b"one")
    path.chmod(0o666)
    assert not is_private(path)
    mask = os.umask(0)
    try:
        write_private(path, b"two")
    finally:
        os.umask(mask)
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert is_private(path)
