"""Errors in the training of networks, with the claims on trained networks that notice them."""

from tests.mutants import Mutant

TRAINING = "dynsim.networks.training"
BYTES = "dynsim.networks.multirate.training"

PROJECTOR = "multirate/remark-31-projector"
SPECIFICATION = "multirate/proposition-9"

MUTANTS = (
    Mutant(
        "training: every step has the same batch",
        TRAINING,
        "draw, noise = jax.random.split(jax.random.fold_in(key, k))",
        "draw, noise = jax.random.split(key)",
        (PROJECTOR,),
    ),
    Mutant(
        "training: the loss is maximised",
        TRAINING,
        "change, moments = optimiser.update(gradient, moments, weights)",
        "change, moments = optimiser.update(jax.tree.map(jnp.negative, gradient), moments, weights)",
        (PROJECTOR,),
    ),
    Mutant(
        "training: the weights before training are returned",
        TRAINING,
        "    return Trained(eqx.combine(state[0], rest), losses)",
        "    return Trained(model, losses)",
        (PROJECTOR,),
    ),
    Mutant(
        "multirate: the target of a symbol is the symbol itself",
        BYTES,
        "return _cross_entropy(found.logits, batch[:, 1:]) + weight * jnp.mean(found.residual)",
        "return _cross_entropy(found.logits, batch[:, :-1]) + weight * jnp.mean(found.residual)",
        (SPECIFICATION,),
    ),
    Mutant(
        "multirate: the residual has no weight in the loss",
        BYTES,
        "+ weight * jnp.mean(found.residual)",
        "+ jnp.mean(found.residual)",
        (SPECIFICATION,),
    ),
    Mutant(
        "multirate: the loss of a text counts the padding",
        BYTES,
        "return float(np.mean(losses.reshape(-1)[: len(found)]))",
        "return float(np.mean(losses))",
        (SPECIFICATION,),
    ),
    Mutant(
        "multirate: the loss of a text is that of its last symbols",
        BYTES,
        "one = lambda window: _cross_entropy(model(window[:-1]), window[1:])",
        "one = lambda window: _cross_entropy(model(window[:-1])[-1:], window[-1:])",
        (SPECIFICATION,),
    ),
    Mutant(
        "multirate: the cross entropy lacks the normalisation of the logits",
        BYTES,
        "return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - chosen)",
        "return jnp.mean(jnp.max(logits, axis=-1) - chosen)",
        (SPECIFICATION,),
    ),
)
