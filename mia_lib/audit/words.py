"""Words of a report that are the same for every audit: what next, what not, what means what."""

from mia_lib.audit import verdict

NEXT = {
    verdict.CHECK: (
        "Mend what the reasons name, and run the audit again. Until then no other figure of this "
        "report should be relied on."
    ),
    verdict.LEAK: (
        "Do not release the model as it is where membership itself is confidential. Train it with "
        "differential privacy, with fewer passes or with stronger regularisation, and compare both "
        "models with audit.compare; look at the most exposed records and at the slices."
    ),
    verdict.DIFFER: (
        "Collect non-members from the same source as the members, or split one pool at random, "
        "train on one part, and audit that model: only then does a figure speak about the model."
    ),
    verdict.NONE: (
        "Decide whether the limit that the verdict names is small enough for this use. A stronger "
        "audit has more records, shadow models on the same records, and a random split."
    ),
}

WHOSE_RATE = (
    "The rate of false accusations is that of all non-members of this audit together. It is no "
    "person's own: at the same threshold some innocent persons are accused by far more models than "
    "others, and one model does not say whom. Never tell a person this rate as theirs."
)

CANNOT = (
    "that the model is safe: an attack that is not in this report may find more",
    "what follows from membership: whether it is confidential is for you to judge",
    "whether the masks and the assignment that were handed over are true, beyond what contradicts "
    "them",
    "what else a model may give away: attribute inference, model inversion and the reconstruction "
    "of records are not offered here; SACRO-ML and the Adversarial Robustness Toolbox offer some",
)

GLOSSARY = (
    ("member", "a record that the model was trained on; a non-member is one that it was not"),
    ("attack", "a rule that says from the model's outputs whether a record is a member"),
    ("TPR", "true-positive rate: the share of members that an attack finds"),
    ("FPR", "false-positive rate: the share of non-members that it takes for members"),
    ("TPR - FPR", "how many more members than non-members it accuses, of as many of each"),
    ("AUC", "how often a member scores higher than a non-member: 0.5 is guessing, 1 is certainty"),
    ("limits", "the two ends of an interval that is likely to hold the true figure"),
    (
        "hold together",
        "limits of many figures of which, with the stated probability, none is wrong",
    ),
    (
        "blind classifier",
        "one that sees the records and never the model: what it reaches is no leak of the model",
    ),
    (
        "prediction",
        "a figure that was not measured on this model: it is concluded from others, with an error",
    ),
    (
        "loss TNR",
        "the share of non-members whose loss is above that of 99 % of the members: 1 % where "
        "training has left no trace in the largest losses",
    ),
    ("shadow model", "a model trained like the audited one on records that are known"),
    (
        "posterior",
        "the probability that an accused record is a member, given how likely it was "
        "before (the prior)",
    ),
    (
        "epsilon",
        "the parameter of differential privacy: the smaller, the less a single record can change",
    ),
    ("drift", "a difference between the groups that has nothing to do with the model"),
)
