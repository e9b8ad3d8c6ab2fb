# SPDX-License-Identifier: Apache-2.0
"""What columns mean: Value, ClassLabel, List, Array2D, Image … Their JSON form is that of `datasets`; storage and casts are the
library's."""

import json

from . import _core
from ._build import build


class Feature:
    """Base of the kinds of columns. Equal when kind and arguments are."""

    _fields = ()  # (name, default) in the order written

    def __init__(self, *args, **kwargs):
        names = [name for name, _ in self._fields]
        if len(args) > len(names):
            raise TypeError(f"{type(self).__name__}: expected at most {len(names)} arguments, found {len(args)}")
        for name, default in self._fields:
            setattr(self, name, default)
        for name, value in list(zip(names, args)) + list(kwargs.items()):
            if name not in names and name != "id":
                raise TypeError(f"{type(self).__name__}: no argument {name!r}; there are {', '.join(names)}")
            setattr(self, name, value)
        self._check()

    def _check(self):
        pass

    def _json(self):
        out = {}
        for name, default in self._fields:
            value = getattr(self, name)
            if value != default or name in ("dtype", "names", "shape", "languages", "feature"):
                out[name] = _node_json(value) if name == "feature" else value
        out["_type"] = type(self).__name__
        return out

    def __eq__(self, other):
        return type(self) is type(other) and self._json() == other._json()

    def __hash__(self):
        return hash(json.dumps(self._json(), sort_keys=True))

    def __repr__(self):
        inner = []
        for i, (name, default) in enumerate(self._fields):
            value = getattr(self, name)
            if i == 0 and name in ("dtype", "feature"):
                inner.append(repr(value))
            elif value != default:
                inner.append(f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(inner)})"


class Value(Feature):
    """A number, text, time …: dtype is "int64", "string", "timestamp[us, tz=UTC]", …"""

    _fields = (("dtype", None),)


class ClassLabel(Feature):
    """An integer that stands for a name. Given by names, by num_classes ("0", "1", …) or by a file with a name a line."""

    _fields = (("names", None),)
    dtype = "int64"

    def __init__(self, num_classes=None, names=None, names_file=None, id=None):
        if isinstance(num_classes, (list, tuple)):  # ClassLabel(["a", "b"])
            num_classes, names = None, num_classes
        if names_file is not None:
            if names is not None:
                raise ValueError("ClassLabel: give names or names_file, not both")
            with open(names_file, encoding="utf-8") as f:
                names = [line.strip() for line in f.read().split("\n") if line.strip()]
        if names is None:
            if num_classes is None:
                raise ValueError("ClassLabel: expected names, names_file or num_classes")
            names = [str(i) for i in range(num_classes)]
        names = list(names)
        if num_classes is not None and num_classes != len(names):
            raise ValueError(f"ClassLabel: expected {num_classes} names, found {len(names)}")
        if len(set(names)) != len(names):
            raise ValueError("ClassLabel: names stand more than once")
        self.names = names
        self._of = {name: i for i, name in enumerate(names)}

    num_classes = property(lambda self: len(self.names))

    def str2int(self, values):
        """Numbers of names; a text that is no name may be a number or have blanks around it."""
        if isinstance(values, str):
            return self._number(values)
        return [self._number(v) for v in values]

    def _number(self, name):
        name = str(name)
        for text in (name, name.strip()):
            if text in self._of:
                return self._of[text]
        try:
            number = int(name)
        except ValueError:
            number = -1
        if not 0 <= number < len(self.names):
            raise ValueError(f"invalid string class label {name}")
        return number

    def int2str(self, values):
        """Names of numbers."""
        if isinstance(values, int) or hasattr(values, "__index__"):
            number = int(values)
            if not 0 <= number < len(self.names):
                raise ValueError(f"invalid integer class label {number}: expected 0 to {len(self.names) - 1}")
            return self.names[number]
        return [self.int2str(v) for v in values]

    def __repr__(self):
        return f"ClassLabel(names={self.names!r})"


class List(Feature):
    """Lists of a feature; length: all of one length."""

    _fields = (("feature", None), ("length", -1))


class LargeList(Feature):
    """Lists with 64-bit offsets."""

    _fields = (("feature", None),)


def Sequence(feature, length=-1, id=None):
    """The older word: of a struct it is a struct of lists, else List."""
    if isinstance(feature, dict):
        return {name: List(f, length=length) for name, f in feature.items()}
    return List(feature, length=length)


class _Array(Feature):
    _fields = (("shape", None), ("dtype", None))
    _dims = 0

    def _check(self):
        self.shape = list(self.shape)
        if len(self.shape) != self._dims or any(d is None for d in self.shape[1:]):
            raise ValueError(f"{type(self).__name__}: expected {self._dims} dimensions, of which the first may be None, found "
                             f"{self.shape}")


def _array_class(dims):
    return type(f"Array{dims}D", (_Array,), {"_dims": dims, "__doc__": f"Arrays of {dims} dimensions; the first may be None."})


Array2D, Array3D, Array4D, Array5D = (_array_class(n) for n in (2, 3, 4, 5))


def _media_class(name, fields):
    return type(name, (Feature,), {"_fields": fields, "__doc__": f"{name}: a dict of bytes and path; decoding is the caller's."})


Image = _media_class("Image", (("mode", None), ("decode", True)))
Audio = _media_class("Audio", (("sampling_rate", None), ("decode", True), ("num_channels", None), ("stream_index", None)))
Video = _media_class("Video", (("decode", True), ("stream_index", None), ("dimension_order", "NCHW"), ("num_ffmpeg_threads", 1),
                               ("device", None), ("seek_mode", "exact")))
Pdf, Nifti, Mesh = (_media_class(name, (("decode", True),)) for name in ("Pdf", "Nifti", "Mesh"))


class Json(Feature):
    """Any JSON value, stored as its text."""

    _fields = (("decode", True),)


class Translation(Feature):
    """A text in each of the languages."""

    _fields = (("languages", None),)


class TranslationVariableLanguages(Feature):
    """Texts in some of the languages."""

    _fields = (("languages", None), ("num_languages", None))


_KINDS = {c.__name__: c for c in (Value, ClassLabel, List, LargeList, Array2D, Array3D, Array4D, Array5D, Image, Audio, Video, Pdf,
                                  Nifti, Mesh, Json, Translation, TranslationVariableLanguages)}


def _node_json(node):
    if isinstance(node, Feature):
        return node._json()
    if isinstance(node, dict):
        return {name: _node_json(f) for name, f in node.items()}
    if isinstance(node, (list, tuple)) and len(node) == 1:
        return List(node[0])._json()
    if isinstance(node, str):
        return Value(node)._json()
    if hasattr(node, "to_dict") and not isinstance(node, type):  # a feature of another library
        return node.to_dict()
    raise TypeError(f"expected a feature, found {node!r}")


def _node_of(tree):
    kind = tree.get("_type") if isinstance(tree, dict) else None
    if not isinstance(kind, str):
        if isinstance(tree, list):
            return List(_node_of(tree[0]))
        return {name: _node_of(f) for name, f in tree.items()}
    args = {name: value for name, value in tree.items() if name not in ("_type", "id")}
    if "feature" in args:
        args["feature"] = _node_of(args["feature"])
    if kind == "Sequence":
        return Sequence(**args)
    if kind not in _KINDS:
        raise ValueError(f"unknown feature type {kind!r}")
    known = {name for name, _ in _KINDS[kind]._fields}
    return _KINDS[kind](**{name: value for name, value in args.items() if name in known})


class Features(dict):
    """Columns and what they mean, in order: ``{"text": Value("string"), "label": ClassLabel(names=["neg", "pos"])}``."""

    @classmethod
    def from_json(cls, text):
        """From the JSON of `datasets`."""
        return cls({name: _node_of(tree) for name, tree in json.loads(text).items()})

    from_dict = classmethod(lambda cls, tree: cls({name: _node_of(f) for name, f in tree.items()}))

    def to_dict(self):
        """Plain dicts, as JSON has them."""
        return {name: _node_json(f) for name, f in self.items()}

    def to_json(self):
        """As one line."""
        return json.dumps(self.to_dict())

    def copy(self):
        return Features(self)

    @classmethod
    def from_arrow_schema(cls, schema):
        """Of a pyarrow.Schema: from the metadata that `datasets` and Grebe write, else by the types."""
        rows = _core.dataset_of_rows(_core.stream_from(schema.empty_table()), None)
        return cls.from_json(rows.info()["features"])

    def _no_rows(self):
        return _core.dataset_of_rows(build({name: [] for name in self}), features_json(self))

    @property
    def arrow_schema(self):
        """The pyarrow.Schema of the rows in memory and in files."""
        import pyarrow
        return pyarrow.schema(self._no_rows().schema())

    def flatten(self, max_depth=16):
        """With the fields of structs as columns "parent.child"."""
        return Features.from_json(self._no_rows().apply("flatten", None, max_depth, False, {}).info()["features"])

    def __reduce__(self):
        return Features.from_json, (self.to_json(),)


def features_json(features):
    """The JSON of Features, a dict of features, those of `datasets`, or an Arrow schema; None stays."""
    if features is None:
        return None
    if isinstance(features, str):
        return features
    if isinstance(features, dict):
        return json.dumps({name: _node_json(f) for name, f in features.items()})
    if hasattr(features, "to_dict"):
        return json.dumps(features.to_dict())
    raise TypeError(f"expected features, found {features!r}")


def json_paths(features):
    """Paths to Json features that are to be decoded: ("a",), ("b", "*", "c"), …"""
    found = []

    def walk(node, path):
        if isinstance(node, Json) and node.decode:
            found.append(path)
        elif isinstance(node, (List, LargeList)):
            walk(node.feature, path + ("*",))
        elif isinstance(node, dict):
            for name, f in node.items():
                walk(f, path + (name,))

    for name, node in features.items():
        walk(node, (name,))
    return found
