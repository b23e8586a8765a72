//! The experiments against a simulated device whose constants are known.

use super::*;
use crate::sim::SimDevice;

#[test]
fn peek() {
    let device = SimDevice::h200(1);
    let effort = Effort::new(132, true, 1);
    println!("expected {:?}", expected(&effort, device.facts()));
    let began = std::time::Instant::now();
    let profile = calibrate(&device, &effort, &mut |_, _| {}).unwrap();
    println!("{}\n{:?} {:?}", profile.to_toml(), began.elapsed(), device.now());
    profile.validate().unwrap();
}
