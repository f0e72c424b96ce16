"""So much of JSON Schema as the schema of the vectors uses; an unknown keyword is an error, never a pass."""

from __future__ import annotations

import re
from typing import Any

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}
PLAIN = {"$schema", "$id", "title"}


def complaints(value: Any, schema: dict[str, Any], where: str = "") -> list[str]:
    """What is wrong with a value."""
    found: list[str] = []
    for word, asked in schema.items():
        match word:
            case "type":
                right = isinstance(value, TYPES[asked]) and (asked == "boolean" or not isinstance(value, bool))
                if not right:
                    return [f"{where}: no {asked}"]
            case "const":
                found += [] if value == asked else [f"{where}: is not {asked}"]
            case "enum":
                found += [] if value in asked else [f"{where}: none of {asked}"]
            case "required":
                found += [f"{where}: no {key}" for key in asked if key not in value]
            case "minimum":
                found += [] if value >= asked else [f"{where}: below {asked}"]
            case "minLength" | "minItems" | "minProperties":
                found += [] if len(value) >= asked else [f"{where}: too short"]
            case "items":
                found += [one for i, item in enumerate(value) for one in complaints(item, asked, f"{where}/{i}")]
            case "properties" | "patternProperties" | "additionalProperties":
                pass  # below, together
            case other:
                assert other in PLAIN, f"the checker does not know {other}"
    if isinstance(value, dict):
        for key, item in value.items():
            found += complaints(item, _schema_of(key, schema), f"{where}/{key}") if _known(key, schema) else [
                f"{where}: {key} is not foreseen"
            ]  # fmt: skip
    return found


def _schema_of(key: str, schema: dict[str, Any]) -> dict[str, Any]:
    if key in schema.get("properties", {}):
        return dict(schema["properties"][key])
    for pattern, inner in schema.get("patternProperties", {}).items():
        if re.search(pattern, key):
            return dict(inner)
    more = schema.get("additionalProperties", {})
    return more if isinstance(more, dict) else {}


def _known(key: str, schema: dict[str, Any]) -> bool:
    named = key in schema.get("properties", {})
    return named or any(re.search(p, key) for p in schema.get("patternProperties", {})) or (
        schema.get("additionalProperties", True) is not False
    )  # fmt: skip
