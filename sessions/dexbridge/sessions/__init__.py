"""dexbridge.sessions"""
