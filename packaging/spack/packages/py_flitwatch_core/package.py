from spack.package import depends_on, version
from spack_repo.builtin.build_systems.python import PythonPackage


class PyFlitwatchCore(PythonPackage):
    """The noise core of Flitwatch: counter decoding, packet sampling and fabric simulation, compiled for the target."""

    # No archive is published yet: build from a checkout, as README.md beside this repository says.
    version("0.1.0")
    build_directory = "services/noise_core"

    depends_on("python@3.11:", type=("build", "run"))
    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.24:", type="build")
    depends_on("py-scikit-build-core@0.11:", type="build")
    depends_on("py-nanobind@2.6:", type="build")
    depends_on("py-numpy@2.2:", type=("build", "run"))
