"""What XLA passes to a function that it calls: the C structures of its foreign function interface.

The layout is that of `xla/ffi/api/c_api.h`, which jaxlib installs in `jax.ffi.include_dir()`: an interface of C with a
version of its own, which XLA keeps for a year at least.
"""

import ctypes
from collections.abc import Callable
from ctypes import POINTER, Structure, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_void_p
from typing import Any, NamedTuple

METADATA = 1  # the kind of extension with which XLA asks for the version
EXECUTE = 3  # the stage in which arguments may be read
REPLAYS = 1  # the trait that lets XLA record the launches of a call, and replay them
MAJOR = 0  # the version of the interface below
INTERNAL = 13  # the code of an error


class _Extension(Structure):
    pass


_Extension._fields_ = [("size", c_size_t), ("kind", c_int), ("next", POINTER(_Extension))]


class _Version(Structure):
    _fields_ = [("size", c_size_t), ("extension", POINTER(_Extension)), ("major", c_int), ("minor", c_int)]


class _Metadata(Structure):
    _fields_ = [("size", c_size_t), ("version", _Version), ("traits", c_uint32)]


class _MetadataExtension(Structure):
    _fields_ = [("base", _Extension), ("metadata", POINTER(_Metadata))]


class _Array(Structure):
    _fields_ = [
        ("size", c_size_t), ("extension", POINTER(_Extension)), ("dtype", c_int), ("data", c_void_p),
        ("rank", c_int64), ("dims", POINTER(c_int64)),
    ]  # fmt: skip


class _ArrayList(Structure):
    _fields_ = [
        ("size", c_size_t), ("extension", POINTER(_Extension)), ("count", c_int64), ("kinds", POINTER(c_int)),
        ("buffers", POINTER(POINTER(_Array))),
    ]  # fmt: skip


class _ErrorRequest(Structure):
    _fields_ = [("size", c_size_t), ("extension", POINTER(_Extension)), ("message", c_char_p), ("code", c_int)]


class _Request(Structure):
    """A question about a call: the answer is a pointer (the stream) or an integer (the number of the device)."""

    _fields_ = [("size", c_size_t), ("extension", POINTER(_Extension)), ("context", c_void_p), ("answer", c_void_p)]


class _Api(Structure):
    _fields_ = [
        ("size", c_size_t), ("extension", POINTER(_Extension)), ("version", _Version), ("internal", c_void_p),
        ("create_error", ctypes.CFUNCTYPE(c_void_p, POINTER(_ErrorRequest))), ("error_message", c_void_p),
        ("destroy_error", c_void_p), ("register", c_void_p),
        ("stream", ctypes.CFUNCTYPE(c_void_p, POINTER(_Request))), ("register_type", c_void_p),
        ("get_context", c_void_p), ("set_state", c_void_p), ("get_state", c_void_p), ("allocate", c_void_p),
        ("free", c_void_p), ("schedule", c_void_p), ("num_threads", c_void_p), ("create_future", c_void_p),
        ("set_future", c_void_p), ("set_future_error", c_void_p), ("run_id", c_void_p),
        ("device_ordinal", ctypes.CFUNCTYPE(c_void_p, POINTER(_Request))),
    ]  # fmt: skip


class _CallFrame(Structure):
    _fields_ = [
        ("size", c_size_t), ("extension", POINTER(_Extension)), ("api", POINTER(_Api)), ("context", c_void_p),
        ("stage", c_int), ("arguments", _ArrayList), ("results", _ArrayList),
    ]  # fmt: skip


HANDLER = ctypes.CFUNCTYPE(c_void_p, POINTER(_CallFrame))


class Call(NamedTuple):
    """One call by XLA: addresses of the arguments and the results, the stream (0 on a CPU), the device."""

    arguments: tuple[int, ...]
    results: tuple[int, ...]
    stream: int
    device: int


def handler(work: Callable[[Call], Any]) -> Any:
    """Make a C function that XLA can call, from a Python function of a `Call`.

    The function may start work on the stream and must not wait for it. An exception becomes an error of the
    computation. Keep the result alive as long as XLA may call it.
    """

    @HANDLER
    def handle(pointer: Any) -> int | None:
        frame = pointer.contents
        try:
            if frame.extension and frame.extension.contents.kind == METADATA:
                return _describe(frame)
            if frame.stage == EXECUTE:
                work(Call(_addresses(frame.arguments), _addresses(frame.results), *_place(frame)))
            return None
        except BaseException as error:  # noqa: BLE001  (C code cannot pass it on)
            return _failed(frame, f"{type(error).__name__}: {error}")

    return handle


def _describe(frame: Any) -> None:
    """Answer XLA's question for the version of the interface and the traits."""
    metadata = ctypes.cast(frame.extension, POINTER(_MetadataExtension)).contents.metadata.contents
    spoken = frame.api.contents.version if frame.api else None
    known = spoken is not None and spoken.major == MAJOR
    metadata.version.major, metadata.version.minor = MAJOR, spoken.minor if known and spoken else 1
    metadata.traits = REPLAYS


def _addresses(buffers: Any) -> tuple[int, ...]:
    return tuple(buffers.buffers[k].contents.data or 0 for k in range(buffers.count))


def _place(frame: Any) -> tuple[int, int]:
    """Get the stream and the number of the device; a CPU has no stream."""
    api, asked = frame.api.contents, _Request(ctypes.sizeof(_Request), None, frame.context, None)
    failed = api.stream(ctypes.byref(asked))
    if failed:
        _forget(api, failed)
        return 0, 0
    number = _Request(ctypes.sizeof(_Request) - 4, None, frame.context, None)
    failed = api.device_ordinal(ctypes.byref(number))
    if failed:
        _forget(api, failed)
        return asked.answer or 0, 0
    return asked.answer or 0, c_int32((number.answer or 0) & 0xFFFFFFFF).value


def _forget(api: Any, error: int) -> None:
    destroy = ctypes.CFUNCTYPE(None, POINTER(_Request))(api.destroy_error)
    destroy(ctypes.byref(_Request(ctypes.sizeof(_Request) - 8, None, error, None)))


def _failed(frame: Any, message: str) -> int:
    text = message.encode()
    request = _ErrorRequest(_ErrorRequest.code.offset + 4, None, text, INTERNAL)
    return frame.api.contents.create_error(ctypes.byref(request))
