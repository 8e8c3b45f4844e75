"""Small models that come with this package, how they are trained and how they are run."""
