//! The published schema of the JSON files is that of the types; `BLESS=1` accepts a change.

use std::borrow::Cow;
use std::path::Path;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::chain::Trigger;
use crate::record::{End, Manifest, PointRecord, schema_version};

/// A trigger is text, in all files.
impl JsonSchema for Trigger {
    fn schema_name() -> Cow<'static, str> {
        "Trigger".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Where a block says that its dependents may launch; k/n is before \
                            segment k of a body of n segments, site-2 is at \
                            marked site 2 of the user's own kernels.",
            "type": "string",
            "pattern": "^(implicit|at-entry|after|[0-9]+/[0-9]+|site-[a-z0-9+.-]+)$",
        })
    }
}

fn generated() -> String {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let files = [
        generator.subschema_for::<Manifest>(),
        generator.subschema_for::<PointRecord>(),
        generator.subschema_for::<End>(),
    ];
    let mut definitions: Map<String, Value> = generator.take_definitions(true);
    definitions.sort_keys();
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("The JSON files of a run directory of pdl, version {}", schema_version()),
        "description": "manifest.json is a Manifest, each line of points.jsonl a PointRecord, \
                        end.json an End.",
        "anyOf": files,
        "$defs": definitions,
    });
    serde_json::to_string_pretty(&schema).unwrap() + "\n"
}

#[test]
fn the_published_schema_is_that_of_the_types() {
    let name = format!("schema/run-{}.json", schema_version());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(&name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, generated()).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == generated(),
        "{name} is not what the types say: raise SCHEMA if a reader of the old files would fail, \
         and accept the change with BLESS=1"
    );
}
