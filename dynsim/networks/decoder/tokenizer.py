"""Tokenizers: the byte-pair encoding of llama2.c, and the three-letter alphabet of gpt-nano."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path

import numpy as np

from dynsim._core.checked import checked
from dynsim._core.types import ArrayLike
from dynsim._core.validation import reals
from dynsim.errors import ArgumentError, shown
from dynsim.networks.decoder.pretrained import read_tensors
from dynsim.networks.decoder.transformer import check_ids

BEGIN, END = 1, 2  # <s> and </s>
FIRST_BYTE = 3  # tokens 3 to 258 stand for the bytes 0 to 255
LETTERS = "ABC"


@dataclass(frozen=True)
class Tokenizer:
    """A byte-pair encoding that merges pieces by score, with a token for every single byte.

    Attributes:
        pieces: the byte string of each token.
        scores: the merge score of each token.
        numbers: the token of each piece.

    Source: llama2.c, `encode` and `decode` in run.c.
    """

    pieces: tuple[bytes, ...]
    scores: tuple[float, ...]
    numbers: dict[bytes, int] = field(init=False, repr=False)

    def __post_init__(self):
        """Index the pieces; equal pieces get the index of the first."""
        if not isinstance(self.pieces, Sequence) or not all(isinstance(one, bytes) for one in self.pieces):
            raise ArgumentError("pieces", "be a sequence of bytes", f"is {shown(self.pieces)}")
        if not isinstance(self.scores, Sequence) or not all(isinstance(one, Real) for one in self.scores):
            raise ArgumentError("scores", "be a sequence of numbers", f"is {shown(self.scores)}")
        if len(self.scores) != len(self.pieces) or len(self.pieces) < FIRST_BYTE + 256:
            must = f"have one score for each of at least {FIRST_BYTE + 256} pieces"
            raise ArgumentError("pieces", must, f"has {len(self.pieces)} pieces and {len(self.scores)} scores")
        numbers = {piece: i for i, piece in reversed(list(enumerate(self.pieces)))}
        object.__setattr__(self, "numbers", numbers)

    @checked
    def encode(self, text: str) -> np.ndarray:
        """Encode `text` as tokens, preceded by the token `BEGIN`.

        A space is prepended. Characters without a piece become their bytes in UTF-8. Then, repeatedly, the adjacent
        pair whose concatenation is the piece with the highest score is merged, the leftmost one among ties, until no
        pair is a piece.
        """
        spaced = f" {text}" if text else ""
        ids = [i for character in spaced for i in self._spelled(character.encode())]
        while (place := self._best_merge(ids)) is not None:
            ids[place : place + 2] = [self.numbers[self._joined(ids, place)]]
        return np.array([BEGIN, *ids])

    def decode_bytes(self, ids: ArrayLike) -> bytes:
        """Bytes of the tokens, without `BEGIN`, `END` and the space that follows `BEGIN`."""
        numbers = np.asarray(reals("ids", ids))
        if numbers.ndim != 1:
            raise ArgumentError("ids", "be one sequence of tokens", f"has shape {numbers.shape}")
        if numbers.size:
            check_ids("ids", numbers, len(self.pieces))
        ends = [None, *numbers.tolist()]
        pairs = zip(ends, ends[1:], strict=False)
        return b"".join(self._bytes(after, i) for after, i in pairs if i not in (BEGIN, END))

    def decode(self, ids: ArrayLike) -> str:
        """Decode tokens to text; bytes that are not valid UTF-8 become U+FFFD."""
        return self.decode_bytes(ids).decode(errors="replace")

    def _spelled(self, character: bytes) -> list[int]:
        if character in self.numbers:
            return [self.numbers[character]]
        return [FIRST_BYTE + byte for byte in character]

    def _joined(self, ids: list[int], place: int) -> bytes:
        return self.pieces[ids[place]] + self.pieces[ids[place + 1]]

    def _best_merge(self, ids: list[int]) -> int | None:
        places = [p for p in range(len(ids) - 1) if self._joined(ids, p) in self.numbers]
        return max(places, key=lambda p: self.scores[self.numbers[self._joined(ids, p)]], default=None)

    def _bytes(self, after: int | None, i: int) -> bytes:
        piece = self.pieces[i]
        if after == BEGIN and piece.startswith(b" "):
            piece = piece[1:]
        byte = re.fullmatch(rb"<0x([0-9A-F]{2})>", piece)
        return bytes([int(byte[1], 16)]) if byte else piece


@checked
def load_tokenizer(path: str | Path) -> Tokenizer:
    """Load a tokenizer from an `.npz` file with `vocab`, `vocab_len` and `vocab_score`, such as stories260K's.

    Raises:
        ValueError: if the file is missing or damaged, or a tensor is missing or of another type.

    Example:
        >>> import tempfile
        >>> import dynsim as ds
        >>> import numpy as np
        >>> pieces = [b"<unk>", b"<s>", b"</s>", *(b"<0x%02X>" % byte for byte in range(256)), b"a"]
        >>> tensors = {"vocab": pieces, "vocab_len": [len(piece) for piece in pieces], "vocab_score": np.zeros(260)}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.savez(f"{folder}/tiny.npz", **tensors)
        ...     tokenizer = ds.networks.load_tokenizer(f"{folder}/tiny.npz")
        >>> len(tokenizer.pieces), tokenizer.decode([259, 259])
        (260, 'aa')
    """
    tensors = read_tensors(path)
    vocabulary = tensors.raw("vocab", None)
    if vocabulary.dtype.kind != "S":
        must = "be a file with byte strings in the tensor `vocab`"
        raise ArgumentError("path", must, f"in `{tensors.file}` it is of type {vocabulary.dtype}")
    lengths = tensors.raw("vocab_len", len(vocabulary)).tolist()
    scores = np.asarray(tensors.take("vocab_score", len(vocabulary))).tolist()
    # NumPy drops zero bytes at the end of a string.
    pieces = tuple(bytes(piece).ljust(size, b"\0") for piece, size in zip(vocabulary.tolist(), lengths, strict=True))
    return Tokenizer(pieces, tuple(scores))


def decode_letters(ids: ArrayLike) -> str:
    """Decode tokens to a word in the letters A, B, C."""
    numbers = np.asarray(ids)
    check_ids("ids", numbers, len(LETTERS))
    return "".join(LETTERS[i] for i in numbers.tolist())
