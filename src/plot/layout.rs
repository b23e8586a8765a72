//! Room for text, from a fixed formula: no font is read, so figures are the same everywhere.

/// Upper bound of the width of a line of text in common sans-serif faces, CSS pixels.
pub(super) fn width(text: &str, size: f64, bold: bool) -> f64 {
    let em: f64 = text.chars().map(advance).sum();
    em * size * if bold { 1.12 } else { 1.0 }
}

/// Advance of one character in em, for the widest of the faces that browsers pick.
fn advance(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '\'' => 0.28,
        ' ' | '\u{A0}' | '.' | ',' | ':' | ';' | 'I' | '/' | 'f' | '|' | '-' | '·' => 0.37,
        't' | 'r' | '(' | ')' | '[' | ']' => 0.42,
        'c' | 's' => 0.56,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.98,
        'A'..='Z' => 0.74,
        c if c.is_ascii() => 0.63,
        // Ideographs and other full-width forms.
        '\u{1100}'.. => 1.05,
        _ => 0.84,
    }
}

/// `text` broken at spaces (never at no-break spaces) into at most `most` lines no wider than `room`; what does not fit ends
/// in an ellipsis.
pub(super) fn wrap(text: &str, size: f64, bold: bool, room: f64, most: usize) -> Vec<String> {
    let fits = |line: &str| width(line, size, bold) <= room;
    let mut lines = vec![String::new()];
    for word in text.split([' ', '\t', '\n', '\r']).filter(|word| !word.is_empty()) {
        let line = lines.last_mut().expect("there is always a line");
        let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
        if fits(&longer) || line.is_empty() {
            *line = longer;
        } else {
            lines.push(word.to_owned());
        }
    }
    if lines.len() > most {
        lines.truncate(most);
        lines.last_mut().expect("most is at least one").push('…');
    }
    lines.into_iter().map(|line| shorten(line, &fits)).collect()
}

/// Drops characters from the end until the text fits.
fn shorten(mut line: String, fits: &impl Fn(&str) -> bool) -> String {
    if fits(&line) {
        return line;
    }
    line = line.trim_end_matches('…').to_owned();
    while !line.is_empty() && !fits(&format!("{line}…")) {
        line.pop();
    }
    format!("{}…", line.trim_end())
}

/// Moves positions apart until neighbours keep `gap`, within `lo..=hi`, in their order and close
/// to where they were.
pub(super) fn spread(positions: &[f64], gap: f64, lo: f64, hi: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..positions.len()).collect();
    order.sort_by(|&a, &b| positions[a].total_cmp(&positions[b]).then(a.cmp(&b)));
    let mut placed = positions.to_vec();
    let mut least = lo;
    for &i in &order {
        placed[i] = placed[i].max(least);
        least = placed[i] + gap;
    }
    let mut most = hi;
    for &i in order.iter().rev() {
        placed[i] = placed[i].min(most);
        most = placed[i] - gap;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_counted_and_not_bytes() {
        assert!((width("µµµ", 10.0, false) - 3.0 * width("µ", 10.0, false)).abs() < 1e-9);
        assert!(width("µs", 10.0, false) < 20.0);
        assert!(width("漢字", 10.0, false) > 20.0);
    }

    #[test]
    fn lines_fit_whatever_the_text() {
        let long = "x".repeat(500);
        let many = "word ".repeat(200);
        for (text, most, lines) in [("", 2, 1), ("one two", 2, 1), (&long, 2, 1), (&many, 3, 3)] {
            let wrapped = wrap(text, 12.0, true, 300.0, most);
            assert_eq!(wrapped.len(), lines, "{wrapped:?}");
            assert!(wrapped.iter().all(|l| width(l, 12.0, true) <= 300.0), "{wrapped:?}");
        }
        assert!(wrap(&many, 12.0, false, 300.0, 3)[2].ends_with('…'));
        assert_eq!(wrap("a b", 12.0, false, 300.0, 3), ["a b"]);
    }

    #[test]
    fn labels_keep_their_distance_and_their_order() {
        let placed = spread(&[50.0, 10.0, 52.0, 99.0], 12.0, 0.0, 100.0);
        assert_eq!(placed, [50.0, 10.0, 62.0, 99.0]);
        let crowded = spread(&[95.0, 96.0, 97.0], 12.0, 0.0, 100.0);
        assert_eq!(crowded, [76.0, 88.0, 100.0]);
    }
}
