//! Compiles the CUDA shim and generates its bindings. Downloads nothing.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=PDL_REVISION={}", revision());
    #[cfg(feature = "cuda")]
    cuda::build();
}

/// The revision of the sources, `-dirty` appended; empty outside a checkout.
fn revision() -> String {
    let git = |arguments: &[&str]| {
        let output = std::process::Command::new("git").args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    // In a worktree these lie elsewhere than in .git; cargo reruns for ever for a missing file.
    for name in ["logs/HEAD", "index"] {
        let path = git(&["rev-parse", "--git-path", name]);
        if let Some(path) = path.filter(|path| std::path::Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let Some(head) = git(&["rev-parse", "--short=12", "HEAD"]) else { return String::new() };
    match git(&["status", "--porcelain", "--untracked-files=no"]) {
        Some(changes) if !changes.is_empty() => format!("{head}-dirty"),
        _ => head,
    }
}

#[cfg(feature = "cuda")]
mod cuda {
    use std::collections::HashMap;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    /// Architectures with machine code, and the one whose PTX serves the GPUs after them.
    const MACHINE_CODE: [&str; 3] = ["90", "100", "120"];
    const PTX: &str = "90";
    const SOURCES: [&str; 7] =
        ["chain.cu", "check.cu", "conform.cu", "native.cu", "replay.cu", "service.cu", "shim.cu"];

    pub fn build() {
        println!("cargo::rerun-if-changed=cuda");
        println!("cargo::rerun-if-changed=script/toolkit");
        for name in ["CUDA_HOME", "CUDA_PATH", "LIBCLANG_PATH", "PATH", "PDL_PACK"] {
            println!("cargo::rerun-if-env-changed={name}");
        }
        let found = find_toolkit();
        let home = PathBuf::from(&found["CUDA_HOME"]);
        compile_shim(&home);
        compile_ranges(found.get("NVTX_INCLUDE"));
        compile_by_hand(&home);
        generate_bindings(&found["LIBCLANG_PATH"]);
        link_runtime(&home);
        // Tests build a tool that listens.
        let nvtx = found.get("NVTX_INCLUDE").filter(|_| !packing()).map_or("", String::as_str);
        println!("cargo::rustc-env=PDL_NVTX_INCLUDE={nvtx}");
        for tool in ["CUOBJDUMP", "NVDISASM"] {
            let path = found.get(tool).filter(|_| !packing()).map_or("", String::as_str);
            println!("cargo::rustc-env=PDL_{tool}={path}");
        }
        let nvcc = home.join("bin/nvcc");
        let nvcc = if packing() { String::new() } else { nvcc.display().to_string() };
        println!("cargo::rustc-env=PDL_NVCC={nvcc}");
    }

    /// The same search as `script/toolkit`: the script is the search.
    fn find_toolkit() -> HashMap<String, String> {
        let output = Command::new("bash")
            .args(["script/toolkit", "--find"])
            .output()
            .expect("cannot run bash script/toolkit --find");
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            let places = String::from_utf8_lossy(&output.stderr);
            panic!(
                "cannot build the CUDA shim: no CUDA toolkit and libclang were found\n{places}\
                 run script/toolkit, or build with --no-default-features for analysis, charts and \
                 the simulated device alone"
            );
        }
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    fn compile_shim(home: &Path) {
        let archive_path = out_dir().join("libpdl_shim.a");
        let shown = if packing() { PathBuf::new() } else { archive_path.clone() };
        println!("cargo::rustc-env=PDL_SHIM_ARCHIVE={}", shown.display());
        println!("cargo::rustc-link-search=native={}", out_dir().display());
        // This script runs again for every commit, and nvcc takes half a minute.
        let (key, key_path) = (inputs(home), out_dir().join("pdl_shim.key"));
        if archive_path.exists() && std::fs::read_to_string(&key_path).is_ok_and(|old| old == key) {
            println!("cargo::rustc-link-lib=static=pdl_shim");
            return;
        }
        // SAFETY: the build script has one thread.
        unsafe { std::env::set_var("NVCC", home.join("bin/nvcc")) };
        let mut archive = cc::Build::new();
        for source in SOURCES {
            // One build a file: with several, cc makes relocatable device code and links it, and
            // the machine code in the archive is no longer what runs.
            archive
                .objects(device_build(home).file(format!("cuda/{source}")).compile_intermediates());
        }
        archive.compile("pdl_shim");
        std::fs::write(key_path, key).expect("cannot write the key of the shim");
    }

    /// Host code alone: what Nsight Systems is told.
    fn compile_ranges(nvtx_include: Option<&String>) {
        let mut ranges = cc::Build::new();
        ranges.cpp(true).std("c++17").include("cuda").file("cuda/range.cpp");
        if let Some(folder) = nvtx_include {
            // As a system's headers: their warnings are not ours.
            ranges.flag("-isystem").flag(folder);
        }
        ranges.compile("pdl_range");
    }

    /// Host code alone: launches as somebody writes them who has no harness.
    fn compile_by_hand(home: &Path) {
        let mut by_hand = cc::Build::new();
        by_hand.cpp(true).std("c++17").opt_level(3).include("cuda").file("cuda/by_hand.cpp");
        by_hand.flag("-isystem").flag(home.join("include"));
        by_hand.compile("pdl_by_hand");
    }

    /// All that the shim's machine code depends on.
    fn inputs(home: &Path) -> String {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        (home, packing(), include_str!("build.rs")).hash(&mut hasher);
        let mut files: Vec<PathBuf> = std::fs::read_dir("cuda")
            .expect("cuda/ is part of the package")
            .map(|entry| entry.expect("cuda/ can be listed").path())
            .collect();
        files.sort();
        for file in files {
            (&file, std::fs::read(&file).expect("cuda/ can be read")).hash(&mut hasher);
        }
        hasher.finish().to_string()
    }

    fn device_build(home: &Path) -> cc::Build {
        let mut build = cc::Build::new();
        build.cuda(true).cudart("none").std("c++17");
        // Device code is measured, so no cargo profile may change it: cc adds -G when debug is on.
        build.debug(false).opt_level(3).flag("--threads=0");
        if !packing() {
            build.flag("-lineinfo");
        }
        // The proof block reads the machine code back from the running binary.
        build.flag("--no-compress");
        for arch in MACHINE_CODE {
            build.flag("-gencode").flag(format!("arch=compute_{arch},code=sm_{arch}"));
        }
        build.flag("-gencode").flag(format!("arch=compute_{PTX},code=compute_{PTX}"));
        build.include(home.join("include")).include("cuda");
        build
    }

    fn generate_bindings(libclang: &str) {
        // SAFETY: the build script has one thread.
        unsafe { std::env::set_var("LIBCLANG_PATH", libclang) };
        bindgen::Builder::default()
            .header("cuda/shim.h")
            .allowlist_item("pdl_.*|PDL_.*")
            // Enums cross from Rust to C only, as numbers.
            .default_enum_style(bindgen::EnumVariation::Consts)
            .prepend_enum_name(false)
            .derive_default(true)
            .generate()
            .expect("cannot generate the bindings of cuda/shim.h")
            .write_to_file(out_dir().join("shim.rs"))
            .expect("cannot write the bindings");
    }

    /// The runtime, static: one binary, and the copy that shares the driver's primary context.
    fn link_runtime(home: &Path) {
        for folder in ["lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"] {
            let folder = home.join(folder);
            if folder.join("libcudart_static.a").exists() {
                println!("cargo::rustc-link-search=native={}", folder.display());
            }
        }
        println!("cargo::rustc-link-lib=static=cudart_static");
        // glibc before 2.34 keeps these apart.
        for library in ["stdc++", "dl", "rt", "pthread"] {
            println!("cargo::rustc-link-lib={library}");
        }
    }

    /// A pack travels to other machines: it holds no path of this one, and line tables would.
    fn packing() -> bool {
        std::env::var_os("PDL_PACK").is_some()
    }

    fn out_dir() -> PathBuf {
        PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"))
    }
}
