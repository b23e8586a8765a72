//! report.html in a real browser: it loads nothing and complains of nothing, fits wide and narrow
//! windows in both colour schemes, works without script, by keyboard and on paper, and names of
//! strangers stay text. Skips with a reason where there is no Chromium; `PDL_REQUIRE=browser` makes
//! that a failure. With `SCREENSHOTS=1` pictures of every page are left in `tmp/browser` of the target
//! directory, for a person to look at.

mod chromium;
mod hostile;
mod run;

use std::path::{Path, PathBuf};

use chromium::{Browser, Look};
use run::{Reported, recorded, reports};
use serde_json::{Value, json};

/// Where pages, profiles and pictures lie: a confined browser sees no other directory of temporary
/// files.
fn place() -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser");
    std::fs::create_dir_all(&place).unwrap();
    place
}

const WIDE: u32 = 1280;
const NARROW: u32 = 400;

/// A browser, or why there is none.
fn browser() -> Option<Browser> {
    if let Some(program) = chromium::program() {
        return Some(Browser::start(&program));
    }
    let required =
        std::env::var("PDL_REQUIRE").is_ok_and(|all| all.split(',').any(|r| r == "browser"));
    assert!(!required, "PDL_REQUIRE=browser: no chromium is on the path");
    eprintln!("skipped: no chromium is on the path");
    None
}

fn looks() -> impl Iterator<Item = Look> {
    [WIDE, NARROW].into_iter().flat_map(|width| {
        let schemes = [false, true].into_iter();
        schemes.flat_map(move |dark| [true, false].map(|script| Look { width, dark, script }))
    })
}

const PLAIN: Look = Look { width: WIDE, dark: false, script: true };

/// Nothing was logged, thrown, asked, or fetched but the page itself.
fn assert_quiet(browser: &Browser, place: &str) {
    let logged = browser.reported("Log.entryAdded");
    assert!(logged.is_empty(), "{place}: {logged:?}");
    for method in ["Runtime.exceptionThrown", "Runtime.consoleAPICalled"] {
        let said = browser.reported(method);
        assert!(said.is_empty(), "{place}: {method}: {said:?}");
    }
    let dialogs = browser.reported("Page.javascriptDialogOpening");
    assert!(dialogs.is_empty(), "{place}: {dialogs:?}");
    let urls = browser.reported("Network.requestWillBeSent").into_iter();
    let fetched: Vec<&str> =
        urls.filter_map(|request| request["request"]["url"].as_str()).collect();
    let foreign = |url: &&&str| !url.starts_with("data:") && !url.ends_with("/report.html");
    assert_eq!(fetched.iter().filter(foreign).count(), 0, "{place}: {fetched:?}");
    assert!(fetched.iter().any(|url| url.ends_with("/report.html")), "{place}: {fetched:?}");
}

/// Elements that stick out of the window, beside those that scroll.
const OVERFLOW: &str = "
    (() => {
        document.querySelectorAll('details').forEach((one) => { one.open = true; });
        const root = document.documentElement;
        const wide = [...document.querySelectorAll('body *')].filter((one) =>
            !one.closest('.scroll') && !one.closest('.skip')
            && one.getBoundingClientRect().right > root.clientWidth + 0.5);
        return { scroll: root.scrollWidth, client: root.clientWidth,
                 wide: wide.slice(0, 3).map((one) => one.outerHTML.slice(0, 200)) };
    })()";

/// Texts whose contrast to what is behind them is below 4.5 (WCAG 2, level AA).
const FAINT_TEXTS: &str = "
    (() => {
        const parse = (text) => text.match(/[\\d.]+/g).map(Number);
        const luminance = ([r, g, b]) => {
            const [x, y, z] = [r, g, b].map((c) => {
                const s = c / 255;
                return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
            });
            return 0.2126 * x + 0.7152 * y + 0.0722 * z;
        };
        const behind = (one) => {
            for (let at = one; at; at = at.parentElement) {
                const colour = parse(getComputedStyle(at).backgroundColor);
                if (colour.length < 4 || colour[3] > 0) return colour;
            }
            return [255, 255, 255];
        };
        const faint = [];
        for (const one of document.querySelectorAll('body *')) {
            const own = [...one.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
            if (!own || one.closest('svg, script') || !one.getClientRects().length) continue;
            const [a, b] = [luminance(parse(getComputedStyle(one).color)), luminance(behind(one))];
            const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            if (contrast < 4.5) faint.push(contrast.toFixed(2) + ': ' + one.outerHTML.slice(0, 120));
        }
        return faint.slice(0, 5);
    })()";

#[test]
fn pages_load_nothing_complain_of_nothing_and_fit() {
    let Some(mut browser) = browser() else { return };
    let kept = place();
    let pictures = std::env::var_os("SCREENSHOTS").is_some();
    for report in reports() {
        for look in looks() {
            let place = format!("{} {look:?}", report.name);
            browser.open(&report.page, look);
            let scheme = if look.dark { "dark" } else { "light" };
            if look.script && pictures {
                let name = format!("{}-{}-{scheme}.png", report.name, look.width);
                std::fs::write(kept.join(name), browser.screenshot()).unwrap();
            }
            let found = browser.evaluate(OVERFLOW);
            assert_eq!(found["wide"], json!([]), "{place}");
            assert!(found["scroll"].as_f64() <= found["client"].as_f64(), "{place}: {found}");
            if look.script && look.width == WIDE {
                assert_eq!(browser.evaluate(FAINT_TEXTS), json!([]), "{place}");
            }
            let dark = browser.evaluate("matchMedia('(prefers-color-scheme: dark)').matches");
            assert_eq!(dark, look.dark);
            assert_quiet(&browser, &place);
        }
    }
}

#[test]
fn ids_are_unique_and_what_refers_to_one_finds_it() {
    let Some(mut browser) = browser() else { return };
    for report in reports() {
        browser.open(&report.page, PLAIN);
        let wrong = browser.evaluate(
            "(() => {
                const all = [...document.querySelectorAll('[id]')].map((one) => one.id);
                const twice = all.filter((id, at) => all.indexOf(id) !== at);
                const named = [...document.querySelectorAll('[aria-labelledby]')]
                    .flatMap((one) => one.getAttribute('aria-labelledby').split(' '));
                const links = [...document.querySelectorAll('a[href^=\"#\"]')]
                    .map((one) => one.getAttribute('href').slice(1));
                const lost = [...named, ...links].filter((id) => !document.getElementById(id));
                return [...twice, ...lost];
            })()",
        );
        assert_eq!(wrong, json!([]), "{}", report.name);
        let charts = std::fs::read_dir(report.page.with_file_name("charts")).unwrap().count();
        let drawn = browser.evaluate("document.querySelectorAll('figure svg').length");
        assert_eq!(drawn, charts, "{}: every chart stands in the page once", report.name);
        for link in hrefs(&mut browser) {
            assert!(report.page.with_file_name(&link).exists(), "{}: {link}", report.name);
        }
    }
}

/// Targets of links to files.
fn hrefs(browser: &mut Browser) -> Vec<String> {
    let all = browser.evaluate(
        "[...document.querySelectorAll('a')].map((one) => one.getAttribute('href'))
            .filter((href) => !href.startsWith('#'))",
    );
    serde_json::from_value(all).unwrap()
}

#[test]
fn without_script_everything_can_be_read() {
    let Some(mut browser) = browser() else { return };
    let report = recorded("tests/fixtures/sim-run");
    browser.open(&report.page, Look { script: false, ..PLAIN });
    let rows = "document.querySelectorAll('#rows tbody tr, #controls tbody tr').length";
    assert_eq!(browser.evaluate(rows), report.summary.rows.len());
    assert_eq!(browser.evaluate("document.querySelectorAll('thead button').length"), 0);
    let visible = "document.querySelector('form.filter').checkVisibility()";
    assert_eq!(browser.evaluate(visible), false, "a filter that does nothing is not shown");
    let paste = browser.evaluate("document.querySelector('pre.paste').textContent");
    assert_eq!(paste, report.summary.paste.as_str());
    // What is folded opens by keyboard.
    browser.evaluate("document.querySelector('details summary').focus()");
    browser.press("Enter");
    assert_eq!(browser.evaluate("document.querySelector('details').open"), true);
    assert_quiet(&browser, "without script");
}

/// Presses Tab until the focus is on what `selector` matches.
fn tab_to(browser: &mut Browser, selector: &str) {
    for _ in 0..400 {
        browser.press("Tab");
        if browser.evaluate(&format!("document.activeElement.matches({selector:?})")) == true {
            return;
        }
    }
    panic!("{selector} is not within reach of the keyboard");
}

/// The focused element as the style sheet draws it.
const OUTLINE: &str = "(() => {
    const style = getComputedStyle(document.activeElement);
    return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
})()";

#[test]
fn the_keyboard_reaches_sorts_and_filters_and_shows_where_it_is() {
    let Some(mut browser) = browser() else { return };
    let report = recorded("tests/fixtures/sim-run");
    browser.open(&report.page, PLAIN);
    browser.press("Tab");
    let skip = "document.activeElement.matches('a.skip') \
                && document.activeElement.getBoundingClientRect().left >= 0";
    assert_eq!(browser.evaluate(skip), true, "the first stop leads past the head of the page");
    browser.press("Enter");
    assert_eq!(browser.evaluate("location.hash"), "#main");

    browser.evaluate("document.querySelectorAll('#rows thead th')[3].dataset.tested = 'yes'");
    tab_to(&mut browser, "#rows th[data-tested] button");
    assert_eq!(browser.evaluate(OUTLINE), true, "the focus can be seen");
    let saved = "[...document.querySelectorAll('#rows tbody tr')]
        .map((row) => row.cells[3].dataset.value).map((text) => text === '' ? null : Number(text))";
    let state = "document.querySelector('th[data-tested]').getAttribute('aria-sort')";
    for (key, direction, sign) in [("Enter", "ascending", 1.0), (" ", "descending", -1.0)] {
        browser.press(key);
        assert_eq!(browser.evaluate(state), direction);
        let values: Vec<Option<f64>> = serde_json::from_value(browser.evaluate(saved)).unwrap();
        let measured: Vec<f64> = values.iter().flatten().copied().collect();
        assert!(measured.len() > 3 && measured.is_sorted_by(|a, b| a * sign <= b * sign));
        let first_empty = values.iter().position(Option::is_none).unwrap();
        assert_eq!(first_empty, measured.len(), "{direction}: rows without a number come last");
    }
    let sorted = "document.querySelectorAll('th[aria-sort]').length";
    assert_eq!(browser.evaluate(sorted), 1);
    filter_by_keyboard(&mut browser);
    assert_quiet(&browser, "by keyboard");
}

fn filter_by_keyboard(browser: &mut Browser) {
    let shown = "[...document.querySelectorAll('#rows tbody tr')]
        .filter((row) => row.checkVisibility()).map((row) => row.textContent)";
    let texts = |browser: &mut Browser| -> Vec<String> {
        serde_json::from_value(browser.evaluate(shown)).unwrap()
    };
    let all = texts(browser).len();
    browser.evaluate("document.querySelector('#verdicts-title').scrollIntoView()");
    browser.evaluate("document.querySelector('.filter input').focus()");
    for letter in ["6", "/", "8"] {
        browser.press(letter);
    }
    let found = texts(browser);
    assert!(!found.is_empty() && found.len() < all, "{found:?}");
    assert!(found.iter().all(|text| text.contains("6/8")), "{found:?}");
    let told = browser.evaluate("document.querySelector('.filter output').value");
    assert_eq!(told, format!("{} of {all} rows", found.len()));
    tab_to(browser, ".filter select[name=arm]");
    browser.press("ArrowDown");
    let chosen = browser.evaluate("document.querySelector('.filter select[name=arm]').value");
    let arm = chosen.as_str().unwrap().to_owned();
    assert!(!arm.is_empty());
    assert!(texts(browser).iter().all(|text| text.contains(&arm)));
}

#[test]
fn paper_has_pages_with_everything_unfolded() {
    let Some(mut browser) = browser() else { return };
    let report = recorded("tests/fixtures/sim-run");
    browser.open(&report.page, Look { dark: true, ..PLAIN });
    let pdf = browser.pdf();
    assert!(pdf.starts_with(b"%PDF-"));
    let pages = pdf.windows(11).filter(|window| *window == b"/Type /Page").count();
    // The tree of pages is of a type whose name begins like theirs.
    let trees = pdf.windows(12).filter(|window| *window == b"/Type /Pages").count();
    assert!((4..40).contains(&(pages - trees)), "{pages} pages, {trees} trees");
    let closed = "document.querySelectorAll('details:not([open])').length";
    assert_ne!(browser.evaluate(closed), 0, "and is folded again afterwards");
    std::fs::write(place().join("sim-run.pdf"), pdf).unwrap();
    assert_quiet(&browser, "printed");
}

#[test]
fn a_simulated_run_says_so_wherever_the_reader_is() {
    let Some(mut browser) = browser() else { return };
    let report = recorded("tests/fixtures/sim-run");
    browser.open(&report.page, PLAIN);
    assert!(browser.evaluate("document.title").as_str().unwrap().starts_with("SIMULATED: "));
    let heading = browser.evaluate("document.querySelector('h1').textContent");
    assert!(heading.as_str().unwrap().contains("SIMULATED"), "{heading}");
    browser.evaluate("document.querySelector('#limits').scrollIntoView()");
    let banner = browser.evaluate(
        "(() => {
            const box = document.querySelector('.banner').getBoundingClientRect();
            return scrollY > 500 && box.top >= 0 && box.bottom <= innerHeight && box.height > 20;
        })()",
    );
    assert_eq!(banner, true, "the banner stays in sight");
    let measured = recorded("plots/late-trigger-h200");
    browser.open(&measured.page, PLAIN);
    let text: Value = browser.evaluate("document.body.textContent.includes('SIMULATED')");
    assert_eq!(text, false);
}

/// The page, and what a reader of it must see.
fn assert_text(browser: &mut Browser, report: &Reported, expected: &str) {
    let found =
        browser.evaluate(&format!("document.body.textContent.includes({})", json!(expected)));
    assert_eq!(found, true, "{}: '{expected}' is not told", report.name);
}
