"""Scores from predictions and gold, with intervals, calibration and thresholds; numpy and scipy only."""
