from spack.package import depends_on, version
from spack_repo.builtin.build_systems.python import PythonPackage


class PyFlitwatchAgent(PythonPackage):
    """What Flitwatch runs beside producers: collectors, the packet sampler and the Slurm agent."""

    # No archive is published yet: build from a checkout, as README.md beside this repository says.
    version("0.1.0")
    build_directory = "services/agent"

    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-hatchling@1.27:", type="build")
    depends_on("py-click@8.1:", type=("build", "run"))
    depends_on("py-confluent-kafka@2.10:", type=("build", "run"))
    depends_on("py-flitwatch-core@0.1.0", type=("build", "run"))
    depends_on("py-google-re2@1.1.20251105:", type=("build", "run"))
    depends_on("py-httptools@0.6:", type=("build", "run"))
    depends_on("py-httpx@0.28:", type=("build", "run"))
    depends_on("py-numpy@2.2:", type=("build", "run"))
    depends_on("py-orjson@3.10:", type=("build", "run"))
    depends_on("py-prometheus-client@0.22:", type=("build", "run"))
    depends_on("py-psycopg@3.2:", type=("build", "run"))
    depends_on("py-pydantic@2.11:", type=("build", "run"))
    depends_on("py-pyyaml@6:", type=("build", "run"))
    depends_on("py-rich@14:", type=("build", "run"))
    depends_on("py-uvicorn@0.34:", type=("build", "run"))
    depends_on("py-zstandard@0.23:", type=("build", "run"))
