;; A WASI program that writes to standard error and standard output, each time without a newline, and exits with code 3.
;; Build it with: wat2wasm last-words.wat -o last-words.wasm
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 64) "fatal: sensor lost")
  (data (i32.const 96) "battery low")
  (func $write (param $descriptor i32) (param $at i32) (param $length i32)
    (i32.store (i32.const 16) (local.get $at))
    (i32.store (i32.const 20) (local.get $length))
    (if (call $fd_write (local.get $descriptor) (i32.const 16) (i32.const 1) (i32.const 24)) (then unreachable)))
  (func (export "_start")
    (call $write (i32.const 2) (i32.const 64) (i32.const 18))
    (call $write (i32.const 1) (i32.const 96) (i32.const 11))
    (call $proc_exit (i32.const 3))))
