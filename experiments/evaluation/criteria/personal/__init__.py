"""Finding personal data in text: what `privacy.none` looks for."""
