"""What real-valued tables allow: the interval of every record, and the answers that prove it."""
