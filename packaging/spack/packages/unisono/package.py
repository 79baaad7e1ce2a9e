# SPDX-License-Identifier: BSD-3-Clause
"""Spack's recipe. It builds this source tree: `spack repo add packaging/spack && spack install unisono`."""

from pathlib import Path

from spack.package import *

TREE = Path(__file__).resolve().parents[4]


class Unisono(CMakePackage):
    """Collective communication that tunes itself, under any MPI program.
    It is preloaded, and serves Open MPI, MPICH, Intel MPI and the standard ABI at once: it depends on none of them."""

    git = f"file://{TREE}"

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("models", default=True, description="predict, tune and measure (numpy)")
    variant("page", default=True, description="reports as pages (jinja2)")
    variant("plots", default=False, description="plots of measurements (matplotlib)")
    variant("graphs", default=False, description="graphs of matrices (scipy)")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("nlohmann-json@3.10:", type="build")
    depends_on("hwloc@2", type=("build", "run"))
    # The build takes headers of MPIs out of their wheels (tools/fetch_headers.py).
    depends_on("py-pip", type="build")
    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-click@8.1:8", type=("build", "run"))
    depends_on("py-rich@13.3:15", type=("build", "run"))
    depends_on("py-numpy@1.26:2", type="run", when="+models")
    depends_on("py-numpy@1.26:2", type="run", when="+page")
    depends_on("py-jinja2@3.1:3", type="run", when="+page")
    depends_on("py-matplotlib@3.8:3", type="run", when="+plots")
    depends_on("py-numpy@1.26:2", type="run", when="+graphs")
    depends_on("py-scipy@1.11:1", type="run", when="+graphs")

    requires(
        "target=x86_64:",
        "target=aarch64:",
        policy="one_of",
        msg="x86-64 and AArch64 alone have its assembler",
    )

    def cmake_args(self):
        python = self.spec["python"].command.path
        return [
            self.define("UNISONO_FETCH_HEADERS", True),
            self.define("UNISONO_TESTS", False),
            self.define("UNISONO_WARNINGS_AS_ERRORS", False),
            self.define("UNISONO_CLI_PYTHON", python),
            self.define("UNISONO_PYTHON", python),
        ]

    def setup_run_environment(self, env):
        env.prepend_path("CPATH", self.prefix.include)
