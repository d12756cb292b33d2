"""The environment of the Claude Code CLI: its key, what a process needs, and nothing else.

Source: design "Environment of the CLI". The SDK merges `ClaudeAgentOptions.env` over the Worker's environment, so what
must not reach the CLI is set to the empty string there; the CLI treats that as unset.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["blank_inherited", "build_claude_cli_environment"]

_ALLOWED = {
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TEMP",
    "TMP",
    "SYSTEMROOT",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "ANTHROPIC_API_KEY",
}


def build_claude_cli_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the `env` of `ClaudeAgentOptions` in which `ANTHROPIC_API_KEY` is the CLI's only credential.

    Args:
        environment: The Worker's environment, usually `os.environ`. Everything that is not allow-listed (paths,
            locale, temporary folder, proxies, certificate files, the key) is blanked: other Claude credentials,
            provider switches, tokens of Connectors.
    """
    return {name: value if _is_allowed(name) else "" for name, value in environment.items()}


def blank_inherited(chosen: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Returns what the application chose, with everything else it would inherit blanked.

    Args:
        chosen: `env` of the application's options; what it sets on purpose stays.
        environment: The Worker's environment as it is now.
    """
    return {**build_claude_cli_environment(environment), **chosen}


def _is_allowed(name: str) -> bool:
    return name in _ALLOWED or name.startswith("LC_")
