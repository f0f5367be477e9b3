"""Everything that a small table could be, tried out, and the promise held against it."""
