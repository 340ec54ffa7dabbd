"""One probability of membership for each record, and how to tell whether it is one.

Song and Mittal 2021, section 4. Taught in book/risk_scores.ipynb.
"""

from mia_lib.risk_score.calibrated import cross_fitted, venn_abers
from mia_lib.risk_score.calibration import Calibration, calibration
from mia_lib.risk_score.posterior import SMALLEST, privacy_risk_score, shrunken_risk_score
from mia_lib.risk_score.reading import ThresholdRow, cumulative, distance, precision_recall

__all__ = [
    "SMALLEST",
    "Calibration",
    "ThresholdRow",
    "calibration",
    "cross_fitted",
    "cumulative",
    "distance",
    "precision_recall",
    "privacy_risk_score",
    "shrunken_risk_score",
    "venn_abers",
]
