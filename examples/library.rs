use pdl_lab::{Arm, Axes, Chain, Effort, Submission};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = pdl_lab::open()?; // the GPU, or a simulated one where there is none
    let chain = Chain::default().with_nodes(20).with_trigger("4/8".parse()?);
    let found = pdl_lab::measure(&*device, &chain, Arm::GraphPdl, &Effort::quick())?;
    println!("{:?} ns a hop, {:?}", found.row.saved_ns, found.row.verdict);

    let run = pdl_lab::sweep(&*device, &Axes::of(&chain), &Effort::quick())?;
    println!("best in a graph: {:?}\n{}", run.best(Submission::Graph), run.table());
    Ok(())
}
