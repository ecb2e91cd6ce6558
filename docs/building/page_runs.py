"""Run the blocks of pages in processes of their own, as many pages at once as there are processors."""

import multiprocessing
import os
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import page_blocks

Ran = tuple[list[page_blocks.Shown], dict[str, bytes]]


class PageRuns:
    """The pages of a site that have blocks, which begin to run at once."""

    def __init__(self, texts: Mapping[str, str]):
        """Start to run the blocks of pages, given as texts by name; those with most blocks run first."""
        skipped = ["unrun"] if os.environ.get("DYNSIM_DATA") else ["unrun", "data"]
        count = {name: len(page_blocks.blocks(text)) for name, text in texts.items()}
        self.names = sorted((name for name in texts if count[name]), key=lambda name: -count[name])
        sys.path.insert(0, str(Path(__file__).parent))  # the processes find `page_blocks` there
        self._compiled = tempfile.TemporaryDirectory()
        self._pool = ProcessPoolExecutor(
            min(len(self.names) or 1, os.cpu_count() or 1),
            mp_context=multiprocessing.get_context("spawn"),
            initializer=page_blocks.prepare_process,
            initargs=(self._compiled.name,),
        )
        run = lambda name: self._pool.submit(page_blocks.run_page, name, texts[name], skipped)
        self._futures = {name: run(name) for name in self.names}

    def result(self, name: str) -> Ran:
        """What the blocks of a page showed, and the images that they wrote, as soon as they have run.

        Raises:
            BlockError: if a block failed.
        """
        return self._futures[name].result()

    def close(self) -> None:
        """End the processes; pages that have not begun are not run."""
        self._pool.shutdown(cancel_futures=True)
        self._compiled.cleanup()
