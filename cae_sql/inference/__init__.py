"""From answers to what they let an intruder infer: intervals, worlds, certified runs, certificates."""
