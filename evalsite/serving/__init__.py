"""`make run`: everything the site needs, in one process or as one process and its children."""


class StartError(Exception):
    """The site cannot start; the text is the one sentence the person at the terminal reads."""
