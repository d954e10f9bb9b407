"""PyTorch's own operations on tensors of the device, done on the host: the kernels for them that its packages hold are machine code."""
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map


def to_host(tensor):
    """A copy with the same layout. All that lies in the tensor's memory is copied: picking its elements out would take a kernel."""
    whole = tensor.as_strided((tensor.untyped_storage().nbytes() // tensor.itemsize,), (1,), 0).cpu()
    return whole.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())


def write_back(host, tensor):
    """Puts all memory of a tensor made by `to_host` back into the tensor that it was made of."""
    size = (tensor.untyped_storage().nbytes() // tensor.itemsize,)
    tensor.as_strided(size, (1,), 0).copy_(host.as_strided(size, (1,), 0))


def is_there(value):
    return isinstance(value, torch.Tensor) and value.is_cuda


def gives_memory(function):
    """Whether the function allocates only, or only shows memory that is there."""
    written = any(argument.alias_info and argument.alias_info.is_write for argument in function._schema.arguments)
    shown = any(value.alias_info for value in function._schema.returns)
    return "empty" in function._schema.name or (shown and not written)


class OnHost(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        values = tree_flatten((args, kwargs))[0]
        devices = [value for value in values if isinstance(value, torch.device) and value.type == "cuda"]
        if gives_memory(function) or not (devices or any(map(is_there, values))):
            return function(*args, **kwargs)
        copies = {}

        def here(value):
            if isinstance(value, torch.device):
                return torch.device("cpu")
            if not is_there(value):
                return value
            if id(value) not in copies:
                copies[id(value)] = value, to_host(value)
            return copies[id(value)][1]

        asked = tree_map(here, args), tree_map(here, kwargs)
        found = function(*asked[0], **asked[1])
        there = {}
        for argument, given in [*zip(function._schema.arguments, args), *((named, kwargs[named.name]) for named in function._schema.arguments if named.name in kwargs)]:
            if argument.alias_info and argument.alias_info.is_write and is_there(given):
                host = copies[id(given)][1]
                write_back(host, given)
                there[id(host)] = given
        # A copy that is asked for goes where it was asked to.
        stays = isinstance(kwargs.get("device"), torch.device) and kwargs["device"].type == "cpu"
        back = lambda value: there.get(id(value), value if stays else value.cuda()) if isinstance(value, torch.Tensor) else value
        return tree_map(back, found)
