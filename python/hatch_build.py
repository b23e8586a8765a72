"""Names the wheel after the platform of the library inside; script/wheel says which."""

import os

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def version():
    return os.environ.get("PDL_LAB_VERSION", "0.0.0")


class CustomBuildHook(BuildHookInterface):
    def initialize(self, version, build_data):
        platform = os.environ.get("PDL_LAB_PLATFORM")
        if not platform:
            raise RuntimeError("build the wheel with script/wheel: it brings the library")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
