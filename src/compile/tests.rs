//! Needs nvcc: without one the tests skip with a reason, and `PDL_REQUIRE=codegen` makes that a
//! failure.

use super::*;

const SOURCE: &str = r#"
#include "pdl_site.cuh"
#include "scale.h"
struct pair { float* out; int n; };
extern "C" __global__ void plain(const float* in, pair p, double factor) {
  PDL_SYNC_SITE(1);
  PDL_TRIGGER_SITE(1);
  if (threadIdx.x < p.n) p.out[threadIdx.x] = in[threadIdx.x] * factor * SCALE;
}
namespace mine {
template <int Width, bool Wide>
__global__ void gemv(float* out) { out[threadIdx.x] = Width + Wide; }
}
"#;

fn nvcc() -> Option<Nvcc> {
    match Nvcc::find() {
        Ok(nvcc) => Some(nvcc),
        Err(error) => {
            let required = std::env::var("PDL_REQUIRE").is_ok_and(|all| all.contains("codegen"));
            assert!(!required, "PDL_REQUIRE=codegen: {error}");
            eprintln!("skipped: {error}");
            None
        }
    }
}

struct Place {
    _folder: tempfile::TempDir,
    cache: Cache,
    job: Job,
    header: PathBuf,
}

fn place(source: &str) -> Place {
    let folder = tempfile::tempdir().unwrap();
    // A space, and what a shell would take for a command.
    let sources = folder.path().join("my $(sources); x");
    std::fs::create_dir(&sources).unwrap();
    let (source_path, header) = (sources.join("a.cu"), sources.join("scale.h"));
    std::fs::write(&source_path, source).unwrap();
    std::fs::write(&header, "#define SCALE 2\n").unwrap();
    let cache = Cache::open(Some(&folder.path().join("cache"))).unwrap();
    let job = Job {
        source: source_path,
        arch: "sm_90".into(),
        flags: vec!["-DPDL_TRIGGER_AT=1".into()],
        include: Vec::new(),
        instances: vec!["mine::gemv<128, true>".into()],
    };
    Place { _folder: folder, cache, job, header }
}

#[test]
fn kernels_instances_and_parameters_are_found() {
    let Some(nvcc) = nvcc() else { return };
    let place = place(SOURCE);
    let made = compile_all(Some(&nvcc), &place.cache, std::slice::from_ref(&place.job));
    let made = made.map_err(|failure| failure.said).unwrap().remove(0);
    assert_eq!(made.arch, 90);
    let plain = made.kernel("plain").unwrap();
    // An address, a struct of 16 bytes, a double.
    assert_eq!(plain.parameters, [(0, 8), (8, 16), (24, 8)]);
    assert_eq!((plain.syncs.len(), plain.triggers.len()), (1, 1));
    assert!(plain.syncs[0] < plain.triggers[0]);
    for name in ["mine::gemv<128, true>", "mine::gemv<(int)128,true>"] {
        assert_eq!(made.kernel(name).map(|k| k.parameters.clone()), Some(vec![(0, 8)]), "{name}");
    }
    assert!(made.kernel("mine::gemv<64, true>").is_none());
}

#[test]
fn a_cubin_is_kept_as_long_as_nothing_that_it_is_made_of_changes() {
    let Some(nvcc) = nvcc() else { return };
    let mut place = place(SOURCE);
    let compile = |place: &Place| {
        let made = compile_all(Some(&nvcc), &place.cache, std::slice::from_ref(&place.job));
        made.map_err(|failure| failure.said).unwrap().remove(0)
    };
    let first = compile(&place);
    assert!(!first.cached);
    let again = compile(&place);
    assert!(again.cached && again.bytes == first.bytes);
    // An included file counts, and a flag does.
    std::fs::write(&place.header, "#define SCALE 3\n").unwrap();
    let changed = compile(&place);
    assert!(!changed.cached && changed.bytes != first.bytes);
    place.job.flags.push("-DUNUSED".into());
    assert!(!compile(&place).cached);
    place.job.flags.pop();
    std::fs::write(&place.header, "#define SCALE 2\n").unwrap();
    assert_eq!(compile(&place).bytes, first.bytes);
}

#[test]
fn nothing_in_a_job_reaches_a_shell() {
    let Some(nvcc) = nvcc() else { return };
    let place = place(SOURCE);
    let mark = place.cache.headers().join("ran");
    let mut job = place.job.clone();
    job.flags.push(format!("-DX=$(touch {})", mark.display()));
    let made = compile_all(Some(&nvcc), &place.cache, &[job]);
    assert!(made.unwrap_err().error.to_string().contains("hands to a shell"));
    let mut job = place.job.clone();
    job.include.push(format!("/x/$(touch {})", mark.display()).into());
    assert!(compile_all(Some(&nvcc), &place.cache, &[job]).is_err());
    assert!(!mark.exists());
}

#[test]
fn what_the_compiler_says_of_an_error_is_given_as_it_is() {
    let Some(nvcc) = nvcc() else { return };
    let mut place = place("__global__ void k() { undeclared = 1; }\n");
    place.job.instances.clear();
    let made = compile_all(Some(&nvcc), &place.cache, std::slice::from_ref(&place.job));
    let failure = made.unwrap_err();
    assert!(failure.said.contains("a.cu(1): error: identifier \"undeclared\""), "{}", failure.said);
    assert!(failure.error.to_string().contains("nvcc ended with"), "{}", failure.error);
}
