"""The recipe of Dovetail for Spack: `spack repo add packages/spack`, then `spack install dovetail`, in a clone of Dovetail."""

from pathlib import Path

from spack.package import *


class Dovetail(CMakePackage):
    """A task runtime for C, C++ and Fortran in which computation, storage I/O and communication overlap."""

    # The clone that the recipe is in.
    git = str(Path(__file__).resolve().parents[4])

    license("Apache-2.0")

    version("main", branch="main")

    variant("tools", default=True, description="The programs dovetail-doctor, -tiom, -staging and -advisord")
    variant("mpi", default=False, description="The doors of MPI programs")
    variant("hdf5", default=False, description="The connector for HDF5 programs")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("boost@1.74: +context")
    depends_on("liburing@2.3:")
    depends_on("hwloc@2.5:")
    depends_on("xxhash@0.8:")
    depends_on("libaio")
    # Headers only.
    depends_on("nlohmann-json@3.9:", type="build")
    depends_on("tomlplusplus", type="build")
    depends_on("cli11@2.1:", type="build", when="+tools")
    depends_on("hdf5@1.14.5:", when="+hdf5")
    # Their compilers have the names mpicxx.mpich and mpicxx.openmpi where both are side by side; Spack has one at a time.
    depends_on("mpi", when="+mpi")

    requires("platform=linux", msg="Dovetail is for Linux")

    def cmake_args(self):
        arguments = [
            self.define("DOVETAIL_TESTS", False),
            self.define("DOVETAIL_EXAMPLES", False),
            self.define("DOVETAIL_BENCHMARKS", False),
            # The Python package has a recipe of its own in pyproject.toml.
            self.define("DOVETAIL_PYTHON", False),
            self.define("DOVETAIL_OBSERVER", False),
            self.define_from_variant("DOVETAIL_TOOLS", "tools"),
            self.define_from_variant("DOVETAIL_MPI", "mpi"),
            self.define_from_variant("DOVETAIL_HDF5", "hdf5"),
        ]
        if self.spec.satisfies("+hdf5"):
            arguments.append(self.define("DOVETAIL_HDF5_INCLUDE", self.spec["hdf5"].prefix.include))
        if self.spec.satisfies("+mpi"):
            abi = "openmpi" if self.spec.satisfies("^[virtuals=mpi] openmpi") else "mpich"
            arguments.append(self.define(f"DOVETAIL_MPI_{abi}_COMPILER", self.spec["mpi"].mpicxx))
            arguments.append(self.define(f"DOVETAIL_MPI_{abi}_RUN", self.spec["mpi"].prefix.bin.mpiexec))
        return arguments
