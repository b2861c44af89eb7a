"""Whether an answer served anything: what a refusal, a broken-off command and an error page say.

The reader of a format decides from its flags first. The sentences here are for answers whose flag
the format lost; each is known from a harness, and only the beginning of a text can be one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

_LONGEST_OPENING: Final = 400

_EXIT_STATUS: Final = re.compile(
    r"^(?:Exit [Cc]ode:? -?\d+|(?:Process|Command) exited with code -?\d+|\[exit_code\] -?\d+"
    r"|<returncode>-?\d+</returncode>|<exited with exit code -?\d+>"
    r"|\[(?:The c|C)ommand (?:completed|finished) with exit code -?\d+\b.*)\s*$",
    re.MULTILINE,
)
_OPENING_STATUS: Final = re.compile(r"\s*(?:Error: )?Exit code \d+\s*(?:\n|$)")
_STATUS_NAMES: Final = ("exit_code", "exitCode", "returncode", "return_code")

_REFUSED: Final = re.compile(
    r"""\s*(?:
        <tool_use_error>
      | The\ user\ doesn't\ want\ to | \[Request\ interrupted\ by\ user
      | Claude\ requested\ permissions\ to | This\ command\ requires\ approval
      | Permission\ to\ use\ \w{1,100}\ (?:with\ command\ |has\ been\ denied)
      | [^\n]{1,200}\ was\ blocked\.\ For\ security,\ Claude\ Code
      | \w{1,100}\ operation\ blocked\ by\ hook
      | \w{1,100}:\w{1,100}\ hook\ error
      | <error>Command\ was\ aborted\ before\ completion
      | ERROR:\ Cannot\ execute\ multiple\ commands\ at\ once
      | Your\ bash\ command\ contained\ syntax\ errors\ and\ was\ NOT\ executed
      | Tool\ execution\ denied\ by\ policy | \[Operation\ Cancelled\] | User\ denied\ execution
      | The\ user\ denied\ this\ operation
      | The\ tool\ execution\ failed\ with\ the\ following\ error
      | exec\ command\ rejected\ by\ user | aborted\ by\ user\ after
      | Command\ was\ (?:cancelled\ by\ user|automatically\ cancelled)
    )""",
    re.VERBOSE,
)


def is_refusal(text: str) -> bool:
    """Whether a text is a harness's word for a call that it, a hook or the user did not let run.

    Examples
    --------
    >>> is_refusal("Permission to use Bash has been denied.")
    True
    >>> is_refusal("Permission to use, copy, modify, and distribute this software")
    False
    """
    return _REFUSED.match(text[:_LONGEST_OPENING]) is not None


def opens_with_exit_status(text: str) -> bool:
    r"""Whether a text opens as Claude Code opens that of a command which ended in an error.

    Examples
    --------
    >>> opens_with_exit_status("Exit code 2\nls: no such file")
    True
    >>> opens_with_exit_status("Command timed out after 2m 0.0s\nExit code 2")
    False
    """
    return _OPENING_STATUS.match(text[:_LONGEST_OPENING]) is not None


def states_exit_status(text: str, *records: Mapping[str, Any]) -> bool:
    r"""Whether an answer says with which status its command ended, in a record or in its text.

    Only the beginning and the end of the text are looked at, where harnesses write it.

    Examples
    --------
    >>> states_exit_status("x\nCommand exited with code 1"), states_exit_status("timed out")
    (True, False)
    >>> states_exit_status("", {"exitCode": 1}), states_exit_status("", {"exitCode": None})
    (True, False)
    """
    stated = (record.get(name) for record in records for name in _STATUS_NAMES)
    if any(isinstance(status, int) and not isinstance(status, bool) for status in stated):
        return True
    ends = text[:_LONGEST_OPENING] + "\n" + text[-_LONGEST_OPENING:]
    return _EXIT_STATUS.search(ends) is not None
