"""dexbridge.console"""
