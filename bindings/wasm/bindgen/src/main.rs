//! Writes the JavaScript and the types for a module: `bindgen MODULE.wasm NAME FOLDER`.
//!
//! The command `wasm-bindgen`, as a dependency: the lock file keeps it at the version of the
//! library, and nothing has to be installed.

use std::env;
use std::process::ExitCode;
use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let [module, name, folder] = args.as_slice() else {
        eprintln!("usage: bindgen MODULE.wasm NAME FOLDER");
        return ExitCode::from(2);
    };
    let mut bindgen = Bindgen::new();
    bindgen.input_path(module).out_name(name).typescript(true).remove_name_section(true);
    let written = bindgen
        .web(true)
        .and_then(|bindgen| bindgen.omit_default_module_path(true).generate(folder));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{module}: {error:?}");
            ExitCode::FAILURE
        }
    }
}
