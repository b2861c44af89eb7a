"""The lab: real harnesses against a scripted model, and what their traces are read as."""
