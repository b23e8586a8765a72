//! Profiles: what is read, what is refused, and the published schema.

use std::path::Path;

use schemars::generate::SchemaSettings;

use super::*;

#[test]
fn the_built_in_profile_reads_back_as_it_is_written() {
    let profile = BUILT_IN.clone();
    assert_eq!(profile.device.sm_count, 132);
    let again: Profile = profile.to_toml().parse().unwrap();
    assert_eq!(again, profile);
}

/// `text` in the built-in profile replaced by `by`, once.
fn with(text: &str, by: &str) -> Result<Profile, String> {
    let source = BUILT_IN.to_toml();
    assert!(source.contains(text), "{text} is not in\n{source}");
    source.replacen(text, by, 1).parse()
}

#[test]
fn what_is_wrong_is_named() {
    let mut profile = BUILT_IN.clone();
    profile.memory.hbm_latency_ns = Constant::measured(800.0, (700.0, 900.0), "k");
    let latency = |lo: f64, value: f64, hi: f64| {
        let mut profile = profile.clone();
        profile.memory.hbm_latency_ns = Constant::measured(value, (lo, hi), "k");
        profile.validate()
    };
    assert_eq!(latency(700.0, 800.0, 900.0), Ok(()));
    for (numbers, wanted) in [
        ((-1.0, 800.0, 900.0), "memory.hbm_latency_ns.lo -1 is negative"),
        ((-2.0, -1.0, 900.0), "memory.hbm_latency_ns.value -1 is negative"),
        ((850.0, 800.0, 900.0), "memory.hbm_latency_ns.lo 850 is above its value 800"),
        ((700.0, 800.0, 750.0), "memory.hbm_latency_ns.hi 750 is below its value 800"),
        ((700.0, f64::NAN, 900.0), "memory.hbm_latency_ns.value NaN is no number"),
        ((0.0, 0.0, 900.0), "memory.hbm_latency_ns is 0"),
    ] {
        assert_eq!(latency(numbers.0, numbers.1, numbers.2), Err(wanted.to_owned()));
    }
    let mut open = profile.clone();
    open.memory.hbm_latency_ns.hi = None;
    assert!(open.validate().unwrap_err().starts_with("memory.hbm_latency_ns.hi is missing"));
    open.memory.hbm_latency_ns.lo = None;
    assert!(open.validate().unwrap_err().contains("has an interval"));
    let sheet = Profile { origin: Origin::Datasheet, ..open };
    assert_eq!(sheet.validate(), Ok(()));
    let mut knots = profile.clone();
    knots.hops.graph[1].blocks = 1;
    assert!(
        knots.validate().unwrap_err().starts_with("hops.graph[1].blocks 1 does not come after")
    );
    knots.hops.graph.truncate(1);
    assert!(knots.validate().unwrap_err().starts_with("hops.graph has 1 knots"));
    let mut shared = profile.clone();
    shared.device.block_shared_bytes = shared.device.sm_shared_bytes;
    assert!(shared.validate().unwrap_err().starts_with("device.block_shared_bytes with"));
}

#[test]
fn files_with_other_fields_or_versions_are_refused() {
    for (text, by, wanted) in [
        ("schema_version = \"1.0\"", "schema_version = \"1.7\"", "schema_version \"1.7\" is later"),
        ("schema_version = \"1.0\"", "schema_version = \"2.0\"", "schema_version \"2.0\" is later"),
        ("schema_version = \"1.0\"", "schema_version = 1", "schema_version 1 is no version"),
        ("schema_version = \"1.0\"\n", "", "schema_version is missing"),
        ("sm_count = 132\n", "", "missing field `sm_count`"),
        ("sm_count = 132", "sm_count = -1", "invalid value"),
        ("sm_count = 132", "sm_count = 132\nsm_colour = 3", "unknown field `sm_colour`"),
        ("origin = \"measured\"", "origin = \"guessed\"", "unknown variant `guessed`"),
        ("[device]", "[device", "line"),
    ] {
        let error = with(text, by).unwrap_err();
        assert!(error.contains(wanted), "{by}: {error}");
    }
    assert!(with("sm_count = 132", "sm_count = -1").unwrap_err().starts_with("line "));
}

#[test]
fn the_published_schema_is_that_of_the_types() {
    let generator = SchemaSettings::draft2020_12().for_deserialize().into_generator();
    let schema = generator.into_root_schema_for::<Profile>();
    let generated = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    let name = format!("schema/profile-{}.{}.json", PROFILE_SCHEMA.0, PROFILE_SCHEMA.1);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(&name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &generated).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == generated,
        "{name} is not what the types say: raise PROFILE_SCHEMA if a reader of old files would \
         fail, and accept the change with BLESS=1"
    );
}

/// Every constant of `profile` assumed, with this reason.
fn assumed(profile: &Profile, why: &str) -> Profile {
    fn assume(value: &mut toml::Value, why: &str) {
        match value {
            toml::Value::Table(table) if table.contains_key("value") => {
                table.remove("lo");
                table.remove("hi");
                table.insert("experiment".into(), why.into());
                table.insert("assumed".into(), true.into());
            }
            toml::Value::Table(table) => table.iter_mut().for_each(|(_, value)| assume(value, why)),
            toml::Value::Array(array) => array.iter_mut().for_each(|value| assume(value, why)),
            _ => {}
        }
    }
    let mut value = toml::Value::try_from(profile).unwrap();
    assume(&mut value, why);
    value.try_into().unwrap()
}

/// An H100 SXM by its data sheet, where that says something; the rest is the H200's.
fn h100_sxm() -> Profile {
    let mut profile = assumed(&BUILT_IN, "not public: the h200 profile's");
    profile.name = "h100-sxm".into();
    profile.origin = Origin::Datasheet;
    profile.provenance =
        "NVIDIA's H100 data sheet and Hopper architecture white paper: SMs, clock, \
                          L2, memory and its bandwidth; all else is the h200 profile's, unmeasured"
            .into();
    let device = &mut profile.device;
    device.product = "NVIDIA H100 80GB HBM3".into();
    device.l2_bytes = 50 << 20;
    device.memory_bytes = 80 << 30;
    device.driver = String::new();
    device.toolkit = String::new();
    assert_eq!((device.sm_count, device.capability, device.sm_mhz), (132, (9, 0), 1980));
    // Of its 4.8 TB/s an H200 gives a kernel that streams a part.
    let reached = BUILT_IN.memory.hbm_bytes_per_ns.value / 4800.0;
    let why = format!("data sheet, 3.35 TB/s, of which {reached:.3} as on an H200");
    profile.memory.hbm_bytes_per_ns = Constant::assumed((3350.0 * reached).round(), why);
    let kept = BUILT_IN.memory.l2_keeps_bytes.value * (50 << 20) as f64;
    let kept = (kept / BUILT_IN.device.l2_bytes as f64).round();
    let why = "data sheet, 50 MB, of which the same part as on an H200";
    profile.memory.l2_keeps_bytes = Constant::assumed(kept, why);
    profile
}

#[test]
fn the_data_sheet_profile_is_the_built_in_one_but_for_what_is_public() {
    let head = "# An NVIDIA H100 SXM from its data sheet: nobody measured it for this profile, and\n\
                # every output of it says so. Made from devices/h200.toml by\n\
                # `BLESS=1 cargo test --lib data_sheet`.\n\n";
    let wanted = format!("{head}{}", h100_sxm().to_toml());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("devices/h100-sxm.toml");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == wanted, "devices/h100-sxm.toml: BLESS=1 accepts the change");
    let profile = read(&path).unwrap();
    assert_eq!((profile.origin, profile.device.sm_count), (Origin::Datasheet, 132));
    assert_eq!(profile, h100_sxm());
    // Nothing of it was measured, and it says so constant by constant.
    let constants = toml::Value::try_from(&profile).unwrap().to_string().matches("value =").count();
    assert_eq!(profile.assumed().len(), constants);
}
