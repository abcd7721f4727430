//! The router of cache servers of `docs/cookbook.md`.
#![cfg(not(miri))]

#[path = "../../examples/cache_router.rs"]
mod router;

#[test]
fn the_page_shows_what_the_router_prints() {
    // It asserts that misroutes are as rare as promised, and that filters save reads.
    router::main().unwrap();
    let printed = router::report().unwrap();
    let printed = format!("    {}\n", printed.trim_end().replace('\n', "\n    "));
    let page = include_str!("../../../../docs/cookbook.md");
    assert!(page.contains(&printed), "docs/cookbook.md does not show\n{printed}");
}
