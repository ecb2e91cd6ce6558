"""Functions that XLA calls through C, launches with a stand-in for CUDA, and what keeps kernels from running."""

import ctypes
import itertools
import sys
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.kernels import Kernel, call_frames, cuda, kernels_on, why_no_kernels
from dynsim.kernels.call_frames import Call, handler

pytestmark = pytest.mark.retraced

numbers = itertools.count()


def as_called_by_xla(work):
    """Register a function of a `Call` for the processor, and return the name of its target and what XLA may call."""
    name, made = f"test_kernels_{next(numbers)}", handler(work)
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(made), platform="cpu")
    return name, made


def array(address, count):
    return np.ctypeslib.as_array((ctypes.c_double * count).from_address(address))


def test_xla_passes_the_addresses_of_arguments_and_results():
    calls = []

    def work(call):
        calls.append(call)
        array(call.results[0], 3)[:] = array(call.arguments[0], 3) + array(call.arguments[1], 3)
        array(call.results[1], 1)[:] = array(call.arguments[1], 3)[2]

    name, alive = as_called_by_xla(work)
    results = (jax.ShapeDtypeStruct((3,), float), jax.ShapeDtypeStruct((1,), float))
    run = jax.jit(lambda a, b: jax.ffi.ffi_call(name, results)(a, 2 * b))
    both, last = run(jnp.arange(3.0), jnp.array([1.0, 10.0, 100.0]))
    assert both.tolist() == [2.0, 21.0, 202.0]
    assert last.tolist() == [200.0]
    assert [(len(c.arguments), len(c.results), c.stream, c.device) for c in calls] == [(2, 2, 0, 0)]
    assert alive is not None


def test_an_exception_becomes_an_error_of_the_computation():
    def work(call):
        raise MemoryError("no room on the card")

    name, alive = as_called_by_xla(work)
    with pytest.raises(Exception, match="MemoryError: no room on the card"):
        jax.ffi.ffi_call(name, jax.ShapeDtypeStruct((1,), float))(jnp.ones(1)).block_until_ready()
    assert alive is not None


@pytest.mark.parametrize(("major", "minor"), [(0, 7), (1, 1)])
def test_xla_is_told_its_own_version_of_a_known_interface_and_the_first_one_of_another(major, minor):
    told, asked, frame = call_frames._Metadata(), call_frames._MetadataExtension(), call_frames._CallFrame()
    asked.base.kind, asked.metadata = call_frames.METADATA, ctypes.pointer(told)
    api = call_frames._Api()
    api.version.major, api.version.minor = major, 7
    frame.api = ctypes.pointer(api)
    frame.extension = ctypes.cast(ctypes.pointer(asked), ctypes.POINTER(call_frames._Extension))
    assert not handler(lambda call: pytest.fail("called"))(ctypes.pointer(frame))
    assert (told.version.major, told.version.minor, told.traits) == (0, minor, call_frames.REPLAYS)


def test_a_launch_has_a_name_of_its_text_and_its_numbers(monkeypatch):
    registered = []
    monkeypatch.setattr(cuda, "_registered", {})
    monkeypatch.setattr(
        jax.ffi, "register_ffi_target", lambda name, *rest, platform: registered.append((name, platform))
    )
    names = [
        Kernel(text, "f", options=options)._registered(grid, (32,))
        for text, options, grid in (("a", (), (1,)), ("b", (), (1,)), ("a", ("use_fast_math",), (1,)), ("a", (), (2,)))
    ]
    assert len(set(names)) == 4
    assert Kernel("a", "f")._registered((1,), (32,)) == names[0]
    assert registered == [(name, "CUDA") for name in names]


class FakeCuda(types.ModuleType):
    """Stand-in for `cuda.core`: compiles any text without the word WRONG, and notes launches."""

    def __init__(self, log):
        super().__init__("cuda.core")
        self.log = log

        class Program:
            def __init__(self, text, kind, options):
                self.text = text
                log.append(("compile", text, kind, options))

            def compile(self, form):
                if "WRONG" in self.text:
                    raise RuntimeError("compilation log:\nf(3): error: WRONG is undefined\n1 error")
                return types.SimpleNamespace(get_kernel=lambda name: (form, name))

        self.Program, self.ProgramOptions = Program, lambda **options: options
        self.Device = lambda number: types.SimpleNamespace(
            arch="90", set_current=lambda: log.append(("device", number))
        )
        self.LaunchConfig = lambda grid, block: (grid, block)
        self.Stream = types.SimpleNamespace(from_handle=lambda handle: ("stream", handle))
        self.launch = lambda *given: log.append(("launch", *given))


def test_a_call_launches_the_kernel_on_the_stream_of_xla(monkeypatch):
    log = []
    monkeypatch.setitem(sys.modules, "cuda.core", FakeCuda(log))
    monkeypatch.setattr(cuda, "_compiled", {})
    kernel = Kernel("text", "f", options=("use_fast_math",))
    for _ in range(2):
        cuda._launch(kernel, (7, 1), (32,), Call((11, 12), (13,), 99, 3))
    options = {"std": "c++17", "arch": "sm_90", "use_fast_math": True}
    launch = ("launch", ("stream", 99), ((7, 1), (32,)), ("cubin", "f"), 11, 12, 13)
    assert log == [("device", 3), ("compile", cuda.PREFIX + "text", "c++", options), launch, ("device", 3), launch]


def test_a_text_that_does_not_compile_is_said_in_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.core", FakeCuda([]))
    said = r"^The kernel g does not compile: f\(3\): error: WRONG is undefined\.$"
    with pytest.raises(RuntimeError, match=said):
        cuda.compiled(Kernel("WRONG", "g"), "sm_90")


def test_what_keeps_kernels_from_running(monkeypatch):
    card = types.SimpleNamespace(compute_capability="9.0")
    monkeypatch.delenv(cuda.VARIABLE, raising=False)
    for devices, compiler, said in (
        ((), True, "JAX has no CUDA device"),
        ((card,), False, "the package cuda-core is not installed (extra `gpu`)"),
        ((card,), True, None),
    ):
        monkeypatch.setattr(cuda, "cuda_devices", lambda devices=devices: devices)
        monkeypatch.setattr(cuda, "_has_compiler", lambda compiler=compiler: compiler)
        assert why_no_kernels() == said
        assert kernels_on() == (said is None)
    monkeypatch.setenv(cuda.VARIABLE, "0")
    assert why_no_kernels() == "the environment variable DYNSIM_KERNELS is 0"
    monkeypatch.setenv(cuda.VARIABLE, "no")
    with pytest.raises(ValueError, match="`DYNSIM_KERNELS` must be 0 or 1, but is 'no'"):
        kernels_on()
    assert cuda.architecture(card) == "sm_90"
