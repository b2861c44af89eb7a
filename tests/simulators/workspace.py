"""Where a task's files lie for the agent: local paths, remote names, contents and hits."""

from __future__ import annotations

import posixpath

from tests.simulators.projects import file_lines, topic_lines
from tests.simulators.task import Task


class Workspace:
    """One task's files as an agent sees them; files go by their label in the plan."""

    root = "/workspace"

    def __init__(self, task: Task) -> None:
        self._task = task
        self.topic = task.topic

    def local(self, label: str) -> str:
        """Return the absolute path of a file in the agent's container."""
        project, path = self._task.locate(label)
        if not self._task.is_multi_repo:
            return f"{self.root}/{path}"
        folder = project.name
        if not self._task.has_clone_folders:
            folder = f"{project.name}--{project.revision}"
        return f"{self.root}/{folder}/{path}"

    def relative(self, label: str) -> str:
        """Return the path relative to the workspace root."""
        return self.local(label).removeprefix(f"{self.root}/")

    def folder(self, labels: list[str]) -> str:
        """Return the deepest local folder that holds all of ``labels``."""
        return posixpath.commonpath([posixpath.dirname(self.local(label)) for label in labels])

    def remote(self, label: str) -> tuple[str, str]:
        """Return the mirror's repository name and the path inside it."""
        project, path = self._task.locate(label)
        return project.remote, path

    def url(self, label: str) -> str:
        """Return the address of a file on the code-search server."""
        project, path = self._task.locate(label)
        return f"https://search.example.org/{project.remote}@{project.commit}/-/blob/{path}"

    def lines(self, label: str) -> tuple[str, ...]:
        """Return the content of a file."""
        project, path = self._task.locate(label)
        return file_lines(project.name, path, self.topic)

    def hits(self, label: str) -> list[int]:
        """Return up to three lines of a file that a search for the topic shows."""
        project, path = self._task.locate(label)
        return topic_lines(project.name, path)[:3]
