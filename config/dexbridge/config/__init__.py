"""dexbridge.config"""
