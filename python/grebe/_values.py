# SPDX-License-Identifier: Apache-2.0
"""Times and decimals between Arrow's integers and Python's objects."""

import datetime
import decimal

_UNITS = {"s": 1, "m": 10**3, "u": 10**6, "n": 10**9}
_EPOCH = datetime.datetime(1970, 1, 1)
_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()


def _microseconds(value, unit, what):
    per_second = _UNITS[unit]
    micros, rest = divmod(value * 10**6, per_second)
    if rest:
        raise ValueError(f"{what} of {value} ns is finer than a microsecond, which Python's datetime cannot hold: use a "
                         "format that keeps nanoseconds (numpy, arrow, pandas)")
    return micros


def _timestamp(value, unit, zone):
    if unit == "n":
        try:
            import pandas
            return pandas.Timestamp(value, unit="ns", tz=zone or None) if not zone else pandas.Timestamp(value, unit="ns", tz="UTC").tz_convert(zone)
        except ImportError:
            pass
    moment = _EPOCH + datetime.timedelta(microseconds=_microseconds(value, unit, "a timestamp"))
    if not zone:
        return moment
    return moment.replace(tzinfo=datetime.timezone.utc).astimezone(_zone(zone))


def _zone(name):
    if name[0] in "+-":
        hours, minutes = name[1:].split(":")
        offset = datetime.timedelta(hours=int(hours), minutes=int(minutes))
        return datetime.timezone(-offset if name[0] == "-" else offset)
    import zoneinfo
    return datetime.timezone.utc if name == "UTC" else zoneinfo.ZoneInfo(name)


def value_out(format, value):
    """The object that a value of an Arrow type stands for: an integer of a time, the bytes of a decimal."""
    if format[0] == "d":
        scale = int(format[2:].split(",")[1])
        return decimal.Decimal(int.from_bytes(value, "little", signed=True)).scaleb(-scale, decimal.Context(prec=80))
    kind, unit = format[1], format[2]
    if kind == "d":
        return datetime.date.fromordinal(_EPOCH_DAY + (value if unit == "D" else value // 86_400_000))
    if kind == "t":
        micros = _microseconds(value, unit, "a time of day")
        return (_EPOCH + datetime.timedelta(microseconds=micros)).time()
    if kind == "D":
        return datetime.timedelta(microseconds=_microseconds(value, unit, "a duration"))
    if kind == "s":
        return _timestamp(value, unit, format.partition(":")[2])
    raise NotImplementedError(f"a value of Arrow type {format!r} as a Python object")


def _micros_of(delta):
    return (delta.days * 86_400 + delta.seconds) * 10**6 + delta.microseconds


def values_in(values):
    """Objects of one kind of time or decimal as (Arrow format, width in bytes, integers); None stays None. TypeError for others."""
    some = [v for v in values if v is not None]
    first = some[0]
    if hasattr(first, "to_pydatetime"):  # pandas.Timestamp
        zone = str(first.tzinfo) if first.tzinfo is not None else ""
        return f"tsn:{zone}", 8, [None if v is None else v.value for v in values]
    if isinstance(first, datetime.datetime) and all(isinstance(v, datetime.datetime) for v in some):
        zone = "" if first.tzinfo is None else "UTC" if first.tzinfo is datetime.timezone.utc else str(first.tzinfo)
        utc = [v if v is None or v.tzinfo is None else v.astimezone(datetime.timezone.utc).replace(tzinfo=None) for v in values]
        return f"tsu:{zone}", 8, [None if v is None else _micros_of(v - _EPOCH) for v in utc]
    if isinstance(first, datetime.date) and all(isinstance(v, datetime.date) for v in some):
        return "tdD", 4, [None if v is None else v.toordinal() - _EPOCH_DAY for v in values]
    if isinstance(first, datetime.time) and all(isinstance(v, datetime.time) for v in some):
        return "ttu", 8, [None if v is None else ((v.hour * 60 + v.minute) * 60 + v.second) * 10**6 + v.microsecond
                          for v in values]
    if isinstance(first, datetime.timedelta) and all(isinstance(v, datetime.timedelta) for v in some):
        return "tDu", 8, [None if v is None else _micros_of(v) for v in values]
    if isinstance(first, decimal.Decimal) and all(isinstance(v, decimal.Decimal) and v.is_finite() for v in some):
        scale = max(0, max(-v.as_tuple().exponent for v in some))
        whole = max(max(len(v.as_tuple().digits) + v.as_tuple().exponent, 0) for v in some)
        precision = max(1, whole + scale)
        if precision > 76:
            raise TypeError(f"decimals of {precision} digits: expected at most 76")
        width = 16 if precision <= 38 else 32
        context = decimal.Context(prec=80)
        bits = "" if width == 16 else ",256"
        return f"d:{precision},{scale}{bits}", width, [None if v is None else int(v.scaleb(scale, context)) for v in values]
    kinds = sorted({type(v).__name__ for v in some})
    raise TypeError(f"expected values of one type, found {', '.join(kinds)}")
