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
        bytes_spread: 0.0,
        spread_ns: 0.0,
        spread_ratio: 0.0,
        issue: IssueRates {
            lone: 1.0,
            scheduler: 1.0,
            elder: 0.5,
            peer: 0.5,
            peer_spread: 0.0,
            schedulers: 1,
            warps: 1,
            more: 0,
        },
        gaps: Gaps {
            exit_per_warp: 0.0,
            quick_chance: 1e-9,
            lost_per_warp: 0.0,
            lost_ns: 0.0,
            entry_ns: 0.0,
        },
        memory: MemoryRates { block: 10.0, sm: 10.0, source: 40.0, beside_alu: 1.0, bend: 50.0 },
    }
}

/// Blocks of one node or two on one SM, without preambles.
fn alone(grid_blocks: u32, body: f64) -> Work {
    Work {
        sms: 1,
        grid_blocks,
        cluster_sms: vec![1],
        preamble: Piece::Fixed(0.0),
        body: Piece::Issue(body),
        ..plain()
    }
}

/// The blocks of the first `nodes` nodes, in order.
fn blocks(work: &Work, nodes: u32) -> Vec<Block> {
    let mut seen = Vec::new();
    run(work, nodes, 1, &mut |_, blocks| seen.extend_from_slice(blocks));
    seen
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
fn a_trigger_at_entry_waits_for_the_elder_block_on_a_full_scheduler() {
    let of = |warps, freed_ns| {
        let work = Work {
            fires: Fires::AtEntry,
            freed_ns,
            slots: 2 * warps,
            issue: IssueRates { warps, ..plain().issue },
            ..alone(1, 1000.0)
        };
        blocks(&work, 3).iter().map(|block| block.trigger_ns).collect::<Vec<_>>()
    };
    // The second node begins 300 ns after the first one's trigger, amid the first one's body, which
    // takes 1,000 ns a warp and begins after 30. One warp leaves turns, two leave none.
    assert_eq!(of(1, 0.0)[..2], [5.0, 305.0 + 5.0]);
    assert_eq!(of(2, 0.0)[..2], [5.0, 30.0 + 2000.0]);
    assert_eq!(of(2, 70.0)[..2], [5.0, 30.0 + 2000.0 - 70.0]);
}

/// Two nodes of one block of `warps` warps a scheduler on one SM, triggers at entry: preambles of
/// 500 and bodies of 1,000 multiply-adds a warp at one a ns, whoever is not served gets no turn.
fn at_entry(warps: u32, gaps: Gaps) -> Vec<Block> {
    let work = Work {
        slots: 2 * warps,
        preamble: Piece::Issue(500.0),
        fires: Fires::AtEntry,
        issue: IssueRates { warps, elder: 1e-9, ..plain().issue },
        gaps,
        ..alone(1, 1000.0)
    };
    blocks(&work, 2)
}

#[test]
fn beside_a_preamble_a_block_does_not_begin_and_another_does_not_end() {
    let gaps = Gaps { entry_ns: 50.0, ..plain().gaps };
    // One warp leaves turns: the second node begins 300 ns after the first one's trigger.
    assert_eq!(at_entry(1, gaps)[1].begin_ns, 305.0);
    // Two leave none: it begins as the first one's preamble ends.
    let [first, second] = at_entry(2, gaps)[..] else { panic!("two nodes") };
    let preamble_ns = 10.0 + 2.0 * 500.0;
    assert_eq!(second.begin_ns, preamble_ns);
    // The first one's body is served before the second one's preamble, and its last instructions
    // wait for the end of that.
    let body_ns = preamble_ns + 20.0 + 2.0 * 1000.0;
    assert!((second.arrive_ns - (body_ns + 1000.0)).abs() < 1e-3, "{second:?}");
    assert!((first.end_ns - (second.arrive_ns + 30.0)).abs() < 1e-3, "{first:?}");
    // All of its warps are quick.
    let [quick, _] = at_entry(2, Gaps { quick_chance: 1e9, ..gaps })[..] else { panic!("two") };
    assert!((quick.end_ns - (body_ns + 30.0)).abs() < 1e-3, "{quick:?}");
}

#[test]
fn who_loses_the_gap_triggers_after_the_body_that_wins_it() {
    let gaps = Gaps { entry_ns: 50.0, lost_ns: 40.0, ..plain().gaps };
    let trigger_ns = |warps, lost_per_warp| {
        let seen = at_entry(warps, Gaps { lost_per_warp, ..gaps });
        seen[1].trigger_ns - seen[1].begin_ns
    };
    assert_eq!(trigger_ns(8, 0.0), 5.0);
    // Four warps lose none. Eight do, and the body takes 8,000 ns from 20 ns after the gap on.
    assert_eq!(trigger_ns(4, 1.0), 5.0);
    assert!((trigger_ns(8, 1.0) - 8020.0).abs() < 1e-3, "{}", trigger_ns(8, 1.0));
}

#[test]
fn blocks_of_one_node_share_as_they_are_told() {
    let ends = |peer| {
        let work = Work { issue: IssueRates { peer, ..plain().issue }, ..alone(2, 300.0) };
        blocks(&work, 1).iter().map(|block| block.end_ns).collect::<Vec<_>>()
    };
    // 300 multiply-adds each at one a ns, 30 ns before and 30 after.
    for (peer, first, second) in [(1.0, 660.0, 660.0), (0.5, 510.0, 660.0), (0.25, 435.0, 660.0)] {
        let ends = ends(peer);
        assert!((ends[0] - first).abs() < 1e-3 && (ends[1] - second).abs() < 1e-3, "{ends:?}");
    }
}

#[test]
fn a_block_takes_the_slots_of_warps_that_are_gone() {
    // Blocks of six warps on four schedulers. Beside two of them there is room for four warps more,
    // or for none.
    let begins_before_an_end = |slots| {
        let work = Work {
            slots,
            refill_ns: 0.0,
            tail_ns: 0.0,
            issue: IssueRates { schedulers: 4, warps: 1, more: 2, ..plain().issue },
            ..alone(3, 300.0)
        };
        let seen = blocks(&work, 1);
        seen[2].begin_ns < seen[0].end_ns.min(seen[1].end_ns)
    };
    assert!(begins_before_an_end(16));
    assert!(!begins_before_an_end(12));
}

#[test]
fn warps_that_do_not_divide_by_the_schedulers_follow_each_other_and_go_on_for_themselves() {
    // Six warps on four schedulers: one block has two of them on two schedulers, two blocks have
    // three on each. 100 and 200 multiply-adds a warp at one a ns.
    let end_ns = |blocks| {
        let work = Work {
            link: Link::Full(500.0),
            wait: Wait::Nothing,
            preamble: Piece::Issue(100.0),
            slots: 12,
            issue: IssueRates { schedulers: 4, warps: 1, more: 2, ..plain().issue },
            ..alone(blocks, 200.0)
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
