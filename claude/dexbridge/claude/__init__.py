"""dexbridge.claude"""
