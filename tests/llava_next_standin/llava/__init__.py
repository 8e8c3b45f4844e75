"""The interface of the LLaVA-NeXT package, as far as the wrappers of lmms-eval use it, around a tiny random model.

Names, signatures and the shapes of what is returned follow the package; everything behind them is our own. Tests
put the folder above this one on Python's path.
"""
