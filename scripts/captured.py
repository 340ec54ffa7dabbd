"""Training small networks on a GPU: a step is captured once and replayed.

A small network's step is some hundred short kernels, which take longer to launch one by one than to
run. A `Lane` captures the step of one recipe as a CUDA graph and trains one network after the other
with it. What is drawn (weights, order of the examples, shifts) comes from the network's own
generator in the order of `mia_lib.train`, so that on a processor without a GPU, where the step is
called instead of replayed, a lane gives the network that `train.Classifier` gives. A process has
one lane and one stream; several processes share a GPU.
"""

import numpy as np
import torch

from mia_lib import checks
from mia_lib.train import batches, looped


class Lane:
    """One recipe's training step on fixed addresses.

    Parameters
    ----------
    recipe : train.Classifier
        With "sgd" or "adam"; its `device` and `stop` are not read.
    x : (n, height, width, channels) uint8 tensor on the device
    y : (n,) int64 tensor
    n_members : int
        Of the largest network that it trains.
    n_classes : int
    shift, cutout : bool, int
        Whether "weak" augmentation moves images beside mirroring them; the side of the square that
        is painted over with grey, 0 for none.
    """

    def __init__(self, recipe, x, y, n_members, n_classes, shift=True, cutout=0):
        self.recipe, self.x, self.y, self.n_classes = recipe, x, y, n_classes
        self.shift, self.cutout = shift, cutout
        most, self.batch = batches.step_count(recipe, n_members), recipe.batch_size
        device = x.device
        self.net = looped._network(recipe, x, n_classes, np.random.default_rng(0)).train()
        self.plan = torch.zeros((most, self.batch), dtype=torch.int64, device=device)
        self.crops = torch.full((most, self.batch, 5), looped.PAD, device=device)
        self.crops[..., 2:] = 0
        self.rates = torch.zeros(most, device=device)
        self.at = torch.zeros(1, dtype=torch.int64, device=device)
        groups = [g for g in looped._optimizer(recipe, self.net).param_groups if g["params"]]
        self.trained = [p for group in groups for p in group["params"]]
        sizes = [len(group["params"]) for group in groups]
        self.decayed = sizes[0] if groups[0]["weight_decay"] else 0
        self.factors = np.repeat([group["factor"] for group in groups], sizes).tolist()
        self.moments = [[torch.zeros_like(p) for p in self.trained] for _ in range(2)]
        self.graph = None
        if x.is_cuda:
            self._capture()

    def _capture(self):
        """The step as a graph, after some steps that let cuDNN choose its kernels."""
        for _ in range(3):
            self.step()
        self.at.zero_()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=torch.cuda.current_stream()):
            self.step()

    def start(self, ids, rng):
        """Weights, order and augmentation of the next network, drawn as `train.Classifier` does.

        Parameters
        ----------
        ids : (n_members,) int array
        rng : numpy.random.Generator
        """
        recipe, device = self.recipe, self.x.device
        fresh = looped._network(recipe, self.x, self.n_classes, rng)
        if hasattr(fresh, "whiten"):
            first = torch.from_numpy(ids[: looped.WHITENING_IMAGES]).to(device)
            fresh.whiten(recipe.as_read(self.x[first]))
        with torch.no_grad():
            for own, new in zip(self.net.state_dict().values(), fresh.state_dict().values()):
                own.copy_(new)
            for moment in self.moments:
                torch._foreach_zero_(moment)
        stream, block = batches.Stream(ids, rng), batches.block_steps(self.batch)
        # `half_masks` halves the networks of an image, not the images of a network
        total = batches.step_count(recipe, len(ids))
        if total > len(self.plan) or len(ids) < self.batch:
            given = f"{len(ids)} members, {total} steps"
            checks.fail("ids", given, f"{self.batch} members or more, {len(self.plan)} steps")
        plan = np.zeros(tuple(self.plan.shape), np.int64)
        crops = np.zeros(tuple(self.crops.shape), np.int64)
        for begin in range(0, total, block):
            count = min(block, total - begin)
            rows = slice(begin, begin + count)
            plan[rows] = stream.take(count * self.batch).reshape(count, self.batch)
            if recipe.augment:
                crops[rows, :, :3] = looped._crops(rng, plan, count, self.batch)
        if not self.shift:
            crops[..., :2] = looped.PAD
        if self.cutout:
            own = rng.spawn(1)[0]
            crops[..., 3:] = own.integers(0, self.x.shape[1], (*plan.shape, 2))
        rates = batches.learning_rates(recipe, np.arange(len(self.rates)), total)
        self.rates.copy_(torch.from_numpy(rates))
        self.plan.copy_(torch.from_numpy(plan))
        self.crops.copy_(torch.from_numpy(crops))
        self.at.zero_()

    def step(self):
        """One step of training, with nothing that waits for the GPU."""
        recipe = self.recipe
        index = self.plan.index_select(0, self.at)[0]
        crop = self.crops.index_select(0, self.at)[0]
        images = self.x[index]
        if recipe.augment:
            images = looped._augmented(self.x, index, crop[:, :3])
        if self.cutout:
            images = painted(images, crop[:, 3:], self.cutout)
        with self._mixed():
            loss = torch.nn.functional.cross_entropy(
                self.net(recipe.as_read(images)),
                self.y[index],
                label_smoothing=recipe.label_smoothing,
            )
        gradients = list(torch.autograd.grad(loss, self.trained))
        with torch.no_grad():
            self._move(gradients)
            self.at.add_(1)

    def _mixed(self):
        # A cache of weights in bfloat16 that outlives the capture would be replayed for ever.
        on = self.recipe.dtype == "bfloat16"
        kind = self.x.device.type
        return torch.autocast(kind, dtype=torch.bfloat16, enabled=on, cache_enabled=False)

    def _move(self, gradients):
        """What torch.optim.SGD and Adam do, with a rate that is read on the device."""
        recipe, rate = self.recipe, self.rates.index_select(0, self.at)[0]
        if self.decayed:
            some = slice(self.decayed)
            torch._foreach_add_(gradients[some], self.trained[some], alpha=recipe.weight_decay)
        if recipe.optimizer == "adam":
            first, second = self.moments
            done = (self.at + 1).float()
            torch._foreach_lerp_(first, gradients, 0.1)
            torch._foreach_mul_(second, 0.999)
            torch._foreach_addcmul_(second, gradients, gradients, 0.001)
            below = torch._foreach_sqrt(second)
            torch._foreach_div_(below, (1 - 0.999**done).sqrt()[0])
            torch._foreach_add_(below, 1e-8)
            moves, rate = torch._foreach_div(first, below), rate / (1 - 0.9**done)[0]
        elif recipe.momentum:
            moves = self.moments[0]
            torch._foreach_mul_(moves, recipe.momentum)
            torch._foreach_add_(moves, gradients)
            if recipe.nesterov:
                torch._foreach_add_(gradients, moves, alpha=recipe.momentum)
                moves = gradients
        else:
            moves = gradients
        moves = torch._foreach_mul(moves, rate)
        torch._foreach_mul_(moves, self.factors)
        torch._foreach_sub_(self.trained, moves)

    def train(self, ids, rng, stops, outputs):
        """Train one network and look at it.

        Parameters
        ----------
        ids, rng
            As `start` takes them.
        stops : sequence of int
            Steps after which the network is looked at, rising; the last one ends the training.
        outputs : callable
            ``outputs(net, last)``, the network in evaluation mode; `last` at the last stop.

        Returns
        -------
        list of what `outputs` gave at each stop
        """
        self.start(ids, rng)
        found, done = [], 0
        for stop in stops:
            for _ in range(stop - done):
                self.graph.replay() if self.graph else self.step()
            done = stop
            self.net.eval()
            with torch.no_grad():
                found.append(outputs(self.net, stop == stops[-1]))
            self.net.train()
        if int(self.at) != done:
            raise RuntimeError(f"{int(self.at)} steps were made, expected {done}")
        return found

    def state(self):
        """The weights, as `train.Classifier` returns them for one network."""
        return {name: t.cpu().numpy()[None] for name, t in self.net.state_dict().items()}


def painted(images, middle, side):
    """Images with a grey square of `side` pixels about `middle` (row, column), cut at the border.

    images : (B, height, width, channels) uint8 tensor; middle : (B, 2) int64 tensor
    """
    rows = torch.arange(images.shape[1], device=images.device)
    near = ((rows - middle[..., None]) >= -(side // 2)) & (
        (rows - middle[..., None]) < side - side // 2
    )
    square = near[:, 0, :, None] & near[:, 1, None, :]
    return torch.where(square[..., None], torch.full_like(images[:1, :1, :1], 127), images)
