"""The sub-commands of `dexbridge`, one module each."""
