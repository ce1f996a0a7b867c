"""Topology of a fabric in schedulers' formats: Slurm, Flux and PBS.

All of them place jobs on a tree. `switch_tree` builds one from any fabric except a torus; `formats` prints it.
"""

from flitwatch_domain.schedulers.formats import FORMATS, format_tree
from flitwatch_domain.schedulers.switch_tree import Switch, SwitchTree, switch_tree

__all__ = ["FORMATS", "Switch", "SwitchTree", "format_tree", "switch_tree"]
