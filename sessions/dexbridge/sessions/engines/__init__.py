"""The engines that run Steps; each is an extra and is imported only when its URL is opened."""
