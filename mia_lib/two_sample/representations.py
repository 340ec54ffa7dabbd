"""What a kernel may look at: six high-level representations of records, and the layers of any torch
network.

Taught in book/two_sample.ipynb.
"""

import numpy as np
from scipy import special

from mia_lib import checks, extras, signals

torch = extras.module("torch")

NAMES = ("last", "second_to_last", "confidence", "loss", "entropy", "likelihood_ratio")


def representations(logits, labels, features=None, *, likelihood_ratio=None):
    """The six high-level representations, as far as what is given allows.

    Parameters
    ----------
    logits : array (n, K)
        The last layer's outputs.
    labels : array (n,)
        The right classes.
    features : array (n, d), optional
        What the last layer reads.
    likelihood_ratio : array (n,), optional
        LiRA's score of every record, such as ``lira.offline``.

    Returns
    -------
    dict of str to float64 array (n, d)
        "last" (HR1-MMD), "second_to_last" (HR2-MMD), "confidence" (CS-MMD, the class
        probabilities), "loss" (L-MMD), "entropy" (E-MMD), "likelihood_ratio" (LI-MMD); one number
        becomes one column.

    Raises
    ------
    ValueError
        As for `mia_lib.signals`; numbers of records that disagree.

    Notes
    -----
    HR-MMD App. G.5. Run in notebooks/two_sample_levels.ipynb.

    Examples
    --------
    >>> {name: array.shape for name, array in representations(np.eye(3), [0, 1, 1]).items()}
    {'last': (3, 3), 'confidence': (3, 3), 'loss': (3, 1), 'entropy': (3, 1)}
    """
    logits = checks.real_array("logits", logits, 2)
    found = {"last": logits}
    if features is not None:
        found["second_to_last"] = checks.real_array("features", features, 2)
    found["confidence"] = special.softmax(logits, axis=1)
    found["loss"] = signals.cross_entropy(logits, labels)[:, None]
    found["entropy"] = signals.entropy(logits)[:, None]
    if likelihood_ratio is not None:
        found["likelihood_ratio"] = checks.real_array("likelihood_ratio", likelihood_ratio, 1)[
            :, None
        ]
    for name, array in found.items():
        if len(array) != len(logits):
            checks.fail(name, f"{len(array)} records", f"{len(logits)} as logits")
    return found


def layer_outputs(network, x, layers, *, batch=1024):
    """Outputs of named layers of a torch network, in evaluation mode.

    Parameters
    ----------
    network : torch.nn.Module
        Each of its modules is left in the mode it was in.
    x : array or tensor (n, ...)
        As the network takes it.
    layers : list of str
        Names as in ``network.named_modules()``; the first two give the low-level representations
        LR1 and LR2. A name that comes twice counts once.
    batch : int
        Records at a time, at least 1.

    Returns
    -------
    dict of str to float64 array (n, d)
        Flattened outputs.

    Raises
    ------
    ValueError
        A layer that the network does not have or does not call, or whose output is no tensor of at
        least two axes; a batch below 1.

    Notes
    -----
    HR-MMD App. G.5. Run in notebooks/hr_mmd.ipynb.

    Examples
    --------
    >>> net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 2))
    >>> layer_outputs(net, np.zeros((5, 4), np.float32), ["0", "1"])["1"].shape
    (5, 3)
    """
    batch = checks.integer("batch", batch, 1)
    there, layers = dict(network.named_modules()), list(dict.fromkeys(layers))
    for name in layers:
        if name not in there or not name:
            checks.fail(
                "layers", repr(name), "one of " + ", ".join(repr(known) for known in there if known)
            )
    found, seen = {name: [] for name in layers}, {}
    modes = [(module, module.training) for module in network.modules()]

    def keep(name):
        def hook(module, given, out):
            axes = getattr(out, "ndim", 0)
            if axes < 2:
                what = f"{axes} axes" if axes else type(out).__name__
                checks.fail("layers", f"{name!r} with an output of {what}", "a tensor (n, d, ...)")
            seen[name] = out.clone()  # a copy, since the next layer may work in place

        return there[name].register_forward_hook(hook)

    handles = [keep(name) for name in layers]
    x = torch.as_tensor(x)
    network.eval()
    try:
        with torch.no_grad():
            for start in range(0, len(x), batch):
                seen.clear()
                network(x[start : start + batch])
                for name in layers:
                    if name not in seen:
                        checks.fail(
                            "layers",
                            f"{name!r}, which the network does not call",
                            "a layer that it calls",
                        )
                    found[name].append(seen[name].flatten(1).double().cpu().numpy())
    finally:
        for module, mode in modes:
            module.training = mode
        for handle in handles:
            handle.remove()
    return {name: np.concatenate(parts) for name, parts in found.items()}
