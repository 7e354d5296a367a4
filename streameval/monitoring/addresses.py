"""The address at which a server listens, and the host names that it accepts."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Self

import attrs

from streameval.errors import InvalidInputError

ADDRESS = "127.0.0.1:8765"
"""Where a page is served by default: only this machine can reach it."""

_ADDRESS = re.compile(
    r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[^\s:/\[\]]*))(?::(?P<port>\d{1,5}))?"
)
_HOST = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[^\s:/\[\]@]+))(?::\d{1,5})?")


@attrs.frozen(eq=False, repr=False)
class Hosts:
    """The host names that a request may use."""

    names: frozenset[str]
    networks: tuple[Any, ...]

    @classmethod
    def of(cls, allowed: Sequence[str]) -> Self:
        """Separate names from networks."""
        names, networks = set(), []
        for item in allowed:
            try:
                networks.append(ipaddress.ip_network(item.strip("[]"), strict=False))
            except ValueError:
                if _HOST.fullmatch(item) is None or ":" in item:
                    shown = "must be a name, an IP address or a network, without a port"
                    got = f"{shown}, got {item!r}"
                    raise InvalidInputError(got, argument="allow_host") from None
                names.add(item.lower())
        return cls(frozenset(names), tuple(networks))

    def allow(self, host: str) -> bool:
        """Return whether a header names this server."""
        match = _HOST.fullmatch(host.strip())
        if match is None:
            return False
        name = (match["six"] or match["name"]).lower()
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return name == "localhost" or name in self.names
        return address.is_loopback or any(address in network for network in self.networks)


def read_address(address: Any) -> tuple[str, int]:
    """Split an address into a host and a port."""
    match = _ADDRESS.fullmatch(address) if isinstance(address, str) and address else None
    port = None if match is None else int(match["port"] or ADDRESS.rpartition(":")[2])
    if match is None or port is None or port > 65_535:
        message = f"must be HOST:PORT, such as {ADDRESS}, got {address!r}"
        raise InvalidInputError(message, argument="address")
    if match["name"] and match["name"].isdigit():
        remedy = f"Write :{match['name']} for a port."
        message = f"must be HOST:PORT, got {address!r}"
        raise InvalidInputError(message, argument="address", remedy=remedy)
    return match["six"] or match["name"] or ADDRESS.rpartition(":")[0], port


def bracketed(host: str) -> str:
    """Format a host for a URL."""
    return f"[{host}]" if ":" in host else host


def is_specific(host: str) -> bool:
    """Return whether a host is one address, not all addresses of a machine."""
    with suppress(ValueError):
        return not ipaddress.ip_address(host).is_unspecified
    return True
