"""Begins a new Connector: a small, complete package that passes its own tests. Needs Jinja2."""

from dexbridge.connectors.scaffold.writing import InvalidScaffold, package_name, write_scaffold

__all__ = ["InvalidScaffold", "package_name", "write_scaffold"]
