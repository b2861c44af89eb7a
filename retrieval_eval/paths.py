"""Repo-relative path normalisation: pure text, the file system is never read.

A path that lies in a known workspace folder loses that folder; a path outside keeps its leading
slash, so that ``/tmp/x`` can never be confused with the repository's ``tmp/x``. Normalisation is
idempotent: ``file_ref(str(ref)) == ref``.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection
from functools import lru_cache
from urllib.parse import unquote

from retrieval_eval.records import FileRef

WORKSPACE_ROOTS = (
    "/ccb_crossrepo/src/",
    "/repo_full/",
    "/workspace/",
    "/testbed/",
    "/repo/",
    "/app/",
)
"""Folders that agent harnesses mount a checkout under; what follows is repo-relative."""

TEMPORARY = ("/tmp/", "/var/tmp/", "/dev/shm/")  # noqa: S108
"""Folders of temporary files."""

_LONGEST_PATH = 4096
_LONGEST_NAME = 255
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://")
_LOGIN = re.compile(r"^[^/@]+@[\w-]+(?:\.[\w-]+)+[:/]")
_LINE_SUFFIX = re.compile(r"[?#]L\d[\dL:\-]*$")
_RAW_HOSTS = ("raw.githubusercontent.com", "raw.github.com")
_CODE_HOSTS = ("github.com", "gitlab.com", "bitbucket.org", "codeberg.org")
_ABSOLUTE = re.compile(r"/|~/|[A-Za-z]:/")
_CHECKOUT = re.compile(r"^[A-Za-z0-9][\w.+-]*?--[\w.+-]+$")
_DRIVE = re.compile(r"^(?:.*/)?[A-Za-z]:(?=/|$)")
_MOUNTS = re.compile(
    r"^(?:/(?:mnt|cygdrive)/[A-Za-z](?=/)|/wsl(?:\$|\.localhost)/[^/]+(?=/)"
    r"|/private(?=/(?:tmp|var|etc)(?:/|$)))+"
)
"""What one system writes before a path that another one, or a link, names without it."""
_MOUNTED = ("/mnt/", "/cygdrive/", "/wsl", "/private/")
_VERSION = re.compile(
    r"(?:(?:-|__)v?\d+\.\d[\w.+-]*|(?:-|__)v\d[\w.+-]*|[-_](?:main|master|develop|trunk)"
    r"|-[0-9a-f]{7,40})$",
    re.IGNORECASE,
)
_INSTANCE = re.compile(r"-\d{1,9}$")
"""The number of an issue behind ``owner__repository``, which benchmarks name instances by."""
_INSTALLED = frozenset(
    {"site-packages", "dist-packages", "node_modules", "bower_components", "vendor", "third_party"}
    | {".git", ".venv", "venv", "virtualenvs", ".tox", ".nox", ".eggs", ".cargo", ".rustup", ".m2"}
    | {".gradle", ".npm", ".nvm", ".pyenv", ".cache"}
)
"""Folders of what is installed, cached or built."""
_INSTALLED_BELOW = ("/go/pkg/mod/", "/build/lib/")
_INSTALLED_TOPS = re.compile(r"/(?:usr/(?!src/|local/src/)|windows/|program files)")
_SYSTEM = re.compile(
    r"/(?:lib\d{0,2}|s?bin|etc|proc|sys|dev|nix|snap|library|system|applications)/"
)
"""Folders of the system, where no drive was left out: ``C:\\dev`` is no such folder."""


def repository_name(raw: str) -> str | None:
    """Return the short name of a repository: no host, organisation, revision or remark.

    Parameters
    ----------
    raw
        A name such as ``github.com/acme/widgets--1f3c``, ``acme/widgets@v2``, ``widgets.git``.

    Examples
    --------
    >>> repository_name("github.com/acme/widgets--v1.2.0")
    'widgets'
    >>> repository_name("acme/widgets (release-1.16)")
    'widgets'
    >>> repository_name("git@github.com:acme/widgets.git")
    'widgets'
    """
    return _short_name(raw) if len(raw) <= _LONGEST_NAME else _name_in(raw)


def _name_in(raw: str) -> str | None:
    text = raw.replace("\\", "").strip(" ^$")
    if ":" in text:
        text = _SCHEME.sub("", text)
    text = text.split(" (", 1)[0]
    if "@" in text:
        text = _LOGIN.sub("", text)
    address = text.split("@", 1)[0].strip().strip("/:")
    name = address.rsplit("/", 1)[-1].removesuffix(".git").strip()
    short = name.split("--", 1)[0] or name
    return short or None


_short_name = lru_cache(maxsize=1024)(_name_in)


def checkout_names(folder: str) -> tuple[str, ...]:
    """Return the names of repositories that a folder of this name may be a checkout of.

    Examples
    --------
    >>> checkout_names("api-1.2.3"), checkout_names("api@1f3c")
    (('api-1.2.3', 'api'), ('api@1f3c', 'api'))
    >>> checkout_names("acme__widgets")
    ('acme__widgets', 'widgets')
    >>> checkout_names("acme__widgets__5.0")[-1], checkout_names("acme__widgets-1234")[-1]
    ('widgets', 'widgets')
    """
    folder = folder.lower()
    if len(folder) > _LONGEST_NAME:
        return (folder,)
    found = [folder, repository_name(folder) or folder]
    owner, _, rest = found[-1].partition("__")
    if owner and rest:
        found += [rest, _INSTANCE.sub("", rest)]
    found += [name for name in (_VERSION.sub("", name).rstrip("-_") for name in found) if name]
    return tuple(dict.fromkeys(found))


def checked_out(folder: str, names: Collection[str]) -> str | None:
    """Return which of several repositories, in lower case, a folder of this name may hold.

    Examples
    --------
    >>> checked_out("Widgets-1.2", {"widgets", "gears"}), checked_out("src", {"widgets"})
    ('widgets', None)
    """
    lower = folder.lower()
    if "\\" not in lower and not any(name in lower for name in names):
        return None
    return next((name for name in checkout_names(folder) if name in names), None)


def is_elsewhere(path: str, *, has_drives: bool = False) -> bool:
    """Return whether an absolute path lies where no checkout of a task is: installed or cached.

    With ``has_drives`` a drive may have been left out before the first folder.

    Examples
    --------
    >>> is_elsewhere("/usr/lib/python3/os.py"), is_elsewhere("/usr/src/app/a.py")
    (True, False)
    >>> is_elsewhere("/home/dev/project/node_modules/left-pad/index.js")
    True
    """
    path = path.lower()
    if path[:1] == "/" and (
        _INSTALLED_TOPS.match(path) or (not has_drives and _SYSTEM.match(path))
    ):
        return True
    is_below = any(folder in path for folder in _INSTALLED_BELOW)
    return is_below or not _INSTALLED.isdisjoint(path.split("/")[1:-1])


def local_path(raw: str, *, cwd: str | None = None) -> str | None:
    r"""Return the absolute path of a local file or folder in one spelling, or None.

    None for what is relative to an unknown folder, and for what is no local path. A drive, the
    mount of a drive, and the real folder behind ``/tmp`` are left out; ``~`` is kept.

    Examples
    --------
    >>> local_path(r"C:\dev\repo\a.py"), local_path("a.py", cwd="/private/tmp/x")
    ('/dev/repo/a.py', '/tmp/x/a.py')
    """
    return Names().local(raw, cwd)


def diff_path(raw: str) -> str | None:
    """Return the path of a diff header: unquoted, ``a/`` or ``b/`` stripped once.

    ``/dev/null`` is no file and gives None.

    Examples
    --------
    >>> diff_path("a/a/b.py")
    'a/b.py'
    """
    text = raw.split("\t", 1)[0].strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = _unquote_c(text[1:-1])
    if text == "/dev/null":
        return None
    return text[2:] if text[:2] in {"a/", "b/"} else text or None


def file_ref(
    raw: str,
    *,
    cwd: str | None = None,
    repository: str | None = None,
    roots: tuple[str, ...] = WORKSPACE_ROOTS,
) -> FileRef | None:
    """Return the normalised path and repository of any way to write a file, or None.

    Parameters
    ----------
    raw
        A local path, ``repo::path``, or the URL of a file in a code host or code search.
    cwd
        The folder a relative local path is relative to.
    repository
        The repository a remote tool names beside the path; the path is then relative to it.
    roots
        Workspace folders, each with a trailing slash, longest first.

    Returns
    -------
    FileRef or None
        None for what is no file: empty text, a workspace folder itself, control characters, a
        URL of another kind, anything above 4,096 characters.

    Examples
    --------
    >>> str(file_ref("/workspace/widgets--1f3c/src/./a.py"))
    'widgets::src/a.py'
    >>> str(file_ref("src/a.py", cwd="/workspace"))
    'src/a.py'
    >>> str(file_ref("https://host/github.com/acme/widgets@1f3c/-/blob/src/a.py%3FL1-9"))
    'widgets::src/a.py'
    """
    found = named(raw, cwd=cwd, repository=repository, roots=roots)
    return FileRef(*found) if found is not None else None


def named(
    raw: str,
    *,
    cwd: str | None = None,
    repository: str | None = None,
    roots: tuple[str, ...] = (),
) -> tuple[str, str | None] | None:
    """Return path and repository as :func:`file_ref` does; no folder is a workspace by itself."""
    text = raw.strip()
    if not text or len(text) > _LONGEST_PATH or not (text.isprintable() or _is_clean(text)):
        return None
    text = text.replace("\\", "/")
    if text.startswith("file://"):
        text = unquote(text.removeprefix("file://"))
    has_colon = ":" in text
    if has_colon or text.startswith(_CODE_HOSTS):
        has_scheme = has_colon and _SCHEME.match(text) is not None
        found = _remote(text) if has_scheme or text.startswith(_CODE_HOSTS) else None
        if found is not None or has_scheme:
            return found
        head, separator, tail = text.partition("::")
        if separator and tail and head:
            return _in_repository(head, tail)
    if repository is not None:
        return _in_repository(repository, text)
    return _local(text, cwd, roots)


class Names:
    """Ways to write files in one trial, each read once.

    Examples
    --------
    >>> names = Names()
    >>> names.of("src/a.py", "/workspace"), names.of("widgets::src/a.py")
    (('/workspace/src/a.py', None), ('src/a.py', 'widgets'))
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, str | None, str | None], tuple[str, str | None] | None] = {}

    def of(
        self, raw: str, cwd: str | None = None, repository: str | None = None
    ) -> tuple[str, str | None] | None:
        """Return what :func:`named` does."""
        written = raw, None if raw[:1] == "/" else cwd, repository
        if written not in self._found:
            self._found[written] = named(raw, cwd=cwd, repository=repository)
        return self._found[written]

    def local(self, raw: str, cwd: str | None = None) -> str | None:
        """Return what :func:`local_path` does."""
        path, repository = self.of(raw, cwd) or ("", None)
        return path if repository is None and path[:1] == "/" else None


def _is_clean(text: str) -> bool:
    return _CONTROL.search(text) is None


def _local(text: str, cwd: str | None, roots: tuple[str, ...]) -> tuple[str, str | None] | None:
    if cwd and text[:1] != "/" and not _ABSOLUTE.match(text):
        text = f"{cwd}/{text}".replace("\\", "/")
    if ":" in text:
        text = _DRIVE.sub("", text)
    is_absolute = text.startswith(("/", "~/"))
    path = _collapse(text)
    if is_absolute:
        path = f"/{path}"
        if path.startswith(_MOUNTED):
            path = _MOUNTS.sub("", path)
        for root in roots:
            if f"{path}/" == root:
                return None
            if path.startswith(root):
                path = path.removeprefix(root)
                break
    if path in {"", "/", "."}:
        return None
    if path.startswith("~/"):
        return f"/{path}", None
    if path.startswith("/"):
        return path, None
    return in_checkout(path)


def in_checkout(path: str) -> tuple[str, str | None] | None:
    """Return a path in a workspace, where ``[org/]name--rev/rest`` lies in the repository ``name``.

    With it the repository, or None. None for the folder of a checkout itself.

    Examples
    --------
    >>> in_checkout("acme/widgets--1f3c/src/a.py"), in_checkout("src/a.py")
    (('src/a.py', 'widgets'), ('src/a.py', None))
    """
    if "--" not in path:
        return path, None
    parts = path.split("/")
    for position in range(min(2, len(parts))):
        if _CHECKOUT.match(parts[position]):
            rest = "/".join(parts[position + 1 :])
            return (rest, repository_name(parts[position])) if rest else None
    return path, None


def _in_repository(repository: str, path: str) -> tuple[str, str | None] | None:
    path = _collapse(_LINE_SUFFIX.sub("", path))
    return (path, repository_name(repository)) if path else None


def _remote(text: str) -> tuple[str, str | None] | None:
    """Read the address of a file in a code search (``/-/blob/``) or on a code host."""
    address = unquote(unquote(_SCHEME.sub("", text)))
    address = _LINE_SUFFIX.sub("", address).split("#", 1)[0]
    for marker in ("/-/blob/", "/-/raw/"):
        before, separator, path = address.partition(marker)
        if separator:
            path = path.split("?", 1)[0]
            # GitLab's own addresses name the revision before the path, a code search does not.
            is_gitlab = _SCHEME.match(text) and before.startswith("gitlab.com/")
            return _in_repository(before, _behind_revision(path.split("/")) if is_gitlab else path)
    parts = address.split("?", 1)[0].removeprefix("www.").split("/")
    if parts[0] in _RAW_HOSTS and len(parts) > 4:
        return _in_repository(parts[2], _behind_revision(parts[3:]))
    if parts[0] in _CODE_HOSTS and len(parts) > 5 and parts[3] in {"blob", "raw", "blame"}:
        return _in_repository(parts[2], _behind_revision(parts[4:]))
    return None


def _behind_revision(parts: list[str]) -> str:
    is_full_name = parts[:2] in (["refs", "heads"], ["refs", "tags"])
    return "/".join(parts[3 if is_full_name else 1 :])


def _collapse(path: str) -> str:
    """Drop ``.``, ``//`` and resolve ``..`` without ever climbing above the start."""
    path = path.lstrip("/")
    is_plain = not ("//" in path or "/." in path or path.startswith(".") or path.endswith("/"))
    return path if is_plain else posixpath.normpath(f"/{path}").lstrip("/")


def _unquote_c(text: str) -> str:
    """Undo the C-style quoting that git uses for unusual file names."""
    raw = re.sub(
        rb"\\([0-7]{3})", lambda m: bytes([int(m.group(1), 8) & 255]), text.encode("utf-8")
    )
    plain = raw.decode("utf-8", "replace")
    return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m.group(1), m.group(1)), plain)
