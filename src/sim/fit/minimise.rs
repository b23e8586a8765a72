//! Minimisation without derivatives: the simplex of Nelder and Mead (The Computer Journal 7, 1965)
//! with their coefficients, in a box.

/// Steps after which the simplex stops wherever it is, a dimension.
const STEPS: usize = 80;
/// Size of the simplex, a part of the box, at which it stops.
const SMALL: f64 = 1e-7;
/// Sizes of the simplexes that begin, parts of the box: what is small finds what is near, what is
/// large gets over what is between.
const SIZES: [f64; 2] = [0.01, 0.15];

/// The point of the box, whose sides are 0 to 1, at which `loss` is least as far as simplexes from
/// `start` find: never a worse one than `start`.
pub(super) fn minimise(start: &[f64], loss: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let mut best = (start.to_vec(), loss(start));
    for size in SIZES {
        let found = simplex(&best.0, size, &loss);
        if found.1 < best.1 {
            best = found;
        }
    }
    best.0
}

type Vertex = (Vec<f64>, f64);

fn simplex(start: &[f64], size: f64, loss: &impl Fn(&[f64]) -> f64) -> Vertex {
    let vertex = |mut at: Vec<f64>| {
        at.iter_mut().for_each(|x| *x = x.clamp(0.0, 1.0));
        let value = loss(&at);
        (at, value)
    };
    let mut vertices: Vec<Vertex> = vec![vertex(start.to_vec())];
    for axis in 0..start.len() {
        let mut at = start.to_vec();
        // Away from the nearer wall.
        at[axis] += if at[axis] > 0.5 { -size } else { size };
        vertices.push(vertex(at));
    }
    for _ in 0..STEPS * start.len() {
        vertices.sort_by(|a, b| a.1.total_cmp(&b.1));
        let worst = vertices.len() - 1;
        if worst == 0 || extent(&vertices) < SMALL {
            break;
        }
        let centre = centre(&vertices[..worst]);
        // On the line from the worst vertex through the centre of the others.
        let along = |part: f64| {
            let from = &vertices[worst].0;
            vertex(centre.iter().zip(from).map(|(c, w)| c + part * (c - w)).collect())
        };
        let reflected = along(1.0);
        let next = if reflected.1 < vertices[0].1 {
            let expanded = along(2.0);
            if expanded.1 < reflected.1 { expanded } else { reflected }
        } else if reflected.1 < vertices[worst - 1].1 {
            reflected
        } else {
            along(if reflected.1 < vertices[worst].1 { 0.5 } else { -0.5 })
        };
        if next.1 < vertices[worst].1 {
            vertices[worst] = next;
            continue;
        }
        let best = vertices[0].0.clone();
        for other in &mut vertices[1..] {
            *other = vertex(other.0.iter().zip(&best).map(|(x, b)| (x + b) / 2.0).collect());
        }
    }
    vertices.sort_by(|a, b| a.1.total_cmp(&b.1));
    vertices.swap_remove(0)
}

fn centre(vertices: &[Vertex]) -> Vec<f64> {
    let sum = |axis: usize| vertices.iter().map(|vertex| vertex.0[axis]).sum::<f64>();
    (0..vertices[0].0.len()).map(|axis| sum(axis) / vertices.len() as f64).collect()
}

/// The longest distance from the best vertex along an axis.
fn extent(vertices: &[Vertex]) -> f64 {
    let best = &vertices[0].0;
    let apart = |vertex: &Vertex| {
        let along = vertex.0.iter().zip(best).map(|(x, b)| (x - b).abs());
        along.fold(0.0_f64, f64::max)
    };
    vertices.iter().map(apart).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minima_are_found_inside_and_at_the_walls() {
        // (start, minimum); the loss has a kink there and couples neighbours.
        for (start, least) in [
            (vec![0.5], vec![0.2]),
            (vec![0.9, 0.1], vec![0.3, 0.6]),
            (vec![0.5, 0.5, 0.5], vec![0.45, 0.0, 1.0]),
        ] {
            let loss = |at: &[f64]| {
                let off: Vec<f64> = at.iter().zip(&least).map(|(a, b)| a - b).collect();
                let alone: f64 = off.iter().map(|x| x.abs()).sum();
                let coupled: f64 = off.windows(2).map(|pair| (pair[0] + pair[1]).abs()).sum();
                alone + 3.0 * coupled
            };
            let found = minimise(&start, loss);
            let off = found.iter().zip(&least).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 2e-3, "{start:?}: {found:?}");
        }
    }

    #[test]
    fn where_nothing_is_better_the_start_stays() {
        assert_eq!(minimise(&[0.3, 0.7], |_| 1.0), [0.3, 0.7]);
        assert_eq!(minimise(&[0.3], |at| if at[0] == 0.3 { 0.0 } else { 1.0 }), [0.3]);
        assert!(minimise(&[], |_| 0.0).is_empty());
    }
}
