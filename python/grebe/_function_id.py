# SPDX-License-Identifier: Apache-2.0
"""What a function is, as a text that changes when what it would do changes: its code, constants, defaults, what it captured, and
the globals that it names, these again by their content. Not: file, line numbers, addresses."""

import dis
import functools
import hashlib
import pickle
import types


class Unknown(Exception):
    """Something in the function cannot be told by content."""


_PLAIN = (type(None), bool, int, float, complex, str, bytes)


class _Hash:
    def __init__(self):
        self._digest = hashlib.sha256()
        self._seen = {}

    def put(self, *words):
        for word in words:
            data = word if isinstance(word, bytes) else str(word).encode()
            self._digest.update(len(data).to_bytes(8, "little") + data)

    def value(self, v):
        if isinstance(v, _PLAIN):
            self.put(type(v).__name__, repr(v))
            return
        if id(v) in self._seen:  # a function that calls itself, say
            self.put("seen", self._seen[id(v)])
            return
        self._seen[id(v)] = len(self._seen)
        self._keep = getattr(self, "_keep", [])
        self._keep.append(v)  # ids are told apart only while their objects live
        if isinstance(v, types.FunctionType):
            self.function(v)
        elif isinstance(v, types.CodeType):
            self.code(v)
        elif isinstance(v, types.ModuleType):
            self.put("module", v.__name__)
        elif isinstance(v, functools.partial):
            self.put("partial")
            self.items([v.func, v.args, v.keywords])
        elif isinstance(v, types.MethodType):
            self.put("method")
            self.items([v.__func__, v.__self__])
        elif isinstance(v, (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)):
            self.put("builtin", getattr(v, "__module__", None), v.__qualname__)
            owner = getattr(v, "__self__", None)
            if owner is not None and not isinstance(owner, types.ModuleType):
                self.value(owner)
        elif isinstance(v, (list, tuple)):
            self.put(type(v).__name__, len(v))
            self.items(v)
        elif isinstance(v, dict):
            self.put("dict", len(v))
            for key in sorted(v, key=lambda k: (type(k).__name__, repr(k))):
                self.items([key, v[key]])
        elif isinstance(v, (set, frozenset)):
            self.put("set", len(v))
            self.put(*sorted(function_id(x) for x in v))
        elif isinstance(v, type):
            self.type(v)
        elif hasattr(v, "__array_interface__") and hasattr(v, "tobytes") and getattr(v, "dtype", None) != object:
            self.put("array", v.dtype, v.shape, v.tobytes())
        else:
            self.object(v)

    def items(self, values):
        for v in values:
            self.value(v)

    def code(self, code):
        self.put("code", code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_argcount,
                 code.co_kwonlyargcount, code.co_flags)
        self.items(code.co_consts)

    def function(self, f):
        self.put("function")
        self.code(f.__code__)
        self.items([f.__defaults__, f.__kwdefaults__])
        for cell in f.__closure__ or ():
            try:
                self.value(cell.cell_contents)
            except ValueError:
                self.put("empty cell")
        for name in sorted(_globals(f.__code__)):
            if name in f.__globals__:
                self.put("global", name)
                self.value(f.__globals__[name])

    def type(self, cls):
        self.put("class", cls.__module__, cls.__qualname__)
        if cls.__module__ == "__main__":
            for name, member in sorted(vars(cls).items()):
                if isinstance(member, (types.FunctionType, staticmethod, classmethod) + _PLAIN) and name not in (
                        "__module__", "__doc__", "__firstlineno__"):
                    self.put(name)
                    self.value(getattr(member, "__func__", member))

    def object(self, v):
        self.put("object")
        self.value(type(v))
        call = getattr(type(v), "__call__", None)
        if isinstance(call, types.FunctionType):
            self.value(call)
        if type(v).__reduce_ex__ is object.__reduce_ex__ and not hasattr(v, "__getstate__") or "__dict__" in dir(v) and \
                isinstance(getattr(v, "__dict__", None), dict) and isinstance(call, types.FunctionType):
            self.value(vars(v))
            return
        try:
            self.put(pickle.dumps(v, protocol=4))
        except Exception as e:
            raise Unknown(f"{type(v).__name__}: {e}") from e

    def text(self):
        return self._digest.hexdigest()


def _globals(code):
    """Names of globals that the code, or code inside of it, loads."""
    names = {i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            names |= _globals(const)
    return names


def function_id(*values):
    """A hexadecimal text for functions and values; raises Unknown."""
    h = _Hash()
    try:
        h.items(values)
    except RecursionError as e:
        raise Unknown("nested too deeply") from e
    return h.text()
