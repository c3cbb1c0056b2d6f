"""What the numbers were measured on."""

import os
import platform
from pathlib import Path


def load_now() -> float:
    """Mean number of runnable threads over the last minute."""
    return os.getloadavg()[0]


def _first_value(path: str, key: str) -> str:
    for line in Path(path).read_text().splitlines():
        if line.startswith(key):
            return line.split(":", 1)[1].strip()
    return "unknown"


def describe_machine() -> dict[str, str | int]:
    """Processor, cores that this process may use, memory, kernel, and how the clock is governed."""
    governor = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    machine: dict[str, str | int] = {
        "processor": _first_value("/proc/cpuinfo", "model name"),
        "cores": len(os.sched_getaffinity(0)),
        "memory": _first_value("/proc/meminfo", "MemTotal"),
        "kernel": platform.release(),
        "governor": governor.read_text().strip() if governor.exists() else "not shown",
        "hypervisor": "yes" if "hypervisor" in _first_value("/proc/cpuinfo", "flags").split() else "no",
    }
    machine["text"] = (
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory']}, Linux {machine['kernel']}, "
        f"virtual: {machine['hypervisor']}, clock governor: {machine['governor']}"
    )
    return machine
