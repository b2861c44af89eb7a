"""Traces of coding agents: from a trial's folder to a comparison."""
