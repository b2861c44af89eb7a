"""The situations of the lab: what an agent does, in no harness's words.

A driver says each action in its harness's own tools; an action for which the harness has no tool
leaves the situation out. ``kinds`` name what of :data:`KINDS` a situation is about.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

Kind = Literal[
    *("read", "list", "find", "search", "shell", "edit", "write", "delegate"),
    *("mcp", "unknown", "bare", "broken", "image", "background", "gather", "program"),
]

# What a reading can be wrong about, beside a plain read, search or listing.
KINDS: Final = {
    "A1": "a filter of lines behind a search",
    "A2": "output that is cut",
    "A3": "what did not run, or not to its end",
    "A4": "what the trace shows and the model did not see",
    "A5": "work that is handed to a sub-agent",
    "A6": "counters that run on after a resumption, a fork or a compaction",
    "A7": "content that no call requested",
    "A8": "a stub in place of what was read before",
    "A9": "a result that is saved to a file",
    "A10": "names of files and folders",
    "A11": "the agent's own files",
    "A12": "the order of two streams",
    "A13": "programs that the agent writes and runs",
    "A14": "the answer, taken over",
    "A15": "answers of MCP servers",
}


@dataclass(frozen=True)
class Do:
    """One action: ``text`` is a command, a pattern, a new text, or the name of an MCP tool.

    ``gather`` waits for a sub-agent, in harnesses in which one must; ``program`` has the harness
    run a program that reads a file and returns only how long it is.
    """

    kind: Kind
    text: str = ""
    path: str = ""
    old: str = ""
    lines: tuple[int, int] | None = None
    seconds: int | None = None

    @property
    def mcp_arguments(self) -> dict[str, str]:
        """What a tool of the MCP server is asked with."""
        return {"query" if self.text == "find_hits" else "path": self.path}


@dataclass(frozen=True)
class Situation:
    """Turns of the model, each of them with the actions that it asks for at once.

    ``lists`` are the files whose name alone is the answer; ``then`` is what follows when the run is
    resumed or forked, ``sub`` what a sub-agent does; ``mode`` asks the driver for another way to
    start. Situations that are not ``alone`` share one session, each with its own calls.
    """

    name: str
    kinds: str
    turns: tuple[tuple[Do, ...], ...]
    lists: tuple[str, ...] = ()
    sub: tuple[tuple[Do, ...], ...] = ()
    then: tuple[tuple[Do, ...], ...] = ()
    mode: Literal["plain", "ask", "compact", "attach", "killed", "fork"] = "plain"
    input_tokens: dict[int, int] = field(default_factory=dict)
    leaves_traces: bool = False

    @property
    def alone(self) -> bool:
        return self.mode != "plain" or bool(self.sub or self.then) or self.leaves_traces


def read(path: str, first: int | None = None, last: int | None = None) -> Do:
    return Do("read", path=path, lines=None if first is None else (first, last or first))


def shell(command: str, seconds: int | None = None) -> Do:
    return Do("shell", command, seconds=seconds)


def one(name: str, kinds: str, *actions: Do, **more: object) -> Situation:
    """A situation in which each turn has one action."""
    return Situation(name, kinds, tuple((action,) for action in actions), **more)  # type: ignore[arg-type]


_STOCK: Final = "grep -rn reserve_stock shop tests"
_LIMITS: Final = ("config/limits.toml", "config/settings.toml")
_SCRIPT: Final = "print(open('shop/cart.py').read())\n"

SITUATIONS: Final = (
    one("read", "-", read("shop/cart.py")),
    one("read-range", "-", read("shop/table.py", 10, 20)),
    one("read-missing", "-", read("shop/absent.py")),
    one("read-folder", "A10", read("docs")),
    one("read-twice", "A8", read("shop/totals.py"), read("shop/totals.py")),
    one("read-large", "A2", read("data/huge.csv")),
    one("read-long-line", "A2", read("data/long_line.json")),
    one("read-empty", "A4", read("docs/empty.md")),
    one("read-binary", "A4", read("assets/blob.bin")),
    one("read-image", "A4", Do("image", path="assets/logo.png")),
    one("read-beyond-end", "A2", read("shop/cart.py", 500, 510)),
    one("read-space", "A10", read("shop/pay/refund policy.py")),
    one("read-umlaut", "A10", read("shop/util/größe.py")),
    one("read-brackets", "A10", read("shop/util/[id].ts")),
    one("package-like-repository", "A10", read("shop/conftest.py")),
    one("top-file", "A10", read("README.md")),
    one("rules-beside-a-read", "A7", read("shop/rules/engine.py"), leaves_traces=True),
    one("attached-by-prompt", "A7", read("docs/guide.md"), mode="attach"),
    one("program-counts", "A4", Do("program", path="shop/cart.py")),
    one("list", "-", Do("list", path="config"), lists=_LIMITS),
    one("find", "-", Do("find", "*.toml"), lists=_LIMITS),
    one("search", "-", Do("search", "reserve_stock")),
    one("search-one-file", "-", Do("search", "reserve_stock", path="shop/stock/beta.py")),
    one("search-nothing", "-", Do("search", "no_such_word")),
    one("cat", "-", shell("cat shop/cart.py")),
    one("cat-range", "-", shell("sed -n 10,20p shop/table.py")),
    one("cat-two-one-missing", "-", shell("cat shop/cart.py shop/absent.py")),
    one(
        "cat-in-folder",
        "A10",
        *(shell("cd shop && cat totals.py"), shell("cat cart.py; pwd")),
        leaves_traces=True,
    ),
    one("ls", "-", shell("ls config"), lists=_LIMITS),
    one("shell-find", "-", shell("find . -name '*.toml'"), lists=_LIMITS),
    one("grep", "-", shell(_STOCK)),
    one("grep-head", "A1", shell(f"{_STOCK} | head -2")),
    one("grep-sed", "A1", shell(f"{_STOCK} | sed -n '1,2p'")),
    one("grep-cut", "A1", shell(f"{_STOCK} | cut -c1-60")),
    one("grep-awk", "A1", shell(f"{_STOCK} | awk 'NR<3'")),
    one("stderr-behind", "A12", shell("cat shop/cart.py; echo bad >&2; exit 3")),
    one("stderr-before", "A12", shell("echo bad >&2; cat shop/cart.py")),
    one("cut-middle", "A2", shell("cat shop/cart.py data/huge.csv shop/totals.py")),
    one("cut-behind", "A2", shell("cat data/huge.csv; cat shop/cart.py")),
    one("cut-several", "A2", shell("cat shop/cart.py data/huge.csv docs/faq.md data/huge.csv")),
    one("saved-result", "A9", shell("cat data/huge.csv"), shell("grep -n huge_3999 {{SAVED}}")),
    one(
        "time-limit",
        "A3",
        shell("cat shop/cart.py; sleep 45; cat shop/totals.py", 2),
        leaves_traces=True,
    ),
    one("in-background", "A3", Do("background", "cat shop/cart.py"), leaves_traces=True),
    one("killed", "A3", read("docs/guide.md"), shell("cat shop/cart.py; sleep 50"), mode="killed"),
    Situation("two-at-once", "-", ((shell("sleep 1; cat shop/cart.py"), read("docs/faq.md")),)),
    one("unknown-tool", "A3", Do("unknown", path="shop/cart.py")),
    one("broken-arguments", "A3", Do("broken", path="shop/cart.py")),
    one(
        "refused",
        "A3",
        shell("rm docs/faq.md; cat secret/key.txt"),
        read("docs/guide.md"),
        mode="ask",
    ),
    one(
        "edit",
        "A7",
        read("shop/cart.py"),
        Do("edit", "cart_0005 = 55", path="shop/cart.py", old="cart_0005 = 5"),
    ),
    one("edit-unread", "A7", Do("edit", "x", path="shop/totals.py", old="not in the file")),
    one(
        "write-new",
        "A11",
        Do("write", "fresh = 1\n", path="shop/fresh.py"),
        shell("git status --short"),
    ),
    one("script", "A13", Do("write", _SCRIPT, path="look.py"), shell("python3 look.py")),
    one("missing-argument", "A3", Do("bare", path="shop/cart.py")),
    one("git-show", "-", shell("git show HEAD:shop/pay/gateway.py")),
    one("answer-restored", "A14", shell("git checkout -q fix -- shop/pay/gateway.py && echo done")),
    one(
        "delegate",
        "A5",
        *(Do("delegate", "Do PLAN:sub"), Do("gather"), read("docs/guide.md")),
        sub=((read("docs/faq.md"),),),
    ),
    one("mcp-text", "A15", Do("mcp", "read_text", path="shop/cart.py")),
    one("mcp-structured", "A15", Do("mcp", "find_hits", path="reserve_stock")),
    one("mcp-error", "A15", Do("mcp", "fail", path="shop/cart.py")),
    one("resumed", "A6", read("shop/cart.py"), then=((read("shop/totals.py"),),)),
    one("forked", "A6", read("shop/cart.py"), then=((read("shop/totals.py"),),), mode="fork"),
    one(
        "compacted",
        "A6 A7",
        *(read("shop/cart.py"), read("shop/totals.py"), read("docs/guide.md"), read("docs/faq.md")),
        mode="compact",
        input_tokens={1: 190_000},
    ),
)
# The session that the situations share that are not alone.
TOGETHER: Final = Situation("together", "-", ())
