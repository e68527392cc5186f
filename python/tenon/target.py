"""tvm.target: words of TVM's targets for the CPU as Tenon's."""
from .core import Target as CoreTarget

_KEYS = {"mcpu": "cpu", "mtriple": "triple", "mattr": "features", "num-cores": "threads"}


class Target:
    """Target("llvm -mcpu=znver4 -num-cores=2"), or Tenon's own words, "cpu=znver4 threads=2"; None: this machine."""

    def __init__(self, text=None, host=None):
        self.text = text.text if isinstance(text, Target) else text
        words = (self.text or "native").split()
        self.spec = " ".join(filter(None, map(self._word, words))) or "native"

    @staticmethod
    def _word(word):
        if word in ("llvm", "native", "cpu"):
            return ""
        if word.startswith("-") and "=" in word:
            key, value = word.lstrip("-").split("=", 1)
            if key in ("keys", "libs", "device", "link-params", "opt-level"):
                return ""
            if key in _KEYS:
                return f"{_KEYS[key]}={value}"
        if "=" in word and not word.startswith("-"):
            return word
        raise ValueError(f"target {word!r}: kernels are for a CPU: \"llvm -mcpu=NAME -mattr=+F,-G -mtriple=T -num-cores=N\"")

    def core(self, context):
        return CoreTarget(context, self.spec)

    def __str__(self):
        return self.text or "llvm"

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


def create(text):
    return Target(text)
