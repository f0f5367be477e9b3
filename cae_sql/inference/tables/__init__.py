"""Tables on the grid that agree with all answers: the pool, the roomy one, and the moves between them."""
