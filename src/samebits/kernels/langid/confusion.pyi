import numpy as np
from numpy.typing import NDArray

def confusion_table(
    labels: NDArray[np.int32], top: NDArray[np.int32], num_languages: int
) -> NDArray[np.int64]: ...
def pairwise_sum(values: NDArray[np.float64]) -> float: ...
