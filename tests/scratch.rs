use pdl_lab::chain::*;
use pdl_lab::device::Device;
use pdl_lab::gpu::open;
fn chain(nodes: u32, grid: u32, units: u64) -> Chain {
    Chain { nodes, shape: Shape { grid_blocks: grid, ..Shape::default() },
        preamble: Preamble { kind: PreambleKind::None, target_ns: 0.0, units: 0 },
        body: Body { kind: BodyKind::Fma, target: Target::Ns(1000.0), units },
        trigger: Trigger::Segment{at:0,of:8}, trigger_by: TriggerBy::Thread, l2: L2::Hot, mode: Mode::Isolated }
}
#[test]
fn state() {
    let Ok(Ok(gpu)) = open() else { return };
    let mut s = gpu.prepare(&chain(50, 132, 4096), Arm::Sentinel).unwrap();
    let warm = std::time::Instant::now();
    let m = |s: &mut Box<dyn pdl_lab::device::Prepared>| -> char { let d = s.sample().unwrap().duration_ns/50.0; if d > 6500.0 {'?'} else if d > 6200.0 {'S'} else {'f'} };
    while warm.elapsed().as_secs() < 1 { s.sample().unwrap(); }
    let mut sf = gpu.prepare(&chain(50, 132, 4096), Arm::StreamFull).unwrap();
    let mut keep = Vec::new();
    for _ in 0..10 { keep.push(gpu.prepare(&chain(50, 132, 4096), Arm::GraphFull).unwrap()); }
    for n in [2u32, 3, 4, 6, 8, 16, 32, 50, 100] { for grid in [1, 132] {
        let mut sp = gpu.prepare(&chain(n, grid, 32), Arm::StreamPdl).unwrap();
        print!("conditioner {n} x {grid}: ");
        for _ in 0..6 { sf.sample().unwrap(); print!("{}", m(&mut s)); sp.sample().unwrap(); print!("{}{} ", m(&mut s), m(&mut s)); }
        println!();
    } }
    for n in [2u32, 3, 4, 8, 16, 32, 50] {
        let mut sp = gpu.prepare(&chain(50, 132, 4096), Arm::StreamPdl).unwrap();
        let mut sf = gpu.prepare(&chain(n, 1, 32), Arm::StreamFull).unwrap();
        print!("plain {n}: ");
        for _ in 0..6 { sp.sample().unwrap(); print!("{}", m(&mut s)); sf.sample().unwrap(); print!("{}{} ", m(&mut s), m(&mut s)); }
        println!();
    }
    // how persistent
    let mut sp = gpu.prepare(&chain(50, 132, 4096), Arm::StreamPdl).unwrap();
    sf.sample().unwrap(); print!("after sf x30: "); for _ in 0..30 { print!("{}", m(&mut s)); } println!();
    sp.sample().unwrap(); print!("after sp x30: "); for _ in 0..30 { print!("{}", m(&mut s)); } println!();
    let c = std::time::Instant::now(); for _ in 0..100 { s.sample().unwrap(); } println!("sentinel sample: {:?} each, chain is 305 us", c.elapsed() / 100);
}
