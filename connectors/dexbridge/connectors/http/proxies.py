"""Which proxy a request takes, by the environment: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, in either case.

The names and the rules of NO_PROXY are those of Python's urllib, so that every provider is reached alike.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

from dexbridge.connectors.contract.errors import NotConnected

LOOPBACK_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})
"""This machine: never reached through a proxy."""


def proxy_for(url: str) -> str | None:
    """The proxy's address for a URL, None for none. It may hold a password: never show it.

    Raises:
        NotConnected: the environment names a proxy that cannot be used; going past it would break its rule.
    """
    from urllib import request  # noqa: PLC0415

    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in LOOPBACK_HOSTS:
        return None
    environment: Any = request  # its type stubs leave out one of the two functions
    proxies: dict[str, str] = environment.getproxies_environment()
    name = parts.scheme if proxies.get(parts.scheme) else "all"
    proxy = proxies.get(name)
    place = host if parts.port is None else f"{host}:{parts.port}"
    if not proxy or environment.proxy_bypass_environment(place, proxies):
        return None
    address = proxy if "://" in proxy else f"http://{proxy}"
    try:
        named = urlsplit(address)
        is_usable = named.scheme in {"http", "https"} and named.hostname is not None and named.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise NotConnected(
            f"{name.upper()}_PROXY does not name an HTTP proxy, such as http://proxy.example:3128, so {host} is not "
            "reached; nothing was sent. Set it to one, or list the host in NO_PROXY."
        )
    return address
