"""What a task is: a question about one or more code bases, and the files that answer it."""

from __future__ import annotations

from dataclasses import dataclass

from tests.simulators.projects import PROJECTS, Project

CLAUDE, OPENHANDS = "claude-code", "openhands"
TRANSCRIPT, TRAJECTORY, MERGED = "transcript", "trajectory", "merged"


@dataclass(frozen=True, slots=True)
class Task:
    """One task with its ground truth, and the harness both of its arms run under.

    ``truth`` and ``new_files`` name files as ``path``, or as ``repo::path`` when the task spans
    several repositories; ``new_files`` are those of ``truth`` that the agent has to create.
    ``is_reading`` tasks want an answer file instead of edits.
    """

    name: str
    suite: str
    projects: tuple[Project, ...]
    topic: str
    truth: tuple[str, ...]
    new_files: tuple[str, ...] = ()
    truth_form: str = "files"
    harness: str = CLAUDE
    version: str = "2.1.220"
    model: str = "demo-large-1"
    source: str = TRANSCRIPT
    is_reading: bool = False
    has_clone_folders: bool = False
    difficulty: float = 0.5

    @property
    def is_multi_repo(self) -> bool:
        """Whether a path alone does not identify a file of this task."""
        return len(self.projects) > 1

    def label(self, project: Project, path: str) -> str:
        """Return the name under which the plan speaks of a file of this task."""
        return f"{project.name}::{path}" if self.is_multi_repo else path

    def locate(self, label: str) -> tuple[Project, str]:
        """Return the project and path behind a label."""
        name, separator, path = label.partition("::")
        return (PROJECTS[name], path) if separator else (self.projects[0], label)

    def files(self) -> list[str]:
        """Return the label of every file that exists before the agent starts."""
        return [self.label(project, path) for project in self.projects for path in project.files]
