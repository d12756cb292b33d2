"""dexbridge.toolsource"""
