"""From a path to a document: the file, who may read it, its syntax."""
