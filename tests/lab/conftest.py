"""The lab is no test: it is run by ``make lab``."""

collect_ignore_glob = ["*"]
