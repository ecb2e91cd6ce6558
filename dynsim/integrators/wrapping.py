"""Controllers of step sizes that wrap another one, whose tolerances implicit solvers are handed."""

import diffrax as dfx


class AbstractWrapping(dfx.AbstractAdaptiveStepSizeController):
    """A controller with the tolerances and the norm of the one that it wraps."""

    controller: dfx.AbstractAdaptiveStepSizeController

    @property
    def rtol(self):
        """The wrapped controller's."""
        return self.controller.rtol  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def atol(self):
        """The wrapped controller's."""
        return self.controller.atol  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def norm(self):
        """The wrapped controller's."""
        return self.controller.norm  # pyright: ignore[reportAttributeAccessIssue]
