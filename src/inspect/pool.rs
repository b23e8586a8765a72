//! Independent jobs on a few threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::Result;
use crate::interrupt;

/// Runs `work` on every item and returns the results in the order of the items. `done` is told
/// after each how many are done.
///
/// # Errors
/// The first error met; items not yet begun are left out then. An interruption is one.
pub(crate) fn each<T: Sync, R: Send>(
    workers: usize,
    items: &[T],
    work: impl Fn(&T) -> Result<R> + Sync,
    done: impl Fn(usize) + Sync,
) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let finished = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<Result<R>>>> =
        Mutex::new(std::iter::repeat_with(|| None).take(items.len()).collect());
    let run = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { return };
            let result = interrupt::check("do the rest").and_then(|()| work(item));
            let failed = result.is_err();
            results.lock().expect("no worker panics holding it")[index] = Some(result);
            if failed {
                next.store(items.len(), Ordering::Relaxed);
                return;
            }
            done(finished.fetch_add(1, Ordering::Relaxed) + 1);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..workers.clamp(1, items.len().max(1)) {
            scope.spawn(run);
        }
    });
    results.into_inner().expect("no worker panics holding it").into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn results_keep_the_order_of_the_items() {
        let items: Vec<u32> = (0..100).collect();
        let seen = AtomicUsize::new(0);
        let squares = each(
            4,
            &items,
            |&n| Ok(n * n),
            |_| {
                seen.fetch_add(1, Ordering::Relaxed);
            },
        );
        assert_eq!(squares.unwrap(), items.iter().map(|n| n * n).collect::<Vec<_>>());
        assert_eq!(seen.into_inner(), 100);
        assert_eq!(each(4, &[0u32; 0], |_| Ok(()), |_| ()).unwrap(), []);
    }

    #[test]
    fn an_error_ends_the_work() {
        let items: Vec<u32> = (0..1000).collect();
        let begun = AtomicUsize::new(0);
        let outcome = each(
            2,
            &items,
            |&n| {
                begun.fetch_add(1, Ordering::Relaxed);
                if n == 3 { Err(Error::failed("try", "three")) } else { Ok(()) }
            },
            |_| (),
        );
        assert_eq!(outcome.unwrap_err().cause(), "three");
        assert!(begun.into_inner() < 1000);
    }
}
