from spack.package import depends_on, version
from spack_repo.builtin.build_systems.python import PythonPackage


class PyFlitwatchClient(PythonPackage):
    """Client of Flitwatch for scripts and notebooks: jobs, stalls, blame and forecasts as tables."""

    # No archive is published yet: build from a checkout, as README.md beside this repository says.
    version("0.1.0")
    build_directory = "services/client"

    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-hatchling@1.27:", type="build")
    depends_on("py-httpx@0.28:", type=("build", "run"))
