"""An oracle of usefulness: what the gate tells, counted, so that a change of the engine shows what is lost.

Run as `python -m benchmarks.usefulness`; docs/usefulness.md says how to read it. Parts: `lines` (what is
asked), `asking` (through a gate, statement by statement), `log` (what became of each group, and two logs side
by side), `counting` (a log as counts), `bands` (between which counts lie), `optimum` (what could be told).
"""
