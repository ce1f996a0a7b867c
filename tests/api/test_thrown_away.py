"""An application that nobody uses any more is freed: a process that makes several does not grow by each."""

from __future__ import annotations

import gc
import weakref

from flitwatch_api.app import create_app
from flitwatch_api.settings import Settings


def test_an_application_that_nobody_holds_is_freed() -> None:
    made = weakref.ref(create_app(Settings()))
    gc.collect()
    assert made() is None
