//! Bad input that only a GPU can tell.

use std::path::Path;
use std::process::Command;

use pdl_lab::device::Device;

use super::{CHAIN, SOURCE, gpu, pdl};

fn said(folder: &Path, arguments: &[&str], code: i32) -> String {
    let done = pdl(folder).args(arguments).assert().code(code);
    String::from_utf8_lossy(&done.get_output().stderr).into_owned()
}

#[test]
fn a_buffer_that_does_not_fit_is_said() {
    let Some((gpu, _nvcc, _turn)) = gpu() else { return };
    drop(gpu);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kernels.cu"), SOURCE).unwrap();
    let c = "[buffers.c]\ntype = \"u32\"\nlength = \"N\"";
    for (buffer, expected) in [
        (
            "length = \"N - 8\"",
            ["buffer c of ", "writes 32 bytes behind the end of its 16352", "make its length"],
        ),
        (
            "length = 200000000000",
            ["allocate 762940 MiB for buffer c", "MiB are free", "make it smaller"],
        ),
    ] {
        let chain = CHAIN.replace(c, &format!("[buffers.c]\ntype = \"u32\"\n{buffer}"));
        std::fs::write(folder.path().join("chain.toml"), chain).unwrap();
        let said = said(folder.path(), &["kernel", "chain.toml"], 1);
        expected.iter().for_each(|part| assert!(said.contains(part), "{part}: {said}"));
    }
}

#[test]
fn an_architecture_that_this_gpu_cannot_run_is_said() {
    let Some((gpu, _nvcc, _turn)) = gpu() else { return };
    let other = if gpu.facts().capability.0 == 9 { "sm_100" } else { "sm_90" };
    drop(gpu);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kernels.cu"), SOURCE).unwrap();
    std::fs::write(folder.path().join("chain.toml"), CHAIN).unwrap();
    let found = said(folder.path(), &["kernel", "chain.toml", "--arch", other], 1);
    assert!(
        found.contains(&format!("machine code for {other}, and what it is to run on is")),
        "{found}"
    );
    assert!(found.contains("leave --arch and the chain file's arch out"), "{found}");
    let found = said(folder.path(), &["kernel", "chain.toml", "--arch", "sm_75"], 2);
    assert!(found.contains("programmatic launches need sm_90 or newer"), "{found}");
}

/// A hook that does as the macro says.
const HOOK: &str = r#"
#include <cuda_runtime.h>
#include "pdl_hook.h"
__global__ void one(int* out) { out[threadIdx.x] = threadIdx.x; }
static int* memory;
static pdl_hook_region output;
int pdl_init(const char*, void** context) {
  *context = &memory;
  if (cudaMalloc(&memory, 128) != cudaSuccess) return 1;
  output = {"out", memory, 128};
  return 0;
}
int pdl_memory(void*, pdl_hook_memory* all) {
  *all = {&output, 1, nullptr, 0};
  return 0;
}
int pdl_launch(cudaStream_t stream, void*) {
  one<<<1, 32, 0, stream>>>(memory);
#if defined(SYNCHRONISES)
  if (const cudaError_t error = cudaStreamSynchronize(stream)) return error;
#elif defined(ALLOCATES)
  void* more = nullptr;
  if (const cudaError_t error = cudaMalloc(&more, 1 << 20)) return error;
  cudaFree(more);
#elif defined(ALLOCATES_IN_ORDER)
  void* more = nullptr;
  if (const cudaError_t error = cudaMallocAsync(&more, 1 << 20, stream)) return error;
  if (const cudaError_t error = cudaFreeAsync(more, stream)) return error;
#elif defined(FAILS)
  return 77;
#endif
  one<<<1, 32, 0, stream>>>(memory);
  return cudaGetLastError();
}
"#;

#[test]
fn a_hook_that_does_what_a_capture_forbids_is_named() {
    let Some((gpu, nvcc, _turn)) = gpu() else { return };
    drop(gpu);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("hook.cu"), HOOK).unwrap();
    let root = std::env::current_dir().unwrap();
    let rule = "pdl_launch may neither synchronise nor allocate";
    for (macro_, code, expected) in [
        ("NOTHING", 0, vec!["2 nodes"]),
        ("SYNCHRONISES", 1, vec!["capture pdl_launch", "pdl_launch answers 900", rule]),
        ("ALLOCATES", 1, vec!["capture pdl_launch", "pdl_launch answers 900", rule]),
        ("ALLOCATES_IN_ORDER", 6, vec!["memory", "capture that part into a graph of its own"]),
        ("FAILS", 1, vec!["pdl_launch answers 77"]),
    ] {
        let output = Command::new(&nvcc.path)
            .args(["-shared", "-Xcompiler", "-fPIC", "-std=c++17", "--no-compress", "-arch=sm_90"])
            .arg(format!("-D{macro_}"))
            .arg("-I")
            .arg(root.join("include"))
            .args(["-o", "libhook.so", "hook.cu"])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let done = pdl(folder.path())
            .args(["kernel", "--library", "./libhook.so", "--dry-run"])
            .assert()
            .code(code);
        let text = [&done.get_output().stdout[..], &done.get_output().stderr[..]].concat();
        let text = String::from_utf8_lossy(&text);
        expected.iter().for_each(|part| assert!(text.contains(part), "{macro_}, {part}: {text}"));
    }
}
