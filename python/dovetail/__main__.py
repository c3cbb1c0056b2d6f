"""`python -m dovetail`: the command `dovetail` of this interpreter."""

from .cli import main

main()
