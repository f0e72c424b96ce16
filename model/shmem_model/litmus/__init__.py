"""Litmus files: small protocols as text, with questions about them."""

from __future__ import annotations

from .canonical import canonical_key
from .errors import LitmusError
from .parser import parse_file, parse_text
from .printer import to_text
from .syntax import Program

__all__ = ["LitmusError", "Program", "canonical_key", "parse_file", "parse_text", "to_text"]
