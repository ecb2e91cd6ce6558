"""Run the tests under several BLAS kernels, with one and two threads, in random order, with and without data.

`python -m tests.quality.kernels [KERNEL ...]`; `default` is the kernel that OpenBLAS chooses for the processor.
Programs are compiled as users' programs are.
"""

import os
import subprocess
import sys

from tests.support.kept import COMPARED

KERNELS = ("default", "Haswell", "SkylakeX", "Zen", "Prescott")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def environment(kernel: str, threads: int, *, data: bool) -> dict[str, str]:
    chosen = {"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", *(() if data else ("DYNSIM_DATA",))}
    kept = {name: value for name, value in os.environ.items() if name not in chosen}
    return {
        **kept,
        **dict.fromkeys(THREADS, str(threads)),
        "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
        COMPARED: "no",  # figures and words are kept of one kernel
        **({} if kernel == "default" else {"OPENBLAS_CORETYPE": kernel}),
    }


def main(kernels: list[str]) -> int:
    unknown = [kernel for kernel in kernels if kernel not in KERNELS]
    if unknown:
        print(f"Argument `kernel` must be one of {', '.join(KERNELS)}, but is `{unknown[0]}`.", file=sys.stderr)
        return 2
    failed = []
    for number, kernel in enumerate(KERNELS):
        if kernels and kernel not in kernels:
            continue
        threads, data = 1 + number % 2, number % 3 != 2
        run = f"kernel {kernel}, {threads} BLAS threads, random order {number}, {'with' if data else 'without'} data"
        print(f"== {run}", flush=True)
        order = ["--random-order", f"--random-order-seed={number}"]
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", *order]
        if subprocess.run(command, env=environment(kernel, threads, data=data), check=False).returncode:
            failed.append(run)
    print("\n".join(["failed:", *failed]) if failed else "all passed")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
