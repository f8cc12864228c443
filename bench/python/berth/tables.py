"""Tables of a View: columns as NumPy arrays."""

from __future__ import annotations

import uuid
from typing import Any, Iterator

import numpy as np

NODE_STATUS = np.array(["initializing", "ready", "down", "disconnected"])
DESIRED = np.array(["run", "stop", "evict"])
CLIENT = np.array(["pending", "running", "complete", "failed", "lost", "unknown"])
WORDS = ("datacenter", "pool", "node_class", "group")  # columns of texts that repeat


class Table:
    """Columns of equal length by name: `table["cpu_used_mhz"]` is a NumPy array of shape (len(table),).

    A table is gathered the first time that a view is asked for it, in one pass over the state, and kept with the view.
    A snapshot holds its rows as records in chunks of 256, in the order of their making and with holes where nodes have
    gone, so a column over all nodes does not exist before that pass. From then on nothing is copied: numbers are
    read-only arrays over the gathered memory, in MHz and MiB, and keep it alive. `status`, `desired` and `client` are
    small integers (see
    NODE_STATUS, DESIRED and CLIENT of this module), `id` is 16 bytes. Texts that repeat are numbers too; `text(column)`
    turns any column into texts.
    """

    def __init__(self, columns: dict[str, Any], words: list[str], texts: dict[str, np.ndarray],
                 jobs: list[tuple[str, str]] | None = None):
        self._columns = columns
        self._words = np.array(words, dtype=object)
        self._texts = texts
        self.jobs = jobs or []
        """Namespace and ID of the jobs that the column `job` names by position."""

    @staticmethod
    def of_nodes(view) -> "Table":
        if not hasattr(view, "_nodes"):
            columns = view.node_columns()
            words = columns.pop("words")
            columns["name"] = np.array(columns["name"], dtype=object)
            view._nodes = Table(columns, words, {"status": NODE_STATUS})
        return view._nodes

    @staticmethod
    def of_allocs(view) -> "Table":
        if not hasattr(view, "_allocs"):
            columns = view.alloc_columns()
            view._allocs = Table(columns, columns.pop("words"), {"desired": DESIRED, "client": CLIENT},
                                 columns.pop("jobs"))
        return view._allocs

    def __len__(self) -> int:
        return len(self._columns["id"])

    def __getitem__(self, column: str) -> np.ndarray:
        try:
            return self._columns[column]
        except KeyError:
            raise KeyError(f"no column {column!r}; there are {', '.join(self._columns)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def keys(self):
        return self._columns.keys()

    def text(self, column: str) -> np.ndarray:
        """A column as texts, shape (len(table),): IDs as UUIDs, statuses and words by name, jobs by ID ("" where
        unknown)."""
        values = self[column]
        if column == "id":
            return np.array([str(uuid.UUID(bytes=bytes(value))) for value in values], dtype=object)
        if column in self._texts:
            return self._texts[column][values]
        if column in WORDS:
            return self._words[values] if len(values) else np.array([], dtype=object)
        if column == "job":
            names = np.array([job for _, job in self.jobs] + [""], dtype=object)
            return names[values]
        return values.astype(str)

    def frame(self):
        """All columns as a pandas.DataFrame, indexed by ID, with words as texts. Needs pandas."""
        import pandas

        named = (*WORDS, "job", *self._texts)
        data = {name: self.text(name) if name in named else self[name] for name in self if name != "id"}
        return pandas.DataFrame(data, index=pandas.Index(self.text("id"), name="id"))

    def arrow(self):
        """All columns as a pyarrow.Table. Needs pyarrow.

        Numbers and IDs (arrow.uuid) refer to the table's memory, without a copy. Words and statuses are dictionaries of
        texts, and jobs a dictionary of their IDs, null where unknown."""
        import pyarrow

        def column(name: str):
            values = self[name]
            if name == "id":
                ids = np.ascontiguousarray(values)
                storage = pyarrow.FixedSizeBinaryArray.from_buffers(pyarrow.binary(16), len(self),
                                                                    [None, pyarrow.py_buffer(ids)])
                return pyarrow.ExtensionArray.from_storage(pyarrow.uuid(), storage)
            if name == "job":  # one ID may be in several namespaces
                ids = list(dict.fromkeys(job for _, job in self.jobs))
                code_of = {job: code for code, job in enumerate(ids)}
                codes = np.array([code_of[job] for _, job in self.jobs] + [-1], dtype=np.int32)[values]
                return pyarrow.DictionaryArray.from_arrays(pyarrow.array(codes, mask=codes < 0),
                                                           pyarrow.array(ids, pyarrow.string()))
            words = self._texts.get(name, self._words if name in WORDS else None)
            if words is None:
                return pyarrow.array(values)
            return pyarrow.DictionaryArray.from_arrays(pyarrow.array(values), pyarrow.array(words, pyarrow.string()))

        return pyarrow.table({name: column(name) for name in self})

    def __arrow_c_stream__(self, requested_schema=None):
        """For programs that read Arrow: `polars.DataFrame(table)`, `duckdb.from_arrow(table)`. Needs pyarrow."""
        return self.arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<berth.Table of {len(self)} rows: {', '.join(self)}>"


def placements_stream(plan, requested_schema=None):
    """The placements of a Plan for programs that read Arrow: `pyarrow.table(plan)`. Needs pyarrow."""
    import pyarrow

    rows = plan.placements
    return pyarrow.table({name: pyarrow.array(rows[name])
                          for name in rows.dtype.names}).__arrow_c_stream__(requested_schema)
