"""Tasks of the image benchmark, and models that answer it in known ways."""
