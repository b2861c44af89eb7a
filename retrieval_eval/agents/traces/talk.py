"""Answers without a call that can be read: whether the agent worked, or only talked.

Some agents write their calls in the text of their answers, in a form that is not read. A person who
talks with an agent replies to answers without a call, too, and so does a harness that could not
read a call and executed nothing. The shape of the answer and of the reply tell these apart.
"""

from __future__ import annotations

import re
from typing import Final

from retrieval_eval.agents.traces.served import is_refusal

_LONGEST_COMPLAINT: Final = 600
_LONGEST_ANSWER: Final = 20_000

_CALL: Final = r"(?:tool|function)[ _](?:call|use|invocation)"
_OUTPUT: Final = rf"(?:outputs?|responses?|answers?|repl(?:y|ies)|messages?|completions?|{_CALL}s?)"
_FORM: Final = (
    rf"(?:{_CALL}s?|tools?|functions?|actions?|commands?|format(?:ted|ting)?|pars(?:ed?|ing|able)"
    r"|(?:\w{1,20}[ ])?(?:code[ ])?blocks?|json|xml|tags?)\b"
)
_COMPLAINT: Final = re.compile(
    # Your last output did not use any tool calls.
    rf"""(?xi)
      \b(?:(?:the|previous|last|model|your)[ ](?:\w{{1,20}}[ ]){{0,3}}?{_OUTPUT}
        |your[ ](?:\w{{1,20}}[ ]){{0,3}}?(?:actions?|commands?)|the[ ]action)\b[^.!?]{{0,80}}?
        (?:\b(?:not|no|without|invalid|malformed|missing|incorrect(?:ly)?|unable|cannot|must
          |multiple|several|fail(?:ed|s)?|errors?)\b|n't\b)
        (?:[^.!?]{{0,120}}?\b{_FORM}|\s{{0,3}}[:.!])
    """
    # No action was found. Found 0 actions.
    rf"""
    | \b(?:no|zero|0|without[ ](?:a|an|any))[ ](?:valid[ ]|executable[ ]|single[ ])?{_FORM}[ ]
        (?:was[ ]|were[ ]|is[ ]|are[ ]|could[ ]be[ ]|ha(?:s|ve)[ ]been[ ])?
        (?:found|detected|provided|given|parsed|made|present|recogni[sz]ed|in[ ](?:your|the))\b
    | \bfound[ ](?:\d{{1,9}}|no|zero|multiple|several)[ ]{_FORM}
    """
    # You did not use a tool.
    rf"""
    | \byou[ ](?:did[ ]not|didn't|have[ ]not|haven't|must|forgot[ ]to|failed[ ]to|need[ ]to|should)
        [ ](?:\w{{1,20}}[ ]){{0,3}}?(?:used?|call|make|made|provided?|included?|invoked?|give|given
          |respond|answer|reply|output)\b[^.!?]{{0,60}}?\b{_FORM}
    """
    # Please respond with exactly one action.
    rf"""
    | \b(?:always|make[ ]sure|ensure|retry|respond|reply|answer|provide|use|include|follow|output)\b
        [^.!?]{{0,80}}?\b(?:exactly[ ]one|one[ ]and[ ]only[ ]one|single|valid|proper|correct
          |required|specified|following|expected)[ ](?:\w{{1,20}}[ ]){{0,2}}?{_FORM}
    """
    # Format error. Could not parse the response. Invalid JSON.
    rf"""
    | \A\W{{0,9}}(?:error\W{{1,4}})?
        (?:format|pars(?:e|er|ing)|json(?:[ ]?decode)?|{_CALL})[ ]?error\b
    | \brepeated[ ](?:\w{{1,20}}[ ]){{0,2}}?format\b
    | \b(?:could[ ]not|couldn't|cannot|can't|unable[ ]to|failed[ ]to)[ ](?:parse|extract|decode)\b
    | \binvalid[ ](?:or[ ]\w{{1,20}}[ ])?(?:{_OUTPUT}|json|xml|format|action)\b
    """
    # Please go on with the task.
    r"""
    | \b(?:continue|proceed|keep)\b[^.!?]{0,60}?
        \b(?:working|task|approach|next[ ]step|judge?ment)\b
    """
)
_SPACES: Final = re.compile(r"[\s*_`]+")


def complains_of_format(reply: str) -> bool:
    r"""Whether a harness says that it could not read a call in an answer, so that none was made.

    Examples
    --------
    >>> complains_of_format("Your output was not formatted correctly. You must always include one")
    True
    >>> complains_of_format("No action was found."), complains_of_format("a.py\\nb.py")
    (True, False)
    """
    opening = reply[:_LONGEST_COMPLAINT]
    return is_refusal(opening) or _COMPLAINT.search(_SPACES.sub(" ", opening)) is not None


_HOLDS_CALL: Final = re.compile(
    r"""(?x)
      <\|?/?(?:[a-z]{1,30}_[a-z_]{1,30}|function|tool|invoke|commands?|bash|action|execute|run|shell
        |search|keystrokes)\b[^>\n]{0,200}>
    | \[TOOL_CALLS?\]
    | "(?:name|tool|tool_name|tool_calls?|commands?|cmd|action|function|function_call|arguments
        |keystrokes)"\s{0,9}:
    | ^[ \t]{0,9}(?:\*\*)?(?:(?i:actions?|commands?|tool(?:[ ]call)?|function(?:[ ]call)?)
        (?:[ ]input)?)(?:\*\*)?:
    | ^[ \t]{0,9}(?:\$[ ]\S|[a-z_]\w{0,60}\([^\n]{0,2000}\)[ \t]{0,9}$)
    """,
    re.MULTILINE,
)
_FENCE: Final = re.compile(r"[ \t]{0,3}(?:```|~~~)[ \t]{0,3}([^\n`~]{0,60})")
_TO_RUN: Final = re.compile(
    r"(?i)\w{0,30}(?:sh|shell|console|terminal|cmd|command|tool\w{0,20}|action|run|execute|json|xml)\b"
    r"|\s*\Z"
)
"""The language of a block that may be run; one of a programming language shows code."""

_IS_OUTPUT: Final = re.compile(
    r"""(?xi)\s{0,9}(?:
      \W{0,4}(?:observations?|(?:execution|command|tool|function|action)?[ _]?
        (?:results?|outputs?|responses?))\b[^\n]{0,80}:
    | <(?:output|returncode|results?|observation|tool_\w{1,20}|function_\w{1,20}|stdout|stderr
        |exit_code|response)\b
    | new[ ]terminal[ ]output | (?:stdout|stderr|exit[ ](?:code|status)|returncode)\b
    | \{\s{0,9}"(?:output|returncode|stdout|results?|exit_code|observation)"
    ) | .{0,600}?\((?:open[ ]file|current[ ]directory):""",
    re.DOTALL,
)
_WORDS: Final = 3


def holds_call(answer: str) -> bool:
    """Whether an answer holds what has the form of a call.

    Examples
    --------
    >>> holds_call("<function=execute_bash>ls</function>"), holds_call("run('ls')")
    (True, True)
    >>> holds_call("The answer is 3.")
    False
    """
    words: list[str] = []
    is_inside = False
    for line in answer[:_LONGEST_ANSWER].split("\n"):
        fence = _FENCE.match(line)
        if fence is None:
            words += [] if is_inside else [line]
        elif not is_inside and _TO_RUN.match(fence[1]):
            return True
        else:
            is_inside = not is_inside
    return _HOLDS_CALL.search("\n".join(words)) is not None


def is_output(reply: str) -> bool:
    """Whether a reply has the form in which harnesses show what a call printed.

    Examples
    --------
    >>> is_output("OBSERVATION: a.py"), is_output("<returncode>0</returncode>"), is_output("Thanks")
    (True, True, False)
    """
    return _IS_OUTPUT.match(reply) is not None


def is_talk(answer: str) -> bool:
    """Whether an answer is words without a call, of which even a short command is none.

    Examples
    --------
    >>> is_talk("The answer is 3."), is_talk("ls")
    (True, False)
    """
    return len(answer[:_LONGEST_COMPLAINT].split()) >= _WORDS and not holds_call(answer)
