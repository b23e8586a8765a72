//! Rules that any schedule keeps, and schedules that can be worked out by hand.

use super::*;

/// One block an SM on four SMs, a body of 1,000 ns: no noise, no placing time.
fn plain() -> Work {
    Work {
        sms: 4,
        slots: 2,
        grid_blocks: 4,
        cluster_blocks: 1,
        cluster_sms: vec![2, 2],
        hogs: false,
        run_ahead: 8,
        link: Link::Programmatic { launch_ns: 300.0, exit_launch_ns: 200.0 },
        wait: Wait::Grid(100.0),
        fires: Fires::Exit,
        launch_spread_ns: 0.0,
        place_ns: 0.0,
        refill_ns: 50.0,
        entry_ns: 10.0,
        entry_trigger_ns: 5.0,
        freed_ns: 0.0,
        acquire_ns: 40.0,
        preamble: Piece::Fixed(200.0),
        fetch: None,
        head_ns: 20.0,
        late_head_ns: 20.0,
        body: Piece::Fixed(1000.0),
        tail_ns: 30.0,
        first_spread_ns: 0.0,
        spread_ns: 0.0,
        spread_ratio: 0.0,
        issue: IssueRates {
            lone: 1.0,
            scheduler: 1.0,
            elder: 0.5,
            schedulers: 1,
            warps: 1,
            more: 0,
        },
        memory: MemoryRates { block: 10.0, sm: 10.0, source: 40.0, beside_alu: 1.0, bend: 50.0 },
    }
}

/// Time between the ends of the third and the second node, ns.
fn period_ns(work: &Work) -> f64 {
    run(work, 3, 1, &mut |_, _| {}).end_ns - run(work, 2, 1, &mut |_, _| {}).end_ns
}

#[test]
fn hops_add_up() {
    let body_ns = 20.0 + 1000.0 + 30.0;
    let before_ns = 10.0 + 200.0;
    let full = Work { link: Link::Full(500.0), wait: Wait::Nothing, ..plain() };
    let stays = Work { link: Link::Stays, ..plain() };
    for (what, work, wanted) in [
        ("full", full, 500.0 + before_ns + body_ns),
        ("implicit", plain(), 200.0 + before_ns + body_ns),
        ("after the sync", Work { fires: Fires::AfterSync, ..plain() }, 100.0 + body_ns),
        ("half", Work { fires: Fires::Work(0.5), ..plain() }, 100.0 + body_ns),
        // The trigger that leaves 100 ns: launch and preamble show.
        ("late", Work { fires: Fires::Work(0.9), ..plain() }, 20.0 + 900.0 + 300.0 + before_ns),
        ("at entry", Work { fires: Fires::AtEntry, ..plain() }, 100.0 + body_ns),
        ("all begun", Work { link: Link::Begun(300.0), ..plain() }, 100.0 + body_ns),
        ("flags", Work { wait: Wait::Neighbour(60.0), ..plain() }, 200.0 + before_ns + body_ns),
        ("stays", stays, 40.0 + 200.0 + body_ns),
    ] {
        assert_eq!(period_ns(&work), wanted, "{what}");
    }
}

#[test]
fn waves_fire_with_the_last_one() {
    // Twelve blocks on eight slots: two waves, the second in slots that are free 50 ns after.
    let waves = Work { grid_blocks: 12, fires: Fires::AfterSync, ..plain() };
    let block_ns = 10.0 + 200.0 + 20.0 + 1000.0 + 30.0;
    let first = run(&waves, 1, 1, &mut |_, _| {}).end_ns;
    assert_eq!(first, 2.0 * block_ns + 50.0);
    let mut begins = Vec::new();
    run(&waves, 2, 1, &mut |node, blocks| {
        begins.extend(blocks.iter().filter(|_| node == 1).map(|block| block.begin_ns));
    });
    let fired_ns = block_ns + 50.0 + 10.0 + 200.0;
    assert_eq!(begins.iter().copied().fold(f64::MAX, f64::min), fired_ns + 300.0);
}

#[test]
fn blocks_on_one_sm_share_its_schedulers_and_the_elder_comes_first() {
    // Two blocks on one SM, 300 multiply-adds each at one a ns: twice as long together.
    let work = Work {
        sms: 1,
        grid_blocks: 2,
        cluster_sms: vec![1],
        preamble: Piece::Fixed(0.0),
        body: Piece::Issue(300.0),
        ..plain()
    };
    let mut ends = Vec::new();
    run(&work, 1, 1, &mut |_, blocks| ends.extend(blocks.iter().map(|block| block.end_ns)));
    let before_ns = 10.0 + 20.0;
    // Turns are as 1 to 2 until the elder is done.
    assert!((ends[0] - (before_ns + 450.0 + 30.0)).abs() < 1e-3, "{ends:?}");
    assert!((ends[1] - (before_ns + 600.0 + 30.0)).abs() < 1e-3, "{ends:?}");
}

#[test]
fn a_trigger_at_entry_waits_for_the_elder_block_on_a_full_scheduler() {
    let of = |warps, freed_ns| {
        let work = Work {
            sms: 1,
            grid_blocks: 1,
            cluster_sms: vec![1],
            preamble: Piece::Fixed(0.0),
            body: Piece::Issue(1000.0),
            fires: Fires::AtEntry,
            freed_ns,
            issue: IssueRates { warps, ..plain().issue },
            ..plain()
        };
        let mut triggers = Vec::new();
        run(&work, 3, 1, &mut |_, blocks| triggers.push(blocks[0].trigger_ns));
        triggers
    };
    // The second node begins 300 ns after the first one's trigger, amid the first one's body, which
    // takes 1,000 ns a warp and begins after 30. One warp leaves turns, two leave none.
    assert_eq!(of(1, 0.0)[..2], [5.0, 305.0 + 5.0]);
    assert_eq!(of(2, 0.0)[..2], [5.0, 30.0 + 2000.0]);
    assert_eq!(of(2, 70.0)[..2], [5.0, 30.0 + 2000.0 - 70.0]);
}

#[test]
fn warps_that_do_not_divide_by_the_schedulers_follow_each_other_and_go_on_for_themselves() {
    // Six warps on four schedulers: one block has two of them on two schedulers, two blocks have
    // three on each. 100 and 200 multiply-adds a warp at one a ns.
    let end_ns = |blocks| {
        let work = Work {
            sms: 1,
            grid_blocks: blocks,
            cluster_sms: vec![1],
            link: Link::Full(500.0),
            wait: Wait::Nothing,
            preamble: Piece::Issue(100.0),
            body: Piece::Issue(200.0),
            issue: IssueRates { schedulers: 4, warps: 1, more: 2, ..plain().issue },
            ..plain()
        };
        run(&work, 1, 1, &mut |_, _| {}).end_ns
    };
    let (before_ns, after_ns) = (10.0, 20.0 + 30.0);
    assert!((end_ns(1) - (before_ns + 2.0 * 300.0 + after_ns)).abs() < 1e-3, "{}", end_ns(1));
    // All schedulers are busy to the end but for the way from the preamble to the body.
    let both = end_ns(2);
    let least = before_ns + 3.0 * 300.0 + 30.0;
    assert!((least..least + 25.0).contains(&both), "{both} {least}");
}

#[test]
fn memory_is_shared_by_block_by_sm_and_by_all() {
    let streaming = |blocks: u32, slots: u32, source: f64| {
        let memory = MemoryRates { block: 10.0, sm: 15.0, source, beside_alu: 1.0, bend: 50.0 };
        let body = Piece::Stream(1500.0);
        Work { grid_blocks: blocks, slots, body, memory, preamble: Piece::Fixed(0.0), ..plain() }
    };
    for (blocks, source, streaming_ns) in
        [(1, 1000.0, 150.0), (4, 1000.0, 150.0), (8, 1000.0, 200.0), (4, 20.0, 300.0)]
    {
        let work = streaming(blocks, 2, source);
        let end_ns = run(&work, 1, 1, &mut |_, _| {}).end_ns;
        let wanted = 10.0 + 20.0 + streaming_ns + 30.0;
        assert!((end_ns - wanted).abs() < 0.01, "{blocks} {source}: {end_ns} {wanted}");
    }
}

#[test]
fn a_late_trigger_packs_blocks_and_an_early_one_does_not() {
    let chain = Work {
        sms: 16,
        grid_blocks: 16,
        cluster_sms: vec![16],
        body: Piece::Issue(1000.0),
        preamble: Piece::Issue(200.0),
        spread_ns: 100.0,
        refill_ns: 150.0,
        ..plain()
    };
    let of = |fires| {
        let work = Work { fires, ..chain.clone() };
        let (mut most, nodes) = (0, 20);
        let outcome = run(&work, nodes, 3, &mut |_, blocks| {
            let on = |sm| blocks.iter().filter(|block| block.sm == sm).count();
            most = most.max((0..16).map(on).max().unwrap_or(0));
        });
        (most, outcome.end_ns / f64::from(nodes))
    };
    let (early, early_ns) = of(Fires::Work(0.3));
    let (end, end_ns) = of(Fires::Exit);
    assert_eq!((early, end), (1, 1));
    // Launches that come as the first of the primary's blocks are gone.
    let late: Vec<_> = (80..=100).map(|part| of(Fires::Work(f64::from(part) / 100.0))).collect();
    let worst = late.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    assert_eq!(worst.0, 2);
    assert!(worst.1 > 1.3 * end_ns && early_ns < end_ns, "{worst:?} {end_ns} {early_ns}");
}

#[test]
fn a_seed_gives_one_chain_and_another_a_different_one() {
    let work = Work { spread_ns: 50.0, fires: Fires::AfterSync, ..plain() };
    let of = |seed| run(&work, 10, seed, &mut |_, _| {}).end_ns;
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn every_node_is_seen_once_in_order_with_all_its_blocks() {
    for wait in [Wait::Grid(100.0), Wait::Neighbour(60.0)] {
        for cluster_blocks in [1, 2] {
            let work = Work { wait, cluster_blocks, fires: Fires::AtEntry, ..plain() };
            let mut seen = Vec::new();
            run(&work, 50, 1, &mut |node, blocks| {
                assert_eq!(blocks.len(), 4);
                for block in blocks {
                    let times = [block.begin_ns, block.arrive_ns, block.release_ns, block.end_ns];
                    assert!(times.is_sorted(), "{node} {block:?}");
                }
                seen.push(node);
            });
            assert_eq!(seen, (0..50).collect::<Vec<_>>());
        }
    }
}
