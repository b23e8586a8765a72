//! What was found by changing runs at random, kept.
