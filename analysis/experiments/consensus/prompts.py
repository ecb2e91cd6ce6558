"""Inputs of the trained networks in CONSENSUS, Section 7.5: the prompts of the text and of Table 2, or letters."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int

from dynsim._core.types import ArrayLike
from dynsim.networks.decoder.pretrained import read_tensors
from dynsim.networks.decoder.tokenizer import decode_letters, load_tokenizer

FIRST_PROMPT = (
    "Describe a futuristic city where humans and robots live together. Talk about what the city looks "
    "like and what daily life is like there."
)
PROMPTS = (
    (
        "A few colleagues and I amused ourselves at a previous IEEE conference on Decision and Control (CDC) "
        "with having ChatGPT try to handle all sorts of things, including a failed attempt at having it find "
        "Lyapunov function."
    ),
    (
        'The instructions that we gave to ChatGPT were, "Write a presidential column for the Control Systems '
        'Magazine on the future of control," and the resulting column is given verbatim here:'
    ),
    (
        "Spearheaded by (CSS) Vice-President for Conference Activities Carolyn Beck and Prof. Philip E. Paré,"
        " we arrived at a temporary policy, for now, large-scale language models are not allowed as "
        "coauthors."
    ),
    (
        'Imagine the absurdity of having to agree that "By uploading this manuscript, I certify that the '
        "computations in this submission are made by hand and no calculator was used to perform any of the "
        'computations."'
    ),
    (
        "I have no doubt that our warning message will seem as quaint and obsolete as this statement about "
        "calculators within a few years."
    ),
)
LAST_PROMPT = (
    "After endless years lost in the shadows of Shakespeare's sonnets and the melancholic musings of "
    "Pessoa, I have glimpsed enlightenment's elusive light. Now, on the precipice of my final hour, as "
    "the weight of mortality presses upon me, I must reveal to you the one truth that transcends all "
    "others: the meaning of life is..."
)
# Token number with which the prompts of Table 2 are padded.
PADDING = 0


@dataclass(frozen=True)
class Inputs:
    """Input sequences as token numbers, and `decode`, which converts token numbers to text.

    `first` is used with trained, random and redrawn weights, `several` (of one length) are compared with each other,
    and the outputs for `last` are decoded.
    """

    first: Int[np.ndarray, " n"]
    several: Int[np.ndarray, "inputs length"]
    last: Int[np.ndarray, " m"]
    decode: Callable[[ArrayLike], str]


def padded_prompts(path: Path) -> Inputs:
    """Encode the prompts for the network in the file `path`, padding the prompts of Table 2 with zeros to equal length.

    Read: token number 0 after the prompt. Since attention is causal, padding does not affect the tokens of the prompt,
    but E is a mean over all tokens, padding included.
    """
    tokenizer = load_tokenizer(path)
    found = [tokenizer.encode(prompt) for prompt in PROMPTS]
    longest = max(map(len, found))
    several = np.stack([np.pad(ids, (0, longest - len(ids)), constant_values=PADDING) for ids in found])
    return Inputs(tokenizer.encode(FIRST_PROMPT), several, tokenizer.encode(LAST_PROMPT), tokenizer.decode)


def reference_letters(path: Path) -> Inputs:
    """Read the reference inputs in the file of a sorting network, `ref_idx`: six letters each, padded with zeros."""
    inputs = read_tensors(path).raw("ref_idx", None, None).astype(int)
    return Inputs(inputs[0], inputs, inputs[0], decode_letters)


INPUTS = {"padded prompts": padded_prompts, "reference letters": reference_letters}
