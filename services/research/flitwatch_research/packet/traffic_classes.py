"""Traffic classes of one packet-level run, from `--traffic-class`, and the class of each job."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from flitwatch_core.packet import TrafficClass
from flitwatch_domain.errors import BadRequest

#: The engine's limit.
MOST_CLASSES = 16
_GRAMMAR = "NAME:min=SHARE[,max=SHARE][,priority=N]"
_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}"
_SHARE = r"[01]|[01]?\.[0-9]{1,9}|1\.0{1,9}"


@dataclass(frozen=True)
class NamedClass:
    """A named traffic class; shares are of every link, 0 to 1."""

    name: str
    minimum: float
    maximum: float = 1.0
    priority: int = 0


@dataclass(frozen=True)
class ClassPlan:
    """Traffic classes in order, and the index of each job's class; both are empty if there are none."""

    classes: tuple[NamedClass, ...] = ()
    of_job: tuple[int, ...] = ()

    @property
    def engine(self) -> list[TrafficClass]:
        """Return the classes in the engine's form."""
        return [
            TrafficClass(traffic_class.minimum, traffic_class.maximum, traffic_class.priority)
            for traffic_class in self.classes
        ]


def parse_class(text: str) -> NamedClass:
    """Return one class from `NAME:min=SHARE[,max=SHARE][,priority=N]`.

    Raises
    ------
    BadRequest
    """
    name, _, rest = text.partition(":")
    pairs = [part.partition("=")[::2] for part in rest.split(",")]
    fields = dict(pairs)
    allowed = {"min": _SHARE, "max": _SHARE, "priority": r"[0-9]{1,3}"}
    fits = len(fields) == len(pairs) and "min" in fields and fields.keys() <= allowed.keys()
    if not (fits and re.fullmatch(_NAME, name, re.ASCII)) or not all(
        re.fullmatch(allowed[key], value, re.ASCII) for key, value in fields.items()
    ):
        raise BadRequest(
            f"--traffic-class {text!r} is not a class", advice=f"Write {_GRAMMAR}, for example bulk:min=0.3,max=0.6."
        )
    return NamedClass(name, float(fields["min"]), float(fields.get("max", 1)), int(fields.get("priority", 0)))


def read_classes(classes: Sequence[str | NamedClass]) -> tuple[NamedClass, ...]:
    """Return the classes in order, parsing those given as text. Raises the errors of `parse_class`."""
    return tuple(
        traffic_class if isinstance(traffic_class, NamedClass) else parse_class(traffic_class)
        for traffic_class in classes
    )


def class_plan(classes: Sequence[str | NamedClass], names: Sequence[str | None]) -> ClassPlan:
    """Return the classes of a run; `names` contains each job's class, and the background's last.

    Raises
    ------
    BadRequest
        Shares do not fit, or a class is missing or unknown.
    """
    all_classes = read_classes(classes)
    if not all_classes:
        unknown = next((name for name in names if name is not None), None)
        if unknown is not None:
            raise BadRequest(f"there is no traffic class {unknown!r}", advice=f"Give --traffic-class {_GRAMMAR}.")
        return ClassPlan()
    _check_classes(all_classes)
    place = {traffic_class.name: number for number, traffic_class in enumerate(all_classes)}
    for number, name in enumerate(names):
        if name is None:
            raise BadRequest(
                f"job {number} has no traffic class",
                advice=f"Give --job-class, --background-class or the column class of --jobs: {', '.join(place)}.",
            )
        if name not in place:
            raise BadRequest(f"there is no traffic class {name!r}", advice=f"Use {', '.join(place)}.")
    return ClassPlan(all_classes, tuple(place[name] for name in names if name is not None))


def _check_classes(classes: tuple[NamedClass, ...]) -> None:
    if len(classes) > MOST_CLASSES:
        raise BadRequest(f"{len(classes)} traffic classes; at most {MOST_CLASSES} are possible")
    for number, traffic_class in enumerate(classes):
        if traffic_class.name in {other.name for other in classes[:number]}:
            raise BadRequest(
                f"traffic class {traffic_class.name} is listed twice", advice="Give each class its own name."
            )
        if not 0 <= traffic_class.minimum <= traffic_class.maximum <= 1 or traffic_class.maximum == 0:
            raise BadRequest(
                f"traffic class {traffic_class.name} has a minimum of {traffic_class.minimum:g} and a maximum of {traffic_class.maximum:g}",
                advice="Give a minimum of at most the maximum, and a maximum above 0 and at most 1.",
            )
    total = sum(traffic_class.minimum for traffic_class in classes)
    if total > 1 + 1e-9:
        raise BadRequest(
            f"the traffic classes' minima add up to {total:g}", advice="Give minima whose sum is at most 1."
        )
