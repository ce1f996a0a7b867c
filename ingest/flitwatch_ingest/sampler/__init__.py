"""flitwatch-sampler: measurements from marked packets on a receiving host, published as summaries (docs/contracts/log.md)."""

from flitwatch_ingest.sampler.contexts import Contexts
from flitwatch_ingest.sampler.plan import SamplerPlan, make_plan
from flitwatch_ingest.sampler.sampler import Sampler

__all__ = ["Contexts", "Sampler", "SamplerPlan", "make_plan"]
