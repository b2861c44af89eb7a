"""Whether an answer served anything: recognises refusals, aborted commands and error pages.

The reader of a format decides from its flags first, then the dialect of the harness. Sentences are
for answers whose flag the format lost; only the beginning of a text can be one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import exit_statuses, wording
from retrieval_eval.records import ToolResult

_LONGEST_OPENING: Final = 400

_STATUS_NAMES: Final = ("exit_code", "exitCode", "returncode", "return_code")


def is_refusal(text: str) -> bool:
    """Whether a text is a harness's message for a call that it, a hook or the user denied.

    Examples
    --------
    >>> is_refusal("Permission to use Bash has been denied.")
    True
    >>> is_refusal("Permission to use, copy, modify, and distribute this software")
    False
    """
    opening = text[:_LONGEST_OPENING].lstrip()
    if wording("refusals").match(opening) is not None:
        return True
    is_short = len(text) <= _LONGEST_MESSAGE and text.strip().count("\n") <= _LINES_OF_REFUSAL
    return is_short and _NOT_RUN.match(opening) is not None


_LINES_OF_REFUSAL: Final = 2
_RUN: Final = r"(?:command|tool|call|action|request|operation|execution|script)s?"
_NOT_RUN: Final = re.compile(
    rf"""(?ix)(?:[\[(<]\s?)?(?:(?:\w{{1,20}}\s)?(?:error|warning|note|sandbox|policy|security
        |permissions?|approvals?)[\])>]{{0,2}}[:,-]?\s{{1,2}}){{0,2}}(?:
        (?:approval|confirmation|permission)\s(?:is\s)?(?:required|needed|pending)\b
      | (?:(?:the|this|your|that)\s)?(?:{_RUN}\b[^\n=]{{0,80}}?\s)?
            (?:(?:is\s)?(?:await(?:ing|s)|waiting\sfor)|needs?|requires?)\s
            (?:\w{{1,12}}\s){{0,2}}(?:approval|confirmation)\b
      | (?:[^\n=]{{0,120}}[\s,])?{_RUN}\s(?:(?:(?:was|were|is|has|have|did)\s?)?(?:not|n't)
            |(?:was|has)\snever)\s(?:been\s)?(?:run|executed|performed|carried\sout|started)\b
      | (?:{_RUN}\s)(?:is\s|was\s)?not\s(?:permitted|allowed)\sby\s
            (?:the\s)?(?:\w{{1,20}}\s)?(?:policy|sandbox|rules?|settings|administrator)\b
    )"""
)
"""A short answer that says that nothing was run, or that someone has to agree first."""


def states_end(record: Mapping[str, Any]) -> bool:
    """Whether a record states the exit status of its command."""
    stated = (record.get(name) for name in _STATUS_NAMES)
    return any(isinstance(status, int) and not isinstance(status, bool) for status in stated)


def states_exit_status(text: str, *records: Mapping[str, Any]) -> bool:
    r"""Whether an answer states the exit status of its command, in a record or in its text.

    Only the beginning and the end of the text are looked at, where harnesses write it.

    Examples
    --------
    >>> states_exit_status("x\nCommand exited with code 1"), states_exit_status("timed out")
    (True, False)
    >>> states_exit_status("", {"exitCode": 1}), states_exit_status("", {"exitCode": None})
    (True, False)
    """
    if any(map(states_end, records)):
        return True
    ends = text[:_LONGEST_OPENING] + "\n" + text[-_LONGEST_OPENING:]
    return exit_statuses().search(ends) is not None


_LONGEST_STUB: Final = 1000
_TAG: Final = re.compile(r"</?[\w-]{1,40}>")
_NOT_SAID: Final = re.compile(r"\A\s*(?:\d+\s?[:\t\u2192|]|#|//|/\*|--|\*)|[={}]|;\s*$")
"""What a numbered row or a line of code has and a sentence has not."""
_UNCHANGED: Final = re.compile(
    r"(?i)\b(?:unchanged|unmodified|identical|(?:no|not|never|hasn't|without)\s(?:been\s)?(?:any\s)?"
    r"(?:change[sd]?|modified|modifications?|differences?|different|updated))\b"
)
_SINCE: Final = re.compile(r"(?i)\b(?:since|last|previous(?:ly)?|prior|earlier|already|before)\b")
_READ: Final = re.compile(
    r"(?i)\b(?:re-?)?(?:read(?:ing)?|view(?:ed)?|seen|saw|shown|showed|opened|sent|loaded|fetched)\b"
)


def is_stub(text: str) -> bool:
    r"""Whether an answer to a read only says that the agent was shown the same before.

    Examples
    --------
    >>> is_stub("[File a.py unchanged since last read]"), is_stub("1\tunchanged since last read")
    (True, False)
    """
    if len(text) > _LONGEST_STUB:
        return False
    said = _TAG.sub("", text).strip()
    if said.count("\n") > 1 or _NOT_SAID.search(said) is not None:
        return False
    return all(words.search(said) is not None for words in (_UNCHANGED, _SINCE, _READ))


# --------------------------------------------------------------------------------------------------
# Whether a command ran to its end, and what it printed before.

_TIME: Final = r"(?:\d[\d.,]{0,12}\s?(?:m|ms|s|h|sec(?:ond)?s?|minutes?|milliseconds?)?\s?){1,3}"
_SUBJECT: Final = r"(?:the\s|this\s|your\s|previous\s|shell\s|bash\s|tool\s|last\s){0,3}"
_STOPPED: Final = re.compile(
    rf"""(?ix)[\s\[(<*]{{0,6}}(?:error:\s?|warning:\s?|note:\s?)?{_SUBJECT}(?:
        (?:command|process|execution|script|tool\scall|program)\s(?:has\s|was\s|execution\s)?
            (?:timed\sout\b|killed\safter\s|terminated\s(?:after|due\sto|because\sof)\s
            |exceeded\s(?:the|its)\s|stopped\safter\s|moved\sto\s(?:the\s)?background
            |did\snot\s(?:complete|finish|return)\s(?:with)?in\b|(?:is\s)?still\srunning\b
            |has\sno\snew\soutput\safter\s|reached\s(?:the|its)\s(?:time|timeout))[^\n]{{0,600}}
      | terminated\scommand\safter\sexceeding\stimeout[^\n]{{0,600}}
      | (?:tool\s)?terminated\scommand\safter[^\n]{{0,600}}
      | time(?:d\sout|out)\s(?:after|of|exceeded|reached)\b\s?{_TIME}?[^\n]{{0,200}}
      | (?:an\serror\soccurred\swhile\sexecuting\sthe\scommand:\s)?
            command\s'[^\n]{{1,4000}}'\stimed\sout\safter\s[^\n]{{0,100}}
    )"""
)
"""A line of a harness that says that a command was ended, or left to run on."""

_END_WORD: Final = (
    r"(?:timed[ -]?out|time-?out|time[ _-]limit|took\ too\ long|killed|terminated|interrupted"
    r"|aborted|cancell?ed|SIG(?:KILL|TERM|INT))"
)
_NAMED: Final = (
    r"(?:command|process|execution|script|session|shell|operation|program|tool(?:\ call)?|job|run)"
)
_SAID: Final = r"[\w ,.:;'%+/()\[\]-]"
_WORD_ALONE: Final = re.compile(
    r"(?:\^C)?(?:(?:Terminated|Killed|Interrupted|Aborted|Cancell?ed|Time(?:d |-)?[Oo]ut|TERMINATED"
    r"|KILLED|INTERRUPTED|ABORTED|CANCELL?ED|TIME(?:D |-)?OUT|KeyboardInterrupt)"
    r"(?::? \d{1,2})?(?: \(core dumped\))?[.!]?)?"
)
_CLOSING: Final = re.compile(
    rf"""(?ix)
        \^C[^\n]{{0,40}}
      | (?:[\w.]{{1,60}}\.)?Timeout(?:Expired|Error|Exception)\b[^\n]{{0,250}}
      | (?:[\[(]\ ?|[*\#=~-]{{2,8}}\ ?){_SAID}{{0,120}}?\b{_END_WORD}\b{_SAID}{{0,120}}
            [*\#=~-]{{0,8}}
      | {_END_WORD}(?:[:,]\ |\ (?:by|after|due|because|waiting|while|on|\())\ ?{_SAID}{{0,200}}
      | (?:(?:error|warning|note|info|fatal):?\ )?
            (?:(?:the|this|your|shell|bash|tool|last)\ ){{0,3}}
            {_NAMED}\b{_SAID}{{0,120}}?\b{_END_WORD}\b{_SAID}{{0,120}}
    """
)
"""A last line that closes an output as that of a command which did not run to its end."""

_RULE_WORD: Final = re.compile(
    r"(?i)\b(?:if|when|whenever|unless|until|will|would|can|may|must|should|are|is|be|how|any|each)\b"
)
"""What a sentence holds that states a rule, and not what happened."""


def _is_closing(line: str) -> bool:
    if _WORD_ALONE.fullmatch(line) is not None:
        return True
    return _CLOSING.fullmatch(line) is not None and _RULE_WORD.search(line) is None


_STOP_HINTS: Final = (
    *("imeout", "imed out", "TIMED OUT", "background", "still running"),
    *("killed after", "terminated", "did not", "no new output", "stopped after", "exceeded the"),
)
_FRAME: Final = re.compile(r"\s*</?[a-z_]{1,40}>\s*")
_KEPT_OUTPUT: Final = re.compile(
    r"(?i)\s*(?:(?:below|here) is (?:the|its) output|(?:the )?(?:partial )?output(?: of the command"
    r")?(?: so far| until then)?(?: was| is)?)[^\n]{0,80}:\s*"
)
_STOPPED_STATUSES: Final = frozenset({-1, -9, -15, 124, 130, 137, 143})
_LIMITED: Final = re.compile(r"\btimeout\b")
_LIMITS_ALL: Final = re.compile(
    r"\s*(?:cd\s[^;&|\n]{1,1000}(?:&&|;)\s*)?(?:\w{1,60}=\S{0,200}\s+){0,9}(?:sudo\s+)?g?timeout\b"
)
_NOTES_AT_EDGE: Final = 8


def until_stopped(result: ToolResult, command: str, status: int | None = None) -> ToolResult:
    r"""Return the result of a command with :attr:`ToolResult.is_stopped` where its text states it.

    The text is then without the harness's sentence about it, and what is left is what the command
    printed before. ``status`` is its exit status, where a record states it.

    Examples
    --------
    >>> found = until_stopped(
    ...     ToolResult("a = 1\nCommand timed out after 2 seconds"), "cat a; cat b"
    ... )
    >>> found.text, found.is_stopped
    ('a = 1', True)
    >>> until_stopped(ToolResult("# Command timed out after 2 s\nx"), "cat a").is_stopped
    False
    """
    if result.is_unfinished or result.is_stopped:
        return result
    status = status if status is not None else _stated_status(result.text)
    is_late = status in _STOPPED_STATUSES and _is_limit_of_all(command, status)
    text = result.text
    edges = text[:_LONGEST_EDGE] + text[-_LONGEST_EDGE:]
    if any(hint in edges for hint in _STOP_HINTS):
        text = _without_stop(text)
    is_told = text is not result.text
    if not is_told and status != 0:
        text = _without_closing(text)
    if text is result.text and not is_late:
        return result
    is_nothing = not _without_status(text).strip()
    if is_nothing and _GOES_ON.search(result.text[-_LONGEST_OPENING:]) is not None:
        return result
    if is_nothing and not (is_told or is_late or result.is_error):
        # The line may be all that a file holds.
        return replace(result, doubt=result.doubt or "may_have_failed")
    return replace(result, text=text, is_stopped=not is_nothing, is_unfinished=is_nothing)


_LONGEST_EDGE: Final = 5000
_GOES_ON: Final = re.compile(r"(?i)\b(?:background|still running)\b")
"""What a harness says of a command whose output may be fetched later."""


def _is_limit_of_all(command: str, status: int | None) -> bool:
    """Return whether an exit status says of the whole command that its time was over.

    Where a part of a script is limited, its status is that of the last part alone.
    """
    if status != 124 or _LIMITED.search(command) is None:
        return True
    return _LIMITS_ALL.match(command[:4000]) is not None


def _stated_status(text: str) -> int | None:
    """Return the exit status that a text states at one of its ends."""
    ends = text[:_LONGEST_OPENING] + "\n" + text[-_LONGEST_OPENING:]
    found = exit_statuses().search(ends)
    number = re.search(r"-?\d{1,9}", found[0]) if found is not None else None
    return int(number[0]) if number is not None else None


_LAST_STATUS: Final = re.compile(
    r"\s{0,9}\n[\[(]?(?:[Cc]ommand |[Pp]rocess )?[Ee]xit(?:ed with)?[ _](?:code|status):? "
    r"(?P<status>-?\d{1,9})[\])]?\s*\Z"
)


def without_last_status(text: str) -> tuple[str, int | None]:
    r"""Return an output without a last line that states the exit status, and the status.

    Examples
    --------
    >>> without_last_status("a.py\n\nexit code 1"), without_last_status("exit code 1")
    (('a.py\n', 1), ('exit code 1', None))
    """
    found = _LAST_STATUS.search(text, max(0, len(text) - _LONGEST_OPENING))
    if found is None:
        return text, None
    return f"{text[: found.start()]}\n", int(found["status"])


def _without_status(text: str) -> str:
    return exit_statuses().sub("", text) if len(text) <= _LONGEST_OPENING else text


def _without_stop(text: str) -> str:
    """Return a text without the sentences at its ends that say that a command was stopped."""
    lines = text.split("\n")
    for place in _edges(lines):
        line = lines[place]
        if not _STOPPED.fullmatch(line[:_LONGEST_EDGE]):
            continue
        start, end = place, place + 1
        is_first = start <= 1
        if is_first and end < len(lines) and _KEPT_OUTPUT.fullmatch(lines[end][:200]):
            end += 1
        while start and _FRAME.fullmatch(lines[start - 1][:100]):
            start -= 1
        while end < len(lines) and _FRAME.fullmatch(lines[end][:100]):
            end += 1
        return "\n".join([*lines[:start], *lines[end:]])
    return text


_BESIDE_CLOSING: Final = re.compile(
    r"(?i)</?[a-z_]{1,40}>|[\[(][\w ,.:;'/-]{1,200}[\])]"
    r"|(?:\w{1,20} ){0,4}(?:exit|return)(?:ed)?[ _-]?(?:with )?(?:code|status)?[ :=]{1,3}-?\d{1,9}"
)
"""A tag, a note in brackets or an exit status, as they stand below such a line."""

_MOST_CLOSING: Final = 5
_LONGEST_CLOSING: Final = 300


def _without_closing(text: str) -> str:
    """Return a text without the lines at its end that close it as that of a stopped command."""
    end, found = len(text), []
    for _ in range(_MOST_CLOSING):
        end = len(text[max(0, end - _LONGEST_EDGE) : end].rstrip()) + max(0, end - _LONGEST_EDGE)
        start = text.rfind("\n", 0, end) + 1
        line = text[start:end].strip()
        if len(line) > _LONGEST_CLOSING:
            break
        if line and _is_closing(line):
            found.append((start, end))
        elif not (_BESIDE_CLOSING.fullmatch(line) or exit_statuses().fullmatch(line)):
            break
        end = start
    for start, end in found:
        text = text[:start] + text[end:]
    return text


def _edges(lines: list[str]) -> list[int]:
    """Return the places of the lines at which a harness writes its notes, the last ones first."""
    last = max(len(lines) - _NOTES_AT_EDGE, 0)
    return [*range(len(lines) - 1, last - 1, -1), *range(min(2, last))]


# --------------------------------------------------------------------------------------------------
# What a server answers in place of what was requested.

_LONGEST_MESSAGE: Final = 600
"""Longest error message in characters; a longer text is content about errors."""

_PHRASES: Final = r"""
    (?:Bad\ Request|Unauthorized|Forbidden|Not\ Found|Page\ not\ found|Method\ Not\ Allowed
    |Too\ Many\ Requests|Internal\ Server\ Error|Bad\ Gateway|Service\ (?:Temporarily\ )?Unavailable
    |Gateway\ Time-?out|Access\ (?:is\ )?denied|Bad\ credentials
    |(?:Authentication|Authorization|Log-?in|Sign-?in)\ (?:is\ )?required
    |Authentication\ failed|(?:Please\ )?(?:sign|log)\ in(?:\ to\ continue)?
    |You\ (?:must|need\ to|have\ to)\ (?:be\ (?:signed|logged)\ in|(?:sign|log)\ in)
    |Invalid\ (?:API\ key|token|credentials)|(?:Access\ )?token\ (?:has\ )?expired
    |(?:[\w-]+\ ){0,3}rate\ limit\ (?:was\ |has\ been\ )?(?:exceeded|reached|hit)|Rate[ -]limited
    |You(?:\ have|'ve)\ (?:exceeded|reached|hit)\ (?:a|the|your)\ [\w ]{0,40}(?:limit|quota)
    |Quota\ exceeded|(?:The\ )?(?:request|operation|connection)\ (?:has\ )?timed\ out
    |timeout\ of\ \d+\ ?ms\ exceeded|fetch\ failed|socket\ hang\ up|E(?:TIMEDOUT|CONNREFUSED))
"""
_END: Final = r"(?!\s*\n[=~-]{3})(?=\s*(?:$|[.,:;!(\n\"]|-\ )|\ (?:for|by|to|while|on|from)\ )"
_MESSAGE: Final = re.compile(
    rf"""\s*(?:\w*Error:?\ |(?:Request|Fetch)\ failed:?\ (?:with\ )?|Failed:?\ )?(?:
        HTTP(?:/\d(?:\.\d)?)?(?:\ (?:error|status|response|code)){{0,2}}[:\s]{{1,3}}[45]\d\d\b
      | (?:(?:error|status)(?:\ code)?[:\s=]{{1,3}})?[45]\d\d(?::|\ -)?\ {_PHRASES}{_END}
      | status(?:\ code)?[:\s=]{{1,3}}[45]\d\d\b
      | {_PHRASES}{_END}
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_HEADERS: Final = re.compile(r"\s*HTTP/\d(?:\.\d)? [45]\d\d\b[^\n]{0,200}\r?\n[\w-]{1,100}: ")
_REDIRECTED: Final = re.compile(r"\s*REDIRECT DETECTED: ")

_PAGE: Final = re.compile(
    r"\ufeff?\s*(?:<\?xml[^>]{0,200}>\s*)?(?:<!DOCTYPE\s+html|<html)\b", re.IGNORECASE
)
_TITLE: Final = re.compile(r"<title[^>]{0,200}>([^<]{0,300})</title", re.IGNORECASE)
_PASSWORD: Final = re.compile(
    r"<input\b[^>]{0,500}\btype\s{0,3}=\s{0,3}[\"']?password", re.IGNORECASE
)
_LONGEST_PAGE_HEAD: Final = 50_000
_BARRIER: Final = r"""
    (?:sign[ -]?in|log[ -]?in|authenticat(?:e|ion)|single\ sign-on|just\ a\ moment|error
    |attention\ required|are\ you\ (?:a\ robot|human)|verify\ you\ are\ human|captcha
    |(?:error\ |HTTP\ ){0,2}[45]\d\d)
"""
_BARRED: Final = re.compile(
    rf"""\s*(?:(?:{_BARRIER}|{_PHRASES})
    (?:[.!]{{0,3}}(?:\s*$|\s+[·|\u2013\u2014:-]|\s*[|·:])|\ to\ )
    |[45]\d\d\b[\s:-]{{1,3}}{_PHRASES}|[^\n]{{0,200}}\s[·|\u2013\u2014:-]\s*(?:{_BARRIER}|{_PHRASES})\s*$)""",
    re.VERBOSE | re.IGNORECASE,
)
_MARKUP: Final = frozenset(
    {
        *("html", "htm", "xhtml", "shtml", "php", "phtml", "jsp", "jspx", "asp", "aspx"),
        *("cshtml", "razor", "erb", "ejs", "hbs", "handlebars", "mustache", "twig"),
        *("njk", "j2", "jinja", "jinja2", "tmpl", "tpl", "gohtml", "ftl", "heex", "eex"),
        *("vm", "liquid", "vue", "svelte", "astro", "xml", "xsl", "svg", "md", "mdx"),
    }
)
"""Endings of files whose content can be a page."""

_ENVELOPE: Final = frozenset(
    {
        *("error", "errors", "error_code", "error_description", "message", "msg"),
        *("status", "statuscode", "code", "documentation_url", "request_id", "requestid"),
        *("type", "detail", "details", "title", "instance", "timestamp", "path"),
        *("success", "ok", "reason", "hint", "retry_after", "retryafter", "jsonrpc"),
        *("id", "iserror", "is_error", "data", "description", "trace_id"),
    }
)
"""Names that an error in JSON consists of; an answer with others holds something else as well."""


_BAD: Final = ("error", "failed", "failure")


def states_error(value: Any) -> bool:
    """Whether a decoded answer is marked as an error: MCP's flag, JSON-RPC, an error object.

    Examples
    --------
    >>> states_error({"message": "Not Found", "status": "404"}), states_error({"name": "errors"})
    (True, False)
    >>> states_error({"error": None, "files": []}), states_error({"isError": True, "content": []})
    (False, True)
    >>> states_error({"status": "error", "message": "no such file", "content": None})
    True
    """
    if not isinstance(value, dict):
        return False
    if value.get("isError") is True or value.get("is_error") is True:
        return True
    names = {
        name.lower(): name
        for name, stated in value.items()
        if isinstance(name, str) and stated is not None
    }
    if not names.keys() <= _ENVELOPE or value.get("data"):
        return False
    stated = {lower: value[name] for lower, name in names.items()}
    if stated.get("error") or stated.get("errors") or "documentation_url" in stated:
        return True
    if stated.get("success") is False or stated.get("ok") is False:
        return True
    codes = (stated.get(name) for name in ("status", "statuscode", "code"))
    has_words = bool(stated.keys() & {"message", "msg", "title", "detail", "reason"})
    return has_words and any(is_http_error(code) or code in _BAD for code in codes)


def is_http_error(code: Any) -> bool:
    """Whether a status is one of HTTP's for errors, given as a number or a text."""
    return re.fullmatch(r"[45]\d\d", str(code)) is not None


def is_error_message(text: str) -> bool:
    r"""Whether a text is a server's message for an error, a rate limit or a missing sign-in.

    Examples
    --------
    >>> is_error_message("404: Not Found"), is_error_message("404 lines were read")
    (True, False)
    """
    if _HEADERS.match(text[:_LONGEST_OPENING]) or _REDIRECTED.match(text):
        return True
    return len(text) <= _LONGEST_MESSAGE and _MESSAGE.match(text) is not None


_LONGEST_DOUBT: Final = 300
_DOUBT: Final = re.compile(
    r"""\b(?:timed[ -]out|time-?out|rate[ -]limit(?:ed|s)?\b|throttled|overloaded|try\ again
      | (?:not|n't|never)\ (?:logged|signed|authenticated|authori[sz]ed|connected|reachable)
      | (?:session|token|credentials?|log-?in|sign-?in)[ \w]{0,15}\ expired|please\ (?:log|sign)\ in
      | connect(?:ion)?\ (?:was\ |has\ been\ )?(?:refused|reset|closed|lost|error|failed)
      | (?:API|server|upstream|gateway|network|proxy|internal)\ error
      | (?:un|not\ )(?:available|authori[sz]ed)|(?:access|permission)\ (?:was\ |is\ )?denied)""",
    re.VERBOSE | re.IGNORECASE,
)
_CODE: Final = re.compile(r"\A\s*(?:\d+[:\t\u2192]|#|//|/\*|--|\*)|[=;<>]")


def may_be_an_error(text: str) -> bool:
    """Whether a text is one line of prose with words that servers use for errors.

    A file may hold such a line too, so that it proves neither.

    Examples
    --------
    >>> may_be_an_error("Your session has expired."), may_be_an_error("timeout = 30")
    (True, False)
    """
    line = text.strip()
    if "\n" in line or len(line) > _LONGEST_DOUBT:
        return False
    prose = line.split("{", 1)[0]
    return _DOUBT.search(prose) is not None and _CODE.search(prose) is None


_ACTORS: Final = (
    r"user|tool(?:\ (?:call|use|execution))?|operation|command|request|call|access|permission"
    r"|execution|action|approval"
)
_ENDED: Final = (
    r"rejected|denied|cancell?ed|aborted|interrupted|blocked|declined|refused|disallowed|forbidden"
    r"|killed|skipped|timed\ out|(?:not|n't)\ (?:approved|permitted|allowed|authori[sz]ed|granted)"
)
_MAY_BE_REFUSED: Final = re.compile(
    rf"""\s*(?:[\w\ -]{{1,40}}:\ |[\[(][\w\ -]{{1,40}}[\])]:?\ )?(?:[\[(<]\s?)?(?:
        (?:\w{{0,30}}Error|Failure|Failed|Warning):?\ | E[A-Z]{{3,12}}\b[:,]
      | (?:the\ |this\ |your\ )?(?:{_ACTORS})\b[^\n]{{0,80}}?\b(?:{_ENDED})\b
      | (?:{_ENDED})\b(?=\s*(?:$|[.:!;(\])>]|by\b|due\b|because\b))
      | (?:sorry,?\ |unfortunately,?\ )?(?:I\ |we\ )?
            (?:could\ not|cannot|can't|unable\ to|failed\ to)\ \w
      | (?:no\ such\ )?(?:file|path|folder|directory|resource)\b[^\n]{{0,200}}?
            \b(?:not\ found|does(?:\ not|n't)\ exist|not\ exist)\b
    )""",
    re.VERBOSE | re.IGNORECASE,
)


_TRACEBACK: Final = "Traceback (most recent call last):"
_UNREACHABLE: Final = re.compile(
    r"(?:MCP server\b|(?:Tool|Function) (?:call|execution) (?:has )?failed\b"
    r"|(?:Error|Failed|Failure|Unable|Could not|Cannot) (?:to )?"
    r"(?:read|open|access|load|get|find)(?:ing)?\b)",
    re.IGNORECASE,
)


def may_be_a_failure(text: str) -> bool:
    """Whether a text may be the message of an error in place of a local file's content.

    A file may hold such a text too, so that it proves neither.

    Examples
    --------
    >>> may_be_a_failure("HTTP 503 Service Unavailable"), may_be_a_failure("import os")
    (True, False)
    """
    line = text.strip()
    if " " not in line:
        return False
    if may_be_an_error(text) or is_error_message(text) or line.startswith(_TRACEBACK):
        return True
    is_line = "\n" not in line and len(line) <= _LONGEST_DOUBT
    return is_line and _UNREACHABLE.match(line) is not None and _CODE.search(line) is None


def may_be_refused(text: str) -> bool:
    """Whether a text is one line of prose as harnesses write for a call that did not run or failed.

    No dialect knows the sentence, and a file may hold such a line, so that it proves neither.

    Examples
    --------
    >>> may_be_refused("Tool call denied by user"), may_be_refused("blocked by policy")
    (True, True)
    >>> may_be_refused("def blocked(): return 1"), may_be_refused("12: Access denied")
    (False, False)
    """
    line = text.strip()
    if not line or "\n" in line or len(line) > _LONGEST_DOUBT:
        return False
    return _MAY_BE_REFUSED.match(line) is not None and _CODE.search(line) is None


def may_be_a_barrier(text: str) -> bool:
    """Whether the first line of a page's text is the title of an error or sign-in page."""
    return _BARRED.match(text.lstrip().split("\n", 1)[0].lstrip("# ")) is not None


def is_page(text: str) -> bool:
    """Whether a text is a whole page of HTML."""
    return _PAGE.match(text[:_LONGEST_OPENING]) is not None


def is_barrier(text: str) -> bool:
    """Whether a text is an error page or a sign-in page, by its title or its form."""
    if not is_page(text):
        return False
    head = text[:_LONGEST_PAGE_HEAD]
    title = _TITLE.search(head)
    is_barred = title is not None and _BARRED.match(" ".join(title[1].split())) is not None
    return is_barred or _PASSWORD.search(head) is not None


def may_be_a_page(path: str | None) -> bool:
    """Whether the content of a file can be a page, by the ending of its name."""
    return path is not None and path.rpartition(".")[2].lower() in _MARKUP
