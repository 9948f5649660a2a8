//! A component in Rust with its standard library: it counts the words of a request's body, and answers with the most frequent ones.
//! Its environment, output, memory and maps are those of `std`, over the adapter of WASI preview 1. words.wasm was built with rustc 1.63,
//! libstd-rust-dev-wasm32 and lld-14 of Debian 12, and with the tools and the adapter (wasi_snapshot_preview1.reactor.wasm) of jco 1.35:
//!
//! rustc --edition 2021 --crate-type cdylib --target wasm32-wasi -O -C opt-level=s -C lto -C panic=abort -C strip=symbols words.rs -o words.core.wasm
//! jco embed words.core.wasm --wit worlds.wit --world-name words -o words.embedded.wasm
//! jco new words.embedded.wasm --wasi-reactor -o words.wasm
use std::collections::HashMap;

#[link(wasm_import_module = "wasi:http/types@0.2.6")]
extern "C" {
    #[link_name = "[method]incoming-request.consume"]
    fn body_of_request(request: i32, result: *mut i32);
    #[link_name = "[method]incoming-body.stream"]
    fn input_of(body: i32, result: *mut i32);
    #[link_name = "[constructor]fields"]
    fn new_fields() -> i32;
    #[link_name = "[constructor]outgoing-response"]
    fn new_response(fields: i32) -> i32;
    #[link_name = "[method]outgoing-response.body"]
    fn body_of_response(response: i32, result: *mut i32);
    #[link_name = "[method]outgoing-body.write"]
    fn output_of(body: i32, result: *mut i32);
    #[link_name = "[static]outgoing-body.finish"]
    fn finish(body: i32, has_trailers: i32, trailers: i32, result: *mut i32);
    #[link_name = "[static]response-outparam.set"]
    fn set_response(out: i32, tag: i32, a: i32, b: i32, c: i64, d: i32, e: i32, f: i32, g: i32);
}

#[link(wasm_import_module = "wasi:io/streams@0.2.6")]
extern "C" {
    #[link_name = "[method]input-stream.blocking-read"]
    fn read(stream: i32, length: i64, result: *mut i32);
    #[link_name = "[method]output-stream.blocking-write-and-flush"]
    fn write(stream: i32, at: *const u8, length: usize, result: *mut i32);
    #[link_name = "[resource-drop]output-stream"]
    fn drop_output(stream: i32);
}

/// The allocations of the host: they belong to the one that is called.
#[no_mangle]
pub unsafe extern "C" fn cabi_realloc(old: *mut u8, old_size: usize, align: usize, size: usize) -> *mut u8 {
    use std::alloc::{alloc, realloc, Layout};
    if size == 0 {
        return align as *mut u8;
    }
    if old_size == 0 {
        return alloc(Layout::from_size_align_unchecked(size, align));
    }
    realloc(old, Layout::from_size_align_unchecked(old_size, align), size)
}

/// A result is 0 and its value, or 1 and an error.
fn opened(call: impl FnOnce(*mut i32)) -> i32 {
    let mut result = [0; 2];
    call(result.as_mut_ptr());
    assert_eq!(result[0], 0);
    result[1]
}

fn read_body(request: i32) -> String {
    let body = opened(|at| unsafe { body_of_request(request, at) });
    let stream = opened(|at| unsafe { input_of(body, at) });
    let mut bytes = Vec::new();
    loop {
        let mut result = [0; 3];
        unsafe { read(stream, 65536, result.as_mut_ptr()) };
        if result[0] != 0 {
            return String::from_utf8_lossy(&bytes).into_owned();
        }
        let (at, length) = (result[1] as *mut u8, result[2] as usize);
        if length > 0 {
            bytes.extend(unsafe { Vec::from_raw_parts(at, length, length) });
        }
    }
}

fn answer(text: &str) -> String {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for word in text.split(|each: char| !each.is_alphanumeric()).filter(|each| !each.is_empty()) {
        *counts.entry(word.to_lowercase()).or_default() += 1;
    }
    println!("{} words", counts.values().sum::<usize>());
    let mut sorted: Vec<_> = counts.into_iter().collect();
    sorted.sort_by(|(a, one), (b, other)| other.cmp(one).then(a.cmp(b)));
    let shown = std::env::var("WORDS").ok().and_then(|each| each.parse().ok()).unwrap_or(10);
    sorted.iter().take(shown).map(|(word, count)| format!("{word} {count}\n")).collect()
}

#[export_name = "wasi:http/incoming-handler@0.2.6#handle"]
pub unsafe extern "C" fn handle(request: i32, out: i32) {
    let text = answer(&read_body(request));
    let response = new_response(new_fields());
    let body = opened(|at| body_of_response(response, at));
    set_response(out, 0, response, 0, 0, 0, 0, 0, 0);
    let stream = opened(|at| output_of(body, at));
    let mut result = [0; 10];
    for part in text.as_bytes().chunks(4096) {
        write(stream, part.as_ptr(), part.len(), result.as_mut_ptr());
    }
    drop_output(stream);
    finish(body, 0, 0, result.as_mut_ptr());
}
