"""Faults as a reader gets them: code, place, line, fix."""
