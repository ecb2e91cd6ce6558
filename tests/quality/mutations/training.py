"""Errors in the training of networks, with the claims on trained networks that notice them."""

from tests.quality.mutants import Mutant

PROJECTOR = "multirate/remark-31-projector"
SPECIFICATION = "multirate/proposition-9"

# fmt: off
MUTANTS = (
    Mutant("training: every step has the same batch", "_steps", "jax.random.fold_in(key, k)", "key", (PROJECTOR,)),
    Mutant("training: the loss is maximised", "_steps",
           "gradient", "jax.tree.map(jnp.negative, gradient)", (PROJECTOR,)),
    Mutant("training: the weights before training are returned", "train",
           "Trained(eqx.combine(state[0], rest), losses)", "Trained(model, losses)", (PROJECTOR,)),
    Mutant("multirate: the target of a symbol is the symbol itself", "loss_with_residual",
           "batch[:, 1:]", "batch[:, :-1]", (SPECIFICATION,)),
    Mutant("multirate: the residual has no weight in the loss", "loss_with_residual",
           "weight * jnp.mean(found.residual)", "jnp.mean(found.residual)", (SPECIFICATION,)),
    Mutant("multirate: the loss of a text counts the padding", "text_loss",
           "losses.reshape(-1)[: len(found)]", "losses", (SPECIFICATION,)),
    Mutant("multirate: the loss of a text is that of its last symbols", "_window_losses",
           "_cross_entropy(model(window[:-1]), window[1:])", "_cross_entropy(model(window[:-1])[-1:], window[-1:])",
           (SPECIFICATION,)),
    Mutant("multirate: the cross entropy lacks the normalisation of the logits", "_cross_entropy",
           "jax.nn.logsumexp", "jnp.max", (SPECIFICATION,)),
)
# fmt: on
