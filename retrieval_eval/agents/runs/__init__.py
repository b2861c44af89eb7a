"""The evaluation of whole runs: discovery, trials, summary and impact, artefacts on disk.

Nothing is loaded here: who asks for one trial needs no run.
"""
