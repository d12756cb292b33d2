"""dexbridge.connectors"""
