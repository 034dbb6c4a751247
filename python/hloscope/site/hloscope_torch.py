"""Names of PyTorch's modules in the programs that PyTorch/XLA makes, for `hloscope profile --
python train.py`: NN[model]/Linear[layer1]/aten__addmm.

PyTorch/XLA puts the scope that is open when an operation is recorded in front of the operation's
name (with XLA_HLO_DEBUG=1, which the profile sets). The call of a module opens one: its class, and
in brackets what its parent, or for the outermost one the caller, calls it. Modules that are traced
by a compiler of PyTorch are left alone.
"""

import sys

from hloscope_inject import Finder, guarded


def _name_in_caller(module):
    """The variable that holds the module where it is called; "" when none does."""
    frame = sys._getframe(2)
    for _ in range(12):
        if frame is None:
            break
        if "torch/nn/modules" not in frame.f_code.co_filename:
            for names in (
                frame.f_locals,
                frame.f_globals if frame.f_code.co_name == "<module>" else {},
            ):
                for name, value in list(names.items()):
                    if value is module and name != "self" and not name.startswith("_"):
                        return name
            if frame.f_code.co_name == "<module>":
                break
        frame = frame.f_back
    return ""


def watch(torch_xla):
    import torch

    pusher = getattr(getattr(torch_xla._XLAC, "profiler", None), "scope_pusher", None)
    if pusher is None:
        return
    call = torch.nn.Module.__call__
    outer = []  # modules whose calls are open
    roots = {}  # id of an outermost module -> its name
    is_compiling = getattr(torch.compiler, "is_compiling", lambda: False)

    def named(module):
        kind = type(module).__name__
        if outer:
            for name, child in outer[-1]._modules.items():
                if child is module:
                    return f"{kind}[{name}]"
        if id(module) not in roots:
            roots[id(module)] = _name_in_caller(module)
        return f"{kind}[{roots[id(module)]}]" if roots[id(module)] else kind

    def __call__(self, *args, **keywords):
        if is_compiling():
            return call(self, *args, **keywords)
        try:
            scope = pusher(named(self))
        except Exception:
            scope = None
        outer.append(self)
        try:
            return call(self, *args, **keywords)
        finally:
            outer.pop()
            del scope  # closes it

    torch.nn.Module.__call__ = __call__


def install():
    sys.meta_path.insert(0, Finder({"torch_xla": guarded(watch)}))
