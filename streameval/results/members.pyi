"""Generated from the rows of the tables of metrics by `tests/unit/test_members.py`."""

from collections.abc import Mapping
from typing import Any, Protocol

from streameval.exact.array_types import Floats, Ints
from streameval.metrics.bounded import Bounded
from streameval.metrics.table import Metric
from streameval.results.metric_values import ClassAverages, FAverages, MetricValue, OutputAverages

class RowMembers: ...

def rows_of_members(cls: type[Any]) -> list[Metric]: ...
def add_members(cls: type[Any]) -> None: ...

class CalibrationMembers(RowMembers):
    @property
    def log_loss(self) -> float:
        """The mean of -log(probability of the true class), natural, in [2.2e-16, 36.05].
        Probabilities are clipped to [2**-52, 1 - 2**-52], whatever their dtype."""
    @property
    def brier(self) -> float:
        """The mean squared error of the probabilities (Brier, 1950). For two classes of (p - y)**2,
        in [0, 1]; for K classes of the sum over k of (p_k - [y = k])**2, in [0, 2]."""
    @property
    def pcopc(self) -> float | Floats:
        """Sum of predictions / sum of labels (predicted click over click), at least 0. If it is 1,
        the model is unbiased; above 1, it predicts too much. nan without a positive."""
    @property
    def mean_prediction(self) -> float | Floats:
        """The mean probability, in [0, 1]."""
    @property
    def mean_label(self) -> float | Floats:
        """The share of positives, or of each class in the truth, in [0, 1]."""
    @property
    def n_clipped(self) -> int | float:
        """The weight of the examples whose log loss was clipped. Their true class had a probability
        below 2**-52 or above 1 - 2**-52, the machine epsilon of float64, and counts with that."""
    @property
    def normalized_entropy(self) -> float:
        """The log loss, divided by that of always predicting the mean label; below 1 is better. He
        et al., Practical lessons from predicting clicks on ads (2014). nan if the truth is always
        one class."""
    @property
    def d2_log_loss_score(self) -> float:
        """1 - the log loss over that of always predicting the shares of the classes, at most 1. 0
        is no better than that. nan if the truth is always one class."""
    @property
    def d2_brier_score(self) -> float:
        """1 - the Brier score over that of always predicting the shares of the classes, at most 1.
        0 is no better than that. nan if the truth is always one class."""
    @property
    def max_calibration_error(self) -> float:
        """The largest |mean label - mean prediction| of a bin, in [0, 1]. Naeini et al. (2015)."""
    @property
    def rms_calibration_error(self) -> float:
        """The root of the mean squared |mean label - mean prediction| of the bins, in [0, 1].
        Weighted by their examples, as ece (Kumar, Liang and Ma, Verified uncertainty calibration,
        2019)."""
    @property
    def brier_reliability(self) -> float:
        """The mean squared |mean label - mean prediction| of the bins; of two classes. Reliability
        - resolution + uncertainty is the Brier score where each bin holds one prediction, and near
        it otherwise (Murphy, 1973)."""
    @property
    def brier_resolution(self) -> float:
        """The mean squared distance of the bins' mean labels from that of all; of two classes."""
    @property
    def brier_uncertainty(self) -> float:
        """The variance of the labels, whatever the predictions; of two classes."""

class CatalogMembers(RowMembers):
    @property
    def n_items(self) -> int:
        """The number of items of the catalog."""
    @property
    def n_recommended(self) -> int:
        """The number of distinct items that were recommended."""
    @property
    def coverage(self) -> float:
        """The share of the items of the catalog that were recommended, in [0, 1]."""
    @property
    def gini(self) -> float:
        """The Gini coefficient of the exposures of all items, in [0, 1); nan without examples. 0 if
        all items have the same exposure, nearly 1 if one item has all of it."""
    @property
    def entropy(self) -> float:
        """The entropy of the exposures in bits, in [0, log2(n_items)]; nan without examples. 2 to
        its power is the number of items that, exposed equally, would have this entropy."""
    @property
    def novelty(self) -> float:
        """The mean of -log2(popularity) over the recommendations, at least 0; nan without any. In
        bits: an item that half of the users know has 1."""
    @property
    def average_popularity(self) -> float:
        """The mean popularity of the recommendations, in (0, 1]; nan without any."""

class _ClassCurves_class_wise_ece(Protocol):
    def __call__(self, bins: int = 15) -> Bounded: ...

class ClassCurvesMembers(RowMembers):
    @property
    def n_averaged(self) -> int:
        """The number of classes with a positive, which mean_average_precision averages."""
    @property
    def roc_auc_ovo(self) -> Bounded:
        """The mean area under the ROC curves of each class against each other one. Hand and Till's
        M (A simple generalisation of the area under the ROC curve, 2001): A(i|j) is the area of
        class i against j by the scores of i. Over the pairs of classes that both occur."""
    @property
    def roc_auc_ovo_weighted(self) -> Bounded:
        """The mean area under the ROC curves of each class against each other one, weighted by the
        examples of both."""
    @property
    def class_wise_ece(self) -> MetricValue[_ClassCurves_class_wise_ece]:
        """Compute the mean over all classes of the calibration error of each, in [0, 1].

        It finds errors that the error of the most probable class misses; for probabilities. Call
        it for another number of bins.

        Parameters
        ----------
        bins : int
            The number of bins, from 1 to 65,536.

        Examples
        --------
        >>> import streameval as se
        >>> scores = [[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [0.6, 0.3, 0.1]]
        >>> curves = se.PRCurveSketch(classes=3).update([0, 1, 2], scores).compute()
        >>> f"{curves.class_wise_ece:.3f}", f"{curves[0].ece:.3f}", f"{curves[0].ece(bins=2):.3f}"
        ('0.333', '0.333', '0.200')
        """

class ConfusionMembers(RowMembers):
    @property
    def tp(self) -> int | float | Ints | Floats:
        """True positives of the positive class of two, else an array of shape (K,)."""
    @property
    def fp(self) -> int | float | Ints | Floats:
        """False positives of the positive class of two, else an array of shape (K,)."""
    @property
    def fn(self) -> int | float | Ints | Floats:
        """False negatives of the positive class of two, else an array of shape (K,)."""
    @property
    def tn(self) -> int | float | Ints | Floats:
        """True negatives of the positive class of two, else an array of shape (K,)."""
    @property
    def n_averaged(self) -> int:
        """How many classes enter macro and weighted means. Those that occur in truth or prediction,
        all with include_unseen=True; for multilabel, those with any known entry."""
    @property
    def accuracy(self) -> float:
        """The share of examples predicted right, in [0, 1]; nan without examples. For multilabel,
        the share with every label right (subset accuracy)."""
    @property
    def top_k_recall(self) -> MetricValue[ClassAverages]:
        """The share of a class that is among the top_k best scores. Tied classes come in the order
        of the columns."""
    @property
    def top_k_f_score(self) -> MetricValue[FAverages]:
        """F of top_k_precision and top_k_recall."""
    @property
    def hamming_loss(self) -> float:
        """The share of wrong labels, in [0, 1]; for one label an example, 1 - accuracy."""
    @property
    def balanced_accuracy(self) -> float:
        """The mean recall of the classes that occur in the truth; nan without examples."""
    @property
    def precision(self) -> MetricValue[ClassAverages]:
        """TP / (TP + FP), the share of the predicted positives that are positive."""
    @property
    def recall(self) -> MetricValue[ClassAverages]:
        """TP / (TP + FN), the share of the positives that were found."""
    @property
    def specificity(self) -> MetricValue[ClassAverages]:
        """TN / (TN + FP), the share of the negatives that were predicted negative."""
    @property
    def jaccard(self) -> MetricValue[ClassAverages]:
        """TP / (TP + FP + FN), the intersection over the union."""
    @property
    def fowlkes_mallows(self) -> MetricValue[ClassAverages]:
        """sqrt(PPV * TPR), the geometric mean of precision and recall. Of the examples of a class,
        not of the pairs of two clusterings."""
    @property
    def matthews_corrcoef(self) -> float:
        """The correlation of truth and prediction, in [-1, 1]. Gorodkin's R_K for more than two
        classes. For multilabel, over all labels pooled."""
    @property
    def cohen_kappa(self) -> float:
        """The agreement beyond chance, at most 1; nan when both are one and the same class."""
    @property
    def zero_one_loss(self) -> float:
        """The share of examples with any label wrong, in [0, 1]; 1 - accuracy."""
    @property
    def geometric_mean(self) -> float:
        """The K-th root of the product of the recalls of the K classes in the truth. Of two
        classes, sqrt(TPR * TNR). 0 if one is never found; nan without examples."""
    @property
    def cohen_kappa_linear(self) -> float:
        """Kappa of ordered classes: an error counts by its distance, abs(i - j). At most 1; nan
        when both are one and the same class."""
    @property
    def cohen_kappa_quadratic(self) -> float:
        """Kappa of ordered classes: an error counts by its squared distance, (i - j)^2. At most 1;
        nan when both are one and the same class."""
    @property
    def mean_class_distance(self) -> float:
        """The mean of abs(i - j) over examples of class i predicted as j, of ordered classes. In
        [0, K - 1]; nan without examples."""
    @property
    def negative_predictive_value(self) -> MetricValue[ClassAverages]:
        """TN / (TN + FN), the share of the predicted negatives that are negative."""
    @property
    def false_positive_rate(self) -> MetricValue[ClassAverages]:
        """FP / (FP + TN), the share of the negatives that were predicted positive."""
    @property
    def false_negative_rate(self) -> MetricValue[ClassAverages]:
        """FN / (FN + TP), the share of the positives that were missed."""
    @property
    def false_discovery_rate(self) -> MetricValue[ClassAverages]:
        """FP / (FP + TP), the share of the predicted positives that are negative."""
    @property
    def false_omission_rate(self) -> MetricValue[ClassAverages]:
        """FN / (FN + TN), the share of the predicted negatives that are positive."""
    @property
    def selection_rate(self) -> MetricValue[ClassAverages]:
        """(TP + FP) / n, the share of the examples that were predicted positive. For labels 0 and
        1, declared or not, that of 1. Of other labels declare two or name one, as in
        selection_rate[cat]: their mean is the same for all data. Its gap between slices is
        fairlearn's demographic_parity_difference, and the ratio of its extremes
        demographic_parity_ratio."""
    @property
    def positive_likelihood_ratio(self) -> float:
        """TPR / FPR, at least 0: how much a predicted positive raises the odds; two classes. nan
        when it divides by 0."""
    @property
    def negative_likelihood_ratio(self) -> float:
        """FNR / TNR, at least 0: how much a predicted negative lowers the odds; two classes. nan
        when it divides by 0."""
    @property
    def informedness(self) -> float:
        """TPR + TNR - 1, in [-1, 1], Youden's J; of two classes. nan unless both classes are in the
        truth."""
    @property
    def markedness(self) -> float:
        """PPV + NPV - 1, in [-1, 1]; of two classes. nan unless both classes are in the
        prediction."""

class _Curve_ece(Protocol):
    def __call__(self, bins: int = 15) -> Bounded: ...

class _Curve_adaptive_ece(Protocol):
    def __call__(self, bins: int = 15) -> Bounded: ...

class _Curve_min_cost(Protocol):
    def __call__(self, fp_cost: float = 1.0, fn_cost: float = 1.0, prevalence: float | None = None) -> Bounded: ...

class CurveMembers(RowMembers):
    @property
    def n_pos(self) -> int | float:
        """The weight of the positives."""
    @property
    def n_neg(self) -> int | float:
        """The weight of the negatives."""
    @property
    def n_skipped(self) -> int | float:
        """The weight of the examples left out for a score that is NaN."""
    @property
    def cells(self) -> int:
        """The number of bins."""
    @property
    def roc_auc(self) -> Bounded:
        """The area under the ROC curve, in [0, 1]; nan unless both classes occur.

        The probability that a positive scores above a negative, ties counting half. An
        estimate is the middle of its interval, whose width is the sum over bins of several
        scores of ``pos * neg / (n_pos * n_neg)``.
        """
    @property
    def average_precision(self) -> Bounded:
        """Precision summed over the steps of recall, in [0, 1]; nan without a positive."""
    @property
    def average_precision_interpolated(self) -> Bounded:
        """Average precision, with the highest precision at each recall or above."""
    @property
    def average_precision_11pt(self) -> Bounded:
        """The mean over recalls 0, 0.1, ..., 1 of the highest precision there or above."""
    @property
    def pr_auc(self) -> Bounded:
        """The area of the trapezoids under the precision-recall points; nan without a positive. It
        interpolates linearly where average_precision steps."""
    @property
    def pr_auc_davis_goadrich(self) -> Bounded:
        """The area under the precision-recall points, joined as those of the ROC curve.

        Between two points, false positives rise at a constant rate with true ones, which is not
        a straight line in precision and recall; nan without a positive (Davis and Goadrich,
        2006).

        Examples
        --------
        >>> import streameval as se
        >>> curve = se.PRCurveSketch().update([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).compute()
        >>> round(curve.pr_auc_davis_goadrich, 4), round(curve.pr_auc, 4)
        (0.7973, 0.7917)
        """
    @property
    def ks(self) -> Bounded:
        """The Kolmogorov-Smirnov statistic, the max of |tpr - fpr|, in [0, 1]."""
    @property
    def best_f_threshold(self) -> Bounded:
        """The highest F and its threshold."""
    @property
    def log_loss(self) -> Bounded:
        """The mean of minus the log of the probability of the truth; for probabilities.
        Probabilities are clipped at float64's eps, so it is at most 36.05."""
    @property
    def brier(self) -> Bounded:
        """The mean of (score - label)**2, in [0, 1]; for probabilities."""
    @property
    def ece(self) -> MetricValue[_Curve_ece]:
        """Compute the expected calibration error, in [0, 1]; for probabilities.

        ``|mean label - mean score|`` in each of the bins ``[i/bins, (i+1)/bins)``, the last
        closed, weighted by their examples (Naeini, Cooper and Hauskrecht, 2015). Call it for
        another number of bins, as in ``ece(bins=10)``.

        Parameters
        ----------
        bins : int
            The number of bins, from 1 to 65,536.
        """
    @property
    def adaptive_ece(self) -> MetricValue[_Curve_adaptive_ece]:
        """Compute the calibration error of bins of equal mass, in [0, 1]; for probabilities.

        ``|mean label - mean score|`` in each of the bins, which hold the same share of the
        examples, by rising score, averaged (Nixon et al., 2019). A row, or rows of one score, that
        an edge cuts count in both bins by their shares. Call it for another number of bins.

        Parameters
        ----------
        bins : int
            The number of bins, from 1 to 65,536.

        Examples
        --------
        >>> import streameval as se
        >>> curve = se.PRCurveSketch().update([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.9]).compute()
        >>> f"{curve.adaptive_ece(2):.3f}", f"{curve.ece(2):.3f}"
        ('0.225', '0.125')
        """
    @property
    def d2_log_loss_score(self) -> Bounded:
        """1 - the log loss over that of always predicting the share of positives, at most 1. 0 is
        no better than that; for probabilities. nan unless both classes occur."""
    @property
    def d2_brier_score(self) -> Bounded:
        """1 - the Brier score over that of always predicting the share of positives, at most 1. 0
        is no better than that; for probabilities. nan unless both classes occur."""
    def partial_roc_auc(self, max_fpr: float) -> Bounded:
        """Compute the area up to a false positive rate, standardized (McClish, 1989).

        Parameters
        ----------
        max_fpr : float
            From 2**-1000 to 1.

        Returns
        -------
        Bounded
            0.5 for chance and 1 for a perfect order; nan unless both classes occur.
        """
    def precision_at(self, threshold: float) -> Bounded:
        """Compute the share of positives among scores of at least a threshold, 0 without any."""
    def recall_at(self, threshold: float) -> Bounded:
        """Compute the share of the positives that score at least a threshold.

        nan without a positive.
        """
    def f_at(self, threshold: float, beta: float = 1.0) -> Bounded:
        """Compute F at a threshold, 0 where nothing is positive or predicted so.

        Parameters
        ----------
        threshold : float
            A score of at least this is a positive prediction.
        beta : float
            At least 0; 1 weighs precision and recall alike.
        """
    def net_benefit(self, threshold: float) -> Bounded:
        """Compute true positives an example, less false ones at the odds of a threshold.

        ``TP / n - FP / n * threshold / (1 - threshold)`` (Vickers and Elkin, 2006), the benefit of
        acting on probabilities of at least the threshold: each false positive is worth what
        somebody who acts from this probability on must hold it worth. Compare it with acting on
        nobody, 0, and on everybody, ``n_pos / n - n_neg / n * threshold / (1 - threshold)``. nan
        without an example.

        Parameters
        ----------
        threshold : float
            The probability from which on to act, in [0, 1).

        Raises
        ------
        InvalidInputError
            If the threshold is outside [0, 1), or scores are not probabilities.

        Examples
        --------
        >>> import streameval as se
        >>> curve = se.PRCurveSketch().update([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).compute()
        >>> curve.net_benefit(0.2), curve.net_benefit(0.5)
        (0.4375, 0.25)
        """
    def selective_accuracy(self, confidence: float) -> Bounded:
        """Compute the accuracy of decisions at 0.5, if those of less confidence are rejected.

        The confidence of a score ``p`` is that of the likelier class, ``max(p, 1 - p)``. With
        `selective_coverage`, it gives the curve of accuracy against rejection (Nadeem et al.,
        2009), or of risk against coverage (Geifman and El-Yaniv, 2017).

        Parameters
        ----------
        confidence : float
            The least confidence of a decision, in [0.5, 1].

        Returns
        -------
        Bounded
            In [0, 1]. 0 if all decisions are rejected. nan without an example.

        Raises
        ------
        InvalidInputError
            If the confidence is outside [0.5, 1], or scores are not probabilities.

        Examples
        --------
        >>> import streameval as se
        >>> curve = se.PRCurveSketch().update([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).compute()
        >>> for confidence in (0.5, 0.6, 0.7):
        ...     print(curve.selective_accuracy(confidence), curve.selective_coverage(confidence))
        0.75 1.0
        0.75 1.0
        1.0 0.5
        """
    def selective_coverage(self, confidence: float) -> Bounded:
        """Compute the share of the examples that are decided if `confidence` is the least.

        One less the share that is rejected; see `selective_accuracy`. nan without an example.
        """
    def recall_at_precision(self, p: float) -> Bounded:
        """Find the highest recall with a precision of at least `p`.

        0 where no threshold reaches `p`, and nan without a positive. `p` is compared with the
        quotient of the exact counts, rounded once, as `precision_at` returns it: 9 of 10 reach 0.9.
        """
    def precision_at_recall(self, r: float) -> Bounded:
        """Find the highest precision with a recall of at least `r`; nan without a positive.

        Recalls are compared as precisions are in `recall_at_precision`.
        """
    def threshold_at_precision(self, p: float) -> Bounded:
        """Find the threshold of `recall_at_precision`.

        If several have the highest recall, this is the one with the highest precision; nan if no
        threshold reaches `p`. The interval is the hull of the cells that can contain it.
        """
    def tpr_at_fpr(self, f: float) -> Bounded:
        """Find the highest true positive rate with a false positive rate of at most `f`.

        Rates are compared as precisions are in `recall_at_precision`. nan unless both classes
        occur.
        """
    def fpr_at_tpr(self, t: float) -> Bounded:
        """Find the lowest false positive rate with a true positive rate of at least `t`, above 0.

        nan unless both classes occur.
        """
    def sensitivity_at_specificity(self, s: float) -> Bounded:
        """Find the highest sensitivity (recall) with a specificity of at least `s`.

        nan unless both classes occur.
        """
    def specificity_at_sensitivity(self, s: float) -> Bounded:
        """Find the highest specificity with a sensitivity (recall) of at least `s`, above 0.

        nan unless both classes occur.
        """
    def threshold_at_fpr(self, f: float) -> Bounded:
        """Find the threshold of `tpr_at_fpr`, the highest of several.

        nan if no threshold that finds a positive is within it.
        """
    def threshold_at_specificity(self, s: float) -> Bounded:
        """Find the threshold of `sensitivity_at_specificity`, the highest of several.

        nan if no threshold that finds a positive reaches it.
        """
    def threshold_at_sensitivity(self, s: float) -> Bounded:
        """Find the highest threshold with a sensitivity (recall, TPR) of at least `s`, above 0.

        It is that of `specificity_at_sensitivity` and `fpr_at_tpr`; nan without a positive.
        """
    @property
    def equal_error_rate(self) -> Bounded:
        """The rate at which false positives and false negatives are equally frequent, in [0, 1].

        Where the ROC curve, its points joined by lines, has an FPR of 1 - TPR; nan unless both
        classes occur.
        """
    @property
    def equal_error_rate_threshold(self) -> Bounded:
        """The highest threshold at which the FPR is at least the false negative rate."""
    @property
    def youden_j(self) -> Bounded:
        """The max over thresholds of TPR - FPR, in [0, 1]; nan unless both classes occur."""
    @property
    def youden_j_threshold(self) -> Bounded:
        """The threshold of the max of TPR - FPR, the highest of several."""
    @property
    def gini(self) -> Bounded:
        """The Gini coefficient, 2 ROC AUC - 1, in [-1, 1]; nan unless both classes occur."""
    def precision_at_top(self, share: float) -> Bounded:
        """Compute the share of positives among the highest `share` of the examples, in (0, 1].

        Examples of one score are in any order, so it is the mean over all orders. nan without a
        positive.
        """
    def recall_at_top(self, share: float) -> Bounded:
        """Compute the share of the positives among the highest `share` of the examples: the gain.

        Ties are as in `precision_at_top`; nan without a positive.
        """
    def lift_at_top(self, share: float) -> Bounded:
        """Compute the precision of the highest `share` of the examples over that of all.

        1 is chance. Ties are as in `precision_at_top`; nan without a positive.
        """
    @property
    def min_cost(self) -> MetricValue[_Curve_min_cost]:
        """Find the lowest expected cost of an example over all thresholds.

        ``prevalence * fn_cost * FNR + (1 - prevalence) * fp_cost * FPR``, where nothing predicted
        is a threshold too; nan unless both classes occur. Call it for other costs, as in
        ``min_cost(fp_cost=1, fn_cost=10)``.

        Parameters
        ----------
        fp_cost, fn_cost : float
            The cost of a false positive and of a false negative, at least 0.
        prevalence : float, optional
            The share of positives where the scores will be used, in [0, 1]; by default that of
            the examples.
        """

class GroupedCurvesMembers(RowMembers):
    @property
    def n_groups(self) -> int:
        """The number of groups."""
    @property
    def n_averaged(self) -> int:
        """The number of groups that hold both classes."""
    @property
    def cells(self) -> int:
        """The number of bins of all groups."""
    @property
    def gauc(self) -> Bounded:
        """The mean AUC of the groups with both classes, in [0, 1]; nan if there is none. Weighted
        by their examples, or as group_weight says."""
    @property
    def coverage(self) -> float:
        """The share of examples in groups with both classes, in [0, 1]; nan without examples."""

class PairedResultMembers(RowMembers):
    @property
    def n_both(self) -> int | float:
        """The weight of the examples that both models get right."""
    @property
    def n_only_a(self) -> int | float:
        """The weight of the examples that only model A gets right."""
    @property
    def n_only_b(self) -> int | float:
        """The weight of the examples that only model B gets right."""
    @property
    def n_neither(self) -> int | float:
        """The weight of the examples that both models get wrong."""
    @property
    def accuracy_a(self) -> float:
        """The share of examples that model A gets right, in [0, 1]; nan without examples."""
    @property
    def accuracy_b(self) -> float:
        """The share of examples that model B gets right, in [0, 1]; nan without examples."""
    @property
    def difference(self) -> float:
        """The accuracy of A minus that of B, in [-1, 1]; nan without examples."""
    @property
    def mcnemar_pvalue(self) -> float:
        """The two-sided p-value of McNemar's exact test, for one look at a fixed n. Twice the
        chance of a split at least this uneven of the rows that only one model gets right, at most
        1."""
    @property
    def log_evidence(self) -> float:
        """The logarithm of the evidence that the models differ, which may be looked at any time. If
        they are equally good it ever reaches log(1 / a) with a probability of at most a."""
    @property
    def anytime_pvalue(self) -> float:
        """The p-value that holds however often you look, 1 over the evidence and at most 1."""
    @property
    def precision_a(self) -> float:
        """The precision of A, with the average of a confusion matrix: of the positive class of two,
        else the macro mean."""
    @property
    def precision_b(self) -> float:
        """The precision of B, with the average of a confusion matrix: of the positive class of two,
        else the macro mean."""
    @property
    def precision_difference(self) -> float:
        """precision_a minus precision_b; nan unless rows define both. By the delta method, from the
        joint counts of truth and both decisions."""
    @property
    def precision_pvalue(self) -> float:
        """The two-sided p-value of precision_difference, for one look at a fixed n. By the delta
        method, from the joint counts of truth and both decisions."""
    @property
    def recall_a(self) -> float:
        """The recall of A, with the average of a confusion matrix: of the positive class of two,
        else the macro mean."""
    @property
    def recall_b(self) -> float:
        """The recall of B, with the average of a confusion matrix: of the positive class of two,
        else the macro mean."""
    @property
    def recall_difference(self) -> float:
        """recall_a minus recall_b; nan unless rows define both. By the delta method, from the joint
        counts of truth and both decisions."""
    @property
    def recall_pvalue(self) -> float:
        """The two-sided p-value of recall_difference, for one look at a fixed n. By the delta
        method, from the joint counts of truth and both decisions."""
    @property
    def specificity_a(self) -> float:
        """The specificity of A, with the average of a confusion matrix: of the positive class of
        two, else the macro mean."""
    @property
    def specificity_b(self) -> float:
        """The specificity of B, with the average of a confusion matrix: of the positive class of
        two, else the macro mean."""
    @property
    def specificity_difference(self) -> float:
        """specificity_a minus specificity_b; nan unless rows define both. By the delta method, from
        the joint counts of truth and both decisions."""
    @property
    def specificity_pvalue(self) -> float:
        """The two-sided p-value of specificity_difference, for one look at a fixed n. By the delta
        method, from the joint counts of truth and both decisions."""
    @property
    def f_score_a(self) -> float:
        """The f_score of A, with the average of a confusion matrix: of the positive class of two,
        else the macro mean."""
    @property
    def f_score_b(self) -> float:
        """The f_score of B, with the average of a confusion matrix: of the positive class of two,
        else the macro mean."""
    @property
    def f_score_difference(self) -> float:
        """f_score_a minus f_score_b; nan unless rows define both. By the delta method, from the
        joint counts of truth and both decisions."""
    @property
    def f_score_pvalue(self) -> float:
        """The two-sided p-value of f_score_difference, for one look at a fixed n. By the delta
        method, from the joint counts of truth and both decisions."""
    @property
    def balanced_accuracy_a(self) -> float:
        """The balanced_accuracy of A, from its confusion matrix."""
    @property
    def balanced_accuracy_b(self) -> float:
        """The balanced_accuracy of B, from its confusion matrix."""
    @property
    def balanced_accuracy_difference(self) -> float:
        """balanced_accuracy_a minus balanced_accuracy_b; nan unless rows define both. By the delta
        method, from the joint counts of truth and both decisions."""
    @property
    def balanced_accuracy_pvalue(self) -> float:
        """The two-sided p-value of balanced_accuracy_difference, for one look at a fixed n. By the
        delta method, from the joint counts of truth and both decisions."""
    @property
    def matthews_corrcoef_a(self) -> float:
        """The matthews_corrcoef of A, from its confusion matrix."""
    @property
    def matthews_corrcoef_b(self) -> float:
        """The matthews_corrcoef of B, from its confusion matrix."""
    @property
    def matthews_corrcoef_difference(self) -> float:
        """matthews_corrcoef_a minus matthews_corrcoef_b; nan unless rows define both. By the delta
        method, from the joint counts of truth and both decisions."""
    @property
    def matthews_corrcoef_pvalue(self) -> float:
        """The two-sided p-value of matthews_corrcoef_difference, for one look at a fixed n. By the
        delta method, from the joint counts of truth and both decisions."""
    @property
    def cohen_kappa_a(self) -> float:
        """The cohen_kappa of A, from its confusion matrix."""
    @property
    def cohen_kappa_b(self) -> float:
        """The cohen_kappa of B, from its confusion matrix."""
    @property
    def cohen_kappa_difference(self) -> float:
        """cohen_kappa_a minus cohen_kappa_b; nan unless rows define both. By the delta method, from
        the joint counts of truth and both decisions."""
    @property
    def cohen_kappa_pvalue(self) -> float:
        """The two-sided p-value of cohen_kappa_difference, for one look at a fixed n. By the delta
        method, from the joint counts of truth and both decisions."""
    @property
    def roc_auc_a(self) -> float:
        """The area under the ROC curve of A, in [0, 1]; nan unless both classes occur."""
    @property
    def roc_auc_b(self) -> float:
        """The area under the ROC curve of B, in [0, 1]; nan unless both classes occur."""
    @property
    def roc_auc_difference(self) -> float:
        """roc_auc_a minus roc_auc_b; nan unless rows define both. By DeLong's method for areas of
        the same rows, from the differences of placements, with more variance for few examples of a
        class."""
    @property
    def roc_auc_pvalue(self) -> float:
        """The two-sided p-value of roc_auc_difference, for one look at a fixed n. By DeLong's
        method for areas of the same rows, from the differences of placements, with more variance
        for few examples of a class."""
    @property
    def log_loss_a(self) -> float:
        """The mean of -log(probability of the true class) of A, natural, in [2.2e-16, 36.05]."""
    @property
    def log_loss_b(self) -> float:
        """The mean of -log(probability of the true class) of B, natural, in [2.2e-16, 36.05]."""
    @property
    def log_loss_difference(self) -> float:
        """log_loss_a minus log_loss_b; nan unless rows define both. A normal mean, with the
        variance of the difference row by row, and more where few rows make up much of the
        losses."""
    @property
    def log_loss_pvalue(self) -> float:
        """The two-sided p-value of log_loss_difference, for one look at a fixed n. A normal mean,
        with the variance of the difference row by row, and more where few rows make up much of the
        losses."""
    @property
    def mse_a(self) -> float:
        """The mean squared error of the numbers that A predicts, at least 0."""
    @property
    def mse_b(self) -> float:
        """The mean squared error of the numbers that B predicts, at least 0."""
    @property
    def mse_difference(self) -> float:
        """mse_a minus mse_b; nan unless rows define both. A normal mean, with the variance of the
        difference row by row, and more where few rows make up much of the losses."""
    @property
    def mse_pvalue(self) -> float:
        """The two-sided p-value of mse_difference, for one look at a fixed n. A normal mean, with
        the variance of the difference row by row, and more where few rows make up much of the
        losses."""
    @property
    def mae_a(self) -> float:
        """The mean absolute error of the numbers that A predicts, at least 0."""
    @property
    def mae_b(self) -> float:
        """The mean absolute error of the numbers that B predicts, at least 0."""
    @property
    def mae_difference(self) -> float:
        """mae_a minus mae_b; nan unless rows define both. A normal mean, with the variance of the
        difference row by row, and more where few rows make up much of the losses."""
    @property
    def mae_pvalue(self) -> float:
        """The two-sided p-value of mae_difference, for one look at a fixed n. A normal mean, with
        the variance of the difference row by row, and more where few rows make up much of the
        losses."""
    @property
    def loss_a(self) -> float:
        """The mean of the values of A; lower ones are better."""
    @property
    def loss_b(self) -> float:
        """The mean of the values of B; lower ones are better."""
    @property
    def loss_difference(self) -> float:
        """loss_a minus loss_b; nan unless rows define both. By Student's paired t-test, from the
        differences row by row."""
    @property
    def loss_pvalue(self) -> float:
        """The two-sided p-value of loss_difference, for one look at a fixed n. By Student's paired
        t-test, from the differences row by row."""
    @property
    def score_a(self) -> float:
        """The mean of the values of A; higher ones are better."""
    @property
    def score_b(self) -> float:
        """The mean of the values of B; higher ones are better."""
    @property
    def score_difference(self) -> float:
        """score_a minus score_b; nan unless rows define both. By Student's paired t-test, from the
        differences row by row."""
    @property
    def score_pvalue(self) -> float:
        """The two-sided p-value of score_difference, for one look at a fixed n. By Student's paired
        t-test, from the differences row by row."""
    @property
    def brier_a(self) -> float:
        """The mean squared error of the probabilities of A, in [0, 1]."""
    @property
    def brier_b(self) -> float:
        """The mean squared error of the probabilities of B, in [0, 1]."""
    @property
    def brier_difference(self) -> float:
        """brier_a minus brier_b; nan unless rows define both. A normal mean, with the variance of
        the difference row by row, and more where few rows make up much of the losses."""
    @property
    def brier_pvalue(self) -> float:
        """The two-sided p-value of brier_difference, for one look at a fixed n. A normal mean, with
        the variance of the difference row by row, and more where few rows make up much of the
        losses."""

class PreferencesMembers(RowMembers):
    @property
    def n_models(self) -> int:
        """The number of models that were compared."""
    @property
    def tie_rate(self) -> float:
        """The share of the comparisons that were ties, in [0, 1]; nan without comparisons."""

class RankingMembers(RowMembers):
    @property
    def n_queries(self) -> int | float:
        """The number of complete queries, without missing and open ones."""
    @property
    def n_empty(self) -> int | float:
        """The number of these in which nothing is relevant at relevance_level."""
    @property
    def n_missing(self) -> int | float:
        """The number of judged queries that are absent from the run."""
    @property
    def n_open(self) -> int:
        """The number of open queries, which do not count yet."""
    @property
    def map(self) -> Bounded:
        """The mean over queries: average precision: the precision at the rank of each relevant
        document, over R."""
    @property
    def mrr(self) -> Bounded:
        """The mean over queries: 1 / the rank of the first relevant document."""
    @property
    def ndcg(self) -> Mapping[int | None, Bounded]:
        """The mean over queries, by cutoff: the sum of gain / log2(rank + 1), over that of the best
        ranking of all judged documents."""
    @property
    def dcg(self) -> Bounded:
        """The mean over queries: the sum of gain / log2(rank + 1)."""
    @property
    def p(self) -> Mapping[int | None, Bounded]:
        """The mean over queries, by cutoff: the relevant documents in the first k, over k."""
    @property
    def r(self) -> Mapping[int | None, Bounded]:
        """The mean over queries, by cutoff: the relevant documents in the first k, over R, all that
        are relevant."""
    @property
    def hit(self) -> Mapping[int | None, Bounded]:
        """The mean over queries, by cutoff: 1 if a relevant document is in the first k, else 0."""
    @property
    def all_hit(self) -> Mapping[int | None, Bounded]:
        """The mean over queries, by cutoff: 1 if the first k documents are all relevant, else 0; of
        tied attempts, pass^k."""
    @property
    def f(self) -> Mapping[int | None, Bounded]:
        """The mean over queries, by cutoff: the harmonic mean of p@k and r@k."""
    @property
    def adaptive_p(self) -> Mapping[int | None, Bounded]:
        """The mean over queries, by cutoff: the relevant documents in the first k, over k or the
        number retrieved if less."""
    @property
    def fall_out(self) -> Mapping[int | None, Bounded]:
        """The mean over queries, by cutoff: the share of the irrelevant documents that are among
        the first k; nothing to find if all are relevant."""
    @property
    def judged(self) -> Mapping[int | None, Bounded]:
        """The mean over queries, by cutoff: the share of judged documents among the first k
        retrieved, which may be fewer."""
    @property
    def err(self) -> Mapping[int | None, Bounded]:
        """The mean over queries, by cutoff: the mean of 1 / the rank at which a reader stops, if a
        document stops a reader with probability (2^relevance - 1) / 2^max."""
    @property
    def rprec(self) -> Bounded:
        """The mean over queries: the relevant documents in the first R, over R, all that are
        relevant."""
    @property
    def lrap(self) -> Bounded:
        """The mean over queries: the mean over relevant documents of the share of relevant
        documents among those that score at least as high."""
    @property
    def coverage_error(self) -> Bounded:
        """The mean over queries: the number of documents that score at least as high as the last
        relevant one; documents that were not retrieved rank below all others."""
    @property
    def label_ranking_loss(self) -> Bounded:
        """The mean over queries: the share of pairs of a relevant document and a retrieved
        irrelevant one in which the irrelevant one scores at least as high."""
    @property
    def query_auc(self) -> Bounded:
        """The mean over queries: the share of pairs of a relevant document and a retrieved
        irrelevant one in which the relevant one ranks higher; nothing to find if there is no such
        pair."""
    @property
    def rbp(self) -> Bounded:
        """The mean over queries: the sum of (1 - p) p**(r_i - 1)."""
    @property
    def bpref(self) -> Bounded:
        """The mean over queries: the mean over relevant documents of 1 - min(N_i, R) / min(R, N),
        where N judged documents are not relevant, N_i of them above."""
    @property
    def set_p(self) -> Bounded:
        """The mean over queries: the precision of all that was retrieved."""
    @property
    def set_r(self) -> Bounded:
        """The mean over queries: the recall of all that was retrieved."""
    @property
    def set_f(self) -> Bounded:
        """The mean over queries: the harmonic mean of precision P and recall S of all that was
        retrieved; weighted, (1 + beta) P S / (beta P + S), where beta is trec_eval's, the square of
        the usual one."""
    @property
    def gm_map(self) -> Bounded:
        """log(max(average precision, 1e-5)); the result is exp of its mean."""
    @property
    def gm_bpref(self) -> Bounded:
        """log(max(bpref, 1e-5)); the result is exp of its mean."""
    @property
    def iprec(self) -> Bounded:
        """The mean over queries: the highest precision at any rank by which recall * R relevant
        documents, rounded to a whole number, have been found; 0 if they never are."""
    @property
    def rprec_mult(self) -> Bounded:
        """The mean over queries: the precision at rank times * R, rounded up."""
    @property
    def relative_p(self) -> Mapping[int | None, Bounded]:
        """The mean over queries, by cutoff: the relevant documents in the first k, over min(k, R),
        the most that there can be."""
    @property
    def set_relative_p(self) -> Bounded:
        """The mean over queries: the precision of all that was retrieved, over the highest possible
        one."""
    @property
    def set_map(self) -> Bounded:
        """The mean over queries: the product of precision and recall of all that was retrieved."""
    @property
    def majority(self) -> Bounded:
        """The mean over queries: 1 if more than half of all that was retrieved is relevant, 1/2 if
        half is, else 0."""
    @property
    def utility(self) -> Bounded:
        """The mean over queries: the number of relevant retrieved documents minus the number of the
        others."""
    @property
    def bin_g(self) -> Bounded:
        """The mean over queries: the mean over relevant documents of 1 / log2(2 + m), with m
        irrelevant ones above."""
    @property
    def g(self) -> Bounded:
        """The mean over queries: the sum of gain / log2(2 + d), over the sum of all gains; d is the
        gain of the best ranking down to this rank, at least 1 per rank, minus the gain of this
        one."""
    @property
    def ndcg_rel(self) -> Bounded:
        """The mean over queries: the mean of ndcg at the rank of each document with a gain; those
        that were not retrieved count the final ndcg."""
    @property
    def rndcg(self) -> Bounded:
        """The mean over queries: the mean of ndcg at the ranks where the best ranking falls to a
        lower gain, and of the final ndcg where more than one further document was retrieved."""
    @property
    def rbp_resid(self) -> Bounded:
        """The mean over queries: how much rbp would rise if every document were relevant that was
        not judged or not retrieved; 0 if all that were retrieved are judged."""
    @property
    def unj(self) -> Mapping[int | None, Bounded]:
        """The mean over queries, by cutoff: the documents in the first k that were not judged, over
        k."""
    @property
    def num_ret(self) -> Bounded:
        """The mean over queries: the number of documents retrieved."""
    @property
    def num_rel(self) -> Bounded:
        """The mean over queries: the number of relevant documents known, R."""
    @property
    def num_rel_ret(self) -> Bounded:
        """The mean over queries: the number of relevant documents retrieved."""
    @property
    def num_nonrel_judged_ret(self) -> Bounded:
        """The mean over queries: the number of judged documents retrieved that are not relevant."""

class RegressionMembers(RowMembers):
    @property
    def rmse(self) -> float:
        """The square root of the mean squared error, at least 0."""
    @property
    def mse(self) -> float:
        """The mean squared error, at least 0."""
    @property
    def mae(self) -> float:
        """The mean absolute error, at least 0."""
    @property
    def r2(self) -> float:
        """1 - SSE / SST, at most 1; nan when the truth is constant. 1 is perfect, 0 is as good as
        always predicting the mean, and less is worse."""
    @property
    def bias(self) -> float:
        """The mean of prediction - truth; above 0, the model predicts too much."""
    @property
    def explained_variance(self) -> float:
        """1 - variance of the errors / variance of the truth, at most 1. R2 without the bias of the
        predictions; nan when the truth is constant."""
    @property
    def relative_squared_error(self) -> float:
        """SSE / SST, 1 - R2, at least 0; nan when the truth is constant."""
    @property
    def nrmse_std(self) -> float:
        """The root mean squared error over the standard deviation of the truth. The root of the
        relative squared error; nan when the truth is constant."""
    @property
    def nrmse_mean(self) -> float:
        """The root mean squared error over the mean of the truth; nan when that is 0."""
    @property
    def mape(self) -> float:
        """The mean of |prediction - truth| / |truth|, at least 0: 0.1 is ten percent. A truth below
        2**-52 in magnitude counts as that."""
    @property
    def smape(self) -> float:
        """The mean of 2 |prediction - truth| / (|truth| + |prediction|), in [0, 2]. A row of two
        zeros counts 0."""
    @property
    def wmape(self) -> float:
        """The sum of |prediction - truth| over the sum of |truth|; nan when every truth is 0."""
    @property
    def msle(self) -> float:
        """The mean of (log(1 + prediction) - log(1 + truth))**2, at least 0. Truth and prediction
        must be above -1."""
    @property
    def rmsle(self) -> float:
        """The square root of the mean squared logarithmic error, at least 0. Truth and prediction
        must be above -1."""
    @property
    def max_error(self) -> float:
        """The largest |prediction - truth|, at least 0."""
    @property
    def nrmse_range(self) -> float:
        """The root mean squared error over the range of the truth; nan when it is constant."""
    def tweedie_deviance(self, power: float) -> float:
        """The mean Tweedie deviance of a power, at least 0: 0 is the mean squared error, 1 the
        Poisson, 2 the gamma and 3 the inverse Gaussian deviance. Below power 0 the prediction must
        be above 0, from 1 on the truth must be at least 0 too, from 2 on above 0."""
    @property
    def poisson_deviance(self) -> float:
        """The mean Poisson deviance, at least 0. The truth must be at least 0 and the prediction
        above 0."""
    @property
    def gamma_deviance(self) -> float:
        """The mean gamma deviance, at least 0. Truth and prediction must be above 0."""
    def huber(self, delta: float = 1.0) -> float:
        """The mean of e**2 / 2 where the error e is at most delta in magnitude, and of delta (|e| -
        delta / 2) elsewhere."""
    @property
    def log_cosh(self) -> float:
        """The mean of log(cosh(prediction - truth)), at least 0."""
    @property
    def pearson(self) -> float:
        """The correlation of truth and prediction, in [-1, 1]; nan when one is constant."""
    @property
    def concordance(self) -> float:
        """The concordance correlation of truth and prediction, in [-1, 1]. It is 1 only where they
        are equal: means that differ lower it, as do deviations (Lin, A concordance correlation
        coefficient to evaluate reproducibility, 1989). nan when both are constant and equal."""
    @property
    def median_absolute_error(self) -> Bounded:
        """The median of |prediction - truth|, at least 0."""
    def absolute_error_quantile(self, q: float) -> Bounded:
        """A quantile of |prediction - truth|, at least 0. The smallest that a share q of the
        examples does not exceed, or the middle between that and the next where the share is met
        exactly."""

class RegressionOutputsMembers(RowMembers):
    @property
    def rmse(self) -> MetricValue[OutputAverages]:
        """The square root of the mean squared error, at least 0."""
    @property
    def mse(self) -> MetricValue[OutputAverages]:
        """The mean squared error, at least 0."""
    @property
    def mae(self) -> MetricValue[OutputAverages]:
        """The mean absolute error, at least 0."""
    @property
    def r2(self) -> MetricValue[OutputAverages]:
        """1 - SSE / SST, at most 1; nan when the truth is constant. 1 is perfect, 0 is as good as
        always predicting the mean, and less is worse."""
    @property
    def bias(self) -> MetricValue[OutputAverages]:
        """The mean of prediction - truth; above 0, the model predicts too much."""
    @property
    def explained_variance(self) -> MetricValue[OutputAverages]:
        """1 - variance of the errors / variance of the truth, at most 1. R2 without the bias of the
        predictions; nan when the truth is constant."""
    @property
    def relative_squared_error(self) -> MetricValue[OutputAverages]:
        """SSE / SST, 1 - R2, at least 0; nan when the truth is constant."""
    @property
    def nrmse_std(self) -> MetricValue[OutputAverages]:
        """The root mean squared error over the standard deviation of the truth. The root of the
        relative squared error; nan when the truth is constant."""
    @property
    def nrmse_mean(self) -> MetricValue[OutputAverages]:
        """The root mean squared error over the mean of the truth; nan when that is 0."""
    @property
    def mape(self) -> MetricValue[OutputAverages]:
        """The mean of |prediction - truth| / |truth|, at least 0: 0.1 is ten percent. A truth below
        2**-52 in magnitude counts as that."""
    @property
    def smape(self) -> MetricValue[OutputAverages]:
        """The mean of 2 |prediction - truth| / (|truth| + |prediction|), in [0, 2]. A row of two
        zeros counts 0."""
    @property
    def wmape(self) -> MetricValue[OutputAverages]:
        """The sum of |prediction - truth| over the sum of |truth|; nan when every truth is 0."""
    @property
    def msle(self) -> MetricValue[OutputAverages]:
        """The mean of (log(1 + prediction) - log(1 + truth))**2, at least 0. Truth and prediction
        must be above -1."""
    @property
    def rmsle(self) -> MetricValue[OutputAverages]:
        """The square root of the mean squared logarithmic error, at least 0. Truth and prediction
        must be above -1."""
    @property
    def max_error(self) -> MetricValue[OutputAverages]:
        """The largest |prediction - truth|, at least 0."""
    @property
    def nrmse_range(self) -> MetricValue[OutputAverages]:
        """The root mean squared error over the range of the truth; nan when it is constant."""
    def tweedie_deviance(self, power: float) -> float:
        """The mean Tweedie deviance of a power, at least 0: 0 is the mean squared error, 1 the
        Poisson, 2 the gamma and 3 the inverse Gaussian deviance. Below power 0 the prediction must
        be above 0, from 1 on the truth must be at least 0 too, from 2 on above 0."""
    @property
    def poisson_deviance(self) -> MetricValue[OutputAverages]:
        """The mean Poisson deviance, at least 0. The truth must be at least 0 and the prediction
        above 0."""
    @property
    def gamma_deviance(self) -> MetricValue[OutputAverages]:
        """The mean gamma deviance, at least 0. Truth and prediction must be above 0."""
    def huber(self, delta: float = 1.0) -> float:
        """The mean of e**2 / 2 where the error e is at most delta in magnitude, and of delta (|e| -
        delta / 2) elsewhere."""
    @property
    def log_cosh(self) -> MetricValue[OutputAverages]:
        """The mean of log(cosh(prediction - truth)), at least 0."""
    @property
    def pearson(self) -> MetricValue[OutputAverages]:
        """The correlation of truth and prediction, in [-1, 1]; nan when one is constant."""
    @property
    def concordance(self) -> MetricValue[OutputAverages]:
        """The concordance correlation of truth and prediction, in [-1, 1]. It is 1 only where they
        are equal: means that differ lower it, as do deviations (Lin, A concordance correlation
        coefficient to evaluate reproducibility, 1989). nan when both are constant and equal."""
    @property
    def median_absolute_error(self) -> MetricValue[OutputAverages]:
        """The median of |prediction - truth|, at least 0."""
    def absolute_error_quantile(self, q: float) -> Bounded:
        """A quantile of |prediction - truth|, at least 0. The smallest that a share q of the
        examples does not exceed, or the middle between that and the next where the share is met
        exactly."""

class SummaryMembers(RowMembers):
    @property
    def mean(self) -> float:
        """The weighted mean of the values."""
    @property
    def sum(self) -> float:
        """The weighted sum of the values; 0 without values."""
    @property
    def std(self) -> float:
        """The standard deviation of the values, at least 0. That of the values that were counted,
        divided by n, as numpy.std has it."""
    @property
    def min(self) -> float:
        """The smallest value."""
    @property
    def max(self) -> float:
        """The largest value."""
    def quantile(self, q: float) -> Bounded:
        """A quantile of the values, such as quantile(0.99). It is that of numpy.quantile, with
        weights as repeats; if a weight has a fraction, the smallest value that a share q of the
        weight does not exceed, or the middle between that and the next where the share is met
        exactly."""
    @property
    def exp_mean(self) -> float:
        """The exponential of the mean: the perplexity, if values are losses in nats a token. Weigh
        a mean loss of several tokens by their number."""
    @property
    def bits_per_byte(self) -> float:
        """The mean over log 2: bits per byte, if values are losses in nats a byte. For a loss of a
        text, the value is the loss over the bytes, and the weight is their number."""
