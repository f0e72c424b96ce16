"""Benchmarks: how fast the engines are, as ratios within one run, since a figure of one machine says little.

Each benchmark takes every contender in turn, several rounds of them on one core, and gives median, least and
most.
"""
