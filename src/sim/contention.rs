//! Work that shares a resource: preambles that run beside other nodes' bodies. All times in ns.

use super::load::Stream;

/// What is left of a preamble that may run beside other nodes' bodies.
#[derive(Clone, Copy, Debug)]
pub struct Ahead {
    /// The ALU work that contends stands here.
    pub work_at_ns: f64,
    /// ALU work left, ns alone.
    pub work_left_ns: f64,
    /// The fetching stands here.
    pub fetch_at_ns: f64,
    /// Bytes fetched so far.
    pub fetched: f64,
}

/// Preambles go on while no body runs: one after another on the schedulers and on the memory. The
/// first is the one of the node that is released; it left the schedulers when it arrived.
pub fn go_on_until(all: &mut [Ahead], stream: Option<&Stream>, arrive_ns: f64, release_ns: f64) {
    let (mut schedulers_ns, mut memory_ns) = (arrive_ns, f64::MIN);
    for ahead in all {
        if ahead.work_left_ns > 0.0 {
            let start_ns = ahead.work_at_ns.max(schedulers_ns);
            let done_ns = (release_ns - start_ns).clamp(0.0, ahead.work_left_ns);
            ahead.work_left_ns -= done_ns;
            ahead.work_at_ns = start_ns + done_ns;
            schedulers_ns = ahead.work_at_ns;
        }
        if let Some(stream) = stream {
            let start_ns = ahead.fetch_at_ns.max(memory_ns);
            let most = (release_ns - start_ns).max(0.0) * stream.source_rate;
            let bytes = most.min(stream.prefetch_bytes - ahead.fetched);
            ahead.fetched += bytes;
            ahead.fetch_at_ns = ahead.fetch_at_ns.max(release_ns);
            memory_ns = start_ns + bytes / stream.source_rate;
        }
    }
}

/// A preamble's ALU work and an issue-bound body on the same schedulers: each takes `contention`
/// times as long while both run. Returns the new end of the body's work.
pub fn share_schedulers(
    ahead: &mut Ahead,
    contention: f64,
    release_ns: f64,
    work_end_ns: f64,
) -> f64 {
    let start_ns = ahead.work_at_ns.max(release_ns);
    let both_ns = (work_end_ns - start_ns).min(ahead.work_left_ns);
    if both_ns <= 0.0 {
        return work_end_ns;
    }
    ahead.work_left_ns -= both_ns;
    ahead.work_at_ns = start_ns + both_ns * contention;
    work_end_ns + both_ns * (contention - 1.0)
}

/// A prefetch and a streaming body on the same memory: the prefetch takes what the body leaves, or
/// half. Returns the new end of the body's work.
pub fn share_memory(ahead: &mut Ahead, stream: &Stream, release_ns: f64, work_end_ns: f64) -> f64 {
    let start_ns = ahead.fetch_at_ns.max(release_ns);
    let wanted = stream.prefetch_bytes - ahead.fetched;
    if wanted <= 0.0 || start_ns >= work_end_ns {
        return work_end_ns;
    }
    let fetch_rate = (stream.source_rate - stream.body_rate).max(stream.source_rate / 2.0);
    let body_rate = stream.body_rate.min(stream.source_rate - fetch_rate);
    let fetching_ns = wanted / fetch_rate;
    let slowed = stream.body_rate / body_rate;
    let streaming_ns = (work_end_ns - start_ns) * slowed;
    if fetching_ns <= streaming_ns {
        ahead.fetched += wanted;
        ahead.fetch_at_ns = start_ns + fetching_ns;
        return work_end_ns + fetching_ns * (1.0 - 1.0 / slowed);
    }
    ahead.fetched += streaming_ns * fetch_rate;
    ahead.fetch_at_ns = start_ns + streaming_ns;
    start_ns + streaming_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(at_ns: f64, work_left_ns: f64) -> Ahead {
        Ahead { work_at_ns: at_ns, work_left_ns, fetch_at_ns: at_ns, fetched: 0.0 }
    }

    #[test]
    fn shared_schedulers_conserve_work() {
        // (preamble begins, its work, end of the body alone from 0) → (end of the body, what is
        // left of the preamble, where it stands), at twice the time while both run.
        let table = [
            ((0.0, 100.0, 400.0), (500.0, 0.0, 200.0)),
            ((350.0, 100.0, 400.0), (450.0, 50.0, 450.0)),
            ((400.0, 100.0, 400.0), (400.0, 100.0, 400.0)),
            ((-50.0, 0.0, 400.0), (400.0, 0.0, -50.0)),
        ];
        for ((begin, work, alone), wanted) in table {
            let mut ahead = at(begin, work);
            let end = share_schedulers(&mut ahead, 2.0, 0.0, alone);
            assert_eq!((end, ahead.work_left_ns, ahead.work_at_ns), wanted);
        }
    }

    #[test]
    fn a_prefetch_delays_the_body_by_what_it_takes() {
        let stream = Stream {
            bytes: 1000.0,
            prefetch_bytes: 300.0,
            latency_ns: 0.0,
            load_ns: 0.0,
            memory_rate: 2.0,
            sm_rate: 2.0,
            source_rate: 2.0,
            body_rate: 2.0,
            near_rate: 1e9,
        };
        // All of it fits beside the body: 300 bytes at 2 bytes a ns.
        let mut ahead = at(100.0, 0.0);
        assert_eq!(share_memory(&mut ahead, &stream, 0.0, 500.0), 650.0);
        assert_eq!((ahead.fetched, ahead.fetch_at_ns), (300.0, 400.0));
        // The body has 100 bytes left: both move as many.
        let mut ahead = at(450.0, 0.0);
        assert_eq!(share_memory(&mut ahead, &stream, 0.0, 500.0), 550.0);
        assert_eq!((ahead.fetched, ahead.fetch_at_ns), (100.0, 550.0));
        // A body that leaves half of the memory idle is not delayed.
        let slow = Stream { body_rate: 1.0, ..stream };
        let mut ahead = at(100.0, 0.0);
        assert_eq!(share_memory(&mut ahead, &slow, 0.0, 500.0), 500.0);
        assert_eq!(ahead.fetched, 300.0);
    }

    #[test]
    fn idle_memory_serves_one_after_another() {
        let stream = Stream {
            bytes: 1000.0,
            prefetch_bytes: 300.0,
            latency_ns: 0.0,
            load_ns: 0.0,
            memory_rate: 2.0,
            sm_rate: 2.0,
            source_rate: 2.0,
            body_rate: 2.0,
            near_rate: 1e9,
        };
        let mut both = [at(0.0, 0.0), at(0.0, 0.0)];
        go_on_until(&mut both, Some(&stream), 0.0, 200.0);
        assert_eq!(both.map(|ahead| ahead.fetched), [300.0, 100.0]);
    }
}
