//! Takes the cubins and the PTX out of a file, into a temporary folder.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use object::elf::FileHeader64;
use object::endian::LittleEndian;
use object::read::elf::{FileHeader, SectionHeader};
use object::read::{ReadCache, ReadRef};
use tempfile::TempDir;

use super::Options;
use super::input::{self, Kind};
use super::pool;
use super::tools::{Tools, complaint};
use crate::error::{Error, Result};

/// What cuobjdump says of a file that it knows and that holds nothing for it.
const NOTHING: &str = "does not contain device code";

/// The device code of a file.
pub(super) struct Unpacked {
    /// Deleted when this is dropped.
    _folder: TempDir,
    /// Machine code.
    pub(super) cubins: Vec<Unit>,
    /// PTX.
    pub(super) ptx: Vec<Unit>,
}

/// A file that was looked at and can hold device code.
pub(super) struct Opened<'a> {
    path: &'a Path,
    folder: TempDir,
    sources: Sources,
}

enum Sources {
    Cubin(PathBuf),
    Containers(Vec<Source>),
}

/// One file of device code.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    /// Where it is now.
    pub(super) path: PathBuf,
    /// What it is called: its name, behind the member of an archive that it came from.
    pub(super) name: String,
}

impl Unit {
    fn new(path: PathBuf, member: &str) -> Unit {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let name = if member.is_empty() { stem.into_owned() } else { format!("{member}: {stem}") };
        Unit { path, name }
    }

    /// `sm_90a`, where cuobjdump put it into the name.
    pub(super) fn target(&self) -> Option<&str> {
        let (_, last) = self.name.rsplit_once('.')?;
        last.starts_with("sm_").then_some(last)
    }
}

/// Looks at the file in `path`, without any program of the toolkit.
///
/// # Errors
/// It is not what it claims, it is damaged, or it holds no device code.
pub(super) fn open(path: &Path) -> Result<Opened<'_>> {
    let kind = input::kind(path)?;
    let folder = tempfile::Builder::new()
        .prefix("pdl-inspect-")
        .tempdir()
        .map_err(|error| Error::failed("create a temporary folder", error))?;
    let whole = std::path::absolute(path).map_err(|error| cannot(path, error))?;
    let sources = match kind {
        Kind::Cubin => Sources::Cubin(whole),
        Kind::Container => {
            let root = folder.path().to_owned();
            Sources::Containers(match holds_device_code(path)? {
                true => vec![(String::new(), whole, root)],
                false => Vec::new(),
            })
        }
        Kind::Archive => Sources::Containers(write_members(path, folder.path())?),
    };
    match sources {
        Sources::Containers(files) if files.is_empty() => Err(empty(path)),
        sources => Ok(Opened { path, folder, sources }),
    }
}

impl Opened<'_> {
    /// Unpacks it; with targets, only machine code whose target begins with one of them.
    ///
    /// # Errors
    /// cuobjdump refuses it or finds no device code.
    pub(super) fn unpack(self, options: &Options, tools: &Tools) -> Result<Unpacked> {
        let path = self.path;
        let mut unpacked = Unpacked { _folder: self.folder, cubins: Vec::new(), ptx: Vec::new() };
        match self.sources {
            Sources::Cubin(file) => unpacked.cubins.push(Unit::new(file, "")),
            Sources::Containers(sources) => {
                let work = |source: &Source| extract(path, source, options, tools);
                for (cubins, ptx) in pool::each(options.workers, &sources, work, |_| ())? {
                    unpacked.cubins.extend(cubins);
                    unpacked.ptx.extend(ptx);
                }
            }
        }
        if unpacked.cubins.is_empty() && unpacked.ptx.is_empty() {
            return Err(if options.targets.is_empty() {
                empty(path)
            } else {
                cannot(path, format!("it holds nothing for {}", options.targets.join(", ")))
            });
        }
        Ok(unpacked)
    }
}

fn empty(path: &Path) -> Error {
    cannot(path, "it holds no device code").remedy(
        "give the file that its kernels were compiled into; what is compiled at run time is in none",
    )
}

fn cannot(path: &Path, cause: impl std::fmt::Display) -> Error {
    Error::failed(format!("inspect {}", path.display()), cause)
}

/// Whether a host ELF has a section of device code. One whose sections do not fit into it lost its
/// end, and perhaps its device code; what is no ELF is left to cuobjdump.
fn holds_device_code(path: &Path) -> Result<bool> {
    let file = fs::File::open(path).map_err(|error| cannot(path, error))?;
    let cache = ReadCache::new(file);
    let data = &cache;
    let Ok(header) = FileHeader64::<LittleEndian>::parse(data) else { return Ok(true) };
    let damaged = |error: &dyn std::fmt::Display| {
        cannot(path, format!("it is damaged or truncated: {error}"))
    };
    let endian = header.endian().map_err(|error| damaged(&error))?;
    let end = data.len().unwrap_or(u64::MAX);
    let sections = header.sections(endian, data).map_err(|error| damaged(&error))?;
    let mut holds = false;
    for section in sections.iter() {
        let bounds = section.file_range(endian);
        if bounds.is_some_and(|(at, size)| at.saturating_add(size) > end) {
            return Err(damaged(&"a section lies behind the end of the file"));
        }
        let name = sections.section_name(endian, section).map_err(|error| damaged(&error))?;
        // .nv_fatbin in what is linked, __nv_relfatbin in relocatable device code.
        holds |= String::from_utf8_lossy(name).to_ascii_lowercase().contains("fatbin");
    }
    Ok(holds)
}

/// Member, file and the folder to unpack into. Members of one archive may hold cubins of one name,
/// so that each has a folder of its own.
type Source = (String, PathBuf, PathBuf);

fn write_members(path: &Path, root: &Path) -> Result<Vec<Source>> {
    let archive = fs::read(path).map_err(|error| cannot(path, error))?;
    let members = input::members(&archive).map_err(|cause| cannot(path, cause))?;
    let mut sources = Vec::new();
    for (index, (name, bytes)) in members.into_iter().enumerate() {
        if !matches!(input::classify(bytes), Ok(Kind::Container | Kind::Cubin)) {
            continue;
        }
        let folder = root.join(index.to_string());
        let file = folder.join("member.o");
        fs::create_dir(&folder)
            .and_then(|()| fs::write(&file, bytes))
            .map_err(|error| Error::failed(format!("write {}", file.display()), error))?;
        sources.push((name, file, folder));
    }
    Ok(sources)
}

fn extract(
    path: &Path,
    source: &Source,
    options: &Options,
    tools: &Tools,
) -> Result<(Vec<Unit>, Vec<Unit>)> {
    let (member, _, _) = source;
    // cuobjdump compares with parts of names, and names hold targets, of PTX as sm_90 too.
    let of = match options.targets.is_empty() {
        true => "all".to_owned(),
        false => options.targets.join(","),
    };
    let units = |files: Vec<PathBuf>| files.into_iter().map(|file| Unit::new(file, member));
    let cubins = units(extract_kind(path, source, "-xelf", "cubin", &of, tools)?);
    let wanted = |unit: &Unit| {
        let wants = |target: &str| options.targets.iter().any(|want| target.starts_with(want));
        options.targets.is_empty() || unit.target().is_none_or(wants)
    };
    let cubins = cubins.filter(wanted).collect();
    let ptx = units(extract_kind(path, source, "-xptx", "ptx", &of, tools)?);
    Ok((cubins, ptx.filter(wanted).collect()))
}

fn extract_kind(
    path: &Path,
    (_, file, folder): &Source,
    flag: &str,
    extension: &str,
    of: &str,
    tools: &Tools,
) -> Result<Vec<PathBuf>> {
    let folder = folder.join(extension);
    fs::create_dir(&folder)
        .map_err(|error| Error::failed(format!("create {}", folder.display()), error))?;
    let arguments = [OsStr::new(flag), OsStr::new(of), file.as_os_str()];
    let output = tools.cuobjdump(&folder, &arguments)?;
    let named = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter(|line| line.trim_start().starts_with("Extracting"))
        .count();
    if String::from_utf8_lossy(&output.stderr).contains(NOTHING) {
        return Ok(Vec::new());
    }
    if !output.status.success() {
        return Err(cannot(path, format!("cuobjdump: {}", complaint(&output))));
    }
    let entries = fs::read_dir(&folder).map_err(|error| cannot(path, error))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    // cuobjdump numbers what it takes out of a library: 9 is before 10.
    files.sort_by_cached_key(|path| (path.as_os_str().len(), path.clone()));
    if files.len() != named {
        let cause = format!("cuobjdump named {named} of its {extension} and wrote {}", files.len());
        return Err(cannot(path, cause));
    }
    Ok(files)
}
