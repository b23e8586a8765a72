//! The constants of a profile by their paths: `issue.elder_ratio`, `hops.graph[3].launch_ns`.

use toml::{Table, Value};

use crate::profile::{Constant, Profile};

/// A profile as a table, in which constants are found by their paths.
#[derive(Clone, Debug)]
pub(super) struct Constants(Table);

impl Constants {
    pub(super) fn of(profile: &Profile) -> Constants {
        Constants(Table::try_from(profile).expect("a profile is a table of plain values"))
    }

    /// Those of a table that may be no whole profile.
    pub(super) fn of_table(table: Table) -> Constants {
        Constants(table)
    }

    /// The constant at `path`; `None` where there is none.
    pub(super) fn get(&self, path: &str) -> Option<Constant> {
        let mut value = None;
        for (name, at) in steps(path)? {
            let table = match value {
                None => &self.0,
                Some(value) => Value::as_table(value)?,
            };
            let field = table.get(name)?;
            value = Some(match at {
                Some(at) => field.as_array()?.get(at)?,
                None => field,
            });
        }
        value?.clone().try_into().ok()
    }

    /// Puts another constant at `path`, which is there.
    pub(super) fn set(&mut self, path: &str, constant: &Constant) {
        const THERE: &str = "only constants that were found are set";
        let steps = steps(path).expect(THERE);
        let (last, parents) = steps.split_last().expect(THERE);
        let mut table = &mut self.0;
        for (name, at) in parents {
            let field = table.get_mut(*name).expect(THERE);
            let field = match at {
                Some(at) => field.as_array_mut().and_then(|knots| knots.get_mut(*at)),
                None => Some(field),
            };
            table = field.and_then(Value::as_table_mut).expect(THERE);
        }
        let constant = Value::try_from(constant).expect("a constant is a table of plain values");
        table.insert(last.0.to_owned(), constant);
    }

    /// The profile with these values at `paths`.
    pub(super) fn with(&self, paths: &[&str], values: &[f64]) -> Profile {
        let mut changed = self.clone();
        for (path, value) in paths.iter().zip(values) {
            changed.set(path, &Constant::assumed(*value, "a step of a fit"));
        }
        changed.profile()
    }

    pub(super) fn profile(&self) -> Profile {
        self.0.clone().try_into().expect("constants of a profile were replaced by constants")
    }
}

/// The steps of a path: a name, and the place in the list of that name.
fn steps(path: &str) -> Option<Vec<(&str, Option<usize>)>> {
    let step = |text| match str::split_once(text, '[') {
        None => Some((text, None)),
        Some((name, rest)) => Some((name, Some(rest.strip_suffix(']')?.parse().ok()?))),
    };
    path.split('.').map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::BUILT_IN;

    #[test]
    fn constants_are_found_and_replaced_by_their_paths() {
        let constants = Constants::of(&BUILT_IN);
        assert_eq!(constants.get("issue.elder_ratio"), Some(BUILT_IN.issue.elder_ratio.clone()));
        let launch = BUILT_IN.hops.graph[3].launch_ns.clone();
        assert_eq!(constants.get("hops.graph[3].launch_ns"), Some(launch));
        for none in [
            "",
            "issue",
            "issue.x",
            "hops.graph.launch_ns",
            "hops.graph[99].launch_ns",
            "device.sm_count",
        ] {
            assert_eq!(constants.get(none), None, "{none}");
        }
        let paths = ["issue.elder_ratio", "hops.stream[0].release_ns"];
        let changed = constants.with(&paths, &[0.25, 7.0]);
        assert_eq!(changed.issue.elder_ratio.value, 0.25);
        assert_eq!(changed.hops.stream[0].release_ns.value, 7.0);
        let mut back = Constants::of(&changed);
        paths.iter().for_each(|path| back.set(path, &constants.get(path).unwrap()));
        assert_eq!(back.profile(), *BUILT_IN);
    }
}
