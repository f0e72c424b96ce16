"""`python -m shmem_model.litmus.catalogue` writes `index.json` anew."""

from __future__ import annotations

from shmem_model.litmus.catalogue import INDEX, index_text

if __name__ == "__main__":
    INDEX.write_text(index_text(), encoding="utf-8")
    print(INDEX.name)
