"""placeholder replaced below"""

import argparse


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Nothing yet."""
