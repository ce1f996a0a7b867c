"""flitwatch-sampler: what a receiving host learns from marked packets, published as summaries (docs/contracts/log.md)."""

from flitwatch_ingest.sampler.contexts import Contexts
from flitwatch_ingest.sampler.plan import SamplerPlan, make_plan
from flitwatch_ingest.sampler.sampler import Sampler

__all__ = ["Contexts", "Sampler", "SamplerPlan", "make_plan"]
