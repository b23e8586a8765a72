//! Reason codes of a row, in words.

/// What a reason code means; `None` for a text that is no code, such as why a point was skipped.
pub fn reason_words(code: &str) -> Option<&'static str> {
    Some(match code {
        "autocorrelated" => "rounds depend on one another, so they count as fewer",
        "few-rounds" => "too few rounds for an interval",
        "clock-offset" => "the SM clock was another than the baseline's by more than 1 %",
        "resumed" => "part of the rounds are of another process, after the run was resumed",
        "inside-margin" => "the interval lies inside the margin",
        "spans-zero" => "the interval spans zero",
        "floor-above-margin" => "the A/A floor is above the margin, so nothing is equivalent",
        "below-floor" => "not larger than the A/A floor",
        "holm" => "does not survive the correction for many comparisons",
        "no-floor" => "no A/A floor is known",
        "no-baseline" => "no baseline was measured",
        "baseline-wrong" => "the baseline computed wrong values",
        "no-pairs" => "no round has both this arm and its baseline",
        "samples-left-out" => "flagged samples were left out",
        "no-samples" => "no valid sample",
        "unsafe-no-sync" => "the kernel never syncs: nothing makes it wait for its primary",
        "wrong-values" => "wrong values: no speed is given",
        _ => return None,
    })
}
