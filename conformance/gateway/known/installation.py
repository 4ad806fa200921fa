"""Installs known gateways, each into a separate folder of the user's cache.

    $XDG_CACHE_HOME/toolparity/gateways/NAME   (~/.cache if it is not set)

The settings of pip and npm (an index, a registry, a proxy) apply here too.
"""

from __future__ import annotations

import shutil
import venv
from pathlib import Path

from toolparity.normalizer.errors import MissingExtra

from ...subjects.environments import cache
from ...subjects.installers import Report, run_installer
from ...subjects.runtimes import Python
from ..errors import GatewayFailed
from .form import KnownGateway

_MARK = "toolparity-installed"


def home() -> Path:
    """Return the folder that holds the gateways."""
    return cache() / "gateways"


def installed(gateway: KnownGateway) -> str | None:
    """Return the installed version; None if nothing is installed, or if the installation was interrupted."""
    try:
        return (home() / gateway.name / _MARK).read_text("utf-8")
    except OSError:
        return None


def folder_of(gateway: KnownGateway) -> Path:
    """Return the folder of an installed gateway. Raises GatewayFailed if it is not installed."""
    if installed(gateway) != gateway.version:
        hint = f"run toolparity gateway install {gateway.name}"
        raise GatewayFailed(f"{gateway.name} {gateway.version} is not installed", hint=hint)
    return home() / gateway.name


def install(gateway: KnownGateway, report: Report = lambda step: None) -> Path:
    """Install a gateway anew and return its folder. ``report`` gets a short text at each step.

    Raises GatewayFailed with the installer's error; the incomplete folder is removed.
    """
    folder = home() / gateway.name
    remove(gateway)
    try:
        if gateway.installer == "pip":
            report("creating the virtual environment")
            venv.create(folder, with_pip=True)
            Python().pip(folder, [gateway.requirement], report)
        else:
            report("installing packages with npm")
            folder.mkdir(parents=True)
            run_installer(["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", gateway.requirement])
        (folder / _MARK).write_text(gateway.version, "utf-8")
    except (OSError, MissingExtra) as error:
        remove(gateway)
        what, hint = (error.what, error.hint) if isinstance(error, MissingExtra) else (str(error), "")
        raise GatewayFailed(f"{gateway.name} cannot be installed: {what}", where=str(folder), hint=hint) from None
    return folder


def remove(gateway: KnownGateway) -> bool:
    """Remove a gateway. Return whether there was one."""
    folder = home() / gateway.name
    if not folder.exists():
        return False
    shutil.rmtree(folder)
    return True
